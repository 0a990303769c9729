"""Counts for how many executors the cluster has room, in use or free."""

from __future__ import annotations

from collections.abc import Callable

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.hosts import GONE_STATES, UNREACHABLE, Hosts
from yarnspec.core.containers.profiles import Profiles
from yarnspec.core.messages.events import HostReport
from yarnspec.core.messages.settings import Settings

_COME_BACK = frozenset({"LOST", UNREACHABLE})
"""The states of a host that is gone and may come back by itself."""


class Room:
    """The number of executors for which the cluster has room; None if nobody knows.

    ``suits`` says of a host whether executors of the usual size may be there at all.
    """

    def __init__(
        self,
        settings: Settings,
        hosts: Hosts,
        blocklist: Blocklist,
        suits: Callable[[HostReport], bool],
        profiles: Profiles,
    ) -> None:
        self._profiles = profiles
        self._most = settings.placement.max_per_host or None
        self._suits = suits
        self._hosts = hosts
        self._blocklist = blocklist

    def count(self, *, whole: bool = False) -> int | None:
        """The room on the hosts that run and are not blocked; ``whole``: on all that run now or may run again."""
        reports = [report for report in self._hosts.reports.values() if self._suits(report)]
        running = [report for report in reports if report.host in self._hosts.running]
        if not self._hosts.reported or any(report.memory_mb <= 0 for report in running):
            return None
        if whole:
            counted = [report for report in reports if report.state not in GONE_STATES or report.state in _COME_BACK]
        else:
            counted = [report for report in running if report.host not in self._blocklist]
        size_mb = max(1, self._profiles.usual.memory_mb)
        # A host that does not run may report no memory.
        rooms = (max(0, report.memory_mb) // size_mb for report in counted)
        return sum(room if self._most is None else min(room, self._most) for room in rooms)
