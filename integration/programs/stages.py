"""Three jobs of different kinds, one after the other: `stages.py DIRECTORY OUTPUT [sorted]`.

Before job N it writes the file at-N in DIRECTORY and waits until there is go-N: an RDD with an accumulator, a join of
DataFrames with a Python function, and Parquet files that are written to OUTPUT, in order if that is asked for. So it
does before it ends (at-4, go-4). Prints `{"result": …}`, the same however often the driver was replaced.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROWS = 2_000
MAPS, REDUCES = 8, 4
WRITING_MAPS = 10
PAUSE_S = 0.5
LONGEST_S = 540
ALL_MAPS = MAPS + (MAPS + MAPS // 2) + WRITING_MAPS
TASKS = ALL_MAPS + 3 * REDUCES
SORTED_MAPS, SORTED_TASKS = REDUCES, 2 * REDUCES
"""So many more when the rows are sorted: those that deal them out, and those that look for the ranges before."""
WRITES = REDUCES
"""So many of all tasks write files."""
KEYS = 97


def expected() -> dict[str, Any]:
    """The right result, without Spark."""
    sums, joined = [0] * KEYS, [0] * KEYS
    for row in range(ROWS):
        sums[row * 7 % KEYS] += row
        joined[row * 3 % KEYS] += row * len(range(row * 3 % KEYS, ROWS, KEYS))
    return {"seen": ROWS, "sums": sums, "joined": joined}


def written() -> dict[int, int]:
    """What is in the files in the end: each key, and three times the sum of its rows."""
    return {key: 3 * sum(range(key, ROWS, KEYS)) for key in range(KEYS)}


def slowly(records: Iterable[Any]) -> Iterator[Any]:
    """A partition that takes a moment, so that its driver can be caught in the middle of a stage."""
    time.sleep(PAUSE_S)
    yield from records


def slow(row: int, every: int) -> int:
    """The same number, with such a moment for one in so many."""
    if row % every == 0:
        time.sleep(PAUSE_S)
    return row


def main(directory: Path, output: str, ordered: bool) -> None:
    """Run the jobs."""
    from pyspark.sql import Column, SparkSession
    from pyspark.sql import functions as f

    spark = (
        # What is left is counted by tasks: there are as many of them however much data there is.
        SparkSession.builder.config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.shuffle.partitions", str(REDUCES))
        .getOrCreate()
    )
    context = spark.sparkContext
    seen = context.accumulator(0)

    def count(row: int) -> tuple[int, int]:
        seen.add(1)
        return row * 7 % KEYS, row

    def paused(maps: int) -> Column:
        """The number of a row, of which the first one in each partition takes a moment."""
        return f.udf(lambda row: slow(row, ROWS // maps), "long")("id").alias("id")

    gate(directory, 1)
    pairs = context.parallelize(range(ROWS), MAPS).mapPartitions(slowly).map(count)
    # Both are kept to the end: Spark drops the shuffles of what nobody holds any more.
    summed = pairs.reduceByKey(lambda left, right: left + right, REDUCES)
    sums = dict(summed.collect())

    gate(directory, 2)
    rows = spark.range(0, ROWS, 1, MAPS).select(paused(MAPS))
    left = rows.groupBy((f.col("id") * 3 % KEYS).alias("key")).agg(f.sum("id").alias("total"))
    right = spark.range(0, ROWS, 1, MAPS // 2).groupBy((f.col("id") % KEYS).alias("key")).agg(f.count("*").alias("n"))
    both = left.join(right, "key")
    joined = {row["key"]: row["total"] * row["n"] for row in both.collect()}

    gate(directory, 3)
    rows = spark.range(0, ROWS, 1, WRITING_MAPS).select(paused(WRITING_MAPS))
    totals = rows.groupBy((f.col("id") % KEYS).alias("key")).agg(f.sum(f.col("id") * 3).alias("total"))
    (totals.orderBy("key") if ordered else totals).write.mode("overwrite").parquet(output)

    gate(directory, 4)
    found = {"seen": seen.value} | {
        name: [values[key] for key in range(KEYS)] for name, values in (("sums", sums), ("joined", joined))
    }
    print(json.dumps({"result": found}), flush=True)
    spark.stop()


def gate(directory: Path, number: int | str) -> None:
    """Say that we are here, and wait until we may go on."""
    (directory / f"at-{number}").touch()
    deadline = time.monotonic() + LONGEST_S
    while not (directory / f"go-{number}").exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote go-{number}")
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], "sorted" in sys.argv[3:])
