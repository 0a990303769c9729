"""A driver whose JVM runs out of memory in its first life, once its shuffle is done: `greedy_driver.py MARKER`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PIECE_BYTES = 64 << 20


def eat(spark: SparkSession) -> None:
    """Take all of the JVM's memory."""
    gateway: Any = spark.sparkContext._gateway
    taken = []
    while True:
        taken.append(gateway.new_array(gateway.jvm.byte, PIECE_BYTES))


def main(marker: Path) -> None:
    """Run one job, and another one in the second life only."""
    print(f"begins, {'again' if marker.exists() else 'first'}", flush=True)
    spark = SparkSession.builder.getOrCreate()
    numbers = spark.sparkContext.parallelize(range(40), 4).map(lambda number: (number % 4, number))
    sums = numbers.reduceByKey(lambda left, right: left + right, 2)
    sums.count()
    if not marker.exists():
        marker.touch()
        eat(spark)
    print("sums", sorted(sums.collect()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
