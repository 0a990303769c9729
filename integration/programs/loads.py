"""Runs two jobs of long tasks: `loads.py DIRECTORY TASKS`.

Job N begins when the file `begin-N` is in the directory. Its tasks end when `end-N` is there.

Gives up after ten minutes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LONGEST_S = 600


def wait_for(file: Path) -> None:
    """Wait until the file is there."""
    deadline = time.monotonic() + LONGEST_S
    while not file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {file}")
        time.sleep(0.1)


def main(directory: Path, tasks: int) -> None:
    """Run the two jobs."""
    spark = SparkSession.builder.getOrCreate()
    for job in (1, 2):
        wait_for(directory / f"begin-{job}")
        end = directory / f"end-{job}"
        spark.sparkContext.parallelize(range(tasks), tasks).foreach(lambda _, end=end: wait_for(end))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
