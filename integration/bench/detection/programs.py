"""Small real programs of many kinds: `programs.py KIND DIRECTORY`. What a task has to do differs as their data do."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

TASKS = 24
RECORD_S = 0.01
PAYLOAD = "x" * 200
RECORD_BYTES = 2000
TIMES = 3
"""How often a program does its work in a recorded run."""


def work(records: Iterable[Any]) -> Iterator[Any]:
    """Wait for each record, as for a service."""
    for record in records:
        time.sleep(RECORD_S)
        yield record


def compute(records: Iterable[int]) -> Iterator[int]:
    """Compute for each record."""
    for record in records:
        yield sum(number * record % 7 for number in range(20_000))


def sized(spark: SparkSession, sizes: list[int], action: Callable[[Iterable[Any]], Iterator[Any]] = work) -> Any:
    """An RDD with a task for each size, of so many records that came through a shuffle: Spark knows how much it is."""
    context = spark.sparkContext
    numbered = context.parallelize(list(enumerate(sizes)), TASKS // 3)
    records = numbered.flatMap(lambda pair: [(pair[0], (number, PAYLOAD)) for number in range(pair[1])])
    parts = records.partitionBy(len(sizes), lambda index: index)
    return parts.map(lambda record: record[1][0]).mapPartitions(action)


def unknown(spark: SparkSession, sizes: list[int]) -> Any:
    """The same out of the driver's memory: Spark does not know what a task has to do."""
    return spark.sparkContext.parallelize(sizes, len(sizes)).flatMap(range).mapPartitions(work)


def zipf(count: int, most: int, seed: int) -> list[int]:
    """Sizes of which few are large."""
    found = [max(1, most // rank) for rank in range(1, count + 1)]
    random.Random(seed).shuffle(found)  # noqa: S311 - a shuffle that is the same each time
    return found


def keyed(spark: SparkSession, rows: int, skew: float) -> DataFrame:
    """Rows of which a share has one key."""
    key = f.when(f.rand(7) < skew, f.lit(0)).otherwise((f.rand(8) * 1000).cast("int"))
    return spark.range(0, rows, numPartitions=TASKS).select("id", key.alias("key"), f.rand(9).alias("value"))


def slow_udf(seconds_per_record: float) -> Any:
    """A Python function for a column, with a wait for each value."""

    def called(value: float) -> float:
        time.sleep(seconds_per_record)
        return value + 1

    return f.udf(called, "double")


def even(spark: SparkSession, _: str) -> None:
    """All tasks alike, two stages."""
    sized(spark, [60] * TASKS).map(lambda n: (n % 16, n)).reduceByKey(max, 16).mapPartitions(work).count()


def one_wave(spark: SparkSession, _: str) -> None:
    """As many tasks as slots, three times, of unknown size."""
    for _round in range(3):
        unknown(spark, [120] * 8).count()


def many_waves(spark: SparkSession, _: str) -> None:
    """Many short tasks, of unknown size."""
    unknown(spark, [12] * 160).count()


def skewed(spark: SparkSession, _: str) -> None:
    """Few large tasks among many small ones."""
    sized(spark, zipf(TASKS, 400, 1)).count()


def rising(spark: SparkSession, _: str) -> None:
    """Each task larger than the one before, and nobody knows how large."""
    unknown(spark, [6 * number for number in range(1, TASKS + 1)]).count()


def one_giant(spark: SparkSession, _: str) -> None:
    """One task twenty times larger than the others, in two stages."""
    sizes = [20] * TASKS
    sizes[5] = 400
    sized(spark, sizes).count()
    sized(spark, sizes[::-1]).count()


def two_sorts(spark: SparkSession, _: str) -> None:
    """Every third task four times larger."""
    sized(spark, [80 if number % 3 == 0 else 20 for number in range(TASKS * 2)]).count()


def scattered(spark: SparkSession, _: str) -> None:
    """Sizes from a wide distribution."""
    chance = random.Random(3)  # noqa: S311
    sized(spark, [int(chance.lognormvariate(3.5, 0.8)) for _ in range(TASKS * 2)]).count()


def computing(spark: SparkSession, _: str) -> None:
    """Python that computes, more tasks at once than the machine has cores."""
    sized(spark, [60] * TASKS, compute).count()


def computing_skewed(spark: SparkSession, _: str) -> None:
    """The same, unevenly."""
    sized(spark, zipf(TASKS, 400, 2), compute).count()


def grouped(spark: SparkSession, _: str) -> None:
    """A shuffle whose largest group has half of the records."""
    context = spark.sparkContext
    pairs = context.parallelize(range(1200), TASKS).map(lambda n: (0 if n % 2 else n % 97, n))
    pairs.groupByKey(12).mapPartitions(lambda groups: work(n for _, each in groups for n in each)).count()


def words(spark: SparkSession, directory: str) -> None:
    """Words of text files of different lengths are counted."""
    path = f"{directory}/words"
    texts = spark.sparkContext.parallelize(zipf(TASKS, 3000, 4), TASKS).flatMap(
        lambda size: (f"w{n % 211} w{n % 17} w{n}" for n in range(size))
    )
    texts.saveAsTextFile(path)
    lines = spark.sparkContext.textFile(path)
    lines.mapPartitions(lambda each: work(line for n, line in enumerate(each) if n % 10 == 0)).flatMap(
        str.split
    ).countByValue()


def rounds(spark: SparkSession, _: str) -> None:
    """An iteration over cached data."""
    data = spark.sparkContext.parallelize(range(TASKS * 20), TASKS).cache()
    for number in range(6):
        data.mapPartitions(work).map(lambda n, number=number: n * number).sum()


def aggregated(spark: SparkSession, _: str) -> None:
    """SQL: sums by a skewed key."""
    keyed(spark, 4_000_000, 0.6).groupBy("key").agg(f.sum("value"), f.stddev("value"), f.count("*")).collect()


def joined(spark: SparkSession, _: str) -> None:
    """SQL: a join in which one key has most of the rows."""
    left = keyed(spark, 1_500_000, 0.7)
    right = spark.range(1000).select(f.col("id").cast("int").alias("key"), f.rand(1).alias("weight"))
    left.join(right.hint("merge"), "key").groupBy((f.col("id") % 50).alias("g")).agg(f.sum("weight")).collect()


def ordered(spark: SparkSession, _: str) -> None:
    """SQL: a global order."""
    keyed(spark, 1_500_000, 0.0).orderBy("value").select(f.sum("id")).collect()
    keyed(spark, 1_500_000, 0.0).orderBy("key", "value").limit(10).collect()


def ranked(spark: SparkSession, _: str) -> None:
    """SQL: ranks within groups of different sizes."""
    window = Window.partitionBy("key").orderBy("value")
    keyed(spark, 800_000, 0.3).withColumn("rank", f.row_number().over(window)).where("rank < 3").count()


def python_column(spark: SparkSession, _: str) -> None:
    """SQL with a Python function on an even table."""
    table = spark.range(0, 1600, numPartitions=TASKS).select(f.rand(1).alias("value"))
    table.select(f.sum(slow_udf(RECORD_S)("value"))).collect()


def python_groups(spark: SparkSession, _: str) -> None:
    """SQL with a Python function after a skewed shuffle."""
    table = keyed(spark, 1500, 0.4).repartition(12, "key")
    table.select(f.sum(slow_udf(RECORD_S)("value"))).collect()


def written(spark: SparkSession, directory: str) -> None:
    """A table written, read and written again."""
    path = f"{directory}/written"
    keyed(spark, 600_000, 0.2).write.parquet(f"{path}/one")
    spark.read.parquet(f"{path}/one").repartition(TASKS, "key").write.parquet(f"{path}/two")
    spark.read.parquet(f"{path}/two").groupBy("key").count().write.json(f"{path}/three")


def one_partition(spark: SparkSession, _: str) -> None:
    """An even stage, then one task that does the rest."""
    sized(spark, [50] * TASKS).coalesce(TASKS).map(lambda n: (0, n)).groupByKey(1).mapPartitions(
        lambda groups: work(range(200 * len(list(groups))))
    ).count()


def two_jobs(spark: SparkSession, _: str) -> None:
    """Two jobs at once, each with half of the slots."""
    from threading import Thread

    jobs = [Thread(target=lambda: sized(spark, [40] * TASKS).count()) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()


def pipeline(spark: SparkSession, _: str) -> None:
    """Five stages, each uneven in another way."""
    rdd = sized(spark, zipf(TASKS, 150, 5)).map(lambda n: (n % 31, n))
    for width in (20, 16, 12, 8):
        rdd = rdd.partitionBy(width, hash).mapPartitions(work)
    rdd.count()


def uneven(spark: SparkSession, _: str) -> None:
    """Two shuffles of noise, whose tasks are of very different sizes, and Spark knows of which."""
    sizes = zipf(TASKS, 160, 6)
    places = [place for place, size in enumerate(sizes) for _ in range(size)]
    numbered = spark.sparkContext.parallelize(places, TASKS).map(lambda place: (place, os.urandom(RECORD_BYTES)))
    once = numbered.partitionBy(TASKS, lambda place: place).mapPartitions(work)
    once.partitionBy(TASKS, lambda place: place).mapPartitions(work).count()


KINDS: dict[str, Callable[[SparkSession, str], None]] = {
    each.__name__: each
    for each in (
        even, one_wave, many_waves, skewed, rising, one_giant, two_sorts, scattered, computing, computing_skewed,
        grouped, words, rounds, aggregated, joined, ordered, ranked, python_column, python_groups, written,
        one_partition, two_jobs, pipeline, uneven,
    )
}  # fmt: skip


def main(kind: str, directory: str, times: int) -> None:
    """Run one of them, several times if asked."""
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", str(TASKS)).getOrCreate()
    # The executors' Python workers are there before what is recorded begins.
    spark.sparkContext.parallelize(range(320), 16).mapPartitions(work).count()
    for number in range(times):
        KINDS[kind](spark, f"{directory}/{number}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
