"""What runs in the tasks of ``PartitionWindowedRDD``: the records are Python objects."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from yarnspec.window.handover import through_queue
from yarnspec.window.order import Key, Order
from yarnspec.window.sort import ExternalSort


def map_objects(
    fn: Callable[[Iterator[Any]], Iterable[Any]], queue_size: int, any_thread: bool, records: Iterable[Any]
) -> Iterator[Any]:
    """``map_partition``."""
    return through_queue(fn, records, queue_size, any_thread=any_thread)


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
