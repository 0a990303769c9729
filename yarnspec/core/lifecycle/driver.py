"""The driver's epochs as the core sees them: its start, its SparkContexts, its end, and perhaps another start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.lifecycle.restarts import RESTART_TIMER, Restarts
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    EXIT_FAILED,
    AbandonAttempt,
    BeginEpoch,
    CloseGate,
    Command,
    FinishApplication,
    ReleaseContainer,
    Warn,
)
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers

_NEVER_SEEN = (
    "yarnspec has seen no SparkContext of the program, which ended with exit code 0: if it ran Spark, it did so in the "
    "container of the application master, without the cluster"
)

Route = Callable[[Any, int], list[Command]]


class Driver:
    """Follows the driver of one attempt through its epochs.

    ``goal`` says how many executors a new SparkContext is to have, and ``goal_again`` that of a driver that is started
    again. ``context_over`` is called when a SparkContext is gone with all its stages. ``context_begun`` is called when
    one has started, and told whether it is the driver's first. ``epoch_over`` is called when the driver has died and
    another epoch will come. ``epoch_begun`` is called when that epoch has begun, with its number and the reason.
    """

    def __init__(
        self,
        settings: Settings,
        lifecycle: Lifecycle,
        containers: ExecutorTable,
        timers: Timers,
        *,
        goal: Callable[[], int],
        goal_again: Callable[[], int],
        release_held: Callable[[], None],
        context_over: Callable[[str], list[Command]],
        context_begun: Callable[[bool, int], list[Command]],
        epoch_over: Callable[[int], list[Command]],
        epoch_begun: Callable[[int, str, int], list[Command]],
    ) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._containers = containers
        self._goal = goal
        self._goal_again = goal_again
        self._release_held = release_held
        self._seen = False
        self._context_over = context_over
        self._context_begun = context_begun
        self._epoch_over = epoch_over
        self._epoch_begun = epoch_begun
        self._timers = timers
        self._restarts = Restarts(settings.recovery)
        self._why_again = ""
        self.out_of_order = 0

    @property
    def routes(self) -> dict[type[ev.Event], Route]:
        """The events that this part handles."""
        return {
            ev.DriverStarted: self._started,
            ev.DriverReady: self._ready,
            ev.DriverStopping: self._stopping,
            ev.DriverFinished: self._finished,
            ev.DriverLost: self._lost,
        }

    @property
    def timers(self) -> dict[str, Callable[[int], list[Command]]]:
        """The timers that it sets."""
        return {RESTART_TIMER: self._begin_again}

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
        before = self._containers.profiles.usual
        resized = event.executor is not None and self._containers.profiles.take_usual(event.executor)
        if again:
            commands = self._retire("its SparkContext stopped, and another one started")
            self._containers.aim(self._goal())
        elif resized:
            commands = self._retire("the program sets another size of executors than was asked for")
            commands += self._tell_size(before, sum(isinstance(one, ReleaseContainer) for one in commands))
        elif lifecycle.address and address != lifecycle.address:
            commands = self._retire(f"it looks for the driver at {lifecycle.address}, which listens at {address}")
        lifecycle.address = address
        lifecycle.driver = "ready"
        self._seen = True
        self._release_held()
        return commands + self._context_begun(not again, now_ms)

    def _stopping(self, _event: ev.DriverStopping, _now_ms: int) -> list[Command]:
        if not self._lifecycle.lives:
            return self._stale()
        self._lifecycle.driver = "stopping"
        return self._retire("its SparkContext stopped")

    def _retire(self, why: str) -> list[Command]:
        released: list[Command] = [
            ReleaseContainer(executor_id=executor_id, reason=f"executor {executor_id} is of no use any more: {why}")
            for executor_id in self._containers.retire(why)
        ]
        closed = [CloseGate(reason=f"executors that were asked for so far are of no use any more: {why}")]
        return self._context_over(why) + (closed if released else []) + released

    def _tell_size(self, before: ev.ExecutorProfile, given_back: int) -> list[Command]:
        if not given_back:
            return []
        now = self._containers.profiles.usual
        flags = [f"--executor-memory {now.heap_mb}m"] if now.heap_mb != before.heap_mb else []
        flags += [f"--executor-cores {now.cores}"] if now.cores != before.cores else []
        sooner = f"with {' '.join(flags)} at the submit" if flags else "if the submit says the same"
        said = (
            f"the program sets executors of {_size(now)}: {given_back} containers of {_size(before)} are given back; "
            f"the job starts sooner {sooner}"
        )
        return [Warn(reason=said)]

    def _finished(self, event: ev.DriverFinished, _now_ms: int) -> list[Command]:
        if not self._lifecycle.lives:
            return self._stale()
        last = self._context_over("the program ended")
        self._lifecycle.over = "finished"
        if event.exit_code == 0:
            if not self._seen:
                last = [*last, Warn(reason=_NEVER_SEEN)]
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

    def _lost(self, event: ev.DriverLost, now_ms: int) -> list[Command]:
        if not self._lifecycle.lives:
            return self._stale()
        said = f"the driver of epoch {self._lifecycle.epoch} was lost with exit code {event.exit_code}: {event.reason}"
        delay_ms = self._restarts.next()
        if delay_ms is None:
            return self._abandon(event.exit_code or EXIT_FAILED, said)
        self._lifecycle.driver = "lost"
        number, limit = self._restarts.count, self._restarts.limit
        self._why_again = f"{said}; it is started again in the same application master (restart {number} of {limit})"
        commands = self._retire(said) + self._epoch_over(now_ms)
        if delay_ms == 0:
            return commands + self._begin_again(now_ms)
        waits = f"{self._why_again}, in {delay_ms / 1000:g} s"
        return [*commands, self._timers.set(RESTART_TIMER, now_ms + delay_ms, waits)]

    def _abandon(self, exit_code: int, said: str) -> list[Command]:
        self._lifecycle.over = "abandoned"
        if self._restarts.count:
            said += f"; in this attempt it was started again {self._restarts.count} times, which is all it may be"
        return [AbandonAttempt(exit_code=exit_code, reason=said, diagnostics=said)]

    def _begin_again(self, now_ms: int) -> list[Command]:
        epoch = self._lifecycle.epoch + 1
        self._lifecycle.begin(epoch)
        self._containers.begin_epoch(epoch)
        self._containers.aim(self._goal_again())
        began = BeginEpoch(epoch=epoch, restart=self._restarts.count, reason=self._why_again)
        return [began, *self._epoch_begun(epoch, self._why_again, now_ms)]

    def _stale(self) -> list[Command]:
        self.out_of_order += 1
        return []


def _size(executor: ev.ExecutorProfile) -> str:
    resources = "".join(f", {count} {name}" for name, count in sorted(executor.resources.items()))
    return f"{executor.memory_mb} MiB and {executor.cores} cores{resources}"
