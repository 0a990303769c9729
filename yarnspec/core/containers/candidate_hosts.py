"""The hosts that may take containers: which of them suit, what room each has, and what of ours is there.

The room is that of the ResourceManager's last report, less what came since then. A host that gave nothing in time has
none for a while, or until a report shows that more containers fit there than before. Places are counted for each size
of executors: some hosts do not have what a size needs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.asks import Ask
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placement_model import HostLoad, Loads, shares, turn_of, uneven
from yarnspec.core.containers.profiles import USUAL, lacks, why_other_label
from yarnspec.core.messages.events import ExecutorProfile, HostReport
from yarnspec.core.messages.settings import Settings

_MEMORY, _CORES = "memory-mb", "vcores"
"""YARN's names of the two that are not among the resource types of a host."""
_NOTHING: Mapping[str, int] = {}
_SILENT_WAITS = 15
"""A host that gave nothing is asked again after so many waits: perhaps not the host was the cause, but a full queue."""


class _Silence(NamedTuple):
    """A host gave no container: how many executors of the profile it had, and until when it is not asked again."""

    executors: int
    until_ms: int


class Ours:
    """Our executors on each host, and what they take there of memory, cores and each resource type.

    ``leaving``: those that are given up and have not ended. They take as much as others.
    """

    def __init__(self) -> None:
        self.executors: Counter[str] = Counter()
        self.leaving: Counter[str] = Counter()
        self._by_profile: dict[int, Counter[str]] = {}
        self._taken: dict[str, Counter[str]] = {}

    def add(self, host: str, size: ExecutorProfile) -> None:
        """One more executor of this size is there, or asked for there."""
        self.executors[host] += 1
        self._by_profile.setdefault(size.id, Counter())[host] += 1
        self._take(host, size)

    def add_leaving(self, host: str, size: ExecutorProfile) -> None:
        """One more executor of this size is given up there, and has not ended."""
        self.leaving[host] += 1
        self._take(host, size)

    def _take(self, host: str, size: ExecutorProfile) -> None:
        taken = self._taken.setdefault(host, Counter())
        taken[_MEMORY] += size.memory_mb
        taken[_CORES] += size.cores
        taken.update(size.resources)

    def of_profile(self, profile: int) -> Counter[str]:
        """How many executors of a profile each host has."""
        return self._by_profile.get(profile, Counter())

    def since(self, before: Ours, host: str) -> Mapping[str, int]:
        """How much more is taken on a host than before, and how much less where containers have ended."""
        more = Counter(self._taken.get(host, {}))
        more.subtract(before._taken.get(host, {}))
        return more


class CandidateHosts:
    """The hosts as placing sees them; ``look`` brings them up to date.

    ``blocked`` tells the hosts that containers are kept off, ``factor`` how many times slower than usual a host is.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        containers: ExecutorTable,
        hosts: Hosts,
        blocked: Callable[[], tuple[str, ...]],
        factor: Callable[[str], float],
    ) -> None:
        self.usable: frozenset[str] = frozenset()
        """The running hosts that suit and are not blocked."""
        self._label = settings.executor_label or settings.queue_label
        self._constraint = settings.placement.constraint
        self._limit = settings.placement.max_per_host or None
        self._containers = containers
        self._profiles = containers.profiles
        self._hosts = hosts
        self._blocked = blocked
        self._factor = factor
        self._seen: tuple[int, tuple[str, ...]] = (0, ())
        self._at_report = Ours()
        self._reports: Mapping[str, HostReport] = {}
        self._reports_before: Mapping[str, HostReport] = {}
        self._silence_ms = _SILENT_WAITS * settings.placement.spread_wait_ms
        self.changes = 0
        """Grows with new reports and other blocks, and when a host falls silent or may be asked again."""
        self._silent: dict[tuple[str, int], _Silence] = {}
        """The hosts that gave no container of a profile."""
        self._application_id = ""
        self._turns: dict[str, int] = {}

    def begin(self, application_id: str) -> None:
        """The application has begun; its id decides between hosts that are alike."""
        self._application_id = application_id
        self._turns.clear()

    @property
    def reported(self) -> bool:
        """Whether the hosts are known at all."""
        return self._hosts.reported

    def look(self) -> Literal["", "blocks", "report"]:
        """Take over a newer report, or other blocks; what of them is new, a report first."""
        seen = (self._hosts.reports_taken, self._blocked())
        if seen == self._seen:
            return ""
        reported = seen[0] != self._seen[0]
        self._seen = seen
        self.changes += 1
        reports = self._hosts.reports
        suited = {one.host for one in reports.values() if self._suits(one)}
        self.usable = (self._hosts.running & suited) - set(seen[1])
        if not reported:
            return "blocks"
        self._at_report = self.ours()
        self._reports_before, self._reports = self._reports, {host: reports[host] for host in self.usable}
        self._silent = {
            (host, profile): silence
            for (host, profile), silence in self._silent.items()
            if host in reports
            and self._at_report.of_profile(profile)[host] <= silence.executors
            and not self._grown(host, self._profiles.of(profile))
        }
        return "report"

    def new_room(self, size: ExecutorProfile) -> int:
        """How many containers of this size more fit than by the report before, as far as the limit leaves places."""
        grown = {host: more for host in self.usable if (more := self._grown(host, size))}
        if self._limit is None or not grown:
            return sum(grown.values())
        ours, limit = self.ours(), self._limit
        places = {host: limit - ours.executors[host] - ours.leaving[host] for host in grown}
        return sum(min(more, max(0, places[host])) for host, more in grown.items())

    def _grown(self, host: str, size: ExecutorProfile) -> int:
        before = max(0, _fit(self._reports_before.get(host), size))
        return max(0, _fit(self._reports.get(host), size) - before)

    def suits(self, host: HostReport) -> bool:
        """Whether executors of the usual size may be on such a host, by label, constraint and resource types."""
        return self._suits(host) and not lacks(host, self._profiles.usual)

    def _suits(self, host: HostReport) -> bool:
        return host.suits and self._has_label(host)

    def _has_label(self, host: HostReport) -> bool:
        return not why_other_label(host.labels, self._label)

    def why_none(self) -> str:
        """Which rule leaves no host at all, whether it has room or not; empty if there is one."""
        if self.usable:
            return ""
        running = [self._hosts.reports[host] for host in self._hosts.running]
        if not running:
            return "no host is running"
        if not any(self._has_label(one) for one in running):
            if self._label:
                return f"no running host has the node label {self._label}"
            return "every running host has a node label, and executors have none"
        if not any(self._suits(one) for one in running):
            return f"no running host satisfies {self._constraint}"
        return "all running hosts that may be used are blocked"

    @property
    def room_is_known(self) -> bool:
        """Whether any host tells what is free on it."""
        return any(one.free_memory_mb is not None for one in self._hosts.reports.values())

    def room(self, host: str, size: ExecutorProfile, ours: Ours | None = None) -> int:
        """How many containers of this size fit by the last report, and by what is ``ours`` since then."""
        if (host, size.id) in self._silent:
            return 0
        return _fit(self._hosts.reports.get(host), size, ours.since(self._at_report, host) if ours is not None else {})

    def ours(self) -> Ours:
        """Our executors on each host now, without those that are asked for."""
        there = Ours()
        for row in self._containers.rows:
            if row.state == "releasing":
                there.add_leaving(row.host, self._profiles.of(row.profile))
            elif row.state != "wanted":
                there.add(row.host, self._profiles.of(row.profile))
        return there

    def host_loads(self, unplaced: Collection[Ask], size: ExecutorProfile) -> Iterator[HostLoad]:
        """The usable hosts with what is there, and with what is asked for there, but for the asks without a place.

        Their room is for containers of this size.
        """
        ours = self.ours()
        without = {id(ask) for ask in unplaced}
        for ask in self._containers.asks.all:
            # An ask for several hosts binds none of them.
            if id(ask) not in without and len(ask.named) == 1:
                ours.add(ask.named[0], self._profiles.of(ask.wanted.profile))
        return self._loads_of(ours, ours.executors, size, self._lacking(ours, size))

    def loads(self, unplaced: Collection[Ask], size: ExecutorProfile) -> Loads:
        """The same hosts, as places are taken on them."""
        return Loads(self.host_loads(unplaced, size), self._limit)

    def _lacking(self, ours: Ours, size: ExecutorProfile) -> Mapping[str, float]:
        """How many more executors of this size the hosts should have that hold data of waiting tasks."""
        local = self._profiles.local_tasks(size.id)
        if local is None:
            return {}
        wanted = self._containers.wanted if size.id == USUAL else size.count
        useful = min(wanted, math.ceil(local.tasks / size.slots))
        there = ours.of_profile(size.id)
        return {host: share - there[host] for host, share in shares(local.hosts, local.total, useful).items()}

    def _loads_of(
        self, ours: Ours, executors: Counter[str], size: ExecutorProfile, lacking: Mapping[str, float]
    ) -> Iterator[HostLoad]:
        for host in self.usable:
            if not lacks(self._hosts.reports[host], size):
                room = self.room(host, size, ours)
                yield HostLoad(
                    host,
                    containers=executors[host],
                    room=room,
                    factor=self._factor(host),
                    lacking=lacking.get(host, 0),
                    leaving=ours.leaving[host],
                    turn=self._turn(host),
                )

    def uneven(
        self, executors: Counter[str], movable: Counter[str], not_to: frozenset[str]
    ) -> tuple[tuple[str, str], ...]:
        """The hosts that have one of these executors too many, and where it could go: a pair for each that is movable.

        None goes to a host of ``not_to``.
        """
        most = max((executors[host] for host in movable), default=0)
        if all(most - executors[host] <= 1 for host in self.usable):
            return ()  # whatever room they have
        loads = list(self._loads_of(self.ours(), executors, self._profiles.usual, {}))
        for one in loads:
            one.room *= one.host not in not_to
        return uneven(loads, self._limit, movable=movable)

    def note_silent(self, hosts: set[str], profile: int, now_ms: int) -> bool:
        """These hosts gave no container of this size; whether that is laid to them.

        When every host was silent, the queue is full or the ResourceManager is slow: no host is to blame, nor are those
        that were silent before.
        """
        size, ours = self._profiles.of(profile), self.ours()
        self.changes += 1
        blamed = any(self.room(host, size, ours) > 0 for host in self.usable - hosts)
        if blamed:
            there = ours.of_profile(profile)
            until_ms = now_ms + self._silence_ms
            self._silent.update({(host, profile): _Silence(there[host], until_ms) for host in hosts})
        else:
            self._silent = {key: silence for key, silence in self._silent.items() if key[1] != profile}
        return blamed

    def forget_old_silence(self, now_ms: int) -> None:
        """Hosts that were silent long ago have room again."""
        over = [key for key, silence in self._silent.items() if silence.until_ms <= now_ms]
        for key in over:
            del self._silent[key]
        self.changes += bool(over)

    def _turn(self, host: str) -> int:
        if host not in self._turns:
            self._turns[host] = turn_of(self._application_id, host)
        return self._turns[host]


def _fit(report: HostReport | None, size: ExecutorProfile, taken: Mapping[str, int] = _NOTHING) -> int:
    """How many containers of this size fit on a host by its report, less what was ``taken`` since then."""
    if report is None or report.free_memory_mb is None:
        return 0
    free = {_MEMORY: report.free_memory_mb, **report.free_resources}
    needed = {_MEMORY: max(1, size.memory_mb), **size.resources}
    if report.free_vcores is not None:
        free[_CORES], needed[_CORES] = report.free_vcores, max(1, size.cores)
    return min((free.get(what, 0) - taken.get(what, 0)) // amount for what, amount in needed.items())
