"""Containers that die young: how long their replacements wait, and when it is time to give up.

An executor dies young when it ends before it registered with the driver or soon after. While some executor has proved
healthy, young deaths elsewhere only slow their replacements down, less by as much as the executor lived. Without a
healthy one, too many young deaths within a window end the application, as ``spark.executor.maxNumFailures`` does.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from yarnspec.core.messages.settings import Settings


class YoungDeath(NamedTuple):
    """One executor that died young."""

    at_ms: int
    executor_id: str
    host: str
    exit_code: int
    text: str


class YoungDeaths:
    """The young deaths within the window."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._deaths: deque[YoungDeath] = deque()
        self._healthy_ms: int | None = None
        self._rounds = 0

    def forget(self) -> None:
        """Whatever they died of is over."""
        self._deaths.clear()
        self._healthy_ms = None
        self._rounds = 0

    def saw_healthy(self, now_ms: int) -> None:
        """An executor that has proved healthy is or was alive now: deaths up to now do not end the application."""
        self._healthy_ms = now_ms

    def record(self, death: YoungDeath) -> None:
        """Count one."""
        if self._deaths and death.at_ms - self._deaths[-1].at_ms > self._settings.executor.failure_window_ms:
            self._rounds = 0
        self._deaths.append(death)
        while self._deaths[0].at_ms < death.at_ms - self._settings.executor.failure_window_ms:
            self._deaths.popleft()

    def backoff_ms(self) -> int:
        """How long the next round of replacements waits; twice as long as the round before."""
        delay_ms = self._settings.executor.backoff_first_ms << min(self._rounds, 20)
        self._rounds += 1
        return min(delay_ms, self._settings.executor.backoff_max_ms)

    def limit(self, target: int) -> int:
        """How many young deaths the application may have within the window."""
        configured = self._settings.max_executor_failures
        return max(3, 2 * target) if configured is None else configured

    @property
    def counted(self) -> tuple[YoungDeath, ...]:
        """The deaths within the window that no healthy executor outweighs."""
        return tuple(death for death in self._deaths if self._healthy_ms is None or death.at_ms > self._healthy_ms)

    def verdict(self, target: int) -> str:
        """Why the application must give up, or an empty string."""
        counted = self.counted
        limit = self.limit(target)
        if len(counted) <= limit:
            return ""
        codes = ", ".join(f"{code} x {n}" for code, n in sorted(Counter(death.exit_code for death in counted).items()))
        hosts = ", ".join(sorted({death.host for death in counted if death.host})) or "unknown hosts"
        window_s = self._settings.executor.failure_window_ms // 1000
        return (
            f"{len(counted)} executors died before they were of use, within {window_s} s, "
            f"and {limit} may (max(3, 2 x {target}) unless set); exit codes {codes}; on {hosts}; "
            f"the last one: executor {counted[-1].executor_id}: {counted[-1].text}"
        )
