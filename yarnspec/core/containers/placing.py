"""Gives each container that is asked for its place, and relaxes a rule that the cluster cannot keep.

The places come from the rules of ``placement_model.py``. A container is first asked for strictly on one host: near the
data of waiting tasks, or where spreading puts it. When that host does not answer in time, another one is asked in the
same way. Then the container may come on one of several hosts with such data, or else of the emptiest hosts, and at last
anywhere. The time counts from the call that told the ResourceManager. Each step is told as ``RelaxPlacement`` with its
reason. A container that is required on a host is asked for there until the room that required it lets go
(``ExecutorTable.set_required_hosts``).

When a report shows room for more containers than the one before, those that may come anywhere are spread again, as many
as have room. Those that wait for a crowded host move to an emptier one.

The limit ``placement.max_per_host`` is hard. Under it every ask names one host, and counts on it: so no two asks can
fill the same place. An ask that waits in vain moves on to another host, again and again. Each time it waits twice as
long, up to a minute or so. A container that finds no place under the limit is not asked for until there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.asks import Ask
from yarnspec.core.containers.candidate_hosts import CandidateHosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placement_model import MOST_NAMED, Loads, Step, uneven
from yarnspec.core.containers.profiles import USUAL
from yarnspec.core.messages.commands import Command, PlacementRule, RelaxPlacement, WantedContainer, Warn
from yarnspec.core.messages.events import HostReport
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers

SPREAD_TIMER = "placement-spread"

_NEXT: dict[Step, Step] = {"host": "another", "another": "hosts", "hosts": "anywhere"}
_RULES: dict[Step, PlacementRule] = {"host": "spread", "another": "spread", "hosts": "several", "anywhere": ""}
_LONGEST_WAIT = 16
"""Under the limit an ask waits for its host this many times ``placement.spread_wait`` at most."""
_SHOWN_HOSTS = 4


class _Late(NamedTuple):
    """An ask that waited in vain: how it was asked for, and for how long."""

    ask: Ask
    before: WantedContainer
    waited_ms: int


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
        self._containers = containers
        self._profiles = containers.profiles
        self._asks = containers.asks
        self._candidates = CandidateHosts(settings, containers=containers, hosts=hosts, blocked=blocked, factor=factor)
        self._timers = timers
        self._relaxed: dict[str, str] = {}
        self._not_asked = (0, "")
        self._due_ms: int | None = None

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

        An ask that has no place yet will take one of these, if it needs all resource types that the profile needs.
        """
        needed = self._profiles.of(profile).resources.keys()
        new = [ask for ask in self._asks.all if not ask.named and not ask.placeless]
        rivals = sum(needed <= self._profiles.of(ask.wanted.profile).resources.keys() for ask in new)
        return max(0, (self._candidates.loads((), self._profiles.of(profile)).places_left or 0) - rivals)

    def settle(self, now_ms: int) -> list[Command]:
        """Place what has no place, and relax what has waited for long enough."""
        self._look_at_hosts()
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
            loads = self._candidates.loads(unplaced, self._profiles.of(profile))
            same = [ask for ask in unplaced if ask.wanted.profile == profile]
            roomless += [ask.wanted.id for ask in same if not self._place(ask, loads, now_ms)]
            unplaced = [ask for ask in unplaced if ask.wanted.profile != profile]
        commands = self._tell_relaxed(late)
        told = {one.before.id for one in late}
        if roomless := [each for each in roomless if each not in told]:
            none = self._candidates.why_none()
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
        none = self._candidates.why_none()
        if (rest, none) == self._not_asked:
            return []
        self._not_asked = (rest, none)
        if not rest:
            return []
        leaving, hosts = self._candidates.ours().leaving.total(), len(self._candidates.usable)
        why = none or (
            f"at most {self._limit} may be on one host (placement.max_per_host), and {hosts} hosts take containers"
            + (f"; {leaving} that are given up have not ended" if leaving else "")
        )
        return [Warn(reason=f"{rest} executors are not asked for: {why}", about="placement.max_per_host")]

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
        ours = self._candidates.ours()
        there, leaving = ours.executors[host], ours.leaving[host]
        asked = sum(ask.named[:1] == (host,) for ask in self._asks.all)
        if not (there or leaving or asked or host in self._relaxed):
            return ()
        ending = f", {leaving} are given up and have not ended" if leaving else ""
        limit = f", and at most {self._limit} may be" if self._limit is not None else ""
        said = f"{there} executors run or start on it, {asked} are asked for there{ending}{limit}"
        return (said, self._relaxed[host]) if host in self._relaxed else (said,)

    # the hosts

    def _look_at_hosts(self) -> None:
        """Ask again for what was asked for on hosts that are blocked or gone now, and for what others have room for."""
        news = self._candidates.look()
        if not news or not self.spreads:
            return
        misplaced = {ask.wanted.id for ask in self._asks.all if not ask.required and self._misplaced(ask)}
        if news == "report" and self._asks.all:
            misplaced |= self._below_their_room() | self._crowded()
        for ask in self._asks.place_again(lambda ask: ask.wanted.id in misplaced):
            ask.step, ask.tries = "host", 0

    def _below_their_room(self) -> set[str]:
        """The asks that may come anywhere and need not any more: as many as there is room, where some of it is new."""
        anywhere: dict[int, list[str]] = {}
        for ask in self._asks.all:
            if ask.step == "anywhere" and not ask.placeless:
                anywhere.setdefault(ask.wanted.profile, []).append(ask.wanted.id)
        found: set[str] = set()
        for profile, ids in anywhere.items():
            size = self._profiles.of(profile)
            if self._candidates.room_has_grown(size):
                room = sum(max(0, one.room) for one in self._candidates.host_loads((), size))
                found.update(ids[:room])
        return found

    def _crowded(self) -> set[str]:
        """The asks that wait for a host that has one too many of ours, by what the hosts report now."""
        waiting: dict[str, list[str]] = {}
        for ask in self._asks.all:
            if ask.wanted.rule == "spread" and ask.step == "host" and ask.wanted.profile == USUAL:
                waiting.setdefault(ask.wanted.hosts[0], []).append(ask.wanted.id)
        loads = self._candidates.host_loads((), self._profiles.usual) if waiting else ()
        return {waiting[host].pop() for host in uneven(loads, self._limit) if waiting.get(host)}

    def _misplaced(self, ask: Ask) -> bool:
        if not ask.named:
            return False
        usable = [host for host in ask.named if host in self._candidates.usable]
        # Under the limit an ask never becomes free to come anywhere: it moves on to where there is room.
        size = self._profiles.of(ask.wanted.profile)
        room = any(self._candidates.room(host, size) for host in usable)
        stuck = self._limit is not None and ask.step == "another" and not room
        return not usable or stuck

    def uneven(self) -> tuple[str, ...]:
        """The hosts that have an executor too many, once for each; none without spreading, or while some are asked for.

        Executors that are required on a host stay there: with saved outputs to wait for nothing is uneven. Those that
        are near data of waiting tasks stay, too.
        """
        self._look_at_hosts()
        if not self._options.spread or self._asks.all or self._profiles.local_tasks(USUAL) is not None:
            return ()
        there = Counter(row.host for row in self._containers.rows if row.state == "running" and row.ordinary)
        return self._candidates.uneven(there)

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
        told = self.spreads and ask.step != "anywhere" and self._candidates.room_is_known
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
            self._candidates.ask_silent_again(ask.wanted.profile)
        return rule, (below.host,)

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
            blamed = self._candidates.note_silent({host for ask in same for host in ask.named}, profile)
            for ask in same:
                ask.tries += 1
                ask.step = self._next_step(ask.step, blamed=blamed)
        return late

    def _next_step(self, step: Step, *, blamed: bool) -> Step:
        if self._limit is not None:
            return "another"
        return _NEXT[step] if blamed or step != "host" else "hosts"

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
