"""Virtual time: what is to happen, in the order in which it is due."""

from __future__ import annotations

import heapq
from collections.abc import Callable

START_MS = 1_700_000_000_000


class Clock:
    """A heap of actions: of those that are due together the first asked for comes first. Times are as in the core."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._asked = 0

    def at(self, at_ms: int, action: Callable[[], None]) -> None:
        """Do something at a time; at once when that is over."""
        heapq.heappush(self._due, (max(at_ms, self.now_ms), self._asked, action))
        self._asked += 1

    def after(self, ms: int, action: Callable[[], None]) -> None:
        """Do something in a while."""
        self.at(self.now_ms + ms, action)

    @property
    def idle(self) -> bool:
        """Whether nothing is to happen any more."""
        return not self._due

    def step(self, until_ms: int) -> bool:
        """Do what is due next; False when nothing is due until then."""
        if not self._due or self._due[0][0] > until_ms:
            return False
        self.now_ms, _, action = heapq.heappop(self._due)
        action()
        return True
