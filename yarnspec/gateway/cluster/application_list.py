"""The applications of yarnspec that a cluster knows: those that YARN remembers, and those that left a history."""

from __future__ import annotations

import msgspec

from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.ids import id_order
from yarnspec.observe.forms.document import ENDED_STATES
from yarnspec.yarn.rm.resource_manager import APPLICATION_TYPE
from yarnspec.yarn.rm.rm_reports import ApplicationReport

LAST = "last"
"""Stands for the newest application wherever an id is asked for."""


class ListedApplication(msgspec.Struct, frozen=True, kw_only=True):
    """One application in few words; ``exit_code`` is None while it runs and where nobody has written it down."""

    id: str
    name: str = ""
    user: str = ""
    queue: str = ""
    state: str
    started_ms: int | None = None
    finished_ms: int | None = None
    exit_code: int | None = None

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED_STATES


def listed(
    cluster: Cluster, *, user: str | None, states: tuple[str, ...] = (), most: int = 0
) -> list[ListedApplication]:
    """The applications of a user (None: of all), newest first; ``most``: no more than so many, 0: all.

    Of other users' applications YARN tells, and not their histories. Of those that YARN has forgotten only the history
    tells. ``states``: only these.
    """
    reports = {one.id: one for one in cluster.rm.applications(user=user, types=(APPLICATION_TYPE,))}
    left = _left_behind(cluster) if user in (None, cluster.user) else set()
    found: list[ListedApplication] = []
    for application_id in sorted(reports.keys() | left, key=id_order, reverse=True):
        report = reports.get(application_id)
        one = _of_history(cluster, application_id, report) if application_id in left else None
        if one is None and report is not None:
            one = _of_report(report)
        if one is not None and (not states or one.state in states):
            found.append(one)
        if most and len(found) == most:
            break
    return found


def newest(cluster: Cluster) -> str:
    """The id of the user's newest application.

    Raises:
        NotFound: there is none.
    """
    ids = [one.id for one in cluster.rm.applications(user=cluster.user, types=(APPLICATION_TYPE,))]
    ids += _left_behind(cluster)
    if not ids:
        message = f"{cluster.user} has no application of yarnspec: neither YARN nor the history directory knows one"
        raise NotFound(message)
    return max(ids, key=id_order)


def _left_behind(cluster: Cluster) -> set[str]:
    try:
        return set(cluster.history.applications())
    except ClusterUnreachable:
        return set()


def _of_report(report: ApplicationReport) -> ListedApplication:
    state = report.state
    if state == "FINISHED":
        state = report.final_status if report.final_status in ENDED_STATES else "FAILED"
    return ListedApplication(
        id=report.id,
        name=report.name,
        user=report.user,
        queue=report.queue,
        state=state,
        started_ms=report.started_ms or None,
        finished_ms=report.finished_ms or None,
    )


def _of_history(cluster: Cluster, application_id: str, report: ApplicationReport | None) -> ListedApplication | None:
    """An application by its history, and by YARN's report if there is one; None without the history's first file."""
    entry = cluster.history.application(application_id)
    if entry is None:
        return None
    result = cluster.history.result(application_id) if report is None or report.ended else None
    told = _of_report(report) if report is not None else None
    state = told.state if told is not None else result.status if result is not None else "FAILED"
    finished_ms = told.finished_ms if told is not None else result.finished_ms if result is not None else None
    return ListedApplication(
        id=application_id,
        name=entry.name,
        user=entry.user,
        queue=entry.queue,
        state=state,
        started_ms=(told.started_ms if told is not None else None) or entry.started_ms,
        finished_ms=finished_ms,
        exit_code=result.exit_code if result is not None else None,
    )
