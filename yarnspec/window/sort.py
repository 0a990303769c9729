"""Sorting more records than memory holds: sorted runs on disk, merged in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from yarnspec.window.merge import merged
from yarnspec.window.order import Key, Order, comparable, quick, rank
from yarnspec.window.sizes import give_back, measured_chunks, resident_memory
from yarnspec.window.spill import Run, SpillFile

_FAN_IN = 64
# Of the memory: what a run may fill before it is written, and one block of one run when they are merged.
_RUN_SHARE = 2 / 3
_BLOCK_SHARE = 1 / (4 * _FAN_IN)
# How finely a run is measured at least.
_CHUNKS_IN_RUN = 16
# Python takes memory from the system in steps: less growth than this tells nothing.
_STEP_BYTES = 8 << 20

OnSpill = Callable[[int, int], None]


class ExternalSort:
    """Sorts records by a key, stable in both orders, within a memory budget.

    Records that fit are sorted in memory alone. The budget is kept by estimates (``sizes``), and holds for the records
    and their keys; the interpreter and its libraries come on top. Where records are larger than those that were looked
    at, the memory that the process takes tells it: a run ends, too, when that has grown by what a run may fill.

    Args:
        key: what to sort by; called for each record once, for those that are measured once more, and several
            times for a record that went to disk.
        order: ascending or descending.
        memory_bytes: the budget.
        directories: where runs go when it is used up; the first that takes a file is taken.
        on_spill: told after each run the bytes that it took in memory and takes on disk.

    >>> list(ExternalSort(len, Order.DESCENDING, 1 << 20, ["/tmp"]).sort(["a", "ccc", "bb"]))
    ['ccc', 'bb', 'a']
    """

    def __init__(
        self, key: Key, order: Order, memory_bytes: int, directories: Sequence[str], on_spill: OnSpill | None = None
    ) -> None:
        self._key = key
        self._reverse = Order(order).reverse
        self._run_bytes = memory_bytes * _RUN_SHARE
        self._block_bytes = memory_bytes * _BLOCK_SHARE
        self._directories = directories
        self._on_spill = on_spill
        self._runs: list[Run] = []
        self._block_length = 0
        self._plain = True

    def sort(self, records: Iterable[Any]) -> Iterator[Any]:
        """Read all records and return them in order; to be called once."""
        spill: SpillFile | None = None
        run: list[Any] = []
        size_bytes = 0
        try:
            with resident_memory() as resident_bytes:
                before_bytes = resident_bytes()
                for chunk, chunk_bytes in measured_chunks(records, self._beside, self._run_bytes / _CHUNKS_IN_RUN):
                    run += chunk
                    size_bytes += chunk_bytes
                    grown_bytes = resident_bytes() - before_bytes
                    if size_bytes > self._run_bytes or grown_bytes > max(self._run_bytes, _STEP_BYTES):
                        spill = spill or SpillFile(self._directories)
                        self._write(spill, run, max(size_bytes, grown_bytes))
                        run, size_bytes = [], 0
                        give_back()
                        before_bytes = resident_bytes()
            if spill is None:
                self._sort(run)
                return iter(run)
            if run:
                self._write(spill, run, size_bytes)
        except BaseException:
            if spill is not None:
                spill.close()
            raise
        return chain.from_iterable(self._lists(spill, self._runs))

    def _lists(self, spill: SpillFile, runs: list[Run]) -> Iterator[list[Any]]:
        while len(runs) > _FAN_IN:
            wider = SpillFile(self._directories)
            with spill:
                groups = [runs[begin : begin + _FAN_IN] for begin in range(0, len(runs), _FAN_IN)]
                runs = [
                    wider.write(_pieces(self._merged(spill, group), self._block_length), self._block_bytes)
                    for group in groups
                ]
            spill = wider
        with spill:
            yield from self._merged(spill, runs)

    def _beside(self, record: Any) -> tuple[Any, Any]:
        """The two values that a sort holds for a record: its key, and the key's form for comparisons."""
        key = self._key(record)
        # Whether a null is inside one of these is known when they are sorted.
        ranked = isinstance(key, tuple | list) or not self._plain
        return key, rank(key) if ranked else quick([key])[0]

    def _sort(self, records: list[Any]) -> None:
        keys: list[Any] = list(map(self._key, records))
        if len(keys) < len(records):
            raise RuntimeError("the key function of a sort raised StopIteration")
        if comparable(keys):
            keys = quick(keys)
        else:
            self._plain = False
            keys = list(map(rank, keys))
        # The sort asks for the keys in the order of the records; `next` takes the record for a default.
        records.sort(key=partial(next, iter(keys)), reverse=self._reverse)

    def _write(self, spill: SpillFile, records: list[Any], size_bytes: int) -> None:
        self._sort(records)
        before = spill.size_bytes
        length = max(1, int(len(records) * self._block_bytes / size_bytes))
        self._block_length = min(length, self._block_length or length)
        self._runs.append(spill.write(_pieces([records], length), self._block_bytes))
        if self._on_spill is not None:
            self._on_spill(size_bytes, spill.size_bytes - before)

    def _merged(self, spill: SpillFile, runs: list[Run]) -> Iterator[list[Any]]:
        key = self._key
        # Records that were sorted without ranks are in the same order with them.
        merge_key = key if self._plain else lambda record: rank(key(record))
        return merged([spill.read(run) for run in runs], merge_key, reverse=self._reverse)


def _pieces(lists: Iterable[list[Any]], length: int) -> Iterator[list[Any]]:
    for one in lists:
        for begin in range(0, len(one), length):
            yield one[begin : begin + length]
