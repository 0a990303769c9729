"""An index of a shuffle's recorded map outputs. The records lie elsewhere, so that there may be very many of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Protocol

from yarnspec.core.journal.journalrecords import MapFinished

_NOWHERE = -1


class OutputRecords(Protocol):
    """Where the records of map outputs are kept: there may be more of them than fit into memory."""

    def put(self, record: MapFinished) -> int:
        """Keep a record; returns its place, which is not negative."""

    def get(self, place: int) -> MapFinished:
        """The record at a place."""


class InMemory:
    """The records of one who has few of them."""

    def __init__(self) -> None:
        self._records: list[MapFinished] = []

    def put(self, record: MapFinished) -> int:
        """Keep a record."""
        self._records.append(record)
        return len(self._records) - 1

    def get(self, place: int) -> MapFinished:
        """The record at a place."""
        return self._records[place]


class OutputIndex(Mapping[int, MapFinished]):
    """The newest record of each map of a shuffle, by the map's index, in its order.

    The index takes 8 bytes of memory for each map of the shuffle. Reading a record costs one look into ``records``.
    """

    def __init__(self, maps: int, records: OutputRecords) -> None:
        self._maps = maps
        self._records = records
        self._places = array("q")
        self._count = 0

    def put(self, record: MapFinished) -> None:
        """Take the place of an earlier record of the same index; one that the shuffle does not have is left out."""
        if not 0 <= record.index < self._maps:
            return
        if not self._places:
            self._places = array("q", [_NOWHERE]) * self._maps
        self._count += self._places[record.index] == _NOWHERE
        self._places[record.index] = self._records.put(record)

    def clear(self) -> None:
        """Forget all of them."""
        self._places = array("q")
        self._count = 0

    def __getitem__(self, index: int) -> MapFinished:
        if index not in self:
            raise KeyError(index)
        return self._records.get(self._places[index])

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and 0 <= index < len(self._places) and self._places[index] != _NOWHERE

    def __iter__(self) -> Iterator[int]:
        return (index for index, place in enumerate(self._places) if place != _NOWHERE)

    def __len__(self) -> int:
        return self._count
