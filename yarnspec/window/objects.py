"""The code in the tasks of ``PartitionWindowedRDD``: the records are Python objects."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from yarnspec.window.handover import checked, results_of, through_queue
from yarnspec.window.order import Key, Order
from yarnspec.window.sort import ExternalSort

Function = Callable[[Iterator[Any]], Iterable[Any]]
IndexedFunction = Callable[[int, Iterable[Any]], Iterable[Any]]
"""Of a partition's number and its records."""


def map_objects(fn: Function, _partition: int, records: Iterable[Any]) -> Iterable[Any]:
    """``map_partition`` of records that come out of the queue."""
    return results_of(fn, iter(records))


def map_results(fn: Function, _partition: int, records: Iterable[Any]) -> Iterable[Any]:
    """``map_partition`` of what other functions in the same task make of them."""
    return checked(fn, records)


def through_records(
    function: IndexedFunction, queue_size: int, partition: int, brought: Iterable[Any]
) -> Iterator[Any]:
    """All functions of a task, on records that ``Brought`` reads beside them."""
    return through_queue(partial(function, partition), brought, queue_size)


def through_batches(
    function: IndexedFunction, queue_size: int, partition: int, brought: Iterable[Sequence[Any]]
) -> Iterator[Any]:
    """Run the function on batches of records."""

    def run(batches: Iterator[Sequence[Any]]) -> Iterable[Any]:
        return function(partition, chain.from_iterable(batches))

    return through_queue(run, brought, queue_size, len)


class Brought:
    """Reads records as Spark brings them to Python: one by one, or in the batches of a batched serializer."""

    def __init__(self, serializer: Any, *, batched: bool) -> None:
        self._serializer = serializer
        self._batched = batched

    def load_stream(self, stream: Any) -> Iterator[Any]:
        """Read the records; Spark calls this in its worker."""
        serializer = self._serializer
        read = serializer._load_stream_without_unbatching if self._batched else serializer.load_stream
        found: Iterator[Any] = read(stream)
        return found


def sort_objects(key: Key, order: Order, memory_bytes: int, records: Iterable[Any]) -> Iterator[Any]:
    """``sort_partition``."""
    return ExternalSort(key, order, memory_bytes, local_directories(), _count_spill).sort(records)


def local_directories() -> list[str]:
    """The container's local directories, as Spark tells them its Python workers; each worker begins with another."""
    told = [directory for directory in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if directory]
    directories = told or [tempfile.gettempdir()]
    first = os.getpid() % len(directories)
    return directories[first:] + directories[:first]


def _count_spill(memory_bytes: int, disk_bytes: int) -> None:
    """Add to the spilled bytes of the task's metrics."""
    from pyspark import shuffle

    shuffle.MemoryBytesSpilled += memory_bytes
    shuffle.DiskBytesSpilled += disk_bytes
