"""The partition-windowed view of an RDD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from yarnspec.errors import UsageError
from yarnspec.units import parse_size_bytes
from yarnspec.window.folds import AggregateFunction, aggregated, reduced
from yarnspec.window.handover import DEFAULT_QUEUE_SIZE
from yarnspec.window.objects import (
    Brought,
    Function,
    map_objects,
    map_results,
    sort_objects,
    through_batches,
    through_records,
)
from yarnspec.window.order import Order, field_of

if TYPE_CHECKING:
    from pyspark import RDD


class PartitionWindowedRDD:
    """All records of each partition of an RDD as one window; made by ``full_window_partition``.

    Everything here keeps the RDD's partitions, is as lazy as the RDD, and gives an RDD.
    """

    def __init__(self, data: RDD[Any]) -> None:
        self._data = data

    def map_partition(
        self, fn: Callable[[Iterator[Any]], Iterable[Any]], *, queue_size: int = DEFAULT_QUEUE_SIZE
    ) -> RDD[Any]:
        """Return the records that ``fn`` makes of each partition. It runs while the partition's records arrive.

        Args:
            fn: gets an iterator of records and returns or yields results.
            queue_size: so many records are between Spark and ``fn`` at most, or a batch in which Spark brings them;
                make it smaller for large records. Of several in one task (one behind the other) the first counts;
                Python functions before ``fn`` run in its thread, and give it each record at once.

        >>> def differences(records):
        ...     previous = 0
        ...     for record in records:
        ...         yield record - previous
        ...         previous = record
        >>> full_window_partition(spark.sparkContext.parallelize([1, 4, 9, 16], 2)).map_partition(differences).collect()
        [1, 3, 9, 7]
        """
        if queue_size < 1:
            raise UsageError(f"queue_size={queue_size}: a queue holds one record at least")
        return _behind_queue(self._data, fn, queue_size)

    def sort_partition(
        self,
        key: int | str | Callable[[Any], Any],
        order: Order = Order.ASCENDING,
        *,
        memory: int | str | None = None,
    ) -> RDD[Any]:
        """The records of each partition in order; equal ones stay in the order in which they came.

        Null keys (NaT is one) come first in ascending and last in descending order, NaN is larger than any number, as
        in Spark. Within the memory, records are sorted by Python; beyond it, sorted runs go to the container's local
        disk.

        Args:
            key: an index (of tuples, lists), the name of a field (of Rows, dicts; of an attribute elsewhere), or a
                function of the record, which may be called more than once for a record.
            order: ascending or descending.
            memory: what the records of a partition may take, in bytes or like ``"2g"``; by default
                ``spark.python.worker.memory`` (512m). An estimate, and Python itself comes on top.

        >>> data = spark.sparkContext.parallelize([(2, "b"), (None, "c"), (1, "a")], 1)
        >>> full_window_partition(data).sort_partition(0).collect()
        [(None, 'c'), (1, 'a'), (2, 'b')]
        >>> full_window_partition(data).sort_partition(lambda record: record[1], Order.DESCENDING).collect()
        [(None, 'c'), (2, 'b'), (1, 'a')]
        """
        task = partial(sort_objects, _key(key), Order(order), self._memory_bytes(memory))
        return self._data.mapPartitions(task, preservesPartitioning=True)

    def aggregate(self, function: AggregateFunction[Any, Any, Any]) -> RDD[Any]:
        """One result for each partition, also for an empty one; see ``AggregateFunction``.

        >>> class Distinct(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return set()
        ...
        ...     def add(self, value, accumulator):
        ...         return accumulator | {value}
        ...
        ...     def get_result(self, accumulator):
        ...         return len(accumulator)
        >>> full_window_partition(spark.sparkContext.parallelize("aabbc", 1)).aggregate(Distinct()).collect()
        [3]
        """
        return self._data.mapPartitions(partial(aggregated, function))

    def reduce(self, fn: Callable[[Any, Any], Any]) -> RDD[Any]:
        """The records of each partition reduced to one; nothing for an empty partition.

        >>> full_window_partition(spark.sparkContext.parallelize([3, 1, 2, 5], 2)).reduce(max).collect()
        [3, 5]
        """
        return self._data.mapPartitions(partial(reduced, fn))

    def _memory_bytes(self, memory: int | str | None) -> int:
        if memory is None:
            memory = self._data.context.getConf().get("spark.python.worker.memory", "512m") or "512m"
        try:
            size_bytes = memory if isinstance(memory, int) else parse_size_bytes(memory, "m")
        except ValueError as error:
            raise UsageError(f"memory: {error}") from None
        if size_bytes < 1:
            raise UsageError(f"memory={memory}: nothing can be sorted in that")
        return size_bytes


def _behind_queue(data: RDD[Any], fn: Function, queue_size: int) -> RDD[Any]:
    """``fn`` on the partitions, with a queue where the records come to Python.

    Functions that run before it in the same task stay in the task's thread with it, and with all that they share.
    """
    from pyspark.core.rdd import RDD, PipelinedRDD
    from pyspark.serializers import BatchedSerializer

    first = not (isinstance(data, PipelinedRDD) and data._is_pipelinable())
    # Spark puts together what runs in one task.
    task: Any = data.mapPartitionsWithIndex(partial(map_objects if first else map_results, fn))
    serializer = task._prev_jrdd_deserializer
    if isinstance(serializer, Brought):
        return task  # there is a queue already
    # Others that are derived from it do not simply take their batches apart.
    batched = getattr(type(serializer), "load_stream", None) is BatchedSerializer.load_stream
    source: RDD[Any] = RDD(task._prev_jrdd, data.context, Brought(serializer, batched=batched))
    through = partial(through_batches if batched else through_records, task.func, queue_size)
    return PipelinedRDD(source, through, isFromBarrier=task._is_barrier())


def _key(key: int | str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    if isinstance(key, str):
        return partial(field_of, key)
    if isinstance(key, int) and not isinstance(key, bool):
        return itemgetter(key)
    if not callable(key):
        raise TypeError(f"a sort key is an index, a name or a function, not {key!r}")
    return key
