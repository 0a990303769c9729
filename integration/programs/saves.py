"""Saves ten rows and says so, then waits for a file: `saves.py TARGET STOP_FILE`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LONGEST_S = 720


def main(target: str, stop: Path) -> None:
    """Save and wait."""
    spark = SparkSession.builder.getOrCreate()
    spark.range(10).coalesce(1).write.parquet(target)
    print(json.dumps({"saved": spark.read.parquet(target).count()}), flush=True)
    deadline = time.monotonic() + LONGEST_S
    while not stop.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {stop}")
        time.sleep(0.1)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
