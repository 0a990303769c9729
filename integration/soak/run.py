"""One seed, from the submission to the checks."""

from __future__ import annotations

import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from integration.cluster import Cluster
from integration.soak import jobs
from integration.soak.checks import violations
from integration.soak.faults import Done, Faults, sleep_until
from integration.soak.scenario import Scenario
from integration.soak.table import Run
from integration.submitting import ENDED, Result, Submission, start_submit
from integration.waiting import NotInTimeError, wait_for
from yarnspec.errors import YarnspecError

HOSTS = 4
PROPERTIES = {
    # The logs of containers that have ended stay on the hosts: a seed that fails shows them.
    "yarn.nodemanager.delete.debug-delay-sec": "300",
    # A frozen application master is given up sooner than the mini cluster's default says.
    "yarn.am.liveness-monitor.expiry-interval-ms": "30000",
}
ENDS_WITHIN_S = 300.0
SUBMITTED_WITHIN_S = 90.0
HOSTS_BACK_S = 60.0
NOT_AS_EXPECTED = (AssertionError, subprocess.TimeoutExpired, YarnspecError)
"""What a run raises when an application or the cluster does not do what was waited for."""
ACTIVE = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")


def run(cluster: Cluster, scenario: Scenario, directory: Path) -> Run:
    """Run a scenario; `directory` gets what `yarnspec submit` printed and, after a failure, the containers' logs."""
    hosts_back(cluster)
    directory.mkdir(parents=True, exist_ok=True)
    excluded = None if scenario.excluded is None else cluster.hosts[scenario.excluded % len(cluster.hosts)]
    name = f"soak-{scenario.seed}-{int(time.time())}"
    begun = time.monotonic()
    submission = start_submit(cluster, name, jobs.arguments(scenario, cluster, excluded), directory)
    application, done, found = "", [], []
    result: Result | None = None
    try:
        application = submission.application_id(SUBMITTED_WITHIN_S)
        done = _do_faults(cluster, scenario, application, submission)
        result = submission.wait(max(1.0, ENDS_WITHIN_S - (time.monotonic() - begun)))
        # What counts as the end is YARN's word: submit may leave before it when it gives up.
        wait_for("the end of the application", lambda: cluster.application(application).get("state") in ENDED, 30)
        seconds = time.monotonic() - begun
        found = list(
            violations(
                cluster=cluster,
                scenario=scenario,
                application=application,
                result=result,
                done=done,
                excluded=excluded,
            )
        )
    except NOT_AS_EXPECTED as error:
        seconds = time.monotonic() - begun
        found.append(str(error))
    finally:
        submission.stop()
        if application:
            attempts, outcome = _outcome(cluster, application)
            if found or result is None:
                keep_logs(cluster, application, directory)
            end(cluster, application)
    return Run(
        seed=scenario.seed,
        program=scenario.job + (f" {','.join(map(str, scenario.queries))}" if scenario.queries else ""),
        mode=scenario.mode + (", recovery" if scenario.recovery else ""),
        excluded=excluded,
        faults=done,
        application=application,
        attempts=attempts if application else 0,
        outcome=outcome if application else "not submitted",
        exit_code=result.exit_code if result is not None else None,
        seconds=round(seconds, 1),
        violations=found,
        day=datetime.now(UTC).date().isoformat(),
        commit=commit(),
    )


def hosts_back(cluster: Cluster) -> None:
    """All hosts run, and no application does; if that cannot be reached, the cluster begins anew."""
    try:
        _hosts_back(cluster)
    except (NotInTimeError, YarnspecError) as error:  # what was done to the cluster before must not be the next run's
        click.echo(f"the whole cluster begins anew: {error}", err=True)
        cluster.mini.stop()
        cluster.mini.start()
        _hosts_back(cluster)


def keep_logs(cluster: Cluster, application: str, directory: Path) -> None:
    """Copy the logs of an application's containers, and those of the cluster."""
    directory.mkdir(parents=True, exist_ok=True)
    for path, text in cluster.container_log_texts(application).items():
        target = directory / "containers" / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for path in cluster.mini.home.logs.glob("*.log"):
        (directory / path.name).write_text(path.read_text(errors="replace"))


def end(cluster: Cluster, application: str) -> None:
    """No run leaves an application to the next one."""
    if cluster.application(application).get("state") in ENDED:
        return
    cluster.command("yarn", "application", "-kill", application)
    try:
        wait_for("its end", lambda: cluster.application(application).get("state") in ENDED, HOSTS_BACK_S)
    except NotInTimeError:
        cluster.mini.rm_restart()


def _hosts_back(cluster: Cluster) -> None:
    for host in cluster.hosts:
        cluster.mini.host_start(host)
    hosts = len(cluster.hosts)
    wait_for("all hosts", lambda: list(cluster.node_states().values()) == ["RUNNING"] * hosts, HOSTS_BACK_S)
    wait_for("no active application", lambda: not cluster.applications(*ACTIVE), HOSTS_BACK_S)


def _do_faults(cluster: Cluster, scenario: Scenario, application: str, submission: Submission) -> list[Done]:
    begun = time.monotonic()
    faults = Faults(cluster, application, jobs.program(scenario).name, begun)

    def over() -> bool:
        return submission.process.poll() is not None

    done = []
    for fault in scenario.faults:
        sleep_until(begun + fault.at_s, over)
        if over():
            at_s = round(time.monotonic() - begun, 1)
            done.append(Done(kind=fault.kind, due_s=fault.at_s, at_s=at_s, note="the application had ended"))
        else:
            done.append(faults.do(fault))
    return done


def _outcome(cluster: Cluster, application: str) -> tuple[int, str]:
    report = cluster.application(application)
    state = str(report.get("state", "unknown"))
    return len(cluster.attempts(application)), str(report["finalStatus"]) if state in ENDED else state


def commit() -> str:
    """The commit that is checked out, in short; empty outside of a repository."""
    said = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False,
                          cwd=Path(__file__).parent)  # fmt: skip
    return said.stdout.strip()
