"""The phases of one attempt, and the wait for resources.

    new ──▶ waiting ──first executor──▶ executing ──Spark stops──▶ finishing ──program ends──▶ finished
               ▲                           │
               └────── all executors lost ─┘        anything ──driver lost──▶ abandoned, or new again

*Desired* is Spark's target; *sufficient*, at this level, is one registered executor. While resources are
insufficient a deadline runs.
"""

from __future__ import annotations

from typing import Literal

from yarnspec.core.containers.blame import shorten
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.messages.commands import (
    EXIT_FAILED,
    AbandonAttempt,
    Command,
    FinishApplication,
    SetTimer,
    StartDriver,
    StopDriver,
)
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers

WAIT_TIMER = "resource-wait"

Driver = Literal["none", "starting", "ready", "stopping", "lost"]


class Lifecycle:
    """Where the attempt is, what the driver is doing, and since when resources are insufficient."""

    def __init__(self, settings: Settings, timers: Timers, bounds: Bounds) -> None:
        self._settings = settings
        self._bounds = bounds
        self._timers = timers
        self._waiting_since_ms: int | None = None
        self.epoch = 0
        self.address = ""  # where executors look for the driver, as host:port; empty: not known
        self.driver: Driver = "none"
        self.over: Literal["", "finished", "abandoned"] = ""
        self.pending_reason = ""
        self.awaited = 0
        """How many executors the job waits for before it starts; 0: one is enough, whether it has started or not."""

    def begin(self, epoch: int) -> None:
        """Begin an epoch: a new driver starts."""
        self.epoch = epoch
        self.driver = "starting"

    def start_driver(self, why: str) -> StartDriver:
        """Start the driver of this epoch. It is told who says when its tasks may start."""
        return StartDriver(epoch=self.epoch, awaits_negotiator=self._bounds.driver_starts(), reason=why)

    @property
    def started(self) -> bool:
        """Whether the attempt has begun."""
        return self.driver != "none"

    @property
    def lives(self) -> bool:
        """Whether there is a driver, or one is about to be started."""
        return self.driver not in ("none", "lost")

    def hears(self, epoch: int) -> bool:
        """Whether this epoch's driver is the live one. Messages of others are refused."""
        return epoch == self.epoch and self.lives

    @property
    def ready(self) -> bool:
        """Whether executors can register with the driver."""
        return self.driver == "ready"

    @property
    def stopping(self) -> bool:
        """Whether Spark's context is stopping or has stopped."""
        return self.driver == "stopping"

    def fail(self, exit_code: int, reason: str, diagnostics: str = "") -> list[Command]:
        """End the application for good."""
        self.over = "finished"
        text = f"{reason}\n{shorten(diagnostics, 2000)}" if diagnostics.strip() else reason
        return [
            StopDriver(reason=reason),
            FinishApplication(status="FAILED", exit_code=exit_code, reason=reason, diagnostics=text),
        ]

    def abandon(self, reason: str) -> list[Command]:
        """End this attempt and its driver; the application goes on, or will, in another one."""
        self.over = "abandoned"
        return [StopDriver(reason=reason), AbandonAttempt(exit_code=EXIT_FAILED, reason=reason, diagnostics=reason)]

    @staticmethod
    def sufficient(containers: ExecutorTable) -> bool:
        """Whether the job can make progress."""
        return containers.any_running

    def watch(self, containers: ExecutorTable, now_ms: int) -> list[Command]:
        """Start or end the wait for resources, as the table now stands."""
        if not self._insufficient(containers):
            self._waiting_since_ms = None
            self._timers.cancel(WAIT_TIMER)
            return []
        if self._waiting_since_ms is not None or self._settings.resources.wait_timeout_ms <= 0:
            return []
        self._waiting_since_ms = now_ms
        return [self._deadline(now_ms, containers)]

    def timed_out(
        self, containers: ExecutorTable, have: int, now_ms: int, *, blocked: tuple[str, ...], fit_nowhere: list[str]
    ) -> str:
        """Why the wait for resources is over without success, or an empty string when resources came.

        ``have``: how many executors count for the start. ``fit_nowhere``: words for sizes of executors.
        """
        since_ms = self._waiting_since_ms
        if since_ms is None or not self._insufficient(containers) or (self.awaited and have >= self.awaited):
            return ""
        came = f"only {have} of at least {self.awaited} executors" if self.awaited > 1 else "no executor"
        starting = containers.count("allocated")
        hint = f"; {starting} containers started but did not register, see their logs" if starting else ""
        avoided = f"; blocked hosts: {', '.join(blocked)}" if blocked else ""
        said = [*fit_nowhere]
        if self.pending_reason or not said:
            reason = self.pending_reason
            said.append(f"the ResourceManager says: {reason}" if reason else "the ResourceManager gives no reason")
        return (
            f"{came} came within {(now_ms - since_ms) // 1000} s ({containers.summary()}){hint}{avoided}; "
            f"{'; '.join(said)}"
        )

    def _deadline(self, now_ms: int, containers: ExecutorTable) -> SetTimer:
        limit_ms = self._settings.resources.wait_timeout_ms
        least = f"{self.awaited} executors" if self.awaited > 1 else "an executor"
        reason = f"{least} must register within {limit_ms // 1000} s ({containers.summary()})"
        return self._timers.set(WAIT_TIMER, now_ms + limit_ms, reason)

    def _insufficient(self, containers: ExecutorTable) -> bool:
        if not self.lives or self.stopping or self.over or containers.target + containers.profiles.wanted <= 0:
            return False
        if self.ready:
            # A start that is awaited ends its wait itself, so that it has an end however resources come and go.
            return self.awaited > 0 or not self.sufficient(containers)
        # Before the driver listens no executor can register, however long the program takes to get there: until then
        # only containers that YARN does not give are waited for.
        there = containers.count("allocated", "running")
        return there < max(1, self.awaited) and containers.held == 0
