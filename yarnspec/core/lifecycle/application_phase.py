"""The application's phase as people see it, and when the tasks of a SparkContext may start.

    created ──SparkContext──▶ waiting_for_resources ──enough──▶ creating_graph ──first job──▶ executing ──▶ finished, failed
                                                                      ▲                          │
                                                                      └──enough── restarting ◀── driver lost

A rescale stays in executing. ``Lifecycle`` has the phases that the negotiator itself goes by.
"""  # noqa: E501 - the drawing

from __future__ import annotations

from collections.abc import Callable

import msgspec

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.cluster_room import Room
from yarnspec.core.lifecycle.phases import WAIT_TIMER, Lifecycle
from yarnspec.core.lifecycle.rescaling import QUIET_TIMER, RESCALE_TIMER, Rescaling
from yarnspec.core.lifecycle.resource_wait import Bounds, Supply, wait_of
from yarnspec.core.lifecycle.transitions import Stabilizing, StateTransitionManager
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    ApplicationPhaseName,
    ChangeBounds,
    Command,
    DeclareReady,
    EnterPhase,
    RefuseScale,
)
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.units import counted

RESOURCES_TIMER = "resources"
_NO_MAXIMUM = 2**31 - 1
"""Spark's number for a maximum that nobody has set."""


class ApplicationPhase:
    """Looks at each event after the part that it concerns."""

    def __init__(
        self,
        settings: Settings,
        bounds: Bounds,
        *,
        lifecycle: Lifecycle,
        containers: ExecutorTable,
        hosts: Hosts,
        blocklist: Blocklist,
        timers: Timers,
        dismiss: Callable[[tuple[str, ...], int], list[Command]],
        suits: Callable[[ev.HostReport], bool],
        uneven: Callable[[frozenset[str], frozenset[str]], tuple[tuple[str, str], ...]],
    ) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._timers = timers
        self._bounds = bounds
        self._containers = containers
        self._supply = Supply(settings, bounds, containers, blocklist)
        self._room = Room(settings, hosts, blocklist, suits, containers.profiles)
        self._rescaling = Rescaling(
            settings,
            bounds=bounds,
            room=self._room,
            containers=containers,
            blocklist=blocklist,
            timers=timers,
            dismiss=dismiss,
            uneven=uneven,
        )
        self._wait: StateTransitionManager | None = None
        self._phase: ApplicationPhaseName = "created"
        self._began = False
        self._to_start = True
        self._told = EnterPhase(phase="created", reason="")
        self._asked: ChangeBounds | None = None

    @property
    def timers(self) -> dict[str, Callable[[int], list[Command]]]:
        """The timers that it sets; what is due the look after the event does."""
        return {
            RESOURCES_TIMER: lambda _: [],
            RESCALE_TIMER: lambda _: [],
            QUIET_TIMER: self._rescaling.quiet,
        }

    def scale(self, event: ev.ScaleRequested, now_ms: int) -> list[Command]:
        """Somebody wants other bounds."""
        least, most = event.least, event.most
        # What was granted in an earlier attempt is not asked about again: the program may set other bounds in its code.
        why_not = "" if event.earlier else self._why_not(least, most, force=event.force)
        if why_not:
            return [RefuseScale(least=least, most=most, reason=why_not)]
        commands = self._rescaling.request(least, most, now_ms, event.ran_with)
        waits_for, _ = self._rescaling.waits_for()
        said = f"it waits for this: {waits_for}" if waits_for else "it holds at once"
        ran_with = self._rescaling.ran_with
        self._asked = ChangeBounds(least=least, most=most, by=event.by, ran_with=ran_with, reason=said)
        return [self._asked, *commands]

    def _why_not(self, least: int, most: int, *, force: bool) -> str:
        if not 1 <= least <= most:
            return f"at least {least} and at most {most} executors: the least must be 1 or more, the most no less"
        dynamic = self._bounds.dynamic
        if dynamic is not None and (least != max(1, dynamic[0]) or most > dynamic[1]):
            final = (
                f"{dynamic[0]} to {dynamic[1]}" if dynamic[1] < _NO_MAXIMUM else f"at least {dynamic[0]}, no maximum"
            )
            return (
                f"with dynamic allocation Spark's bounds are final, {final}: "
                f"only fewer at most can be asked for, with at least {max(1, dynamic[0])}"
            )
        room = None if force else self._room.count(whole=True)
        if room is not None and least > room:
            return (
                f"all hosts that these executors may use together have room for {room} executors of this size at most; "
                f"if more hosts will come, say so with --force"
            )
        return ""

    def driver_lost(self) -> list[Command]:
        """The driver has died, and another one will be started: by the bounds that were asked for last."""
        self._phase, self._wait, self._to_start = "restarting", None, True
        return self._rescaling.over("the driver was lost")

    def look(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Change the phase by an event. Returns the commands that follow."""
        commands: list[Command] = []
        match event:
            case ev.AttemptStarted():
                if event.attempt > 1:
                    self._phase, self._began = "restarting", True
            case ev.DriverStopping():
                commands += self._rescaling.over()
            case ev.DriverReady() if self._lifecycle.ready:
                commands += self._rescaling.over()
                if self._phase != "restarting":
                    self._phase = "waiting_for_resources"
                self._to_start = True
                self._wait = wait_of(self._settings, self._bounds, self._supply, now_ms, again=self._began)
            case ev.JobStarted() if self._wait is not None or self._phase == "creating_graph":
                # Spark's own rule may have been fulfilled before it was known here.
                commands += self._go() if self._wait is not None else []
                self._phase = "executing"
                self._rescaling.begin(now_ms)
        if self._wait is not None:
            self._wait.on_change(now_ms)
            commands += self._go() if self._wait.transitioning else self._until(self._wait)
        self._lifecycle.awaited = self._supply.least if self._to_start else 0
        return [*commands, *self._rescaling.look(event, now_ms), *self._tell_of_least(), *self._tell()]

    @property
    def have(self) -> int:
        """How many executors count for the start."""
        return self._supply.have

    def wait_over(self) -> list[Command]:
        """The wait is over, and there is enough to start with."""
        return self._go() if self._wait is not None and self._lifecycle.awaited else []

    def _go(self) -> list[Command]:
        self._wait = None
        self._began, self._to_start = True, False
        self._phase = "creating_graph"
        self._lifecycle.awaited = 0
        self._timers.cancel(RESOURCES_TIMER)
        return [DeclareReady(reason=f"{self._to_start_numbers}: tasks may start")]

    def _until(self, wait: StateTransitionManager) -> list[Command]:
        due_ms = wait.phase.due_ms
        if due_ms is None:
            self._timers.cancel(RESOURCES_TIMER)
            return []
        if self._timers.due_ms(RESOURCES_TIMER) == due_ms:
            return []
        return [self._timers.set(RESOURCES_TIMER, due_ms, f"more may come: {self._to_start_numbers}")]

    @property
    def _to_start_numbers(self) -> str:
        return self._numbers(self._supply.least, self._supply.most)

    def _numbers(self, sufficient: int, desired: int) -> str:
        have = f"{self._supply.have} executors"
        return f"{have}, sufficient are {sufficient}, desired {desired}" if desired else have

    def _tell_of_least(self) -> list[Command]:
        """Say whether the job has had the least that was asked for: the next attempt starts by that."""
        ran_with = self._rescaling.ran_with
        if self._asked is None or self._rescaling.asked or bool(self._asked.ran_with) == bool(ran_with):
            return []
        least = counted(self._asked.least, "executor")
        said = f"the job runs with fewer than {least}" if ran_with else f"the job has had {least}"
        self._asked = msgspec.structs.replace(self._asked, ran_with=ran_with, reason=said)
        return [self._asked]

    def _tell(self) -> list[Command]:
        """Say the phase when it is another one, or waits for something else."""
        waits_for, until_ms = self._waits_for()
        created, supply = self._phase == "created", self._supply
        sufficient, desired = (supply.least, supply.most) if self._to_start else supply.bounded
        told = EnterPhase(
            phase=self._phase,
            sufficient=0 if created else sufficient,
            desired=0 if created else desired,
            asked_for=self._containers.target if self._bounds.given and not created else None,
            waits_for=waits_for,
            until_ms=until_ms,
            reason="",
        )
        if told == self._told:
            return []
        self._told = told
        return [msgspec.structs.replace(told, reason=self._numbers(told.sufficient, told.desired))]

    def _waits_for(self) -> tuple[str, int | None]:
        if self._wait is None:
            return self._rescaling.waits_for()
        if isinstance(self._wait.phase, Stabilizing):
            return "more executors", self._wait.phase.end_ms
        return f"at least {self._supply.least} executors", self._timers.due_ms(WAIT_TIMER)
