"""How far apart periodic things are: seldom while only long tasks run, so that a day of them takes seconds.

On a cluster executors tell counters, and the detector looks, at fixed intervals. Half a second more shows nothing of a
task of an hour. So both come at the intervals of the options, or fifty times in the shortest running task: whichever
is less often.
"""

from __future__ import annotations

import heapq
from collections.abc import Container

_TIMES = 50


class Pace:
    """Knows the shortest running task. ``running`` has the ids of the tasks that run."""

    def __init__(self, running: Container[int]) -> None:
        self._running = running
        self._works: list[tuple[int, int]] = []

    def started(self, task_id: int, work_ms: int) -> None:
        """A task of so much work runs."""
        heapq.heappush(self._works, (work_ms, task_id))

    def least_ms(self) -> int:
        """What is periodic comes no sooner than after this time; 0 when no task runs."""
        while self._works and self._works[0][1] not in self._running:
            heapq.heappop(self._works)
        return self._works[0][0] // _TIMES if self._works else 0
