"""Adds rows to a directory and then takes its time: for a driver that is killed after its write.

    adds.py TARGET GO [own | second]

With ``own`` it adds to what it has read before, with ``second`` it does it in its second SparkContext. It says
``written`` after the write, waits until the file GO is there, and ends with the number of rows in TARGET.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession, functions

ROWS = 10
DEADLINE_S = 120


def main() -> None:
    """Run it."""
    target, go, case = sys.argv[1], Path(sys.argv[2]), "".join(sys.argv[3:])
    spark = SparkSession.builder.getOrCreate()
    if case == "second":
        spark.stop()
        spark = SparkSession.builder.getOrCreate()
    rows = spark.range(1_000).groupBy((functions.col("id") % ROWS).alias("key")).count()
    if case == "own":
        spark.range(ROWS).select(functions.col("id").alias("key"), functions.lit(1).alias("count")).write.mode(
            "ignore"
        ).parquet(target)
        before = spark.read.parquet(target)
        rows = before.select("key", functions.col("count").cast("int").alias("count"))
    rows.write.mode("append").parquet(target)
    print("written", flush=True)
    give_up_s = time.monotonic() + DEADLINE_S
    while not go.exists() and time.monotonic() < give_up_s:
        time.sleep(0.1)
    print(json.dumps({"rows": spark.read.parquet(target).count()}), flush=True)


if __name__ == "__main__":
    main()
