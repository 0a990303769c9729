"""All records of a partition as one window, for DataFrames and RDDs: with YARN and in plain local Spark.

``full_window_partition(data)`` gives the view. Its methods are ``map_partition``, ``sort_partition``, ``aggregate`` and
``reduce``, as in the full-window processing proposal (FLIP-380; ``docs/window.md``).

This room decides how a partition reaches a function as one window. It must not know the cluster: it also runs in plain
local Spark, and imports only errors and units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from yarnspec.errors import UsageError
from yarnspec.window.dataframe import PartitionWindowedDataFrame
from yarnspec.window.folds import AggregateFunction
from yarnspec.window.order import Order
from yarnspec.window.rdd import PartitionWindowedRDD
from yarnspec.window.shipping import ship

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

__all__ = [
    "AggregateFunction",
    "Order",
    "PartitionWindowedDataFrame",
    "PartitionWindowedRDD",
    "full_window_partition",
]


@overload
def full_window_partition(data: DataFrame) -> PartitionWindowedDataFrame: ...


@overload
def full_window_partition(data: RDD[Any]) -> PartitionWindowedRDD: ...  # type: ignore[overload-cannot-match]


def full_window_partition(data: DataFrame | RDD[Any]) -> PartitionWindowedDataFrame | PartitionWindowedRDD:
    """Take all records of each partition as one window, which is complete at the end of the input.

    The view has the partitions of what it came from; there is no parallelism of its own to set.

    Raises:
        UsageError: the DataFrame is a streaming one: its partitions have no end.
        TypeError: it is neither a DataFrame nor an RDD.

    >>> view = full_window_partition(spark.range(4, numPartitions=2))
    >>> view.reduce(lambda one, other: one).collect()
    [Row(id=0), Row(id=2)]
    """
    from pyspark import RDD
    from pyspark.sql.classic.dataframe import DataFrame

    if isinstance(data, RDD):
        ship(data.context)
        return PartitionWindowedRDD(data)
    if not isinstance(data, DataFrame):
        raise TypeError(f"a DataFrame (not of Spark Connect) or an RDD has partitions to process, {type(data)} has not")
    if data.isStreaming:
        raise UsageError(
            "a streaming DataFrame has no end, so its partitions never make a full window: use its own time windows, "
            "or full_window_partition on the batches in foreachBatch (there a save of yarnspec.sink needs a key)"
        )
    ship(data.sparkSession.sparkContext)
    return PartitionWindowedDataFrame(data)
