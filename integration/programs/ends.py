"""Notes that it was started, waits for a file, and ends: `ends.py STARTS_FILE STOP_FILE well | badly`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LONGEST_S = 360


def main(starts: Path, stop: Path, how: str) -> None:
    """Add a line to the file of starts; the end is asked for by the other file."""
    spark = SparkSession.builder.getOrCreate()
    with starts.open("a") as lines:
        lines.write(f"{spark.range(10).count()}\n")
    deadline = time.monotonic() + LONGEST_S
    while not stop.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {stop}")
        time.sleep(0.1)
    if how == "badly":
        raise ValueError("it ended badly")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
