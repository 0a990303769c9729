"""Merging sorted runs, a block of each in memory, by Python's own sort.

Comparing record by record in Python (``heapq.merge``) costs a microsecond and more for each. Instead, each round takes
records from the front block of every run: all that are certain to come before those not read yet. Then it sorts them.
Python's sort finds that its input consists of sorted stretches, and merges them at the speed of C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from yarnspec.window.order import Key


class _Front:
    """The block at the front of a run, and how much of it is gone."""

    def __init__(self, blocks: Iterator[list[Any]], key: Key) -> None:
        self._blocks = blocks
        self._key = key
        self.begin = 0
        self.block: list[Any] = []
        self.last: Any = None

    def advance(self) -> bool:
        """Get the next block; False at the end of the run."""
        block = next(self._blocks, None)
        if block is None:
            return False
        self.begin, self.block = 0, block
        self.last = self._key(block[-1])
        return True

    def rest(self) -> list[Any]:
        """Take what is left of the block."""
        taken = self.block[self.begin :]
        self.begin = len(self.block)
        return taken

    def cut(self, bound: Any, *, reverse: bool, with_equals: bool) -> list[Any]:
        """Take what comes before ``bound``, and its equals or not."""
        low, high = self.begin, len(self.block)
        while low < high:
            middle = (low + high) // 2
            here = self._key(self.block[middle])
            first, second = (bound, here) if with_equals else (here, bound)
            if reverse:
                first, second = second, first
            if bool(first < second) == with_equals:
                high = middle
            else:
                low = middle + 1
        taken = self.block[self.begin : low]
        self.begin = low
        return taken


def merged(runs: Sequence[Iterator[list[Any]]], key: Key, *, reverse: bool) -> Iterator[list[Any]]:
    """The records of all runs in order, in lists; of equal ones those of the earlier run come first.

    Args:
        runs: each the blocks of a sorted run, not empty ones, in order.
        key: as for ``sorted``.
        reverse: as for ``sorted``.
    """
    fronts = [front for front in (_Front(run, key) for run in runs) if front.advance()]
    while len(fronts) > 1:
        # The first among the runs whose block ends before those of the others: nothing unread comes before that end.
        least = 0
        for number, front in enumerate(fronts):
            earlier = fronts[least].last < front.last if reverse else front.last < fronts[least].last
            if earlier:
                least = number
        bound = fronts[least].last
        taken: list[Any] = []
        for number, front in enumerate(fronts):
            # Its own block goes as a whole, so that each round gets on, also where keys are in no order at all. More
            # equals of the bound may follow in its run; those of later runs have to wait for them.
            taken += front.rest() if number == least else front.cut(bound, reverse=reverse, with_equals=number < least)
        taken.sort(key=key, reverse=reverse)
        yield taken
        fronts = [front for front in fronts if front.begin < len(front.block) or front.advance()]
    for front in fronts:
        yield front.rest()
        while front.advance():
            yield front.block
