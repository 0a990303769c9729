"""Reads files of HDFS with dynamic allocation: `near_data.py DIRECTORY END`.

Each task holds its slot until the local file END is there, so that executors for all of them come. Prints one JSON
line: how many lines there are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

LONGEST_S = 120


def main(directory: str, end: Path) -> None:
    """Count the lines."""
    spark = SparkSession.builder.getOrCreate()

    def held(lines: Iterable[str]) -> Iterator[int]:
        yield sum(1 for _ in lines)
        deadline = time.monotonic() + LONGEST_S
        while not end.exists() and time.monotonic() < deadline:
            time.sleep(0.1)

    print(json.dumps({"lines": spark.sparkContext.textFile(directory).mapPartitions(held).sum()}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
