"""Uses everything of yarnspec.window and prints one JSON line: `windows.py MASTER|- total_of_partition.py|-`.

The module `total_of_partition` comes by --py-files, or is added from the path that is given.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from yarnspec.window import AggregateFunction, Order, full_window_partition


class Size(AggregateFunction[Any, int, int]):
    """Counts records; in the program itself, so it is pickled by value."""

    def create_accumulator(self) -> int:
        """Begin."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:  # noqa: ARG002
        """Count one more."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """The count."""
        return accumulator


def look(records: Iterator[int]) -> Iterator[tuple[str, str]]:
    """Which Python runs, and where it has our package from."""
    import yarnspec.window

    list(records)
    yield sys.executable, Path(yarnspec.window.__file__).parents[2].name


def spilled(records: Iterator[Any]) -> Iterator[bool]:
    """Whether the sort in front of this went to disk."""
    from pyspark import shuffle

    list(records)
    yield shuffle.DiskBytesSpilled > 0


def dies_at_first(records: Iterator[int]) -> Iterator[int]:
    """Doubles; the first attempt at the first partition dies in the middle of it."""
    context: Any = TaskContext.get()
    for place, record in enumerate(records):
        if place == 2 and context.partitionId() == context.attemptNumber() == 0:
            os._exit(1)
        yield 2 * record


def rows_in(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row with the number of rows."""
    yield pa.record_batch({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def main(master: str, module: str) -> None:
    """Run everything once."""
    builder = SparkSession.builder
    if master != "-":
        builder = builder.master(master).config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    context = spark.sparkContext
    if module != "-":
        context.addPyFile(module)
    data = context.parallelize(range(10), 2).map(lambda number: (number, number)).partitionBy(2).values()
    view: Any = full_window_partition(data)
    mixed = view.sort_partition(lambda number: number if number % 2 == 0 else -number)
    many = context.parallelize(range(5000), 1).map(lambda number: (-number, os.urandom(8)))
    on_disk: Any = full_window_partition(many)
    rows = full_window_partition(spark.createDataFrame(data.map(lambda number: (number,)), "n bigint").coalesce(1))
    looked = view.map_partition(look).collect()
    import total_of_partition  # type: ignore[import-not-found] # comes by --py-files

    line = {
        "python": sorted({python for python, _ in looked}),
        "yarnspec_from": sorted({place for _, place in looked}),
        "sorted": mixed.glom().collect(),
        "retried": full_window_partition(mixed).map_partition(dies_at_first).glom().collect(),
        "spilled": on_disk.sort_partition(0, memory="64k").mapPartitions(spilled).first(),
        "dataframe": [row.n for row in rows.sort_partition("n", Order.DESCENDING).collect()],
        "doubled": sorted(row.n for row in rows.map_partition(lambda each: ((2 * row.n,) for row in each)).collect()),
        "batches": rows.map_partition(rows_in, "rows bigint").first()["rows"],
        "aggregated": view.aggregate(Size()).collect(),
        "by_module": rows.aggregate(total_of_partition.Total(), "bigint").first().value,
        "reduced": view.reduce(lambda one, other: one + other).collect(),
    }
    print(json.dumps(line), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
