"""What no next driver can go on with, in jobs of one stage: `keeps.py cached|checkpoint|stream DIRECTORY [GO]`.

With GO it lives on until there is such a file.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LONGEST_S = 300


def cached(spark: SparkSession, _directory: Path) -> int:
    """A table that is cached."""
    return len(spark.range(0, 10, 1, 2).cache().collect())


def checkpoint(spark: SparkSession, _directory: Path) -> int:
    """A table that executors keep in place of what it is computed from."""
    return len(spark.range(0, 10, 1, 2).localCheckpoint().collect())


def stream(spark: SparkSession, directory: Path) -> int:
    """One batch of a stream."""
    (directory / "in").mkdir(parents=True)
    (directory / "in" / "lines.txt").write_text("one\ntwo\n")
    writer = spark.readStream.text(str(directory / "in")).writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(directory / "checkpoint")).start()
    query.awaitTermination()
    return sum(progress["numInputRows"] for progress in query.recentProgress)


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    plain = len(session.range(0, 10, 1, 2).collect())
    print("RESULT", plain, globals()[sys.argv[1]](session, Path(sys.argv[2])), flush=True)
    deadline = time.monotonic() + LONGEST_S
    while sys.argv[3:] and not Path(sys.argv[3]).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {sys.argv[3]}")
        time.sleep(0.05)
    session.stop()
