"""What must hold after every run, whatever happened in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from integration.cluster import Cluster
from integration.conftest import leftovers
from integration.soak import jobs
from integration.soak.blocks import Blocked, Start, blocked, started_while_blocked
from integration.soak.faults import Done, uncounted_attempts
from integration.soak.scenario import Scenario
from integration.submitting import Result, run_yarnspec
from integration.waiting import NotInTimeError, wait_for

LEFT_BEHIND_S = 30.0
COMMAND_S = 90.0
EXIT_CODES = {"SUCCEEDED": {0}, "FAILED": {1, 6}, "KILLED": {7}}
START = re.compile(r"^(\S+ \S+) .*Start request for (container_\w+)", re.MULTILINE)


def violations(
    *,
    cluster: Cluster,
    scenario: Scenario,
    application: str,
    result: Result,
    done: list[Done],
    excluded: str | None,
) -> Iterator[str]:
    """Everything that does not hold."""
    report = cluster.application(application)
    end = str(report.get("finalStatus", ""))
    yield from _end(cluster, application, report, result, done)
    if end == "SUCCEEDED":
        wrong = jobs.wrong(scenario, cluster, result.stdout)
        if wrong:
            yield f"wrong result: {wrong}"
    attempts = cluster.attempts(application)
    most = jobs.MAX_ATTEMPTS + uncounted_attempts(done)
    if len(attempts) > most:
        yield f"{len(attempts)} attempts, {jobs.MAX_ATTEMPTS} may be"
    masters = {str(attempt.get("containerId")) for attempt in attempts}
    yield from _events_and_placement(
        cluster=cluster,
        application=application,
        # A driver that is started again in the same attempt begins an epoch as well.
        epochs=None if scenario.recovery else len(attempts),
        masters=masters,
        excluded=excluded,
        ended_in_order=end == "SUCCEEDED",
    )
    try:
        wait_for("nothing left", lambda: not leftovers(cluster, application), LEFT_BEHIND_S, poll_s=0.5, patience=1)
    except NotInTimeError:
        yield f"left behind: {'; '.join(leftovers(cluster, application))}"


def _end(cluster: Cluster, application: str, report: dict[str, Any], result: Result, done: list[Done]) -> Iterator[str]:
    """The end fits the faults, and everybody tells the same of it."""
    end = str(report.get("finalStatus", ""))
    if result.exit_code not in EXIT_CODES.get(end, set()):
        yield f"YARN says {report.get('state')}/{end}, submit ended with exit code {result.exit_code}"
    attempts_ended = sum(each.ends_an_attempt for each in done)
    killed = any(each.kind == "yarnspec kill" and not each.note for each in done)
    if killed and end != "KILLED":
        yield f"killed, but the end is {end}"
    elif not killed and attempts_ended < jobs.MAX_ATTEMPTS and end != "SUCCEEDED":
        yield f"{end} after faults that ended {attempts_ended} of {jobs.MAX_ATTEMPTS} attempts"
    status = run_yarnspec(cluster, "status", application, "-o", "json", timeout_s=COMMAND_S)
    if status.exit_code != 0:
        yield f"`yarnspec status` ends with exit code {status.exit_code}: {status.stderr[-200:]}"
        return
    if status.document["state"] != end:
        yield f"`yarnspec status` says {status.document['state']}, YARN {end}"
    for warning in status.document["warnings"]:
        if "incomplete" in warning:
            yield warning


def _events_and_placement(
    *,
    cluster: Cluster,
    application: str,
    epochs: int | None,
    masters: set[str],
    excluded: str | None,
    ended_in_order: bool,
) -> Iterator[str]:
    events = run_yarnspec(cluster, "events", application, "-o", "json", timeout_s=COMMAND_S)
    records: list[dict[str, Any]] = []
    try:
        records = [json.loads(line) for line in events.stdout.splitlines()]
    except ValueError as error:
        yield f"events that cannot be read: {error}"
    if events.exit_code != 0:
        yield f"`yarnspec events` ends with exit code {events.exit_code}: {events.stderr[-200:]}"
    yield from gaps(records, epochs)
    if ended_in_order and not any(record["type"] == "FinishApplication" for record in records):
        yield "the events do not tell the end"
    started = list(starts(cluster, application))
    # Where an AM goes is decided by YARN at a moment at which nobody can tell it of blocks that came later.
    executors = [each for each in started if each.container_id not in masters]
    yield from started_while_blocked(executors, blocked(records))
    if excluded is not None:
        yield from started_while_blocked(started, [Blocked(excluded, 0, None)])


def gaps(records: list[dict[str, Any]], epochs: int | None) -> Iterator[str]:
    """Records that are missing or too many: they count from 1 in each epoch. ``epochs``: how many, if known."""
    epoch = seq = 0
    for record in records:
        if record["epoch"] < epoch or (epochs is not None and record["epoch"] > epochs):
            yield f"a record of epoch {record['epoch']} after one of {epoch}"
        expected = seq + 1 if record["epoch"] == epoch else 1
        epoch, seq = record["epoch"], record["seq"]
        if seq != expected:
            yield f"epoch {epoch} has record {seq} where {expected} should be"


def starts(cluster: Cluster, application: str) -> Iterator[Start]:
    """Every container that a host was told to start, by the hosts' own logs."""
    middle = f"_{application.removeprefix('application_')}_"
    for host in cluster.hosts:
        for when, container in START.findall(cluster.mini.home.log(f"nodemanager-{host}").read_text(errors="replace")):
            if middle in container:
                moment = datetime.strptime(when, "%Y-%m-%d %H:%M:%S,%f").astimezone()
                yield Start(container, host, int(moment.timestamp() * 1000))
