"""Runs one stage of tasks that only sleep, in the executors' JVMs: `sleeps.py TASKS SECONDS`."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(tasks: int, seconds: int) -> None:
    """Run the stage."""
    session = SparkSession.builder.getOrCreate()
    asleep = session.range(0, tasks, 1, tasks).selectExpr(f"reflect('java.lang.Thread', 'sleep', {seconds * 1000}L)")
    asleep.write.format("noop").mode("overwrite").save()
    session.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
