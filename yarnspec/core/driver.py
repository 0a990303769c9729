"""What follows from the life of the driver: its start, its SparkContexts, its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yarnspec.core import events as ev
from yarnspec.core.commands import AbandonAttempt, Command, FinishApplication, ReleaseContainer
from yarnspec.core.containers import Containers
from yarnspec.core.lifecycle import EXIT_FAILED, Lifecycle
from yarnspec.core.settings import Settings

Route = Callable[[Any, int], list[Command]]


class Driver:
    """Follows the driver of one epoch.

    ``context_over`` is called when a SparkContext is gone with all its stages, ``context_begun`` when one has started,
    with whether it is the driver's first.
    """

    def __init__(
        self,
        settings: Settings,
        lifecycle: Lifecycle,
        containers: Containers,
        *,
        release_held: Callable[[], None],
        context_over: Callable[[str], list[Command]],
        context_begun: Callable[[bool, int], list[Command]],
    ) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._containers = containers
        self._release_held = release_held
        self._context_over = context_over
        self._context_begun = context_begun
        self.out_of_order = 0

    @property
    def routes(self) -> dict[type[ev.Event], Route]:
        """What it takes."""
        return {
            ev.DriverStarted: self._started,
            ev.DriverReady: self._ready,
            ev.DriverStopping: self._stopping,
            ev.DriverFinished: self._finished,
            ev.DriverLost: self._lost,
        }

    def _started(self, event: ev.DriverStarted, _now_ms: int) -> list[Command]:
        self._lifecycle.address = event.address
        return []

    def _ready(self, event: ev.DriverReady, now_ms: int) -> list[Command]:
        lifecycle = self._lifecycle
        if not lifecycle.started:
            return self._stale()
        address = event.driver_url.rpartition("@")[2]
        commands: list[Command] = []
        again = lifecycle.ready or lifecycle.stopping
        if again:
            commands = self._retire("its SparkContext stopped, and another one started")
            self._containers.aim(self._settings.initial_executors)
        elif lifecycle.address and address != lifecycle.address:
            commands = self._retire(f"it looks for the driver at {lifecycle.address}, which listens at {address}")
        lifecycle.address = address
        lifecycle.driver = "ready"
        self._release_held()
        return commands + self._context_begun(not again, now_ms)

    def _stopping(self, _event: ev.DriverStopping, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        self._lifecycle.driver = "stopping"
        return self._retire("its SparkContext stopped")

    def _retire(self, why: str) -> list[Command]:
        released: list[Command] = [
            ReleaseContainer(executor_id=executor_id, reason=f"executor {executor_id} is of no use any more: {why}")
            for executor_id in self._containers.retire(why)
        ]
        return self._context_over(why) + released

    def _finished(self, event: ev.DriverFinished, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        last = self._context_over("the program ended")
        self._lifecycle.over = "finished"
        if event.exit_code == 0:
            said = event.reason or "the program ended with exit code 0"
            return [*last, FinishApplication(status="SUCCEEDED", exit_code=0, reason=said)]
        said = f"the program ended with exit code {event.exit_code}" + (f": {event.reason}" if event.reason else "")
        return [
            *last,
            FinishApplication(
                status="FAILED",
                exit_code=EXIT_FAILED,
                reason=said,
                diagnostics=event.traceback or event.reason or said,
            ),
        ]

    def _lost(self, event: ev.DriverLost, _now_ms: int) -> list[Command]:
        if not self._lifecycle.started:
            return self._stale()
        self._lifecycle.over = "abandoned"
        said = f"the driver of epoch {self._lifecycle.epoch} was lost with exit code {event.exit_code}: {event.reason}"
        return [AbandonAttempt(exit_code=event.exit_code or EXIT_FAILED, reason=said, diagnostics=said)]

    def _stale(self) -> list[Command]:
        self.out_of_order += 1
        return []
