"""Finishes an application that was killed: its AM could not clean up, nor write down how it ended."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from yarnspec.core.messages.commands import EXIT_KILLED
from yarnspec.gateway.application import ended_status as ended
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.observe.forms.document import Final, StatusDocument
from yarnspec.observe.log.history import ApplicationRecord, History, Result
from yarnspec.yarn.rm.rm_reports import ApplicationReport as Report
from yarnspec.yarn.skein.staging_directory import staging_directory


class GivenUp(msgspec.Struct, frozen=True, kw_only=True):
    """Why a submit ends its application, and the exit code that it answers."""

    exit_code: int
    reason: str


def clean_up(cluster: Cluster, before: StatusDocument, because: GivenUp | None) -> None:
    """Remove the staging directory, and write the end into the history unless it is there.

    ``before`` is the last status of before the kill. Without ``because`` it was the user's wish.
    """
    application_id, history = before.application_id, cluster.history
    cluster.files.delete(staging_directory(cluster.files.home, application_id))
    now = cluster.rm.application(application_id)
    begun = history.application(application_id) is not None
    if now.state != "KILLED" or (begun and history.result(application_id) is not None):
        return
    if not begun:
        if because is None:
            return  # the submit may have named another history directory; who gives up is the submit, and knows it
        history.begin(_record(now))
    final = Final(
        status="KILLED",
        exit_code=EXIT_KILLED if because is None else because.exit_code,
        reason=f"killed by {cluster.login}" if because is None else because.reason,
        diagnostics=now.diagnostics,
    )
    last = ended.with_report(msgspec.structs.replace(before, final=final), now)
    result = Result(
        status=final.status,
        exit_code=final.exit_code,
        reason=final.reason,
        diagnostics=final.diagnostics,
        finished_ms=now.finished_ms,
    )
    history.finish(application_id, result, last)


def write_page(history: History, application_id: str, page: Callable[[], str]) -> None:
    """Write the page that a killed AM could not write, if the application was to have one."""
    entry = history.application(application_id)
    wanted = entry is not None and entry.options.get("history", {}).get("report")
    if wanted and history.report(application_id) is None:
        history.write_report(application_id, page().encode())


def _record(report: Report) -> ApplicationRecord:
    return ApplicationRecord(
        application_id=report.id,
        name=report.name,
        user=report.user,
        queue=report.queue,
        started_ms=report.started_ms,
    )
