"""The status of an application that no negotiator tells about: from YARN's report, and after the end the history."""

from __future__ import annotations

import msgspec

from yarnspec.core.messages.commands import EXIT_FAILED, EXIT_KILLED
from yarnspec.observe.forms.document import (
    ContainerStatus,
    Final,
    Links,
    ResourcesStatus,
    StatusDocument,
)
from yarnspec.observe.forms.resource_words import ENDED_PHASES
from yarnspec.yarn.rm.rm_reports import ApplicationReport as Report

_EXIT_CODES = {"SUCCEEDED": 0, "FAILED": EXIT_FAILED, "KILLED": EXIT_KILLED}


def state_of(report: Report) -> str:
    """YARN's state while the application lives; afterwards how it ended, in one word."""
    if not report.ended:
        return report.state
    if report.state != "FINISHED":
        return report.state
    return report.final_status if report.final_status in _EXIT_CODES else "FAILED"


def from_report(
    report: Report, *, link: str | None = None, pending_reason: str = "", attempt: int = 0, am_container: str = ""
) -> StatusDocument:
    """All that YARN's report alone says: an application that waits, one whose negotiator is silent, one that ended."""
    document = StatusDocument(
        application_id=report.id,
        name=report.name,
        user=report.user,
        queue=report.queue,
        state=state_of(report),
        phase="ended" if report.ended else "",
        attempt=attempt,
        started_ms=report.started_ms or None,
        finished_ms=report.finished_ms or None,
        containers=_am(report, attempt, am_container),
        pending_reason=pending_reason,
        links=Links(resource_manager=link),
    )
    return _ended(document, report) if report.ended else document


def with_report(
    document: StatusDocument, report: Report, *, link: str | None = None, page: str | None = None
) -> StatusDocument:
    """A status from the history, for an application of which YARN says that it ended: YARN has the last word.

    ``page``: where its page was written to at its end.
    """
    joined = msgspec.structs.replace(
        document,
        name=document.name or report.name,
        user=document.user or report.user,
        queue=document.queue or report.queue,
        state=state_of(report),
        started_ms=report.started_ms or document.started_ms,
        finished_ms=report.finished_ms or document.finished_ms,
        links=Links(resource_manager=link, report=page),
    )
    return _ended(joined, report)


def without_report(document: StatusDocument) -> StatusDocument:
    """A status from the history, for an application that YARN has forgotten: it ended, whatever its records say."""
    state = document.state if document.ended else "FAILED"
    reason = "YARN does not know the application any more, and it left no result"
    final = document.final or Final(status=state, exit_code=_EXIT_CODES[state], reason=reason)
    return _closed(msgspec.structs.replace(document, state=state, links=Links(), final=final))


def _ended(document: StatusDocument, report: Report) -> StatusDocument:
    state = state_of(report)
    final = document.final
    if final is None or final.status != state:
        reason = report.diagnostics.strip() or f"YARN says {state}"
        final = Final(status=state, exit_code=_EXIT_CODES[state], reason=reason)
    return _closed(msgspec.structs.replace(document, final=final))


def _closed(document: StatusDocument) -> StatusDocument:
    """The document once all has ended: no container runs, and nobody waits for one."""
    containers = tuple(
        container if container.state == "COMPLETE" else msgspec.structs.replace(container, state="COMPLETE")
        for container in document.containers
    )
    stages = tuple(
        msgspec.structs.replace(stage, state="FAILED", copies_running=0) if stage.state == "RUNNING" else stage
        for stage in document.stages
    )
    speculation = document.speculation
    if speculation is not None:
        ledger = msgspec.structs.replace(speculation.ledger, copies_running=0)
        speculation = msgspec.structs.replace(
            speculation, slow_tasks=0, waiting_copies=0, extra_containers=0, ledger=ledger
        )
    return msgspec.structs.replace(
        document,
        phase="ended",
        containers=containers,
        asks=(),
        relaxations=tuple(msgspec.structs.replace(one, holds=False) for one in document.relaxations),
        stages=stages,
        speculation=speculation,
        running_containers=0,
        pending_reason="",
        tasks=msgspec.structs.replace(document.tasks, running=0),
        resources=_closed_resources(document),
    )


def _closed_resources(document: StatusDocument) -> ResourcesStatus | None:
    """No record tells the end of an application that was killed: its phase and its last rescale ended with it."""
    resources, end_ms = document.resources, document.finished_ms
    if resources is None or resources.phase in ENDED_PHASES:
        return resources
    return msgspec.structs.replace(
        resources,
        phase="finished" if document.state == "SUCCEEDED" else "failed",
        since_ms=resources.since_ms if end_ms is None else end_ms,
        have=0,
        sufficient=0,
        desired=0,
        waits_for="",
        until_ms=None,
        rescales=tuple(
            one if one.end_ms is not None else msgspec.structs.replace(one, end_ms=end_ms, why="the application ended")
            for one in resources.rescales
        ),
    )


def _am(report: Report, attempt: int, am_container: str) -> tuple[ContainerStatus, ...]:
    if not am_container or not report.am_host:
        return ()
    return (
        ContainerStatus(
            id=am_container,
            host=report.am_host,
            role="am",
            state="COMPLETE" if report.ended else "RUNNING",
            attempt=attempt,
        ),
    )
