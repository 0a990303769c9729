"""A little of all that the tests' programs do, so that the classes for it are loaded: `warms.py DIRECTORY`."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(directory: str) -> None:
    """Shuffle, sort and join records and rows, with a function in Python, and write and read a table."""
    spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
    pairs = spark.sparkContext.parallelize(range(100), 4).map(lambda number: (number % 7, number))
    assert pairs.reduceByKey(lambda one, other: one + other).count()
    spark.udf.register("next", lambda number: number + 1, "long")
    rows = spark.range(1_000).selectExpr("id % 7 AS key", "id", "next(id) AS following")
    rows.write.parquet(directory)
    counts = spark.read.parquet(directory).groupBy("key").count().orderBy("key")
    assert counts.join(rows, "key").where("count > 1").collect()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
