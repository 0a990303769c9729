"""Overwrites a directory of many partitions again and again: `overwrites.py TARGET PARTITIONS TIMES`.

Prints how long each took, in seconds, without the first, before which nothing was there.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession


def main() -> None:
    """Run it."""
    target, partitions, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(0, partitions, 1, 2).selectExpr("id AS n", "id AS part")
    took = []
    for _ in range(times + 1):
        begun = time.monotonic()
        rows.write.mode("overwrite").partitionBy("part").csv(target)
        took.append(time.monotonic() - begun)
    assert spark.read.csv(target).count() == partitions
    print(json.dumps({"seconds": took[1:]}), flush=True)


if __name__ == "__main__":
    main()
