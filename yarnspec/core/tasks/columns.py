"""Columns that grow: a table of numbers without an object for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]

_FIRST_CAPACITY = 64


class Columns:
    """Arrays of one length under names; growing costs amortised constant time for each row."""

    __slots__ = ("_arrays", "_capacity", "_fill", "size")

    def __init__(self, types: Mapping[str, type[np.generic]], fill: int = -1) -> None:
        self._capacity = _FIRST_CAPACITY
        self._fill = fill
        self._arrays: dict[str, Column] = {
            name: np.full(_FIRST_CAPACITY, fill, dtype=kind) for name, kind in types.items()
        }
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, name: str) -> Column:
        """The column as it is now: a view that writes through, good until the table grows."""
        return self._arrays[name][: self.size]

    def grow(self, count: int) -> slice:
        """Add ``count`` rows that say nothing yet; where they are."""
        begin = self.size
        self.reach(begin + count)
        return slice(begin, self.size)

    def reach(self, size: int) -> None:
        """Have at least ``size`` rows."""
        if size > self._capacity:
            self._capacity = max(size, 2 * self._capacity)
            for name, old in self._arrays.items():
                new = np.full(self._capacity, self._fill, dtype=old.dtype)
                new[: self.size] = old[: self.size]
                self._arrays[name] = new
        self.size = max(self.size, size)


def distinct(numbers: Column) -> Column:
    """The different ones among small numbers from 0 on, sorted: much quicker than looking at them one by one."""
    return np.flatnonzero(np.bincount(numbers))


def numbered(numbers: Column) -> tuple[Column, Column]:
    """The different ones among small numbers from 0 on, sorted, and for each number its place among them."""
    found = distinct(numbers)
    place = np.zeros(int(found[-1]) + 1 if len(found) else 0, dtype=np.int64)
    place[found] = np.arange(len(found))
    return found, place[numbers]


def median_by(group: Column, values: Column, count: int) -> Column:
    """The median of the values of each group; 0 for an empty one."""
    order = np.lexsort((values, group))
    sizes = np.bincount(group, minlength=count)
    ends = np.cumsum(sizes)
    found = np.zeros(count)
    filled = sizes > 0
    begins = (ends - sizes)[filled]
    low = order[begins + (sizes[filled] - 1) // 2]
    high = order[begins + sizes[filled] // 2]
    found[filled] = (values[low] + values[high]) / 2
    return found
