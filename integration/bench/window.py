"""`python -m integration.bench window`: yarnspec.window against what Spark has for it, side by side in local Spark.

No cluster: what is compared happens inside the tasks, in a Python worker, which YARN would start just so. Both sides
read the same cached records and run in pairs, after one run of each that does not count; results go from Python to the
JVM as in any job, and are dropped there. Which side begins changes from pair to pair, since each leaves its garbage to
the next; short ones run more often. Where both sides are the same physical plan of Spark, that is said, and the ratio
shows how large noise is.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any
from unittest.mock import patch

import click
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel, cloudpickle
from pyspark.sql import DataFrame, SparkSession, functions
from rich.console import Console
from rich.table import Table

from integration.bench.measured import machine
from integration.bench.ratio import paired_ratio
from yarnspec.window import full_window_partition

RECORDS = 10_000_000
# Mapping is compared on fewer.
MAPPED_SHARE = 10
REPEATS = 5
# Both sides of a comparison together.
LEAST_S = 20.0
PARTITIONS = 2
# As Python holds a record and its key; the memory of a sort that shall not go to disk is above it.
RECORD_BYTES = 200
BUDGETS = 10

Run = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Two sides of one job, and how many times as long ours may take."""

    name: str
    theirs: Run
    ours: Run
    aim: float
    same_plan: bool = False


def spark_session() -> SparkSession:
    """Two slots, and memory enough to keep the records."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARTITIONS}]").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.memory", "4g").config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false").getOrCreate()


def drop(data: DataFrame) -> None:
    """Run a DataFrame's job for nothing."""
    data.write.format("noop").mode("overwrite").save()


def drop_objects(data: Any) -> None:
    """Run an RDD's job; its records are pickled and counted, batch by batch, in the JVM."""
    data._jrdd.count()


def batches(given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Something to do with Arrow batches."""
    for batch in given:
        yield batch.set_column(0, "key", pc.multiply(pc.bit_wise_and(batch.column(0), 0xFFFF), 3))


def rows(given: Iterable[Any]) -> Iterator[tuple[int, str]]:
    """Something to do with records."""
    for key, text in given:
        yield (key & 0xFFFF) * 3, text


def peak_mb(records: Iterator[Any]) -> Iterator[float]:
    """Read all records; then the most memory that the process has had, Arrow's library in it."""
    assert pa.__version__
    for _ in records:
        pass
    yield resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def sorts(data: DataFrame, objects: Any, records: int) -> list[Comparison]:
    """Sorting that fits in memory."""
    view, object_view = full_window_partition(data), full_window_partition(objects)
    plenty: Any = {"memory": 2 * RECORD_BYTES * records}
    key = itemgetter(0)
    sparks, ours = data.sortWithinPartitions("key"), view.sort_partition("key")
    return [
        Comparison(
            "sort a DataFrame: sortWithinPartitions",
            lambda: drop(sparks),
            lambda: drop(ours),
            1.05,
            same_plan(sparks, ours),
        ),
        Comparison(
            "sort objects: mapPartitions(sorted)",
            lambda: drop_objects(objects.mapPartitions(lambda part: sorted(part, key=key))),
            lambda: drop_objects(object_view.sort_partition(0, **plenty)),
            1.0,
        ),
    ]


def maps(data: DataFrame, objects: Any) -> list[Comparison]:
    """Functions of partitions."""
    made = objects.map(lambda record: (record[0] + 1, record[1]))
    view, object_view, made_view = (full_window_partition(each) for each in (data, objects, made))
    session, schema = data.sparkSession, data.schema

    def in_arrow() -> DataFrame:
        # It asks for pandas on its way, and does not need it.
        with patch("pyspark.sql.pandas.functions.require_minimum_pandas_version"):
            return data.mapInArrow(batches, schema)

    return [
        Comparison(
            "Arrow batches: mapInArrow",
            lambda: drop(in_arrow()),
            lambda: drop(view.map_partition(batches, records="arrow")),
            1.1,
        ),
        Comparison(
            "rows: rdd.mapPartitions, createDataFrame",
            lambda: drop(session.createDataFrame(data.rdd.mapPartitions(rows), schema)),
            lambda: drop(view.map_partition(rows)),
            1.1,
        ),
        Comparison(
            "objects: mapPartitions",
            lambda: drop_objects(objects.mapPartitions(rows)),
            lambda: drop_objects(object_view.map_partition(rows)),
            1.1,
        ),
        Comparison(
            "objects from a Python function: mapPartitions",
            lambda: drop_objects(made.mapPartitions(rows)),
            lambda: drop_objects(made_view.map_partition(rows)),
            1.1,
        ),
    ]


def same_plan(one: DataFrame, other: DataFrame) -> bool:
    """Whether Spark runs the same for both, down to the last operator."""
    plans: list[Any] = [each._jdf.queryExecution().executedPlan() for each in (one, other)]
    return bool(plans[0].sameResult(plans[1]))


def compare(one: Comparison, repeats: int) -> tuple[list[float], list[float]]:
    """Seconds of both sides, in pairs: so many, or more where they are short."""
    theirs: list[float] = []
    ours: list[float] = []
    sides = [(one.theirs, theirs), (one.ours, ours)]
    for run, _ in sides:
        run()
    while len(theirs) < repeats or sum(theirs) + sum(ours) < LEAST_S:
        for run, taken in sides:
            begin = time.perf_counter()
            run()
            taken.append(time.perf_counter() - begin)
        sides.reverse()
    return theirs, ours


def sort_beyond_memory(objects: Any, records: int, console: Console) -> bool:
    """Sort ten times the memory; the time and the peak memory of a worker, beside those of ``sorted``."""
    view = full_window_partition(objects)
    budget = RECORD_BYTES * records // PARTITIONS // BUDGETS
    within: Any = {"memory": budget}
    sides: dict[str, Callable[[], Any]] = {
        "nothing but reading": lambda: objects,
        "mapPartitions(sorted)": lambda: objects.mapPartitions(lambda part: sorted(part, key=itemgetter(0))),
        f"sort_partition, memory {budget / 2**20:.0f} MB": lambda: view.sort_partition(0, **within),
    }
    peaks: list[float] = []
    for name, make in sides.items():
        # Another environment is another Python worker, whose peak memory is its own.
        objects.ctx.environment["YARNSPEC_BENCH_SIDE"] = name
        begin = time.perf_counter()
        peaks.append(max(make().mapPartitions(peak_mb).collect()))
        console.print(
            f"{records // PARTITIONS:,} objects in each worker, {name}: {time.perf_counter() - begin:.1f} s, "
            f"a worker held {peaks[-1]:.0f} MB at most"
        )
    base, _, ours = peaks
    return ours - base <= budget / 2**20


def cached(spark: SparkSession, records: int) -> tuple[DataFrame, Any]:
    """The records as a DataFrame and as an RDD of tuples, both in Spark's cache."""
    key = functions.shiftright(functions.xxhash64("id"), 20)
    text = functions.concat(functions.lit("text "), "id")
    data = spark.range(records, numPartitions=PARTITIONS).select(key.alias("key"), text.alias("text")).cache()
    objects = data.rdd.map(tuple).persist(StorageLevel.MEMORY_AND_DISK)
    assert data.count() == objects.count() == records
    return data, objects


def measure(console: Console, repeats: int = REPEATS, records: int = RECORDS) -> bool:
    """Run everything and print it; tell whether the aims are met."""
    # The workers need not import this file and what it needs.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark = spark_session()
    table = Table(
        title=f"{records:,} records sorted, {records // MAPPED_SHARE:,} mapped, "
        f"pairs by turns, median (min-max); {machine()}"
    )
    for heading in ("", "pairs", "Spark", "yarnspec.window", "ratio [95 %]", "aim"):
        table.add_column(heading, justify="left" if not heading else "right")
    met = True
    try:
        data, objects = cached(spark, records)
        for one in [*maps(*cached(spark, records // MAPPED_SHARE)), *sorts(data, objects, records)]:
            theirs, ours = compare(one, repeats)
            ratio = paired_ratio(ours, theirs)
            met = met and (one.same_plan or ratio.value <= one.aim)
            aim = "same plan" if one.same_plan else f"≤ {one.aim:g}"
            row = (one.name, str(len(ours)), _spread(theirs), _spread(ours), str(ratio), aim)
            table.add_row(*row)
            console.print(" | ".join(row))
        met = sort_beyond_memory(objects, records, console) and met
    finally:
        spark.stop()
    console.print(table)
    return met


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f}-{max(seconds):.2f})"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--repeats", type=click.IntRange(min=1), default=REPEATS, show_default=True, help="Pairs of runs at least."
)
@click.option("--records", type=click.IntRange(min=1), default=RECORDS, show_default=True, help="Records to process.")
def main(repeats: int, records: int) -> None:
    """Measure yarnspec.window; exit code 1 when an aim is missed."""
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    sys.exit(0 if measure(console, repeats, records) else 1)


if __name__ == "__main__":
    main()
