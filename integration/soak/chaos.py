"""`python -m integration.soak chaos --minutes N`: one job after the other, and every 20 to 30 s something is killed.

What is killed is an executor, the driver, the master, a host (it comes back before the next fault) or the
ResourceManager (it is restarted). HDFS may stand still for ten seconds, too. The next fault comes 20 to 30 s after one
is over. A job must end with the right result, or with a reason after all its attempts. The chaos kills a job that does
not end, and begins the next one. With `--only` there are faults of some kinds alone. The jobs run the programs of
`chaosprograms.py` in turn.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import time
from pathlib import Path

import click

from integration.cluster import Cluster
from integration.soak.chaosprograms import PROGRAMS, Program, clear, in_turn
from integration.soak.chaostable import DID_NOT_END, KINDS, MAX_ATTEMPTS, Job, row, table
from integration.soak.faults import Done, Faults, sleep_until
from integration.soak.run import (
    HOSTS,
    HOSTS_BACK_S,
    NOT_AS_EXPECTED,
    PROPERTIES,
    SUBMITTED_WITHIN_S,
    commit,
    end,
    hosts_back,
    keep_logs,
)
from integration.soak.scenario import Fault, Kind
from integration.submitting import ENDED, SMALL, Submission, base_environment, start_submit
from integration.tpch.data import cache_directory
from integration.waiting import PATIENCE, wait_for
from yarnspec.minicluster import MiniCluster

EVERY_S = (20.0, 30.0)
JOB_ENDS_WITHIN_S = 1200.0
"""From its submission, on a slow machine too: this is ten times what a job takes without faults."""


def chaos(
    cluster: Cluster,
    directory: Path,
    minutes: float,
    seed: int,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    options: tuple[str, ...] = (),
) -> bool:
    """Run it with faults of these kinds and jobs with these options, and print the table; whether everything held."""
    directory.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    numbers = itertools.count()
    undisturbed: dict[str, float] = {}
    click.echo(f"commit {commit()}, {minutes:g} minutes, seed {seed}, {', '.join((*kinds, *options))}")
    clear(cluster)
    for name, program in (("warm-up", PROGRAMS[0]), *(("undisturbed", program) for program in PROGRAMS)):
        job = _job(cluster, directory, next(numbers), program, options)
        click.echo(f"{name}: {row(job)}")
        if not (job.succeeded and job.right):
            click.echo("a job without faults must succeed: there is nothing to compare with")
            return False
        undisturbed[program.name] = job.seconds  # that of the warm-up is replaced
    programs = in_turn(seed)
    jobs: list[Job] = []
    until = time.monotonic() + minutes * 60
    try:
        while time.monotonic() < until:
            job = _job(cluster, directory, next(numbers), next(programs), options, dice=dice, kinds=kinds)
            jobs.append(job)
            click.echo(row(job, undisturbed))
    finally:  # whatever happens to the cluster: what was counted so far is shown
        click.echo(table(jobs, undisturbed))
    return all(job.holds for job in jobs)


def _job(
    cluster: Cluster,
    directory: Path,
    number: int,
    program: Program,
    options: tuple[str, ...],
    *,
    dice: random.Random | None = None,
    kinds: tuple[Kind, ...] = (),
) -> Job:
    """Run one job to its end, or kill it after `JOB_ENDS_WITHIN_S`; without dice nothing is done to it."""
    hosts_back(cluster)
    name = f"chaos-{number}"
    arguments = [*SMALL, "--conf", f"spark.yarn.maxAppAttempts={MAX_ATTEMPTS}", "--set", "recovery.enabled=true"]
    arguments += [word for option in options for word in ("--set", option)]
    begun = time.monotonic()
    application = problem = ""
    done: list[Done] = []
    submission = start_submit(cluster, name, [*arguments, *program.words(cluster, number)], directory)
    try:
        application = submission.application_id(SUBMITTED_WITHIN_S)
        if dice is not None:
            faults = Faults(cluster, application, program.file.name, begun)
            _disturb(faults=faults, submission=submission, dice=dice, begun=begun, kinds=kinds, done=done)
        left_s = begun + JOB_ENDS_WITHIN_S - time.monotonic()
        submission.wait(max(1.0, left_s / PATIENCE))
        wait_for("its end", lambda: cluster.application(application).get("state") in ENDED, HOSTS_BACK_S)
    except NOT_AS_EXPECTED as error:
        problem = str(error)
    finally:
        submission.stop()
    report = cluster.application(application) if application else {}
    succeeded = not problem and report.get("finalStatus") == "SUCCEEDED"
    job = Job(
        program=program.name,
        application=application,
        outcome=DID_NOT_END if problem else str(report.get("finalStatus")),
        right=succeeded and program.is_right(cluster, number, submission.stdout),
        attempts=len(cluster.attempts(application)) if application else 0,
        # By YARN's clock: when the job ends, a fault may be under way that takes longer.
        seconds=float(report.get("elapsedTime") or 0) / 1000,
        faults=done,
        diagnostics=" ".join((problem or str(report.get("diagnostics") or "")).split())[:300],
    )
    if application and not job.holds:
        with contextlib.suppress(OSError):  # the hosts delete old logs meanwhile
            keep_logs(cluster, application, directory / name)
        with contextlib.suppress(*NOT_AS_EXPECTED):  # then the next job finds the cluster begun anew
            end(cluster, application)
    return job


def _disturb(
    *,
    faults: Faults,
    submission: Submission,
    dice: random.Random,
    begun: float,
    kinds: tuple[Kind, ...],
    done: list[Done],
) -> None:
    """Do one fault after the other, until the job has ended or should have; `done` gets them."""

    def over() -> bool:
        return submission.process.poll() is not None or time.monotonic() - begun > JOB_ENDS_WITHIN_S

    gone = False
    while True:
        at_s = time.monotonic() - begun + dice.uniform(*EVERY_S)
        sleep_until(begun + at_s, over)
        if over() or faults.ended:  # what comes later is done to nobody
            break
        if gone:
            done.append(faults.do(Fault("start host", at_s, 0)))
            if faults.ended:
                break
        kind = dice.choice(kinds)
        gone = kind == "kill host"
        done.append(faults.do(Fault(kind, at_s, dice.randrange(1000))))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--minutes", default=15.0, show_default=True, help="Begin no further job after this time.")
@click.option("--seed", default=0, show_default=True, help="Draws the faults and the order of the programs.")
@click.option(
    "--only", multiple=True, type=click.Choice(KINDS), help="A kind of fault; may be repeated.  [default: all kinds]"
)
@click.option("--set", "options", multiple=True, help="An option of all jobs, NAME=VALUE; may be repeated.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: cache_directory() / "soak",
    help="Where the cluster and the output are.  [default: in the user's cache]",
)
def main(*, minutes: float, seed: int, only: tuple[Kind, ...], options: tuple[str, ...], home: Path) -> None:
    """Kill something every 20 to 30 s beside one job after the other."""
    home = home.absolute()
    with MiniCluster(home / "cluster", nodes=HOSTS, properties=PROPERTIES) as mini:
        cluster = Cluster(mini, base_environment())
        sys.exit(0 if chaos(cluster, home / "chaos", minutes, seed, kinds=only or KINDS, options=options) else 1)
