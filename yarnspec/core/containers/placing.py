"""Gives each container that is asked for its place, and relaxes a rule that the cluster cannot keep.

The places come from the rules of ``placement_model.py``. A container is first asked for strictly on one host: near the
data of waiting tasks, or where spreading puts it. When that host does not answer in time, another one is asked in the
same way. Then the container may come on one of several hosts with such data, or else of the emptiest hosts, and at last
anywhere. The time counts from the call that told the ResourceManager. Each step is told as ``RelaxPlacement`` with its
reason. A container that is required on a host is asked for there until the room that required it lets go
(``ExecutorTable.set_required_hosts``).

When a report shows room for more containers than the one before, those that may come anywhere are spread again, as many
as there is new room for. Those that wait for a crowded host move to an emptier one.

The limit ``placement.max_per_host`` is hard. Under it the last step is not "anywhere": all hosts below the limit are
dealt out over the asks (``deal``), whether they have room now or not. Each host stands in no more asks than it has
places, so that no host gets too many. The other hosts that an ask named when its container came are dealt out with the
next change of the placement or of the hosts: a version for each container would be as long as all asks. A container
that finds no place under the limit is not asked for until there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.asks import Ask
from yarnspec.core.containers.candidate_hosts import CandidateHosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placement_model import MOST_NAMED, STEPS, HostLoad, Loads, Step, deal, uneven
from yarnspec.core.containers.profiles import USUAL
from yarnspec.core.messages.commands import Command, PlacementRule, RelaxPlacement, WantedContainer, Warn
from yarnspec.core.messages.events import ExecutorProfile, HostReport
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.units import counted

SPREAD_TIMER = "placement-spread"

_NEXT: dict[Step, Step] = {"host": "another", "another": "hosts", "hosts": "anywhere"}
_RULES: dict[Step, PlacementRule] = {"host": "spread", "another": "spread", "hosts": "several", "anywhere": ""}
_SHOWN_HOSTS = 4


class _Late(NamedTuple):
    """An ask that waited in vain, and how it was asked for."""

    ask: Ask
    before: WantedContainer


class Placing:
    """The places of the containers that are asked for.

    ``blocked`` and ``factor``: see ``CandidateHosts``.
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
        self._limited_by = settings.limited_by
        self._containers = containers
        self._profiles = containers.profiles
        self._asks = containers.asks
        self._candidates = CandidateHosts(settings, containers=containers, hosts=hosts, blocked=blocked, factor=factor)
        self._timers = timers
        self._last: Step = STEPS[-1] if self._limit is None else "hosts"
        self._settled_for: int | None = None
        self._hosts_changed = False
        self._relaxed: dict[str, tuple[str, frozenset[str]]] = {}
        """What was last told of hosts on which containers did not come, and of which containers."""
        self._not_asked = (0, "")
        self._due_ms: int | None = None
        self._uneven_at: tuple[int, int, ExecutorProfile, frozenset[str], frozenset[str]] | None = None
        self._uneven: tuple[tuple[str, str], ...] = ()
        self._came_ms: dict[int, int] = {}
        """When the last container came of those that are due at one time."""

    def begin(self, application_id: str) -> None:
        """The application has begun; its id decides between hosts that are alike."""
        self._candidates.begin(application_id)

    def suits(self, host: HostReport) -> bool:
        """Whether executors of the usual size may be on such a host, by label, constraint and resource types."""
        return self._candidates.suits(host)

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
        return self._limit is not None and not self._candidates.reported

    def ask(self) -> tuple[str, ...]:
        """Ask for what is missing, as far as the limit leaves places; the new ids."""
        self._look_at_hosts()
        return self._containers.ask(self._places_left if self._limit is not None else None)

    def _places_left(self, profile: int) -> int:
        """How many more containers of this profile may be asked for under the limit.

        An ask that has no host of its own takes one of these, if it needs all resource types that the profile needs.
        """
        size = self._profiles.of(profile)
        open_ones = [ask for ask in self._asks.all if len(ask.named) != 1 and not ask.placeless]
        rivals = sum(
            size.resources.keys() <= self._profiles.of(ask.wanted.profile).resources.keys() for ask in open_ones
        )
        return max(0, self._places(self._candidates.host_loads((), size)).total() - rivals)

    def _places(self, loads: Iterable[HostLoad]) -> Counter[str]:
        """How many more containers the limit allows on each host."""
        return Counter({one.host: one.places_left(self._limit or 0) for one in loads})

    def settle(self, now_ms: int) -> list[Command]:
        """Place what has no place, and relax what has waited for long enough."""
        self._candidates.forget_old_silence(now_ms)
        self._look_at_hosts()
        late = self._take_late(now_ms)
        changes = self._containers.changes
        changed = changes != self._settled_for
        if self._limit is not None and changed:
            waiting = {ask.wanted.profile for ask in self._asks.all if ask.placeless}
            open_to = {profile for profile in waiting if self._places_left(profile)}
            self._asks.place_again(lambda ask: ask.placeless and ask.wanted.profile in open_to)
        unplaced = self._asks.take_unplaced()
        self._settled_for = None if unplaced else changes
        if not unplaced:
            if self._hosts_changed or self._asks.changed or self._asks.overdrawn:
                self._deal()
            return [] if self._due_ms is None or now_ms < self._due_ms else self._next_look()
        roomless: list[Ask] = []
        # Profiles that need the most resource types find the fewest hosts, and choose first.
        for profile in sorted({ask.wanted.profile for ask in unplaced}, key=self._by_choice):
            loads = self._candidates.loads(unplaced, self._profiles.of(profile))
            same = [ask for ask in unplaced if ask.wanted.profile == profile]
            roomless += [ask for ask in same if not self._place(ask, loads, now_ms)]
            unplaced = [ask for ask in unplaced if ask.wanted.profile != profile]
        self._deal()
        told = {one.before.id for one in late}
        roomless = [ask for ask in roomless if ask.wanted.id not in told and not ask.placeless]
        return self._tell_relaxed(late) + self._tell_roomless(roomless) + self._next_look()

    def _by_choice(self, profile: int) -> tuple[int, int]:
        return -len(self._profiles.of(profile).resources), profile

    def tell_not_asked(self) -> list[Command]:
        """Tell of the executors that wait for a host as long as none suits, or that the limit leaves no place for."""
        none = self._candidates.why_none() if self._candidates.reported else ""
        if self._limit is None:
            rest = len(self._asks.all) if none else 0
        else:
            missing = self._containers.missing + sum(self._containers.missing_by_profile.values())
            rest = missing + sum(ask.placeless for ask in self._asks.all)
        if (rest, none) == self._not_asked:
            return []
        self._not_asked = (rest, none)
        if not rest:
            return []
        if self._limit is None:
            return [
                Warn(reason=f"{none}: {counted(rest, 'container waits', 'containers wait')}", about="no host suits")
            ]
        leaving, hosts = self._candidates.ours().leaving.total(), len(self._candidates.usable)
        ending = counted(leaving, "that is given up has not ended", "that are given up have not ended")
        why = none or (
            f"at most {self._limit} may be on one host ({self._limited_by}), and "
            + counted(hosts, "host takes containers", "hosts take containers")
            + (f"; {ending}" if leaving else "")
        )
        not_asked = counted(rest, "executor is not asked for", "executors are not asked for")
        return [Warn(reason=f"{not_asked}: {why}", about="placement.max_per_host")]

    def _next_look(self) -> list[Command]:
        due_ms = Counter(ask.due_ms for ask in self._asks.all if ask.due_ms is not None)
        self._came_ms = {due: came for due, came in self._came_ms.items() if due in due_ms}
        self._due_ms = min(map(self._relaxed_at, due_ms), default=None)
        if self._due_ms is None:
            self._timers.cancel(SPREAD_TIMER)
            return []
        said = counted(
            due_ms.total(), "container is asked for on a certain host", "containers are asked for on certain hosts"
        )
        return [self._timers.set(SPREAD_TIMER, self._due_ms, f"{said} and may not come there")]

    def _relaxed_at(self, due_ms: int) -> int:
        """When asks that are due together are relaxed: as long as some of them come, the ResourceManager is at work."""
        return max(due_ms, self._came_ms.get(due_ms, 0) + self._options.spread_wait_ms)

    def acknowledged(self, now_ms: int) -> list[Command]:
        """The ResourceManager was told of all places: from now on the time of those runs that wait for containers."""
        waiting = [ask for ask in self._asks.all if ask.waits]
        for ask in waiting:
            ask.waits, ask.due_ms = False, now_ms + self._options.spread_wait_ms
        return self._next_look() if waiting else []

    def explain(self, host: str) -> tuple[str, ...]:
        """How many containers of ours a host has and may have, and what was relaxed on its account."""
        ours = self._candidates.ours()
        there, leaving = ours.executors[host], ours.leaving[host]
        asked = sum(host in ask.named for ask in self._asks.all)
        relaxed = self._relaxed_for(host)
        if not (there or leaving or asked or relaxed):
            return ()
        ending = counted(leaving, "is given up and has not ended", "are given up and have not ended")
        limit = f", and at most {self._limit} may be" if self._limit is not None else ""
        running = counted(there, "executor runs or starts", "executors run or start")
        said = (
            f"{running} on it, {counted(asked, 'is', 'are')} asked for there{f', {ending}' if leaving else ''}{limit}"
        )
        return (said, *relaxed)

    def _relaxed_for(self, host: str) -> tuple[str, ...]:
        """What was relaxed on account of this host, if that still holds for a container that is asked for."""
        said, wanted = self._relaxed.get(host, ("", frozenset()))
        holds = any(ask.wanted.id in wanted and ask.step != STEPS[0] for ask in self._asks.all)
        return (said,) if holds else ()

    # the hosts

    def _look_at_hosts(self) -> None:
        """Ask again for what was asked for on hosts that are blocked or gone now, and for what others have room for."""
        news = self._candidates.look()
        if not news or not self.spreads:
            return
        self._settled_for, self._hosts_changed = None, True
        misplaced = {ask.wanted.id for ask in self._asks.all if not ask.required and self._misplaced(ask)}
        if news == "report" and self._asks.all:
            misplaced |= self._below_their_room() | self._crowded()
        for ask in self._asks.place_again(lambda ask: ask.wanted.id in misplaced):
            ask.step = STEPS[0]

    def _below_their_room(self) -> set[str]:
        """The asks at the last step that need not be any more: as many as there is new room for."""
        last: dict[int, list[str]] = {}
        for ask in self._asks.all:
            if ask.step == self._last and not ask.required and not ask.placeless:
                last.setdefault(ask.wanted.profile, []).append(ask.wanted.id)
        new = {profile: self._candidates.new_room(self._profiles.of(profile)) for profile in last}
        return {one for profile, ids in last.items() for one in ids[: new[profile]]}

    def _crowded(self) -> set[str]:
        """The asks that wait for a host that has one too many of ours, by what the hosts report now."""
        waiting: dict[str, list[str]] = {}
        for ask in self._asks.all:
            if ask.wanted.rule == "spread" and ask.step == "host" and ask.wanted.profile == USUAL:
                waiting.setdefault(ask.wanted.hosts[0], []).append(ask.wanted.id)
        loads = self._candidates.host_loads((), self._profiles.usual) if waiting else ()
        return {waiting[host].pop() for host, _ in uneven(loads, self._limit) if waiting.get(host)}

    def _misplaced(self, ask: Ask) -> bool:
        return bool(ask.named) and self._candidates.usable.isdisjoint(ask.named)

    def uneven(self, staying: frozenset[str], not_to: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """The hosts that have an executor too many, and where it could go: a pair for each.

        There is none without spreading, or while some are asked for. A host whose executors are all ``staying`` is not
        left, and none goes to a host of ``not_to``. The answer is kept as long as the executors, the hosts and the
        question are the same: how slow hosts are only decides among those that are equally full.

        Executors that are required on a host stay there: with saved outputs to wait for nothing is uneven. Those that
        are near data of waiting tasks stay, too.
        """
        self._look_at_hosts()
        if not self._options.spread or self._asks.all or self._profiles.local_tasks(USUAL) is not None:
            return ()
        at = (self._containers.changes, self._candidates.changes, self._profiles.usual, staying, not_to)
        if at != self._uneven_at:
            rows = [row for row in self._containers.rows if row.state == "running" and row.ordinary]
            there = Counter(row.host for row in rows)
            movable = Counter(row.host for row in rows if row.executor_id not in staying)
            self._uneven_at, self._uneven = at, self._candidates.uneven(there, movable, not_to)
        return self._uneven

    # one ask

    def _place(self, ask: Ask, loads: Loads, now_ms: int) -> bool:
        """Give the ask a place by its rules as far as they hold; False when no host has room for it."""
        ask.due_ms, ask.waits = None, False
        if ask.required and not loads.below_limit(ask.required):
            self._asks.put_off(ask)
            return True
        if ask.required:
            loads.take(ask.required)
            rule: PlacementRule = "spread" if ask.moves else "require"
            self._asks.put(ask, hosts=(ask.required,), strict=True, takes_late=False, rule=rule)
            return True
        spreads = self.spreads and ask.step != self._last
        rule, hosts = self._hosts_for(ask, loads) if spreads else ("", ())
        if hosts:
            loads.take(hosts[0])
            ask.waits = self._asks.put(
                ask,
                hosts=hosts,
                not_hosts=ask.avoid,
                strict=True,
                # It has waited in vain, and nothing but its time was against the hosts that were asked before.
                takes_late=self._limit is None and ask.step != "host",
                rule=rule,
            )
            if not ask.waits:
                ask.due_ms = now_ms + self._options.spread_wait_ms
            return True
        ask.step = self._last
        if self._limit is None:
            self._asks.put(ask, hosts=(), not_hosts=ask.avoid, strict=False, rule="avoid" if ask.avoid else "")
        return not (spreads and self._candidates.room_is_known)

    def _hosts_for(self, ask: Ask, loads: Loads) -> tuple[PlacementRule, tuple[str, ...]]:
        """On which hosts to ask now, the emptiest one first, and by which rule."""
        most = MOST_NAMED if ask.step == "hosts" else 1
        # An executor for copies has no data to be near to.
        near = self._options.spread and not ask.extra and (ask.step == "host" or ask.wanted.rule == "prefer")
        if near and (preferred := loads.preferred(ask.avoid, most)):
            return "prefer", preferred
        return _RULES[ask.step] if self._options.spread else "limit", loads.several(ask.avoid, most)

    def _deal(self) -> None:
        """Under the limit, name all hosts below it in the asks that may come on any of them."""
        self._hosts_changed = self._asks.overdrawn = False
        asks = [ask for ask in self._asks.all if ask.step == self._last and not ask.required]
        if self._limit is None or not asks:
            return
        asks.sort(key=lambda ask: self._by_choice(ask.wanted.profile))
        places: Counter[str] = Counter()
        hosts_of: dict[int, list[str]] = {}
        for profile in {ask.wanted.profile for ask in asks}:
            loads = sorted(self._candidates.host_loads(asks, self._profiles.of(profile)), key=lambda one: one.rank)
            hosts_of[profile] = [one.host for one in loads]
            places |= self._places(loads)
        kinds = {(ask.wanted.profile, ask.avoid) for ask in asks}
        able = {(profile, avoid): frozenset(hosts_of[profile]).difference(avoid) for profile, avoid in kinds}
        able_of = {ask.wanted.id: able[ask.wanted.profile, ask.avoid] for ask in asks}
        dealt = deal({ask.wanted.id: ask.named for ask in asks}, able_of, places)
        for ask in asks:
            if hosts := dealt[ask.wanted.id]:
                self._asks.put(ask, hosts=hosts, not_hosts=ask.avoid, strict=True, rule="limit")
            else:
                ask.step = STEPS[0]
                self._asks.put_off(ask)

    def _take_late(self, now_ms: int) -> list[_Late]:
        """Those that have waited for long enough take the next step, and get a new place."""
        self._came_ms.update(dict.fromkeys(self._asks.came_of, now_ms))
        self._asks.came_of.clear()
        if self._due_ms is None or now_ms < self._due_ms:
            return []
        due_ms = {ask.due_ms for ask in self._asks.all if ask.due_ms is not None}
        due = {one for one in due_ms if self._relaxed_at(one) <= now_ms}
        late = [_Late(ask, ask.wanted) for ask in self._asks.place_again(lambda ask: ask.due_ms in due)]
        for profile in {one.before.profile for one in late}:
            same = [one.ask for one in late if one.before.profile == profile]
            silent = {host for ask in same for host in ask.named}
            blamed = self._candidates.note_silent(silent, profile, now_ms)
            for ask in same:
                ask.step = _NEXT[ask.step] if blamed or ask.step != "host" else "hosts"
        return late

    def _tell_relaxed(self, late: list[_Late]) -> list[Command]:
        """Tell which rule gave way for those that waited in vain, now that they have a new place."""
        alike: dict[tuple[PlacementRule, str], list[WantedContainer]] = {}
        for ask, before in late:
            if ask.placeless or ask.named == before.hosts:
                continue
            rule = before.rule
            if rule == "limit" or (rule == "prefer" and ask.wanted.rule == "prefer"):
                rule = "spread"
            alike.setdefault((rule, self._wider(ask)), []).append(before)
        return [self._relaxed_by(found, rule, wider) for (rule, wider), found in alike.items()]

    def _wider(self, ask: Ask) -> str:
        """Where the ask may come now."""
        if ask.step == self._last:
            return self._anywhere
        if ask.step == "another":
            return "on one other host"
        return "on other hosts with data of tasks" if ask.wanted.rule == "prefer" else "on any of the emptiest hosts"

    @property
    def _anywhere(self) -> str:
        return "anywhere" if self._limit is None else "on any host below the limit"

    def _relaxed_by(self, before: list[WantedContainer], rule: PlacementRule, wider: str) -> RelaxPlacement:
        hosts = tuple(sorted({host for one in before for host in one.hosts}))
        shown = ", ".join(hosts[:_SHOWN_HOSTS]) + (", …" if len(hosts) > _SHOWN_HOSTS else "")
        wait_s = self._options.spread_wait_ms / 1000
        came_not = counted(len(before), "container did not come", "containers did not come")
        said = f"{came_not} on {shown} within {wait_s:g} s: {_it_or_they(len(before))} may come {wider}"
        wanted = tuple(one.id for one in before)
        self._relaxed.update(dict.fromkeys(hosts, (said, frozenset(wanted))))
        return RelaxPlacement(rule=rule, wanted=wanted, hosts=hosts, reason=said)

    def _tell_roomless(self, asks: list[Ask]) -> list[Command]:
        """Tell of those for which no host has room now. That no host suits at all is a warning."""
        if not asks or not self._candidates.usable:
            return []
        count = counted(len(asks), "container")
        said = f"no host has room for {count} now: {_it_or_they(len(asks))} may come {self._anywhere}"
        return [RelaxPlacement(rule="spread", wanted=tuple(ask.wanted.id for ask in asks), reason=said)]


def _it_or_they(count: int) -> str:
    return "it" if count == 1 else "they"
