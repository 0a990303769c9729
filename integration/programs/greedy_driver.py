"""A driver that outgrows its heap, or its container, in its first life: `greedy_driver.py MARKER heap|container`.

It does so when its shuffle is done. It sets the memory of its executors in its code.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PIECE_BYTES = 64 << 20
PAUSE_S = 0.1
FAR_TOO_MUCH_BYTES = 2 << 30
LONG_ENOUGH_S = 60
HEAP_MB = 480


def fill_heap(spark: SparkSession) -> None:
    """Take all of the JVM's memory."""
    gateway: Any = spark.sparkContext._gateway
    taken = []
    while True:
        taken.append(gateway.new_array(gateway.jvm.byte, PIECE_BYTES))


def outgrow_container() -> None:
    """Take more memory than the container has, bit by bit, and wait for YARN to see it."""
    taken = bytearray()
    while len(taken) < FAR_TOO_MUCH_BYTES:
        taken += b"x" * PIECE_BYTES
        time.sleep(PAUSE_S)
    time.sleep(LONG_ENOUGH_S)


def main(marker: Path, what: str) -> None:
    """Run one job, and another one in the second life only."""
    print(f"begins, {'again' if marker.exists() else 'first'}", flush=True)
    spark = SparkSession.builder.config("spark.executor.memory", f"{HEAP_MB}m").getOrCreate()
    numbers = spark.sparkContext.parallelize(range(40), 4).map(lambda number: (number % 4, number))
    sums = numbers.reduceByKey(lambda left, right: left + right, 2)
    sums.count()
    if not marker.exists():
        marker.touch()
        if what == "heap":
            fill_heap(spark)
        outgrow_container()
    print("sums", sorted(sums.collect()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
