"""Functions that do not give the same each time, or not by their input alone: `impure.py CASE DIRECTORY`.

The last line of the output is `RESULT` and what came out.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession, functions
from pyspark.sql.types import LongType

from yarnspec.sink import PartitionFileSink, published_files

ROWS = 4_000
SALTS = 50
PARTS = 8
DAYS = ("a", "b", "c")
SLOW_S = 0.02
FAIL = "fail"
"""While there is a file of this name functions fail."""


def salted(spark: SparkSession, _directory: Path) -> Any:
    """How many records there are, counted by a key with a random part first."""
    numbers = spark.sparkContext.parallelize(range(ROWS), PARTS)
    pairs = numbers.map(lambda n: ((n % 3, random.randrange(SALTS)), 1))  # noqa: S311 - as users do
    counts = pairs.reduceByKey(lambda a, b: a + b, 5).map(_slowly).map(lambda pair: (pair[0][0], pair[1]))
    return sum(count for _, count in counts.reduceByKey(lambda a, b: a + b, 5).collect())


def salted_rows(spark: SparkSession, _directory: Path) -> Any:
    """The same with a DataFrame."""
    return _sum_of(_salted_counts(spark))


def united_rows(spark: SparkSession, _directory: Path) -> Any:
    """The salted count together with one that has a shuffle of its own, which gives the same rows each time."""
    sevenths = spark.range(0, ROWS, 1, 5 * PARTS).groupBy(functions.col("id") % 7).count()
    return _sum_of(_salted_counts(spark).union(sevenths))


def _salted_counts(spark: SparkSession) -> Any:
    salt = functions.udf(lambda _: random.randrange(SALTS), LongType())  # noqa: S311
    rows = spark.range(0, ROWS, 1, PARTS).select((functions.col("id") % 3).alias("k"), salt("id").alias("s"))
    return rows.groupBy("k", "s").count().select("k", functions.udf(_slowly, LongType())("count").alias("n"))


def _sum_of(counts: Any) -> int:
    return sum(row.n for row in counts.groupBy("k").agg(functions.sum("n").alias("n")).collect())


def counted(spark: SparkSession, _directory: Path) -> Any:
    """The salted count, after the first half of it has been counted by a job of its own."""
    return sum(count for _, count in _counts(spark).collect())


def counted_together(spark: SparkSession, _directory: Path) -> Any:
    """The same; the second shuffle is made while partitions above it are put together."""
    return sum(count for _, count in _counts(spark).coalesce(2).collect())


def _counts(spark: SparkSession) -> Any:
    numbers = spark.sparkContext.parallelize(range(ROWS), PARTS)
    pairs = numbers.map(lambda n: ((n % 3, random.randrange(SALTS)), 1))  # noqa: S311
    salts = pairs.reduceByKey(lambda a, b: a + b, 5).map(_slowly)
    salts.count()
    return salts.map(lambda pair: (pair[0][0], pair[1])).reduceByKey(lambda a, b: a + b, 5)


def split(spark: SparkSession, directory: Path) -> Any:
    """Each record goes to one of two files by lot, and all are in them once."""
    drawn = _drawn(spark)
    return _written(directory, drawn.filter(lambda pair: pair[0] == 0), drawn.filter(lambda pair: pair[0] == 1))


def split_above(spark: SparkSession, directory: Path) -> Any:
    """The same, where the second file has a shuffle of its own, which has run before the first one is written."""
    drawn = _drawn(spark)
    return _split_above(directory, drawn, drawn.filter(lambda pair: pair[0] == 1))


def split_cached(spark: SparkSession, directory: Path) -> Any:
    """The same, where what that shuffle is made of is cached, so that nobody can say what it is."""
    drawn = _drawn(spark)
    return _split_above(directory, drawn, drawn.filter(lambda pair: pair[0] == 1).cache())


def _split_above(directory: Path, drawn: Any, second: Any) -> list[int]:
    spread = second.map(lambda pair: pair[::-1]).partitionBy(3).map(lambda pair: pair[::-1])
    spread.count()
    return _written(directory, drawn.filter(lambda pair: pair[0] == 0), spread)


def _drawn(spark: SparkSession) -> Any:
    numbers = spark.sparkContext.parallelize(range(ROWS), PARTS)
    return numbers.map(lambda n: (random.randrange(2), n)).partitionBy(2)  # noqa: S311


def _written(directory: Path, *halves: Any) -> list[int]:
    found: list[str] = []
    for number, half in enumerate(halves):
        output = directory / f"half-{number}"
        half.values().saveAsTextFile(str(output))
        found += (line for part in output.glob("part*") for line in part.read_text().split())
    return [len(found), len(set(found))]


def looped(spark: SparkSession, directory: Path) -> Any:
    """Halves by lot for one day after the other; days that are done are left out."""
    found = {}
    for day in DAYS[:2]:
        mark = directory / f"{day}.done"
        if not mark.exists():
            drawn = _drawn(spark)
            drawn.count()
            halves = (drawn.filter(lambda pair: pair[0] == 0), drawn.filter(lambda pair: pair[0] == 1))
            found[day] = _written(directory / day, *halves)
            mark.touch()
    return found


def days(spark: SparkSession, directory: Path) -> Any:
    """What each day's job is told besides its records, by a local property; days that are there are left out."""
    context = spark.sparkContext

    def of_day(number: int) -> tuple[int, str]:
        time.sleep(SLOW_S)
        return number % 4, str(TaskContext.get().getLocalProperty("day"))

    return _each_day(directory, lambda day: context.setLocalProperty("day", day), context, of_day)


def files(spark: SparkSession, directory: Path) -> Any:
    """The same by a file that the functions read."""
    model = directory / "model"

    def of_day(number: int) -> tuple[int, str]:
        time.sleep(SLOW_S)
        return number % 4, model.read_text()

    return _each_day(directory, model.write_text, spark.sparkContext, of_day)


def written(spark: SparkSession, directory: Path) -> Any:
    """The same with DataFrames."""
    import pyarrow.parquet as pq  # with Spark it would be told that it reads what it has yet to write

    model = directory / "model"

    def of_day(_: int) -> str:
        time.sleep(SLOW_S)
        return model.read_text()

    tagged = functions.udf(of_day)
    for day in DAYS:
        if not (directory / day / "_SUCCESS").exists():
            model.write_text(day)
            rows = spark.range(0, 40, 1, 4).select((functions.col("id") % 4).alias("k"), tagged("id").alias("day"))
            rows.groupBy("k").agg(functions.min("day").alias("day")).write.parquet(str(directory / day))
    return {day: sorted(set(pq.read_table(directory / day)["day"].to_pylist())) for day in DAYS}


def rows(spark: SparkSession, directory: Path) -> Any:
    """The same with DataFrames that are made of RDDs."""
    import pyarrow.parquet as pq

    model = directory / "model"

    def of_day(number: int) -> tuple[int, str]:
        time.sleep(SLOW_S)
        return number % 4, model.read_text()

    for day in DAYS:
        if not (directory / day / "_SUCCESS").exists():
            model.write_text(day)
            tagged = spark.sparkContext.parallelize(range(40), 4).map(of_day).groupByKey(4).mapValues(min)
            spark.createDataFrame(tagged, "k int, day string").write.parquet(str(directory / day))
    return {day: sorted(set(pq.read_table(directory / day)["day"].to_pylist())) for day in DAYS}


def adaptive(spark: SparkSession, directory: Path) -> Any:
    """The same where other threads make the shuffles."""
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    return written(spark, directory)


def appended(spark: SparkSession, directory: Path) -> Any:
    """Rows of each day, by a local property, all to one place; with a mark of its own for each day."""
    import pyarrow.parquet as pq

    def of_day(_: int) -> str:
        time.sleep(10 * SLOW_S)
        return str(TaskContext.get().getLocalProperty("day"))

    tagged = functions.udf(of_day)
    for day in DAYS:
        if not (directory / f"{day}.done").exists():
            spark.sparkContext.setLocalProperty("day", day)
            rows = spark.range(0, 8, 1, 2).select((functions.col("id") % 2).alias("k"), tagged("id").alias("day"))
            firsts = rows.groupBy("k").agg(functions.min("day").alias("day"))
            firsts.write.mode("append").parquet(str(directory / "all"))
            (directory / f"{day}.done").touch()
    return sorted(pq.read_table(directory / "all")["day"].to_pylist())


def remodeled(spark: SparkSession, directory: Path) -> Any:
    """Each day's rows are appended to one path; which day it is a file tells. What fails is tried again."""
    target = str(directory / "all")
    model = _model(directory)
    tagged = functions.udf(model)

    def append() -> None:
        rows = spark.range(0, 8, 1, 2).select((functions.col("id") % 2).alias("k"), tagged("id").alias("day"))
        rows.groupBy("k").agg(functions.min("day").alias("day")).write.mode("append").parquet(target)

    return _each_model(directory, append)


def remodeled_records(spark: SparkSession, directory: Path) -> Any:
    """The same where the rows come from an RDD."""
    target = str(directory / "all")
    model = _model(directory)

    def append() -> None:
        rows = _firsts(spark, model).map(lambda day: (day,))
        spark.createDataFrame(rows, "day string").write.mode("append").parquet(target)

    return _each_model(directory, append)


def sunk(spark: SparkSession, directory: Path) -> Any:
    """The same with a sink."""
    model = _model(directory)
    tagged = functions.udf(model)

    def of_today() -> Any:
        rows = spark.range(0, 8, 1, 2).select((functions.col("id") % 2).alias("k"), tagged("id").alias("day"))
        return rows.groupBy("k").agg(functions.min("day").alias("day")).select("day")

    return _sunk(spark, directory, of_today, lambda row: str(row.day))


def sunk_records(spark: SparkSession, directory: Path) -> Any:
    """The same with a sink and an RDD."""
    model = _model(directory)
    return _sunk(spark, directory, lambda: _firsts(spark, model), str)


def _model(directory: Path) -> Callable[[int], str]:
    """Says which day it is, unless it is to fail."""

    def model(_: int) -> str:
        if (directory / FAIL).exists():
            raise OSError(directory / FAIL)
        return (directory / "model").read_text()

    return model


def _firsts(spark: SparkSession, model: Callable[[int], str]) -> Any:
    pairs = spark.sparkContext.parallelize(range(8), 2).map(lambda number: (number % 2, model(number)))
    return pairs.groupByKey(2).mapValues(min).values()


def _each_model(directory: Path, append: Callable[[], None]) -> Any:
    import pyarrow.parquet as pq

    for day in DAYS:
        (directory / "model").write_text(day)
        _again_if_it_fails(directory, append)
    return sorted(pq.read_table(directory / "all")["day"].to_pylist())


def _again_if_it_fails(directory: Path, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception:  # of Spark's kinds
        (directory / FAIL).unlink()
        action()


def _sunk(spark: SparkSession, directory: Path, of_today: Callable[[], Any], text: Callable[[Any], str]) -> Any:
    def write(records: Any, file: Any) -> None:
        file.write("".join(f"{text(record)}\n" for record in records).encode())

    def save(day: str) -> None:
        PartitionFileSink(str(directory / "all"), write, mode="append").save(of_today(), key=day)

    for day in DAYS:
        (directory / "model").write_text(day)
        _again_if_it_fails(directory, partial(save, day))
    return sorted(row.value for row in spark.read.text(published_files(spark, str(directory / "all"))).collect())


def _each_day(
    directory: Path, tell: Callable[[str], Any], context: Any, of_day: Callable[[int], tuple[int, str]]
) -> Any:
    for day in DAYS:
        if not (directory / day / "_SUCCESS").exists():
            tell(day)
            tagged = context.parallelize(range(40), 4).map(of_day)
            tagged.groupByKey(4).mapValues(min).values().saveAsTextFile(str(directory / day))
    return {
        day: sorted({line for part in (directory / day).glob("part*") for line in part.read_text().split()})
        for day in DAYS
    }


def _slowly(value: Any) -> Any:
    time.sleep(SLOW_S)
    return value


CASES = {
    each.__name__: each
    for each in (
        salted,
        salted_rows,
        united_rows,
        counted,
        counted_together,
        split,
        looped,
        split_above,
        split_cached,
        days,
        files,
        written,
        rows,
        adaptive,
        appended,
        remodeled,
        remodeled_records,
        sunk,
        sunk_records,
    )
}

if __name__ == "__main__":
    session = SparkSession.builder.config("spark.sql.adaptive.enabled", "false").getOrCreate()
    outcome = CASES[sys.argv[1]](session, Path(sys.argv[2]))
    print("RESULT " + json.dumps(outcome), flush=True)
    session.stop()
