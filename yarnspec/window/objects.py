"""What runs in the tasks of ``PartitionWindowedRDD``: the records are Python objects."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from yarnspec.window.handover import results_of, through_queue
from yarnspec.window.order import Key, Order
from yarnspec.window.sort import ExternalSort

Function = Callable[[Iterator[Any]], Iterable[Any]]


def map_objects(fn: Function, queue_size: int, records: Iterable[Any]) -> Iterator[Any]:
    """``map_partition``."""
    return through_queue(fn, records, queue_size)


def map_batched_objects(fn: Function, queue_size: int, batches: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """``map_partition`` of records that come as ``Batches`` reads them."""

    def run(waiting: Iterator[Sequence[Any]]) -> Iterable[Any]:
        return results_of(fn, chain.from_iterable(waiting))

    return through_queue(run, batches, queue_size, len)


class Batches:
    """Reads the stream of a batched serializer by batches, each of them as one record."""

    def __init__(self, serializer: Any) -> None:
        self._serializer = serializer

    def load_stream(self, stream: Any) -> Iterator[Sequence[Any]]:
        """What Spark calls in its worker."""
        batches: Iterator[Sequence[Any]] = self._serializer._load_stream_without_unbatching(stream)
        return batches


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
    """What the task's metrics show as spilled."""
    from pyspark import shuffle

    shuffle.MemoryBytesSpilled += memory_bytes
    shuffle.DiskBytesSpilled += disk_bytes
