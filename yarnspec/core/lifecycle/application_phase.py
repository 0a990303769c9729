"""The application's phase as people see it, and when the tasks of a SparkContext may start.

    created ──SparkContext──▶ waiting_for_resources ──enough──▶ creating_graph ──first job──▶ executing ──▶ finished, failed
                                                                      ▲                          │
                                                                      └──enough── restarting ◀── driver lost

A rescale stays in executing. ``Lifecycle`` has the phases that the negotiator itself goes by.
"""  # noqa: E501 - the drawing

from __future__ import annotations

from collections.abc import Callable

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.phases import WAIT_TIMER, Lifecycle
from yarnspec.core.lifecycle.rescaling import QUIET_TIMER, RESCALE_TIMER, Rescaling, Room
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

RESOURCES_TIMER = "resources"


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
        uneven: Callable[[], tuple[str, ...]],
    ) -> None:
        suits: Callable[[ev.HostReport], bool],
        self._settings = settings
        self._lifecycle = lifecycle
        self._timers = timers
        self._bounds = bounds
        self._containers = containers
        self._supply = Supply(settings, bounds, containers, blocklist)
        self._room = Room(settings, hosts, blocklist, suits)
        self._rescaling = Rescaling(
            settings,
            bounds=bounds,
            supply=self._supply,
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
        self._told: tuple[ApplicationPhaseName, str, int | None, int | None] = ("created", "", None, None)

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
        why_not = self._why_not(least, most, force=event.force or event.earlier)
        if why_not:
            return [RefuseScale(least=least, most=most, reason=why_not)]
        commands = self._rescaling.request(least, most, now_ms)
        waits_for, _ = self._rescaling.waits_for()
        said = f"it waits for this: {waits_for}" if waits_for else "it holds at once"
        if self._lifecycle.awaited:
            self._lifecycle.awaited = self._awaited
        return [ChangeBounds(least=least, most=most, by=event.by, reason=said), *commands]

    def _why_not(self, least: int, most: int, *, force: bool) -> str:
        if not 1 <= least <= most:
            return f"at least {least} and at most {most} executors: the least must be 1 or more, the most no less"
        dynamic = self._settings.dynamic_bounds
        if dynamic is not None and (least != max(1, dynamic[0]) or most > dynamic[1]):
            return (
                f"with dynamic allocation Spark's bounds are final since the submit, {dynamic[0]} to {dynamic[1]}: "
                f"only fewer at most can be asked for, with at least {max(1, dynamic[0])}"
            )
        room = None if force else self._room.count(whole=True)
        if room is not None and least > room:
            return (
                f"all hosts that these executors may use together have room for {room} executors of this size at most; "
                f"if more hosts will come, say so with --force"
            )
        return ""

    def look(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Change the phase by an event. Returns the commands that follow."""
        commands: list[Command] = []
        match event:
            case ev.AttemptStarted():
                if event.attempt > 1:
                    self._phase, self._began = "restarting", True
                self._lifecycle.awaited = self._awaited
            case ev.DriverLost() if not self._lifecycle.over and self._lifecycle.epoch:
                self._phase, self._wait = "restarting", None
                self._rescaling.over()
                self._lifecycle.awaited = self._awaited
            case ev.DriverStopping():
                self._rescaling.over()
            case ev.DriverReady() if self._lifecycle.ready:
                self._rescaling.over()
                if self._phase != "restarting":
                    self._phase = "waiting_for_resources"
                self._lifecycle.awaited = self._awaited
                self._wait = wait_of(self._settings, self._bounds, self._supply, now_ms, again=self._began)
            case ev.JobStarted() if self._phase == "creating_graph":
                self._phase = "executing"
                self._rescaling.begin(now_ms)
        if self._wait is not None:
            self._wait.on_change(now_ms)
            commands += self._go() if self._wait.transitioning else self._until(self._wait)
        return [*commands, *self._rescaling.look(event, now_ms), *self._tell()]

    @property
    def have(self) -> int:
        """How many executors count for the start."""
        return self._supply.have

    def wait_over(self) -> list[Command]:
        """The wait is over, and there is enough to start with."""
        return self._go() if self._wait is not None and self._lifecycle.awaited else []

    @property
    def _awaited(self) -> int:
        return self._supply.least if self._bounds.given else 0

    def _go(self) -> list[Command]:
        self._wait = None
        self._began = True
        self._phase = "creating_graph"
        self._lifecycle.awaited = 0
        self._timers.cancel(RESOURCES_TIMER)
        return [DeclareReady(reason=f"{self._numbers()}: tasks may start")]

    def _until(self, wait: StateTransitionManager) -> list[Command]:
        due_ms = wait.phase.due_ms
        if due_ms is None:
            self._timers.cancel(RESOURCES_TIMER)
            return []
        if self._timers.due_ms(RESOURCES_TIMER) == due_ms:
            return []
        return [self._timers.set(RESOURCES_TIMER, due_ms, f"more may come: {self._numbers()}")]

    def _numbers(self) -> str:
        supply = self._supply
        return f"{supply.have} executors, sufficient are {supply.least}, desired {supply.most}"

    def _tell(self) -> list[Command]:
        """Say the phase when it is another one, or waits for something else."""
        waits_for, until_ms = self._waits_for()
        asked_for = self._containers.target if self._bounds.given and self._phase != "created" else None
        told = (self._phase, waits_for, until_ms, asked_for)
        if told == self._told:
            return []
        self._told = told
        return [
            EnterPhase(
                phase=self._phase,
                sufficient=self._supply.least,
                desired=self._supply.most,
                asked_for=asked_for,
                waits_for=waits_for,
                until_ms=until_ms,
                reason=self._numbers(),
            )
        ]

    def _waits_for(self) -> tuple[str, int | None]:
        if self._wait is None:
            return self._rescaling.waits_for()
        if isinstance(self._wait.phase, Stabilizing):
            return "more executors", self._wait.phase.end_ms
        return f"at least {self._supply.least} executors", self._timers.due_ms(WAIT_TIMER)
