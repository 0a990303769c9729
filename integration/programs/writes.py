"""Programs that write files, and some that read what they wrote: for a driver that is killed between two steps.

    writes.py CASE DIRECTORY

Each prints one line, ``RESULT`` and JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions

GZIP = "org.apache.hadoop.io.compress.GzipCodec"


def _sums(spark: SparkSession, directory: Path) -> DataFrame:
    facts = spark.read.parquet(f"{directory}/facts")
    return facts.groupBy("key").agg(functions.sum("value").alias("total"))


def _rows(spark: SparkSession, path: str) -> Any:
    return sorted(tuple(row) for row in spark.read.parquet(path).collect())


def steps(spark: SparkSession, directory: Path) -> Any:
    """Three outputs: one that may not be there yet, one that is overwritten, one that is added to."""
    sums = _sums(spark, directory)
    sums.write.parquet(f"{directory}/sums")
    again = spark.read.parquet(f"{directory}/sums")
    doubled = again.select("key", (functions.col("total") * 2).alias("total"))
    doubled.write.mode("overwrite").parquet(f"{directory}/doubled")
    doubled.repartition(3, "key").write.mode("append").parquet(f"{directory}/history")
    counted = spark.sparkContext.parallelize(range(20), 4).map(lambda number: (number % 5, number)).groupByKey().count()
    return [counted, *(_rows(spark, f"{directory}/{name}") for name in ("sums", "doubled", "history"))]


def twice(spark: SparkSession, directory: Path) -> Any:
    """One frame with two shuffles to two places; those of the first are dropped before the second is written."""
    return _twice(spark, directory, _drop_shuffles)


def twice_kept(spark: SparkSession, directory: Path) -> Any:
    """The same, and nothing is dropped."""
    return _twice(spark, directory, lambda _: None)


def _twice(spark: SparkSession, directory: Path, between: Callable[[SparkSession], None]) -> Any:
    frame = _sums(spark, directory).groupBy((functions.col("total") % 3).alias("rest")).count()
    for name in ("sums", "history"):
        frame.write.mode("overwrite").parquet(f"{directory}/{name}")
        between(spark)
    return [_rows(spark, f"{directory}/{name}") for name in ("sums", "history")]


def _drop_shuffles(spark: SparkSession) -> None:
    """Have Spark forget all shuffles, as it does when no query needs them any more and the JVM collects garbage."""
    cleaner: Any = spark.sparkContext._jsc.sc().cleaner().get()
    for epoch in (1, 2):
        for number in range(10):
            cleaner.doCleanupShuffle(epoch * 1_000_000 + number, True)


def by_day(spark: SparkSession, directory: Path) -> Any:
    """One output in partitions, of rows that the program brings itself and a function of its own."""
    return _by_day(spark, directory, "errorifexists", "static")


def parts(spark: SparkSession, directory: Path) -> Any:
    """The same; where partitions are there it overwrites those that it has rows for."""
    return _by_day(spark, directory, "overwrite", "dynamic")


def replaced(spark: SparkSession, directory: Path) -> Any:
    """The same; it overwrites all that is there."""
    return _by_day(spark, directory, "overwrite", "static")


def _by_day(spark: SparkSession, directory: Path, mode: str, overwrites: str) -> Any:
    days = spark.createDataFrame([(number, f"d{number % 3}") for number in range(30)], "n int, day string")
    plus = functions.udf(lambda number: number + 1, "int")
    more = days.select(plus("n").alias("n"), "day")
    more.write.mode(mode).option("partitionOverwriteMode", overwrites).partitionBy("day").orc(f"{directory}/days")
    found = spark.read.orc(f"{directory}/days")
    return sorted((row.day, row.n) for row in found.collect())


def upserted(spark: SparkSession, directory: Path) -> Any:
    """Reads the partitions that it overwrites with one row more in each."""
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    before = spark.read.parquet(f"{directory}/days")
    more = spark.range(3).selectExpr("cast(100 + id AS int) AS n", "concat('d', id) AS day")
    before.unionByName(more).write.mode("overwrite").partitionBy("day").parquet(f"{directory}/days")
    found = spark.read.parquet(f"{directory}/days")
    return sorted((row.day, row.n) for row in found.collect())


def first_or_more(spark: SparkSession, directory: Path) -> Any:
    """Overwrites what it has read with one row more, and takes it for its first run where there is nothing."""
    try:
        before = [row.n for row in spark.read.parquet(f"{directory}/days").collect()]
    except AnalysisException:
        before = []
    more = spark.createDataFrame([(n,) for n in [*before, 100 + len(before)]], "n int").repartition(2, "n")
    more.write.mode("overwrite").parquet(f"{directory}/days")
    return sorted(row.n for row in spark.read.parquet(f"{directory}/days").collect())


def own_replaced(spark: SparkSession, directory: Path) -> Any:
    """Overwrites lines while an RDD reads them."""
    lines = spark.sparkContext.textFile(f"{directory}/text").map(lambda line: (line + "!",))
    spark.createDataFrame(lines, "value string").write.mode("overwrite").text(f"{directory}/text")
    return sorted(spark.sparkContext.textFile(f"{directory}/text").collect())


def of_table(spark: SparkSession, directory: Path) -> Any:
    """Adds what it computes from a table of the catalog."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS facts USING parquet LOCATION '{directory}/facts'")
    spark.table("facts").groupBy("key").count().write.mode("append").parquet(f"{directory}/history")
    return _rows(spark, f"{directory}/history")


def own_input(spark: SparkSession, directory: Path) -> Any:
    """Adds to what it reads; not to be done twice."""
    before = spark.read.parquet(f"{directory}/facts")
    more = before.groupBy("key").agg(functions.max("value").alias("value")).select("value", "key")
    more.write.mode("append").parquet(f"{directory}/facts")
    return spark.read.parquet(f"{directory}/facts").count()


def own_lines(spark: SparkSession, directory: Path) -> Any:
    """The same with lines that an RDD reads."""
    context = spark.sparkContext
    longest = context.textFile(f"{directory}/text").map(lambda line: (len(line), line)).max()
    spark.createDataFrame([(longest[1] + "!",)], "value string").write.mode("append").text(f"{directory}/text")
    return context.textFile(f"{directory}/text").count()


def listed_before(spark: SparkSession, directory: Path) -> Any:
    """Adds lines to a directory whose files an RDD has listed already, and reads what was there before."""
    lines = spark.sparkContext.textFile(f"{directory}/text")
    parts = lines.getNumPartitions()
    spark.createDataFrame([("one more",)], "value string").write.mode("append").text(f"{directory}/text")
    return [parts, lines.count()]


def hive(spark: SparkSession, directory: Path) -> Any:
    """Adds rows to a table of Hive's."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS numbers (n BIGINT) STORED AS TEXTFILE LOCATION 'file:{directory}/numbers'")
    spark.range(5).write.insertInto("numbers")
    return [spark.table("numbers").count()]


def hive_twice(spark: SparkSession, directory: Path) -> Any:
    """Adds rows to two tables of Hive's by one statement."""
    for name in ("numbers", "others"):
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} (n BIGINT) STORED AS TEXTFILE LOCATION 'file:{directory}/{name}'")
    spark.range(5).createOrReplaceTempView("new")
    spark.sql("FROM new INSERT INTO TABLE numbers SELECT id INSERT INTO TABLE others SELECT id")
    return [spark.table(name).count() for name in ("numbers", "others")]


def explained(spark: SparkSession, directory: Path) -> Any:
    """Has an addition explained before it makes it."""
    spark.range(5).write.mode("ignore").parquet(f"{directory}/numbers")
    spark.sql(f"CREATE TEMPORARY VIEW numbers USING parquet OPTIONS (path '{directory}/numbers')")
    insert = "INSERT INTO numbers SELECT id FROM range(5, 9)"
    spark.sql(f"EXPLAIN {insert}").collect()
    spark.sql(insert)
    return _rows(spark, f"{directory}/numbers")


def counted(spark: SparkSession, directory: Path) -> Any:
    """Counts records below the shuffle that a write reads."""
    seen = spark.sparkContext.accumulator(0)

    def count(number: int) -> tuple[int, int]:
        seen.add(1)
        return number % 5, number

    sums = spark.sparkContext.parallelize(range(20), 2).map(count).reduceByKey(lambda one, other: one + other, 2)
    spark.createDataFrame(sums, "key int, total int").write.mode("overwrite").parquet(f"{directory}/sums")
    return [seen.value]


def saved(spark: SparkSession, directory: Path) -> Any:
    """Two outputs of RDDs, the second from what the first wrote."""
    context = spark.sparkContext
    sums = context.parallelize(range(20), 4).map(lambda n: (n % 5, n)).reduceByKey(lambda one, other: one + other, 2)
    sums.map(lambda each: f"{each[0]} {each[1]}").saveAsTextFile(f"{directory}/sums")
    lines = context.textFile(f"{directory}/sums")
    lines.map(lambda line: line.upper() + "!").saveAsTextFile(f"{directory}/doubled")
    return sorted(context.textFile(f"{directory}/doubled").collect())


def saved_otherwise(spark: SparkSession, directory: Path) -> Any:
    """A save by each call, after a write that reads no file, and with a setting of a format's."""
    context = spark.sparkContext
    spark.range(5).write.mode("overwrite").parquet(f"{directory}/sums")
    pairs = context.parallelize([("a", 1), ("b", 2)], 2)
    pairs.saveAsPickleFile(f"{directory}/pickled", 5)
    pairs.saveAsSequenceFile(path=f"{directory}/sequence", compressionCodecClass=GZIP)
    pairs.saveAsHadoopFile(f"{directory}/lines", "org.apache.hadoop.mapred.TextOutputFormat", conf={"x": "y"})
    pairs.cartesian(pairs).saveAsTextFile(f"{directory}/numbers")
    lines = context.textFile(f"{directory}/lines").collect()
    return [*sorted(context.pickleFile(f"{directory}/pickled").collect()), *sorted(lines)]


def saved_in_doubt(spark: SparkSession, directory: Path) -> Any:
    """Goes on where a save finds something. One reads an indeterminate shuffle, one makes a checkpoint."""
    context = spark.sparkContext
    context.setCheckpointDir(f"{directory}/checkpoints")
    numbers = context.parallelize(range(20), 4)
    dealt = numbers.map(lambda n: (n % 5, n)).reduceByKey(lambda one, other: one + other, 4).repartition(3)
    checkpointed = numbers.map(lambda number: number + 1)
    checkpointed.checkpoint()
    for name, rdd in (("dealt", dealt), ("checkpointed", checkpointed), ("numbers", numbers)):
        try:
            rdd.saveAsTextFile(f"{directory}/{name}")
        except Exception as error:
            if "already exists" not in str(error):
                raise
    return numbers.count()


def saved_or_not(spark: SparkSession, directory: Path) -> Any:
    """Goes on where a save finds something, which another program has put there."""
    numbers = spark.sparkContext.parallelize(range(4), 2)
    marks = Path(directory / "lives")
    marks.write_text(marks.read_text() + "x" if marks.exists() else "x")
    lives = len(marks.read_text())
    try:
        numbers.map(lambda number: number + lives).saveAsTextFile(f"{directory}/sums")
    except Exception as error:
        if "already exists" not in str(error):
            raise
    spark.range(5).write.mode("overwrite").parquet(f"{directory}/numbers")
    return lives


def _put(directory: Path, name: str, place: str) -> None:
    """Give what was written beside the place its name, as programs do that do not overwrite."""
    shutil.rmtree(directory / place)
    (directory / name).rename(directory / place)


def swapped(spark: SparkSession, directory: Path) -> Any:
    """Writes beside its input, puts that in its place, and goes on."""
    facts = spark.read.parquet(f"{directory}/facts")
    facts.selectExpr("value + 1 AS value", "key").write.parquet(f"{directory}/next")
    _put(directory, "next", "facts")
    _sums(spark, directory).write.mode("overwrite").parquet(f"{directory}/sums")
    return _rows(spark, f"{directory}/sums")


def swapped_lines(spark: SparkSession, directory: Path) -> Any:
    """The same with lines that an RDD reads."""
    lengths = spark.sparkContext.textFile(f"{directory}/text/*", 3).map(lambda line: (len(line), line))
    longer = lengths.reduceByKey(max, 2).map(lambda each: (each[1] + "!",))
    spark.createDataFrame(longer, "value string").write.text(f"{directory}/next")
    _put(directory, "next", "text")
    lines = spark.read.text(f"{directory}/text")
    lines.write.mode("overwrite").parquet(f"{directory}/sums")
    return _rows(spark, f"{directory}/sums")


def swapped_files(spark: SparkSession, directory: Path) -> Any:
    """The same with files that a pattern finds."""
    lines = spark.read.text(f"{directory}/text/*")
    lines.selectExpr("concat(value, '!') AS value").write.text(f"{directory}/next")
    _put(directory, "next", "text")
    lines = spark.read.text(f"{directory}/text/*")
    lines.write.mode("overwrite").parquet(f"{directory}/sums")
    return _rows(spark, f"{directory}/sums")


def swapped_file(spark: SparkSession, directory: Path) -> Any:
    """The same with one file, in whose place a directory is put."""
    path = directory / "facts" / "part-1.parquet"
    facts = spark.read.parquet(str(path))
    facts.selectExpr("value + 1 AS value", "key").write.parquet(f"{directory}/next")
    path.unlink()
    (directory / "next").rename(path)
    spark.read.parquet(str(path)).write.mode("overwrite").parquet(f"{directory}/sums")
    return _rows(spark, f"{directory}/sums")


def swapped_later(spark: SparkSession, directory: Path) -> Any:
    """Reads lines for a first write; a later one, of what that has written, is put in the place of the lines."""
    lines = spark.sparkContext.textFile(f"{directory}/text").map(lambda line: (line,))
    frame = spark.createDataFrame(lines, "value string")
    frame.write.mode("overwrite").parquet(f"{directory}/sums")
    again = spark.read.parquet(f"{directory}/sums")
    again.selectExpr("concat(value, '!') AS value").write.text(f"{directory}/next")
    _put(directory, "next", "text")
    spark.range(5).write.mode("overwrite").parquet(f"{directory}/numbers")
    return len(_rows(spark, f"{directory}/sums"))


def published(spark: SparkSession, directory: Path) -> Any:
    """Saves lines for each day beside what it publishes, and puts them there."""
    (directory / "published").mkdir(exist_ok=True)
    for day in range(2):
        spark.sparkContext.parallelize([f"of day {day}"], 1).saveAsTextFile(f"{directory}/next")
        shutil.rmtree(directory / "published" / f"{day}", ignore_errors=True)
        (directory / "next").rename(directory / "published" / f"{day}")
    return [(directory / "published" / f"{day}" / "part-00000").read_text() for day in range(2)]


def rotated(spark: SparkSession, directory: Path) -> Any:
    """Saves a next state beside the current one, puts that aside and the next one in its place, and goes on."""
    for state, name in enumerate(("current", "next")):
        spark.sparkContext.parallelize([f"state {state}"], 1).saveAsTextFile(f"{directory}/{name}")
    (directory / "current").rename(directory / "former")
    (directory / "next").rename(directory / "current")
    spark.range(5).write.mode("overwrite").parquet(f"{directory}/numbers")
    return (directory / "former" / "part-00000").read_text()


def nothing_kept(spark: SparkSession, directory: Path) -> Any:
    """Adds rows where nothing of its shuffles can be kept."""
    assert spark.conf.get("spark.io.encryption.enabled") == "true"
    spark.range(10).repartition(3).write.mode("append").parquet(f"{directory}/history")
    return len(_rows(spark, f"{directory}/history"))


CASES: dict[str, Callable[[SparkSession, Path], Any]] = {
    "steps": steps,
    "twice": twice,
    "twice-kept": twice_kept,
    "by-day": by_day,
    "parts": parts,
    "replaced": replaced,
    "explained": explained,
    "upserted": upserted,
    "first-or-more": first_or_more,
    "own-replaced": own_replaced,
    "of-table": of_table,
    "own-input": own_input,
    "own-lines": own_lines,
    "listed-before": listed_before,
    "hive": hive,
    "hive-twice": hive_twice,
    "counted": counted,
    "saved": saved,
    "saved-otherwise": saved_otherwise,
    "saved-in-doubt": saved_in_doubt,
    "saved-or-not": saved_or_not,
    "swapped": swapped,
    "swapped-lines": swapped_lines,
    "swapped-files": swapped_files,
    "swapped-file": swapped_file,
    "swapped-later": swapped_later,
    "published": published,
    "rotated": rotated,
    "nothing-kept": nothing_kept,
}


def write_inputs(directory: Path) -> None:
    """What the programs read."""
    import pyarrow as pa
    from pyarrow import parquet

    (directory / "facts").mkdir(parents=True)
    for part in range(4):
        numbers = range(part * 100, part * 100 + 100)
        table = pa.table({"value": list(numbers), "key": [number % 7 for number in numbers]})
        parquet.write_table(table, directory / "facts" / f"part-{part}.parquet")
    (directory / "text").mkdir()
    (directory / "text" / "lines.txt").write_text("".join(f"line {number}\n" for number in range(50)))


def main() -> None:
    """Run one."""
    case, directory = sys.argv[1], Path(sys.argv[2])
    encrypted = str(case == "nothing-kept").lower()
    spark = SparkSession.builder.config("spark.io.encryption.enabled", encrypted).getOrCreate()
    print("RESULT", json.dumps(CASES[case](spark, directory)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
