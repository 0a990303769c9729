"""`python -m integration.soak chaos --minutes N`: one job after the other, and every 20 to 30 s something is killed.

What is killed is an executor, the driver, the master, a host (it comes back before the next fault) or the
ResourceManager (it is restarted). HDFS may stand still for ten seconds, too. A job must end with the right result, or
must have used all its attempts. With `--only` there are faults of some kinds alone.
"""

from __future__ import annotations

import json
import random
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
from integration.soak.run import HOSTS, HOSTS_BACK_S, PROPERTIES, SUBMITTED_WITHIN_S, hosts_back
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
        return self.outcome != "SUCCEEDED" and self.attempts < MAX_ATTEMPTS


def chaos(cluster: Cluster, directory: Path, minutes: float, seed: int, kinds: tuple[Kind, ...] = KINDS) -> bool:
    """Run it with faults of these kinds, and print the table; whether everything held."""
    directory.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    undisturbed = _job(cluster, directory, 0, None, ())
    click.echo(f"undisturbed: {undisturbed.outcome} in {undisturbed.seconds:.0f} s")
    jobs: list[Job] = []
    until = time.monotonic() + minutes * 60
    while time.monotonic() < until:
        jobs.append(_job(cluster, directory, len(jobs) + 1, dice, kinds))
        click.echo(row(jobs[-1], undisturbed.seconds))
    click.echo(table(jobs, undisturbed.seconds))
    return undisturbed.right and not any(job.wrong or job.given_up for job in jobs)


def row(job: Job, undisturbed_s: float) -> str:
    """One job in a line."""
    said = "WRONG RESULT" if job.wrong else f"GIVEN UP: {job.diagnostics}" if job.given_up else ""
    faults = ", ".join(f"{each.at_s:.0f} {each.kind}" for each in job.faults if not each.note)
    return (
        f"{job.application}: {job.outcome}, {job.attempts} attempts, {job.seconds:.0f} s "
        f"({job.seconds / undisturbed_s:.1f} times the undisturbed time); {faults or 'no fault'} {said}".rstrip()
    )


def table(jobs: list[Job], undisturbed_s: float) -> str:
    """What was done, and what came of it."""
    kinds = Counter(each.kind for job in jobs for each in job.faults if not each.note)
    done = [job.seconds / undisturbed_s for job in jobs if job.outcome == "SUCCEEDED"]
    times = f"{min(done):.1f} to {max(done):.1f}, {sum(done) / len(done):.1f} on average" if done else "none"
    rows = [*((kind, str(kinds[kind])) for kind in KINDS), ("faults", str(sum(kinds[kind] for kind in KINDS)))]
    rows += [
        ("jobs", str(len(jobs))),
        ("wrong results", str(sum(job.wrong for job in jobs))),
        ("given up while attempts last", str(sum(job.given_up for job in jobs))),
        ("failed with all attempts used", str(sum(job.outcome != "SUCCEEDED" and not job.given_up for job in jobs))),
        ("time ÷ undisturbed", times),
    ]
    return "\n".join(f"| {name:<30} | {value} |" for name, value in [("chaos", "count"), ("---", "---"), *rows])


def _job(cluster: Cluster, directory: Path, number: int, dice: random.Random | None, kinds: tuple[Kind, ...]) -> Job:
    hosts_back(cluster)
    arguments = [*SMALL, "--conf", f"spark.yarn.maxAppAttempts={MAX_ATTEMPTS}", "--set", "recovery.enabled=true"]
    begun = time.monotonic()
    submission = start_submit(
        cluster, f"chaos-{number}", [*arguments, str(PROGRAM), str(number), str(TASK_S)], directory
    )
    try:
        application = submission.application_id(SUBMITTED_WITHIN_S)
        done = _disturb(Faults(cluster, application, PROGRAM.name, begun), submission.process, dice, begun, kinds)
        result = submission.wait(JOB_ENDS_WITHIN_S)
        seconds = time.monotonic() - begun
        wait_for("its end", lambda: cluster.application(application).get("state") in ENDED, HOSTS_BACK_S)
        report = cluster.application(application)
        return Job(
            application=application,
            outcome=str(report["finalStatus"]),
            right=json.dumps({"result": shuffles.expected(number)}) in result.stdout.splitlines(),
            attempts=len(cluster.attempts(application)),
            seconds=seconds,
            faults=done,
            diagnostics=" ".join(str(report.get("diagnostics")).split())[:300],
        )
    finally:
        submission.stop()


def _disturb(
    faults: Faults, submit: subprocess.Popen[bytes], dice: random.Random | None, begun: float, kinds: tuple[Kind, ...]
) -> list[Done]:
    """Do one fault after the other, until the job has ended."""
    done: list[Done] = []
    gone = False
    while dice is not None:
        at_s = time.monotonic() - begun + dice.uniform(*EVERY_S)
        sleep_until(begun + at_s, lambda: submit.poll() is not None)
        if submit.poll() is not None:
            break
        if gone:
            done.append(faults.do(Fault("start host", at_s, 0)))
        kind = dice.choice(kinds)
        gone = kind == "kill host"
        done.append(faults.do(Fault(kind, at_s, dice.randrange(1000))))
    return done


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
