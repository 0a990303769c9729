"""Watches the ResourceManager while an application runs: its hosts, and why containers do not come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec
import structlog

from yarnspec.am.sources.nodemanager_check import NodeManagerCheck
from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.core.blocking.hosts import UNREACHABLE
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event, HostReport
from yarnspec.errors import YarnspecError
from yarnspec.yarn.rm.constraint import Constraint
from yarnspec.yarn.rm.hosts import ALL_STATES, report_of
from yarnspec.yarn.rm.resource_manager import ResourceManager
from yarnspec.yarn.rm.rm_reports import Host

_log = structlog.get_logger()

_LOOK_S = 10.0
_PENDING_LOOK_S = 3.0


class ClusterWatch:
    """Asks the ResourceManager now and then, and posts what changed.

    ``waiting`` tells whether containers are still to come; ``constraint`` is the user's. ``nodemanagers`` are asked
    whether hosts are there that may be dead without YARN's knowledge.
    """

    def __init__(
        self,
        rm: ResourceManager,
        application_id: str,
        post: Callable[[Event], None],
        waiting: Callable[[], bool],
        *,
        nodemanagers: NodeManagerCheck,
        constraint: Constraint | None = None,
    ) -> None:
        self._constraint = constraint
        self._rm = rm
        self._application_id = application_id
        self._post = post
        self._waiting = waiting
        self._counts_cores = False
        self._known: tuple[Host, ...] = ()
        self._node_ids: dict[str, str] = {}
        self._hosts: tuple[HostReport, ...] = ()
        self._check = nodemanagers
        self._soon = threading.Event()
        self._soon.set()
        self._next_look_s = 0.0
        self._next_pending_look_s = time.monotonic() + _PENDING_LOOK_S
        self._pending_reason = ""
        self._waited = False
        self.watcher = Watcher("cluster-watch", self._step, 0.1)

    @property
    def hosts(self) -> tuple[HostReport, ...]:
        """The cluster's hosts as last heard."""
        return self._hosts

    def look_soon(self) -> None:
        """Something about the hosts has changed: ask now. From any thread."""
        self._soon.set()

    def count_cores(self) -> None:
        """The scheduler counts cores, too: so what a host has free of them matters. From any thread."""
        self._counts_cores = True
        self._soon.set()

    def _step(self) -> None:
        now_s = time.monotonic()
        if self._known and self._check.look(self._node_ids, now_s):
            self._tell_hosts()
        try:
            if self._soon.is_set() or now_s >= self._next_look_s:
                self._soon.clear()
                self._next_look_s = now_s + _LOOK_S
                self._look_at_hosts()
            if now_s >= self._next_pending_look_s:
                self._next_pending_look_s = now_s + _PENDING_LOOK_S
                self._look_at_pending()
        except YarnspecError as error:
            _log.warning("the ResourceManager does not answer", why=str(error))

    def _look_at_hosts(self) -> None:
        self._known = tuple(self._rm.hosts(ALL_STATES))
        self._node_ids = {one.host: one.node_id for one in self._known if one.state == "RUNNING"}
        self._tell_hosts()

    def _tell_hosts(self) -> None:
        hosts = tuple(self._report_of(one) for one in self._known)
        if hosts != self._hosts:
            self._hosts = hosts
            self._post(events.HostsReported(hosts=hosts))

    def _report_of(self, host: Host) -> HostReport:
        report = report_of(host, self._constraint, counts_cores=self._counts_cores)
        dead = report.state == "RUNNING" and report.host in self._check.unreachable
        return msgspec.structs.replace(report, state=UNREACHABLE) if dead else report

    def _look_at_pending(self) -> None:
        waits = self._waiting()
        why = self._rm.why_pending(self._application_id) if waits else ""
        # A container takes a moment to come: at the first look that is nothing to tell.
        reason = why if self._waited else ""
        self._waited = waits
        if reason != self._pending_reason:
            self._pending_reason = reason
            self._post(events.PendingExplained(reason=reason))
