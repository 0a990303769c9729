"""Readers who follow the driver's output: at its end they get the rest, as long as they come for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

_LIVE_S = 5.0


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long the end of an attempt waits for readers.

    Args:
        first_s: for one that is expected and has not come yet.
        stalled_s: for one that does not come for its next piece.
        longest_s: for all of them together.
    """

    first_s: float = 3.0
    stalled_s: float = 10.0
    longest_s: float = 60.0


class _OutputReader:
    def __init__(self, now_s: float) -> None:
        self.offset = -1
        self.advanced_s = now_s
        self.seen_s = now_s
        self.complete = False


class OutputReaders:
    """Knows each reader by the name it gives itself; its methods are called from several threads."""

    def __init__(self, *, expected: bool, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._expected = expected
        self._clock_s = clock_s
        self._readers: dict[str, _OutputReader] = {}
        self._changed = threading.Condition()

    def came(self, name: str, offset: int, *, complete: bool) -> None:
        """A reader asked for what follows ``offset``; ``complete``: it was told that nothing does."""
        now_s = self._clock_s()
        with self._changed:
            reader = self._readers.setdefault(name, _OutputReader(now_s))
            reader.seen_s = now_s
            if offset > reader.offset:
                reader.offset, reader.advanced_s = offset, now_s
            reader.complete = reader.complete or complete
            self._changed.notify_all()

    def drain(self, patience: Patience) -> bool:
        """Wait until each reader has read everything. Returns False if one stalls.

        Readers that were silent for ``_LIVE_S`` at the start are ignored: they are gone, or can read the log later.
        """
        began_s = self._clock_s()
        with self._changed:
            while True:
                now_s = self._clock_s()
                waiting = [
                    reader
                    for reader in self._readers.values()
                    if not reader.complete and reader.seen_s >= began_s - _LIVE_S
                ]
                if not waiting and (self._readers or not self._expected):
                    return True
                until_s = max(
                    (max(reader.advanced_s, began_s) + patience.stalled_s for reader in waiting),
                    default=began_s + patience.first_s,
                )
                left_s = min(until_s, began_s + patience.longest_s) - now_s
                if left_s <= 0:
                    return False
                self._changed.wait(left_s)
