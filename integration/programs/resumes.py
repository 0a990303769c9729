"""Programs that a second driver can go on with: one for each way in which Spark shuffles.

    resumes.py CASE DIRECTORY [ADAPTIVE [FILE]]

Each prints one line, ``RESULT`` and JSON, which is the same however often the driver was replaced; not before there is
FILE, if one is named.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Observation, SparkSession, functions
from pyspark.sql.types import LongType

PAUSE_S = 0.15
LONGEST_S = 540
PARTS, ROWS, KEYS, NAMES = 8, 2_000, 1_000, 10
"""Of the tables: their files, and the rows in each."""


def slowly(records: Iterable[Any]) -> Iterator[Any]:
    """A partition that takes a moment, so that a driver can be caught in the middle of a stage."""
    time.sleep(PAUSE_S)
    yield from records


def rdd(spark: SparkSession, _directory: Path) -> Any:
    """Two shuffles of RDDs, and accumulators in both."""
    context = spark.sparkContext
    seen, sums = context.accumulator(0), context.accumulator(0)

    def count(number: int) -> tuple[int, int]:
        seen.add(1)
        return number % 100, number

    def again(pair: tuple[int, int]) -> tuple[int, int]:
        sums.add(pair[1])
        return pair[0] % 10, pair[1]

    first = context.parallelize(range(10_000), 8).mapPartitions(slowly).map(count).reduceByKey(lambda a, b: a + b, 6)
    second = first.map(again).mapPartitions(slowly).reduceByKey(lambda a, b: a + b, 4)
    result = sorted(second.mapPartitions(slowly).collect())
    return [result, seen.value, sums.value]


def lines(spark: SparkSession, directory: Path) -> Any:
    """Shuffles of the lines of text files, the second one with a broadcast variable made of what the first one gave."""
    context = spark.sparkContext
    ends = context.textFile(str(directory / "text"), 6).mapPartitions(slowly).map(lambda word: (word[-1], 1))
    summed = ends.reduceByKey(lambda a, b: a + b, 3)  # held: Spark drops the shuffles of what nobody holds any more
    # In order: a dictionary that was filled in another one is another value to who compares its pickle.
    weights = context.broadcast(dict(sorted(summed.collect())))
    words = context.textFile(str(directory / "text"), 8).mapPartitions(slowly).flatMap(str.split)
    counted = words.map(lambda word: (word, weights.value.get(word[-1], 0))).reduceByKey(lambda a, b: a + b, 4)
    return sorted(counted.mapPartitions(slowly).collect())


def tables(spark: SparkSession, directory: Path) -> Any:
    """A join and an aggregation of Parquet files, above an aggregation; one table small enough to be broadcast."""
    facts = spark.read.parquet(str(directory / "facts"))
    names = spark.read.parquet(str(directory / "names"))
    pause = functions.udf(_pause, LongType())
    sums = (
        facts.withColumn("v", pause("v"))
        .groupBy("k")
        .agg(functions.sum("v").alias("v"), functions.count("*").alias("n"))
    )
    joined = sums.join(facts.groupBy("k").agg(functions.max("v").alias("top")), "k").join(
        names, functions.col("k") % 10 == names.id
    )
    rows = joined.groupBy("name").agg(functions.sum("v"), functions.sum("n"), functions.sum("top"))
    return sorted([list(row) for row in rows.collect()])


def expected_tables() -> list[list[Any]]:
    """What `tables` gives, without Spark."""
    values: dict[int, list[int]] = {}
    for row in range(PARTS * ROWS):
        values.setdefault(row % KEYS, []).append(_value(row))
    found: dict[str, list[int]] = {}
    for key, those in values.items():
        sums = found.setdefault(_name(key % NAMES), [0, 0, 0])
        for place, more in enumerate((sum(those), len(those), max(those))):
            sums[place] += more
    return sorted([name, *sums] for name, sums in found.items())


def _pause(value: int) -> int:
    if value % 500 == 0:
        time.sleep(0.05)
    return value


def udf(spark: SparkSession, directory: Path) -> Any:
    """Functions of the program's in two stages of a DataFrame, and an accumulator in one of them."""
    seen = spark.sparkContext.accumulator(0)

    def change(value: int) -> int:
        seen.add(1)
        return _pause(value) * 2 + 1

    changed = functions.udf(change, LongType())
    facts = spark.read.parquet(str(directory / "facts"))
    sums = facts.select("k", changed("v").alias("v")).groupBy("k").agg(functions.sum("v").alias("v"))
    rows = sums.select(functions.udf(_pause, LongType())("v").alias("v"), (functions.col("k") % 7).alias("g"))
    result = rows.groupBy("g").agg(functions.sum("v")).collect()
    return [sorted([list(row) for row in result]), seen.value]


def repartition(spark: SparkSession, directory: Path) -> Any:
    """Rows that are dealt out in turn, in a DataFrame and in an RDD."""
    facts = spark.read.parquet(str(directory / "facts")).withColumn("v", functions.udf(_pause, LongType())("v"))
    dealt = facts.repartition(6).groupBy((functions.col("k") % 10).alias("k")).agg(functions.sum("v").alias("v"))
    numbers = spark.sparkContext.parallelize(range(2_000), 6).mapPartitions(slowly).repartition(5)
    pairs = numbers.map(lambda n: (n % 3, n)).mapPartitions(slowly).reduceByKey(lambda a, b: a + b, 3)
    return [sorted([list(row) for row in dealt.collect()]), sorted(pairs.collect())]


def order(spark: SparkSession, directory: Path) -> Any:
    """Rows in order: ranges that are found by sampling."""
    facts = spark.read.parquet(str(directory / "facts")).withColumn("v", functions.udf(_pause, LongType())("v"))
    ordered = facts.orderBy(functions.col("v").desc(), "k").select("k", "v")
    rows = ordered.collect()
    return [[list(row) for row in rows[:50]], len(rows), sum(row.v * i for i, row in enumerate(rows)) % 1_000_003]


def subquery(spark: SparkSession, directory: Path) -> Any:
    """A scalar subquery above a shuffle of its own, and row numbers."""
    spark.read.parquet(str(directory / "facts")).createOrReplaceTempView("facts")
    spark.udf.register("pause", _pause, LongType())
    rows = spark.sql("""
        with sums as (select k, sum(pause(v)) s, count(*) n from facts group by k)
        select k % 13 g, max(s) m, count(*) c from
          (select k, s, row_number() over (partition by n, k % 3 order by s, k) r from sums
           where s > (select avg(v) * 10 from facts where v > 50)) where r < 200 group by k % 13""")
    return sorted([list(row) for row in rows.collect()])


def observed(spark: SparkSession, directory: Path) -> Any:
    """Counts rows with `observe` by aggregates of each kind: in two stages, and in one that is sampled first."""
    facts = spark.read.parquet(str(directory / "facts")).withColumn("v", functions.udf(_pause, LongType())("v"))
    below, above, sorting = Observation("below"), Observation("above"), Observation()
    total = functions.sum("v").alias("v")
    first = facts.observe(
        below,
        functions.count("*").alias("n"),
        total,
        functions.max(functions.concat(functions.lit("k"), "k")).alias("name"),
        functions.avg(functions.col("v").cast("decimal(20,3)")).cast("string").alias("mean"),
        functions.approx_count_distinct("v").alias("distinct"),
        functions.percentile(functions.col("k") % 7, 0.5).alias("middle"),
    )
    sums = first.groupBy("k").agg(total).observe(above, functions.count("*").alias("n"), total)
    top = sums.groupBy((functions.col("k") % 10).alias("k")).agg(functions.max("v"))  # held, as in `lines`
    rows = top.collect()
    ordered = facts.observe(sorting, total).orderBy("v", "k").select("v").collect()
    seen = [each.get for each in (below, above, sorting)]
    return [sorted([list(row) for row in rows]), sum(row.v * i for i, row in enumerate(ordered)) % 1_000_003, seen]


def few(spark: SparkSession, directory: Path) -> Any:
    """The ten rows that adaptive execution took for none when a stage was skipped and its rows were not counted."""
    facts = spark.read.parquet(str(directory / "facts")).withColumn("v", functions.udf(_pause, LongType())("v"))
    some = facts.groupBy((functions.col("k") % 10).alias("k")).agg(functions.sum("v").alias("v"))
    return [
        list(row)
        for row in some.join(some.select("k", (functions.col("v") + 1).alias("w")), "k").orderBy("k").collect()
    ]


CASES: dict[str, Callable[[SparkSession, Path], Any]] = {
    each.__name__: each for each in (rdd, lines, tables, udf, repartition, order, subquery, few, observed)
}


def write_inputs(directory: Path) -> None:
    """The files that the programs read. Not a part of them: a second driver must find them unchanged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (directory / "text").mkdir(parents=True)
    for part in range(4):
        words = (f"word{(part * 1_000 + i) % 137}" for i in range(1_000))
        (directory / "text" / f"part-{part}.txt").write_text("\n".join(words) + "\n")
    (directory / "facts").mkdir()
    for part in range(PARTS):
        rows = range(part * ROWS, (part + 1) * ROWS)
        keys, values = [row % KEYS for row in rows], [_value(row) for row in rows]
        pq.write_table(pa.table({"k": keys, "v": values}), directory / "facts" / f"part-{part}.parquet")
    (directory / "names").mkdir()
    names = pa.table({"id": list(range(NAMES)), "name": [_name(number) for number in range(NAMES)]})
    pq.write_table(names, directory / "names" / "part-0.parquet")


def _value(row: int) -> int:
    return row * 7_919 % 100_003


def _name(number: int) -> str:
    return f"name{number % 4}"


def wait_for_file(path: Path) -> None:
    """Return when it is there."""
    deadline = time.monotonic() + LONGEST_S
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {path}")
        time.sleep(0.05)


if __name__ == "__main__":
    builder = SparkSession.builder.config("spark.sql.adaptive.enabled", sys.argv[3] if len(sys.argv) > 3 else "true")
    session = builder.getOrCreate()
    outcome = CASES[sys.argv[1]](session, Path(sys.argv[2]))
    if len(sys.argv) > 4:
        wait_for_file(Path(sys.argv[4]))
    print("RESULT " + json.dumps(outcome), flush=True)
    session.stop()
