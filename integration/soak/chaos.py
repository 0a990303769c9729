"""`python -m integration.soak chaos --minutes N`: one job after the other, and every 20 to 30 s something is killed.

What is killed is an executor, the driver, the master, a host (it comes back before the next fault) or the
ResourceManager (it is restarted). HDFS may stand still for ten seconds, too. A job must end with the right result, or
must have used all its attempts and say why it failed. With `--only` there are faults of some kinds alone.
"""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import click
import msgspec

from integration.cluster import Cluster
from integration.soak.faults import Done, Faults, sleep_until
from integration.soak.programs import shuffles
from integration.soak.run import HOSTS, HOSTS_BACK_S, PROPERTIES, SUBMITTED_WITHIN_S, TROUBLE, end, idle
from integration.soak.scenario import Fault, Kind
from integration.submitting import ENDED, SMALL, base_environment, start_submit
from integration.tpch.data import cache_directory
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster

KINDS: tuple[Kind, ...] = ("kill executor", "kill driver", "kill AM", "kill host", "kill RM", "pause HDFS")
EVERY_S = (20.0, 30.0)
MAX_ATTEMPTS = 4
TASK_S = 2.0
"""A task of the job sleeps so long: the job takes about two minutes with two executors."""
PROGRAM = Path(__file__).parent / "programs" / "shuffles.py"
JOB_ENDS_WITHIN_S = 1200.0
UNDISTURBED_END_S = 60.0
"""So long the faults stop at least before a job is given up."""
NOT_ENDED = "did not end"
AIM = 1.2
"""As many times the undisturbed time at most, on average, where only executors and hosts are killed."""
AIM_HOLDS_FOR = frozenset({"kill executor", "kill host", "start host"})


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job of the chaos, and how it ended."""

    application: str
    outcome: str
    right: bool
    attempts: int
    seconds: float
    faults: list[Done]
    diagnostics: str

    @property
    def wrong(self) -> bool:
        """Whether it succeeded with a wrong result."""
        return self.outcome == "SUCCEEDED" and not self.right

    @property
    def given_up(self) -> bool:
        """Whether it failed while it had attempts left."""
        # YARN does not count an attempt whose host was lost.
        most = MAX_ATTEMPTS + sum(each.ends_an_attempt and each.kind.endswith("host") for each in self.faults)
        return self.outcome not in ("SUCCEEDED", NOT_ENDED) and self.attempts < most

    @property
    def unexplained(self) -> bool:
        """Whether it failed without a reason."""
        return self.outcome != "SUCCEEDED" and not self.diagnostics

    @property
    def held(self) -> bool:
        """Whether all is as it must be."""
        return not (self.wrong or self.given_up or self.unexplained or self.outcome == NOT_ENDED)


def chaos(cluster: Cluster, directory: Path, minutes: float, seed: int, kinds: tuple[Kind, ...] = KINDS) -> bool:
    """Run it with faults of these kinds, and print the table; whether everything held."""
    directory.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    calm = [_job(cluster, directory, number, None, ()) for number in range(3)]
    # The first one warms the cluster up.
    undisturbed_s = statistics.median(job.seconds for job in calm[1:])
    click.echo(f"undisturbed: {', '.join(f'{job.outcome} in {job.seconds:.0f} s' for job in calm)}")
    jobs: list[Job] = []
    until = time.monotonic() + minutes * 60
    while time.monotonic() < until:
        jobs.append(_job(cluster, directory, len(calm) + len(jobs), dice, kinds))
        click.echo(row(jobs[-1], undisturbed_s))
    click.echo(table(jobs, undisturbed_s))
    return all(job.right for job in calm) and all(job.held for job in jobs)


def row(job: Job, undisturbed_s: float) -> str:
    """One job in a line."""
    said = "WRONG RESULT" if job.wrong else ""
    if job.outcome != "SUCCEEDED":
        said = f"{'GIVEN UP: ' if job.given_up else ''}{job.diagnostics or 'NO REASON'}"
    faults = ", ".join(f"{each.at_s:.0f} {each.kind}" for each in job.faults if not each.note)
    return (
        f"{job.application}: {job.outcome}, {job.attempts} attempts, {job.seconds:.0f} s "
        f"({job.seconds / undisturbed_s:.1f} times the undisturbed time); {faults or 'no fault'} {said}".rstrip()
    )


def table(jobs: list[Job], undisturbed_s: float) -> str:
    """What was done, and what came of it."""
    kinds = Counter(each.kind for job in jobs for each in job.faults if not each.note)
    done = [job.seconds / undisturbed_s for job in jobs if job.outcome == "SUCCEEDED"]
    times = "none"
    if done:
        average = statistics.mean(done)
        times = f"{min(done):.2f} to {max(done):.2f}, {average:.2f} on average"
        if kinds and kinds.keys() <= AIM_HOLDS_FOR:
            times += f" (aim: {AIM:g} at most, {'kept' if average <= AIM else 'MISSED'})"
    rows = [*((kind, str(kinds[kind])) for kind in KINDS), ("faults", str(sum(kinds[kind] for kind in KINDS)))]
    rows += [
        ("jobs", str(len(jobs))),
        ("wrong results", str(sum(job.wrong for job in jobs))),
        ("given up while attempts last", str(sum(job.given_up for job in jobs))),
        (NOT_ENDED, str(sum(job.outcome == NOT_ENDED for job in jobs))),
        ("failed without a reason", str(sum(job.unexplained for job in jobs))),
        ("failed with all attempts used", str(sum(job.outcome != "SUCCEEDED" and job.held for job in jobs))),
        ("time ÷ undisturbed", times),
    ]
    return "\n".join(f"| {name:<30} | {value} |" for name, value in [("chaos", "count"), ("---", "---"), *rows])


def _job(cluster: Cluster, directory: Path, number: int, dice: random.Random | None, kinds: tuple[Kind, ...]) -> Job:
    idle(cluster)
    arguments = [*SMALL, "--conf", f"spark.yarn.maxAppAttempts={MAX_ATTEMPTS}", "--set", "recovery.enabled=true"]
    begun = time.monotonic()
    submission = start_submit(
        cluster, f"chaos-{number}", [*arguments, str(PROGRAM), str(number), str(TASK_S)], directory
    )
    application = ""
    done: list[Done] = []
    try:
        application = submission.application_id(SUBMITTED_WITHIN_S)
        faults = Faults(cluster, application, PROGRAM.name, begun)
        _disturb(faults, submission.process, dice, kinds, begun=begun, done=done)
        result = submission.wait(max(UNDISTURBED_END_S, begun + JOB_ENDS_WITHIN_S - time.monotonic()))
        seconds = time.monotonic() - begun
        wait_for("its end", lambda: cluster.application(application).get("state") in ENDED, HOSTS_BACK_S)
        report = cluster.application(application)
        outcome, diagnostics = str(report["finalStatus"]), str(report.get("diagnostics") or "")
        right = json.dumps({"result": shuffles.expected(number)}) in result.stdout.splitlines()
        attempts = len(cluster.attempts(application))
    except TROUBLE as error:
        seconds = time.monotonic() - begun
        outcome, diagnostics, right, attempts = NOT_ENDED, str(error), False, 0
    finally:
        submission.stop()
        if application:
            with contextlib.suppress(*TROUBLE):  # the next job then begins with another cluster
                end(cluster, application)
    return Job(
        application=application,
        outcome=outcome,
        right=right,
        attempts=attempts,
        seconds=seconds,
        faults=done,
        diagnostics=" ".join(diagnostics.split())[:300],
    )


def _disturb(
    faults: Faults,
    submit: subprocess.Popen[bytes],
    dice: random.Random | None,
    kinds: tuple[Kind, ...],
    *,
    begun: float,
    done: list[Done],
) -> None:
    """Do one fault after the other, until the job has ended or should have; ``done`` gets them."""
    gone = False
    while dice is not None and time.monotonic() < begun + JOB_ENDS_WITHIN_S:
        at_s = time.monotonic() - begun + dice.uniform(*EVERY_S)
        sleep_until(begun + at_s, lambda: submit.poll() is not None)
        if submit.poll() is not None:
            break
        if gone:
            done.append(faults.do(Fault("start host", at_s, 0)))
        kind = dice.choice(kinds)
        gone = kind == "kill host"
        done.append(faults.do(Fault(kind, at_s, dice.randrange(1000))))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--minutes", default=15.0, show_default=True, help="Begin no further job after this time.")
@click.option("--seed", default=0, show_default=True, help="Draws the faults.")
@click.option(
    "--only", multiple=True, type=click.Choice(KINDS), help="A kind of fault; may be repeated.  [default: all kinds]"
)
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: cache_directory() / "soak",
    help="Where the cluster and the output are.  [default: in the user's cache]",
)
def main(*, minutes: float, seed: int, only: tuple[Kind, ...], home: Path) -> None:
    """Kill something every 20 to 30 s beside one job after the other."""
    home = home.absolute()
    with MiniCluster(home / "cluster", nodes=HOSTS, properties=PROPERTIES) as mini:
        sys.exit(0 if chaos(Cluster(mini, base_environment()), home / "chaos", minutes, seed, only or KINDS) else 1)
