"""Reads a table of many partitions and overwrites it with one row more in each: `upserts.py TARGET partitions|all`.

It overwrites one partition after the other, or all that is there. It ends with the number of rows
and of different ones.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

PARTITIONS = 80


def main() -> None:
    """Run it."""
    target, what = sys.argv[1:]
    mode = "dynamic" if what == "partitions" else "static"
    spark = SparkSession.builder.config("spark.sql.sources.partitionOverwriteMode", mode).getOrCreate()
    rows = spark.range(PARTITIONS).selectExpr("id AS n", "id AS part").coalesce(1)
    rows.write.mode("ignore").partitionBy("part").parquet(target)
    before = spark.read.parquet(target)
    if what == "all":
        before = spark.createDataFrame(before.collect(), before.schema)  # Spark does not overwrite what a query reads
    more = spark.range(PARTITIONS).selectExpr(f"id + {PARTITIONS} AS n", "id AS part")
    both = before.unionByName(more).repartition(2, "part")
    both.write.mode("overwrite").partitionBy("part").parquet(target)
    found = spark.read.parquet(target)
    print(json.dumps([found.count(), found.distinct().count()]), flush=True)


if __name__ == "__main__":
    main()
