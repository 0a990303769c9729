"""Gives each container that is asked for its place, and relaxes a rule that the cluster cannot keep.

The places come from the rules of ``placement_model.py``. A container is first asked for strictly on one host: near the
data of waiting tasks, or where spreading puts it. When that host does not answer in time, another one is asked in the
same way. Then the container may come on one of several hosts with such data, or else of the emptiest hosts, and at last
anywhere. The time counts from the call that told the ResourceManager. Each step is told as ``RelaxPlacement`` with its
reason. A container that is required on a host is asked for there until the room that required it lets go
(``ExecutorTable.set_required_hosts``).

When a report shows room that was not there before, containers that may come anywhere are spread again, as many as have
room. Those that wait for a crowded host move to an emptier one.

The limit ``placement.max_per_host`` is hard. Under it every ask names one host, and counts on it: so no two asks can
fill the same place. An ask that waits in vain moves on to another host, again and again. Each time it waits twice as
long, up to a minute or so. A container that finds no place under the limit is not asked for until there is one. Places
are counted for each size of executors: some hosts do not have what a size needs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.asks import Ask
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placement_model import MOST_NAMED, HostLoad, Loads, Step, shares, turn_of, uneven
from yarnspec.core.containers.profiles import USUAL, lacks
from yarnspec.core.messages.commands import Command, PlacementRule, RelaxPlacement, WantedContainer, Warn
from yarnspec.core.messages.events import ExecutorProfile, HostReport
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers

SPREAD_TIMER = "placement-spread"

_NEXT: dict[Step, Step] = {"host": "another", "another": "hosts", "hosts": "anywhere"}
_RULES: dict[Step, PlacementRule] = {"host": "spread", "another": "spread", "hosts": "several", "anywhere": ""}
_LONGEST_WAIT = 16
"""Under the limit an ask waits for its host this many times ``placement.spread_wait`` at most."""
_SHOWN_HOSTS = 4
_MEMORY, _CORES = "memory-mb", "vcores"
"""YARN's names of the two that are not among the resource types of a host."""


class _Ours:
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

    def since(self, before: _Ours, host: str) -> Mapping[str, int]:
        """How much more is taken on a host than before, and how much less where containers have ended."""
        more = Counter(self._taken.get(host, {}))
        more.subtract(before._taken.get(host, {}))
        return more


class _Late(NamedTuple):
    """An ask that waited in vain: how it was asked for, and for how long."""

    ask: Ask
    before: WantedContainer
    waited_ms: int


class Placing:
    """The places of the containers that are asked for.

    ``blocked`` tells the hosts that containers are kept off, ``factor`` how many times slower than usual a host is.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        containers: ExecutorTable,
        hosts: Hosts,
        timers: Timers,
        blocked: Callable[[], tuple[str, ...]],
        factor: Callable[[str], float],
    ) -> None:
        self._options = settings.placement
        self._label = settings.executor_label or settings.queue_label
        self._containers = containers
        self._profiles = containers.profiles
        self._asks = containers.asks
        self._hosts = hosts
        self._timers = timers
        self._blocked = blocked
        self._factor = factor
        self._seen: tuple[int, tuple[str, ...]] = (0, ())
        self._usable: frozenset[str] = frozenset()
        self._at_report = _Ours()
        self._with_room: frozenset[tuple[str, int]] = frozenset()
        self._silent: dict[tuple[str, int], Mapping[str, int | None]] = {}
        self._relaxed: dict[str, str] = {}
        self._not_asked = (0, "")
        self._due_ms: int | None = None
        self._application_id = ""
        self._turns: dict[str, int] = {}

    def begin(self, application_id: str) -> None:
        """The application has begun; its id decides between hosts that are alike."""
        self._application_id = application_id
        self._turns.clear()

    def _turn(self, host: str) -> int:
        if host not in self._turns:
            self._turns[host] = turn_of(self._application_id, host)
        return self._turns[host]

    @property
    def spreads(self) -> bool:
        """Whether containers get places at all, so that the hosts have to be known before one is asked for."""
        return self._options.spread or self._limit is not None

    @property
    def _limit(self) -> int | None:
        return self._options.max_per_host or None

    @property
    def waits(self) -> bool:
        """Whether nothing may be asked for yet: a hard limit for each host needs to know the hosts."""
        return self._limit is not None and not self._hosts.reported

    def ask(self) -> tuple[str, ...]:
        """Ask for what is missing, as far as the limit leaves places; the new ids."""
        self._heed_hosts()
        return self._containers.ask(self._places_left if self._limit is not None else None)

    def _places_left(self, profile: int) -> int:
        """How many more containers of this profile may be asked for under the limit.

        An ask that has no place yet will take one of these, if it needs all resource types that the profile needs.
        """
        needed = self._profiles.of(profile).resources.keys()
        new = [ask for ask in self._asks.all if not ask.named and not ask.placeless]
        rivals = sum(needed <= self._profiles.of(ask.wanted.profile).resources.keys() for ask in new)
        return max(0, (self._loads((), self._profiles.of(profile)).places_left or 0) - rivals)

    def settle(self, now_ms: int) -> list[Command]:
        """Place what has no place, and relax what has waited for long enough."""
        self._heed_hosts()
        late = self._take_late(now_ms)
        if self._limit is not None:
            waiting = {ask.wanted.profile for ask in self._asks.all if ask.placeless}
            open_to = {profile for profile in waiting if self._places_left(profile)}
            self._asks.place_again(lambda ask: ask.placeless and ask.wanted.profile in open_to)
        unplaced = self._asks.take_unplaced()
        if not unplaced:
            return [] if self._due_ms is None or now_ms < self._due_ms else self._next_look()
        roomless: list[str] = []
        # Profiles that need the most resource types find the fewest hosts, and choose first.
        for profile in sorted({ask.wanted.profile for ask in unplaced}, key=self._by_choice):
            loads = self._loads(unplaced, self._profiles.of(profile))
            same = [ask for ask in unplaced if ask.wanted.profile == profile]
            roomless += [ask.wanted.id for ask in same if not self._place(ask, loads, now_ms)]
            unplaced = [ask for ask in unplaced if ask.wanted.profile != profile]
        commands = self._tell_relaxed(late)
        told = {one.before.id for one in late}
        if roomless := [each for each in roomless if each not in told]:
            none = self._why_no_host()
            said = f"{none}: {len(roomless)} containers wait" if none else ""
            said = said or f"no host has room for {len(roomless)} containers now: they may come anywhere"
            commands.append(RelaxPlacement(rule="spread", wanted=tuple(roomless), reason=said))
        return commands + self._next_look()

    def _by_choice(self, profile: int) -> tuple[int, int]:
        return -len(self._profiles.of(profile).resources), profile

    def tell_not_asked(self) -> list[Command]:
        """Tell of the executors that the limit leaves no place for, when their number has changed."""
        if self._limit is None:
            return []
        missing = self._containers.missing + sum(self._containers.missing_by_profile.values())
        rest = missing + sum(ask.placeless for ask in self._asks.all)
        none = self._why_no_host()
        if (rest, none) == self._not_asked:
            return []
        self._not_asked = (rest, none)
        if not rest:
            return []
        leaving = self._there().leaving.total()
        why = none or (
            f"at most {self._limit} may be on one host (placement.max_per_host), and {len(self._usable)} hosts take "
            "containers" + (f"; {leaving} that are given up have not ended" if leaving else "")
        )
        return [Warn(reason=f"{rest} executors are not asked for: {why}", about="placement.max_per_host")]

    def _why_no_host(self) -> str:
        """Which rule leaves no host at all, whether it has room or not; empty if there is one."""
        if self._usable:
            return ""
        running = [self._hosts.reports[host] for host in self._hosts.running]
        if not running:
            return "no host is running"
        if not any(self._has_label(one) for one in running):
            if self._label:
                return f"no running host has the node label {self._label}"
            return "every running host has a node label, and executors have none"
        if not any(self._suits(one) for one in running):
            return f"no running host satisfies {self._options.constraint}"
        return "all running hosts that may be used are blocked"

    def _next_look(self) -> list[Command]:
        due_ms = [ask.due_ms for ask in self._asks.all if ask.due_ms is not None]
        self._due_ms = min(due_ms, default=None)
        if self._due_ms is None:
            self._timers.cancel(SPREAD_TIMER)
            return []
        said = f"{len(due_ms)} containers are asked for on certain hosts, which may not answer"
        return [self._timers.set(SPREAD_TIMER, self._due_ms, said)]

    def acknowledged(self, now_ms: int) -> list[Command]:
        """The ResourceManager was told of all places: from now on the time of those runs that wait for containers."""
        waiting = [ask for ask in self._asks.all if ask.waits]
        for ask in waiting:
            ask.waits, ask.due_ms = False, now_ms + self._wait_ms(ask)
        return self._next_look() if waiting else []

    def _wait_ms(self, ask: Ask) -> int:
        """How long the ask waits for the hosts that it names."""
        times = min(2**ask.tries, _LONGEST_WAIT) if self._limit is not None else 1
        return times * self._options.spread_wait_ms

    def explain(self, host: str) -> tuple[str, ...]:
        """How many containers of ours a host has and may have, and what was relaxed on its account."""
        ours = self._there()
        there, leaving = ours.executors[host], ours.leaving[host]
        asked = sum(ask.named[:1] == (host,) for ask in self._asks.all)
        if not (there or leaving or asked or host in self._relaxed):
            return ()
        ending = f", {leaving} are given up and have not ended" if leaving else ""
        limit = f", and at most {self._limit} may be" if self._limit is not None else ""
        said = f"{there} executors run or start on it, {asked} are asked for there{ending}{limit}"
        return (said, self._relaxed[host]) if host in self._relaxed else (said,)

    # the hosts

    def _heed_hosts(self) -> None:
        """Ask again for what was asked for on hosts that are blocked or gone now, and for what others have room for."""
        seen = (self._hosts.reports_taken, self._blocked())
        if seen == self._seen:
            return
        reported = seen[0] != self._seen[0]
        if reported:
            self._at_report = self._there()
            reports = self._hosts.reports
            self._silent = {
                (host, size): free
                for (host, size), free in self._silent.items()
                if host in reports and _free(reports[host]) == free
            }
        self._seen = seen
        suited = {one.host for one in self._hosts.reports.values() if self._suits(one)}
        self._usable = (self._hosts.running & suited) - set(seen[1])
        if not self.spreads:
            return
        misplaced = {ask.wanted.id for ask in self._asks.all if not ask.required and self._misplaced(ask)}
        if reported and self._asks.all:
            misplaced |= self._below_their_room() | self._crowded()
        for ask in self._asks.place_again(lambda ask: ask.wanted.id in misplaced):
            ask.step, ask.tries = "host", 0

    def _below_their_room(self) -> set[str]:
        """The asks that may come anywhere and need not any more: as many as there is room, where some of it is new."""
        anywhere: dict[int, list[str]] = {}
        for ask in self._asks.all:
            if ask.step == "anywhere" and not ask.placeless:
                anywhere.setdefault(ask.wanted.profile, []).append(ask.wanted.id)
        rooms = {
            (host, profile): room
            for profile in anywhere
            for host in self._usable
            if (room := self._room_reported(host, self._profiles.of(profile))) > 0
        }
        before, self._with_room = self._with_room, frozenset(rooms)
        fresh = {profile for _, profile in rooms.keys() - before}
        return {
            one
            for profile in fresh
            for one in anywhere[profile][: sum(room for (_, of), room in rooms.items() if of == profile)]
        }

    def _crowded(self) -> set[str]:
        """The asks that wait for a host that has one too many of ours, by what the hosts report now."""
        waiting: dict[str, list[str]] = {}
        for ask in self._asks.all:
            if ask.wanted.rule == "spread" and ask.step == "host" and ask.wanted.profile == USUAL:
                waiting.setdefault(ask.wanted.hosts[0], []).append(ask.wanted.id)
        loads = self._loads_with((), self._profiles.usual) if waiting else ()
        return {waiting[host].pop() for host in uneven(loads, self._limit) if waiting.get(host)}

    def suits(self, host: HostReport) -> bool:
        """Whether executors of the usual size may be on such a host, by label, constraint and resource types."""
        return self._suits(host) and not lacks(host, self._profiles.usual)

    def _suits(self, host: HostReport) -> bool:
        return host.suits and self._has_label(host)

    def _has_label(self, host: HostReport) -> bool:
        return self._label in host.labels if self._label else not host.labels

    def _misplaced(self, ask: Ask) -> bool:
        if not ask.named:
            return False
        usable = [host for host in ask.named if host in self._usable]
        # Under the limit an ask never becomes free to come anywhere: it moves on to where there is room.
        size = self._profiles.of(ask.wanted.profile)
        room = any(self._room_reported(host, size) for host in usable)
        stuck = self._limit is not None and ask.step == "another" and not room
        return not usable or stuck

    def _room_reported(self, host: str, size: ExecutorProfile, ours: _Ours | None = None) -> int:
        """How many containers of this size fit by the last report, and by what is ``ours`` since then."""
        report = self._hosts.reports.get(host)
        if report is None or report.free_memory_mb is None or (host, size.id) in self._silent:
            return 0
        free = _free(report)
        needed = {_MEMORY: max(1, size.memory_mb), **size.resources}
        if report.free_vcores is not None:
            needed[_CORES] = max(1, size.cores)
        new = ours.since(self._at_report, host) if ours is not None else {}
        return min(((free.get(what) or 0) - new.get(what, 0)) // amount for what, amount in needed.items())

    def _there(self) -> _Ours:
        there = _Ours()
        for row in self._containers.rows:
            if row.state == "releasing":
                there.add_leaving(row.host, self._profiles.of(row.profile))
            elif row.state != "wanted":
                there.add(row.host, self._profiles.of(row.profile))
        return there

    def _loads(self, unplaced: Collection[Ask], size: ExecutorProfile) -> Loads:
        return Loads(self._loads_with(unplaced, size), self._limit)

    def _loads_with(self, unplaced: Collection[Ask], size: ExecutorProfile) -> Iterator[HostLoad]:
        """The usable hosts with what is there, and with what is asked for there, but for the asks without a place.

        Their room is for containers of this size.
        """
        ours = self._there()
        without = {id(ask) for ask in unplaced}
        for ask in self._asks.all:
            # An ask for several hosts binds none of them.
            if id(ask) not in without and len(ask.named) == 1:
                ours.add(ask.named[0], self._profiles.of(ask.wanted.profile))
        return self._host_loads(ours, ours.executors, size, self._lacking(ours, size))

    def _lacking(self, ours: _Ours, size: ExecutorProfile) -> Mapping[str, float]:
        """How many more executors of this size the hosts should have that hold data of waiting tasks."""
        local = self._profiles.local_tasks(size.id)
        if local is None:
            return {}
        wanted = self._containers.wanted if size.id == USUAL else size.count
        useful = min(wanted, math.ceil(local.tasks / size.slots))
        there = ours.of_profile(size.id)
        return {host: share - there[host] for host, share in shares(local.hosts, local.total, useful).items()}

    def _host_loads(
        self, ours: _Ours, executors: Counter[str], size: ExecutorProfile, lacking: Mapping[str, float]
    ) -> Iterator[HostLoad]:
        for host in self._usable:
            if not lacks(self._hosts.reports[host], size):
                room = self._room_reported(host, size, ours)
                yield HostLoad(
                    host,
                    containers=executors[host],
                    room=room,
                    factor=self._factor(host),
                    lacking=lacking.get(host, 0),
                    leaving=ours.leaving[host],
                    silent=(host, size.id) in self._silent,
                    turn=self._turn(host),
                )

    def uneven(self) -> tuple[str, ...]:
        """The hosts that have an executor too many, once for each; none without spreading, or while some are asked for.

        Executors that are required on a host stay there: with saved outputs to wait for nothing is uneven. Those that
        are near data of waiting tasks stay, too.
        """
        self._heed_hosts()
        if not self._options.spread or self._asks.all or self._profiles.local_tasks(USUAL) is not None:
            return ()
        there = Counter(row.host for row in self._containers.rows if row.state == "running" and row.ordinary)
        return uneven(self._host_loads(self._there(), there, self._profiles.usual, {}), self._limit)

    # one ask

    def _place(self, ask: Ask, loads: Loads, now_ms: int) -> bool:
        """Give the ask a place by its rules as far as they hold; False when no host has room for it."""
        ask.due_ms, ask.waits = None, False
        if ask.required and not loads.below_limit(ask.required):
            self._asks.put_off(ask)
            return True
        if ask.required:
            loads.take(ask.required)
            self._asks.put(ask, hosts=(ask.required,), strict=True, rule="require")
            return True
        rule, hosts = self._hosts_for(ask, loads) if self.spreads and ask.step != "anywhere" else ("", ())
        if hosts:
            loads.take(hosts[0])
            ask.waits = self._asks.put(ask, hosts=hosts, not_hosts=ask.avoid, strict=True, rule=rule)
            if not ask.waits:
                ask.due_ms = now_ms + self._wait_ms(ask)
            return True
        if self._limit is not None:
            self._asks.put_off(ask)
            return True
        told = self.spreads and ask.step != "anywhere" and self._room_is_known
        ask.step = "anywhere"
        self._asks.put(ask, hosts=(), not_hosts=ask.avoid, strict=False, rule="avoid" if ask.avoid else "")
        return not told

    def _hosts_for(self, ask: Ask, loads: Loads) -> tuple[PlacementRule, tuple[str, ...]]:
        """On which hosts to ask now, the emptiest one first, and by which rule."""
        most = MOST_NAMED if ask.step == "hosts" else 1
        # Under the limit the second step is any other host. An executor for copies has no data to be near to.
        near = ask.step == "host" or (self._limit is None and ask.wanted.rule == "prefer")
        if self._options.spread and near and not ask.extra and (preferred := loads.preferred(ask.avoid, most)):
            return "prefer", preferred
        limited = self._limit is not None and (ask.step == "another" or not self._options.spread)
        rule: PlacementRule = "limit" if limited else _RULES[ask.step]
        found = loads.several(ask.avoid, most)
        if found or self._limit is None or (below := loads.below(ask.avoid)) is None:
            return rule, found
        if below.silent:  # All were asked in vain: begin again.
            self._silent = {key: free for key, free in self._silent.items() if key[1] != ask.wanted.profile}
        return rule, (below.host,)

    @property
    def _room_is_known(self) -> bool:
        return any(one.free_memory_mb is not None for one in self._hosts.reports.values())

    def _take_late(self, now_ms: int) -> list[_Late]:
        """Those that have waited for long enough take the next step, and get a new place."""
        if self._due_ms is None or now_ms < self._due_ms:
            return []
        late = [
            _Late(ask, ask.wanted, self._wait_ms(ask))
            for ask in self._asks.place_again(lambda ask: ask.due_ms is not None and ask.due_ms <= now_ms)
        ]
        for profile in {one.before.profile for one in late}:
            same = [one.ask for one in late if one.before.profile == profile]
            blamed = self._note_silent({host for ask in same for host in ask.named}, profile)
            for ask in same:
                ask.tries += 1
                ask.step = self._next_step(ask.step, blamed=blamed)
        return late

    def _next_step(self, step: Step, *, blamed: bool) -> Step:
        if self._limit is not None:
            return "another"
        return _NEXT[step] if blamed or step != "host" else "hosts"

    def _note_silent(self, hosts: set[str], profile: int) -> bool:
        """These hosts gave no container of this size; whether that is laid to them.

        When every host was silent, the queue is full or the ResourceManager is slow: no host is to blame. Under the
        limit they are noted all the same, so that an ask goes on to all others first.
        """
        size = self._profiles.of(profile)
        blamed = any(self._room_reported(host, size) > 0 for host in self._usable - hosts)
        if blamed or self._limit is not None:
            reports = self._hosts.reports
            self._silent.update(((host, size.id), _free(reports[host])) for host in hosts if host in reports)
        return blamed

    def _tell_relaxed(self, late: list[_Late]) -> list[Command]:
        """Tell which rule gave way for those that waited in vain, now that they have a new place."""
        alike: dict[tuple[PlacementRule, str, int], list[_Late]] = {}
        for one in late:
            if one.ask.placeless or one.ask.named == one.before.hosts:
                continue
            rule = one.before.rule
            if rule == "limit" or (rule == "prefer" and one.ask.wanted.rule == "prefer"):
                rule = "spread"
            alike.setdefault((rule, self._wider(one.ask), one.waited_ms), []).append(one)
        return [self._relaxed_by(found, rule, wider, ms) for (rule, wider, ms), found in alike.items()]

    def _wider(self, ask: Ask) -> str:
        """Where the ask may come now."""
        if self._limit is not None:
            return "on another host below the limit"
        if not ask.named:
            return "anywhere"
        if ask.wanted.rule == "prefer":
            return "on other hosts with data of tasks"
        return "on one other host" if ask.step == "another" else "on any of the emptiest hosts"

    def _relaxed_by(self, late: list[_Late], rule: PlacementRule, wider: str, waited_ms: int) -> RelaxPlacement:
        hosts = tuple(sorted({host for one in late for host in one.before.hosts}))
        shown = ", ".join(hosts[:_SHOWN_HOSTS]) + (", …" if len(hosts) > _SHOWN_HOSTS else "")
        said = f"{len(late)} containers did not come on {shown} within {waited_ms / 1000:g} s: they may come {wider}"
        self._relaxed.update(dict.fromkeys(hosts, said))
        return RelaxPlacement(rule=rule, wanted=tuple(one.before.id for one in late), hosts=hosts, reason=said)


def _free(host: HostReport) -> Mapping[str, int | None]:
    """What is free on a host by its report."""
    return {_MEMORY: host.free_memory_mb, _CORES: host.free_vcores, **host.free_resources}
