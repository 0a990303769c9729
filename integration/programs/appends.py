"""Appends forty rows to a table in four tasks, the last of which waits for a file: `appends.py TARGET GO_FILE`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

TASKS = 4
ROWS = 40
LONGEST_S = 600


def main(target: str, go: str) -> None:
    """Append once."""

    def rows(index: int, numbers: Iterator[int]) -> Iterator[tuple[int]]:
        deadline = time.monotonic() + LONGEST_S
        while index == TASKS - 1 and not Path(go).exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody wrote {go}")
            time.sleep(0.1)
        return ((number,) for number in numbers)

    spark = SparkSession.builder.getOrCreate()
    numbers = spark.sparkContext.parallelize(range(ROWS), TASKS).mapPartitionsWithIndex(rows)
    spark.createDataFrame(numbers, "number int").write.mode("append").parquet(target)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
