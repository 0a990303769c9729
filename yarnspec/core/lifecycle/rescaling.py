"""Decides when the number of executors of a running job changes, and keeps the timeline of its changes.

Somebody asks for other bounds (`yarnspec scale`): the transition manager says when they take effect. *Sufficient*: the
hosts that are not blocked have room for the least, and another number would be asked for. *Desired*: they have room for
the most. The end of a stage is the good moment, and so is any while no job runs. Executors beyond the most take no new
task then, and go when they are idle and hold nothing that may still be read. Bounds that do not change the number
hold at once.

Executors that lie unevenly move at such a moment as well, when a host has come or is not blocked any more
(``moves.py``). Between two jobs they move once at most: a program that does nothing gains nothing by it. If none may
move, that is no rescale.

Nothing else waits for this: executors that register get tasks at once, replacements and what dynamic allocation wants
are asked for at once. Executors that come later than the start are a rescale of their own in the timeline, one for each
burst.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.cluster_room import Room
from yarnspec.core.lifecycle.moves import Moves
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.lifecycle.transitions import Cooldown, Stabilized, Stabilizing, StateTransitionManager, Timing
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import BeginRescale, Command, EndRescale, RescaleCause
from yarnspec.core.messages.observations import RowKind
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.options.placement import ResourcesSettings
from yarnspec.units import counted

RESCALE_TIMER = "rescale"
QUIET_TIMER = "rescale-quiet"
QUIET_MS = 60_000
"""A rescale is over when nothing more has come for so long: what is missing stays asked for."""
STARTS_WITHIN_MS = 5 * 60_000
"""A move waits so much longer for executors that have a container."""
_OFF_MS = -1


class Rescaling:
    """The bounds that are to hold, and the rescale under way. ``dismiss`` is called with executors that are to go."""

    def __init__(
        self,
        settings: Settings,
        *,
        bounds: Bounds,
        room: Room,
        containers: ExecutorTable,
        blocklist: Blocklist,
        timers: Timers,
        dismiss: Callable[[tuple[str, ...], int], list[Command]],
        uneven: Callable[[frozenset[str], frozenset[str]], tuple[tuple[str, str], ...]],
    ) -> None:
        self._timing = _timing(settings.resources)
        self._bounds = bounds
        self._room = room
        self._containers = containers
        self._blocklist = blocklist
        self._timers = timers
        self._dismiss = dismiss
        self._moves = Moves(settings, bounds, containers, uneven, dismiss)
        self._manager: StateTransitionManager | None = None
        self._pending: tuple[int, int] | None = None
        """The least and the most that are asked for and do not hold yet."""
        self._blocked: tuple[str, ...] = ()
        self._jobs: set[int] = set()
        self._may_move_idle = False
        """Whether a job has ended since executors last moved, so that they may move while none runs."""
        self._may_move = False
        """Whether it was worth it to move some when the last event came."""
        self._have = 0
        """How many executors there were then, or when the last SparkContext stopped."""
        self._peak = 0
        """The most there were since the last rescale: more are a new burst."""
        self._number = settings.earlier_rescales
        self._wanted: int | None = None
        """How many the rescale under way wants; None: there is none. ``_before``: how many there were as it began."""
        self._before = self._began_ms = 0
        self._moving = False
        """Whether it moves executors."""

    def begin(self, now_ms: int) -> None:
        """The job executes from now on."""
        self._have = self._peak = self._containers.count("running")
        self._may_move = False
        if self._bounds.given and not self._bounds.hold_start:
            self._bounds.ran_with = _if_fewer(self._have, self._bounds.least)
        self._manager = StateTransitionManager(self._timing, self, now_ms)

    def over(self, why: str = "the SparkContext stopped") -> list[Command]:
        """The SparkContext is gone: what somebody has asked for holds from the start of the next one."""
        ended = self._end(self._have, why) if self._wanted is not None else []
        if self._pending is not None:
            self._take_bounds(*self._pending, _if_fewer(self._have, self._pending[0]))
        self._manager = None
        self._jobs.clear()
        self._moves.begin_anew()
        self._timers.cancel(RESCALE_TIMER)
        self._timers.cancel(QUIET_TIMER)
        return ended

    def request(self, least: int, most: int, now_ms: int, ran_with: int = 0) -> list[Command]:
        """Other bounds are asked for; ``ran_with``: an earlier attempt ran with so many, and never had the least."""
        self._pending = (least, most)
        if self._manager is None and (have := self._have or self._bounds.ran_with):  # between two drivers or attempts
            ran_with = _if_fewer(have, least)
        if self._manager is None or self._changes_nothing:
            return self._hold(now_ms, ran_with)
        if not self._moving:
            self._moves.forget()
        self._manager.on_change(now_ms)
        if not self._jobs:
            self._manager.on_trigger(now_ms)
        return []

    @property
    def _changes_nothing(self) -> bool:
        return self._pending is not None and self._bounds.goal_with(self._pending[1]) == self._containers.target

    def _hold(self, now_ms: int, ran_with: int = 0) -> list[Command]:
        """Let the bounds that are asked for hold, without a rescale."""
        if self._pending is None:
            return []
        least, most = self._pending
        self._take_bounds(least, most, ran_with if self._manager is None else self.ran_with)
        return self._dismiss_surplus(now_ms)

    def _take_bounds(self, least: int, most: int, ran_with: int) -> int:
        """Let bounds hold; returns how many executors are asked for from now on."""
        self._pending = None
        self._bounds.change(least, most, ran_with)
        goal = self._bounds.goal()
        self._containers.aim(goal)
        return goal

    def look(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Let an event change the wait for resources. Returns the commands that follow."""
        if self._manager is None:
            return []
        self._keep_jobs(event)
        # Spark may have gone over to a number that the bounds that wait allow: the next one is not to exceed them.
        commands = self._hold(now_ms) if self._changes_nothing else []
        commands += self._moves.look(event, now_ms) + self._begin_to_move(now_ms) + self._follow(event, now_ms)
        if self._moves.again(event, now_ms):
            self._manager.look_again(now_ms)
        if self._is_change(event):
            self._manager.on_change(now_ms)
        idle = not self._jobs and (self._pending is not None or self._may_move_idle)
        if idle or _is_trigger(event):
            self._manager.on_trigger(now_ms)
        self._manager.on_time(now_ms)
        if self._manager.transitioning:
            commands += self._go(now_ms) + self._follow(event, now_ms)
        self._have = self._containers.count("running")
        self._bounds.met_by(self._have)
        return commands + self._until()

    def _is_change(self, event: ev.Event) -> bool:
        """Whether an event may have changed what the manager asks."""
        blocked, self._blocked = self._blocked, self._blocklist.hosts
        before, self._may_move = self._may_move, self._pending is None and self.sufficient()
        return (self._may_move and not before) or isinstance(event, ev.HostsReported) or blocked != self._blocked

    def _keep_jobs(self, event: ev.Event) -> None:
        match event:
            case ev.JobStarted():
                self._jobs.add(event.job)
            case ev.JobEnded():
                self._jobs.discard(event.job)
                self._may_move_idle = True

    # what the manager asks

    def sufficient(self) -> bool:
        """Whether the hosts have room for the least, and a change would change the number or the balance."""
        if self._pending is None:
            return self._moves.worth_it()
        least, most = self._pending
        room = self._room.count()
        enough = room is None or room >= least
        return enough and self._bounds.goal_with(most) != self._containers.target

    def desired(self) -> bool:
        """Whether they have room for the most as well. More hosts may come before executors move."""
        if self._pending is None or not self.sufficient():
            return False
        room = self._room.count()
        return room is None or room >= self._pending[1]

    # what is told

    @property
    def asked(self) -> bool:
        """Whether bounds that are asked for do not hold yet."""
        return self._pending is not None

    @property
    def ran_with(self) -> int:
        """With how many executors the job runs, if it never had the least that was asked for last; else 0."""
        if self._pending is None:
            return self._bounds.ran_with
        return _if_fewer(self._containers.count("running"), self._pending[0])

    def waits_for(self) -> tuple[str, int | None]:
        """Words for the wait of a change, with its latest end; empty when no change is asked for."""
        if self._manager is None or self._manager.transitioning:
            return "", None
        if self._pending is None:
            return self._waits_to_move(self._manager) if self.sufficient() else ("", None)
        least, most = self._pending
        said = f"{least} to {most} executors are asked for: "
        match self._manager.phase:
            case Cooldown(end_ms=end_ms):
                return said + "the end of the cooldown", end_ms
            case Stabilizing(end_ms=end_ms):
                return said + "more room, and the end of a stage", end_ms
            case Stabilized(due_ms=due_ms):
                return said + "the end of a stage", due_ms
        return said + f"room for {least} executors", None

    @staticmethod
    def _waits_to_move(manager: StateTransitionManager) -> tuple[str, int | None]:
        match manager.phase:
            case Cooldown(end_ms=end_ms, changed=True):
                return "the end of the cooldown, to move executors to emptier hosts", end_ms
            case Stabilizing(end_ms=end_ms):
                return "more hosts, before executors move to emptier ones", end_ms
            case Stabilized(due_ms=due_ms):
                return "the end of a stage, to move executors to emptier hosts", due_ms
        return "", None

    def _until(self) -> list[Command]:
        waits_for = self.waits_for()[0]
        due_ms = self._manager.phase.due_ms if self._manager is not None and waits_for else self._moves.again_ms
        if due_ms is None:
            self._timers.cancel(RESCALE_TIMER)
            return []
        if self._timers.due_ms(RESCALE_TIMER) == due_ms:
            return []
        said = waits_for or "the driver may be asked again about executors that did not move"
        return [self._timers.set(RESCALE_TIMER, due_ms, said)]

    # a rescale

    def _go(self, now_ms: int) -> list[Command]:
        if self._pending is None:
            return self._ask_who_may_move(now_ms)
        if self._manager is not None:
            self._manager.begin(now_ms)
        have = self._containers.count("running")
        self._moves.forget()
        ended = self._end(have, "given up for other bounds") if self._wanted is not None else []
        # Executors beyond the old target that still wait until they may go are no longer counted.
        before = min(have, self._containers.target)
        goal = self._take_bounds(*self._pending, self.ran_with)
        begun = self._begin("new requirements", goal, before, now_ms)
        self._peak = goal
        return [*ended, *begun, *self._dismiss_surplus(now_ms)]

    def _dismiss_surplus(self, now_ms: int) -> list[Command]:
        """Let executors beyond the most go. When Spark wants fewer, dynamic allocation lets the others go itself."""
        surplus = self._containers.spare_surplus(self._bounds.most)
        return self._dismiss(surplus, now_ms) if surplus else []

    def _ask_who_may_move(self, now_ms: int) -> list[Command]:
        """Ask the driver. As long as nobody may move there is no rescale, and no cooldown after it."""
        self._may_move_idle = False
        if self._manager is not None:
            self._manager.drop(now_ms)
        self._may_move = False
        return [*self._moves.begin(), self._quiet_from(now_ms, "executors that the driver says nothing of do not move")]

    def _begin_to_move(self, now_ms: int) -> list[Command]:
        """The first executor may move: now this is a rescale."""
        if self._moving or not self._moves.leaving:
            return []
        self._moving = True
        if self._manager is not None:
            self._manager.begin(now_ms)
        return self._begin("new resources", self._containers.target, self._containers.target, now_ms)

    def _begin(self, cause: RescaleCause, wanted: int, before: int, now_ms: int) -> list[Command]:
        self._number += 1
        self._wanted, self._before, self._began_ms = wanted, before, now_ms
        said = f"{cause}: from {before} executors to {wanted} ({self._containers.summary()})"
        begun = BeginRescale(number=self._number, cause=cause, wanted=wanted, before=before, reason=said)
        return [begun, self._quiet_from(now_ms)]

    def _follow(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Keep the timeline up: executors come and go."""
        have = self._containers.count("running")
        if self._moves.under_way:
            return self._wait_for_start(event, now_ms) if self._moving else []
        if self._wanted is None:
            if not self._bounds.given or have <= self._peak:
                return []
            begun = self._begin("new resources", self._containers.target, self._peak, now_ms)
            self._peak = have
            return begun + self._ended(have)
        commands = self._ended(have)
        if have > self._peak:
            self._peak = have
            commands += [self._quiet_from(now_ms)] if self._wanted is not None else []
        return commands

    def _wait_for_start(self, event: ev.Event, now_ms: int) -> list[Command]:
        """A move waits longer as long as an executor for it has a container and starts."""
        if not isinstance(event, ev.ContainerAllocated | ev.ContainerStarted | ev.ContainerLost):
            return []
        due_ms = self._began_ms + QUIET_MS
        if self._containers.moves_awaited("allocated"):
            due_ms += STARTS_WITHIN_MS
        due_ms = max(due_ms, now_ms)
        if due_ms == self._timers.due_ms(QUIET_TIMER):
            return []
        return [self._timers.set(QUIET_TIMER, due_ms, "the move ends when no other executor comes")]

    def quiet(self, now_ms: int) -> list[Command]:
        """Go on when nothing more has come for a while."""
        if self._moves.under_way:
            commands = self._moves.give_up(now_ms)
            ended = self._end(self._containers.count("running"), self._moved) if self._moving else []
            # A container that registers only now is no new burst of executors.
            self._peak = max(self._peak, self._containers.count("allocated", "running"))
            return commands + ended
        if self._wanted is None or self._wanted < self._before:
            return []  # executors that are to go end when their tasks have
        have = self._containers.count("running")
        return self._end(have, f"{have} of {self._wanted} came; what is missing stays asked for")

    def _ended(self, have: int) -> list[Command]:
        if self._wanted is None:
            return []
        reached = have >= self._wanted if self._wanted >= self._before else have <= self._wanted
        said = self._moved if self._moving else "succeeded"
        return self._end(have, said) if reached else []

    @property
    def _moved(self) -> str:
        return f"{counted(self._moves.moved, 'executor')} moved"

    def _end(self, have: int, why: str) -> list[Command]:
        # Surplus ones may still be there, until they are idle.
        grows = self._wanted is not None and self._wanted >= self._before
        got = min(have, self._wanted or 0) if grows else have
        self._wanted, self._moving = None, False
        self._timers.cancel(QUIET_TIMER)
        self._peak = max(self._peak, have) if have >= self._before else have
        return [EndRescale(number=self._number, got=got, why=why, reason=f"{why} ({self._containers.summary()})")]

    def _quiet_from(self, now_ms: int, why: str = "the rescale ends when nothing more comes") -> Command:
        return self._timers.set(QUIET_TIMER, now_ms + QUIET_MS, why)


def _timing(options: ResourcesSettings) -> Timing:
    max_delay_ms = options.rescale_max_delay_ms
    return Timing(
        cooldown_ms=options.rescale_cooldown_ms,
        stabilization_ms=options.rescale_stabilization_ms,
        max_delay_ms=None if max_delay_ms == _OFF_MS else max_delay_ms,
    )


def _if_fewer(have: int, least: int) -> int:
    return max(1, have) if have < least else 0


def _is_trigger(event: ev.Event) -> bool:
    if isinstance(event, ev.Observed):
        return bool(np.any(event.rows.kind == RowKind.STAGE_ENDED))
    return isinstance(event, ev.JobEnded)
