"""Writes the same records again and again, each time with a late task whose copy is killed at a step of its commit.

`commits.py DIRECTORY OUTPUT SINK` with a SINK of parquet, text or rdd; one job for each of STEPS, written to
OUTPUT/STEP. The first attempt of partition 0 waits until DIRECTORY/SINK-STEP says that the copy has been killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import Row, SparkSession

STEPS = ("setupTask", "write", "needsTaskCommit", "commitTask", "committed")
PARTITIONS = 3
RECORDS = 4000
LONGEST_S = 60


def records(index, _):  # type: ignore[no-untyped-def] # runs in Spark's workers
    """The records of a partition; the late task waits, and its copy dies in the middle when that is the step."""
    task = TaskContext.get()
    hit = Path(task.getLocalProperty("commitsteps.hit"))
    deadline = time.monotonic() + LONGEST_S
    while index == 0 and task.attemptNumber() == 0 and not hit.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(hit)
        time.sleep(0.05)
    dies = index == 0 and task.attemptNumber() > 0 and task.getLocalProperty("commitsteps.step") == "write"
    for number in range(RECORDS):
        if dies and number == RECORDS // 2 and not hit.exists():
            hit.write_text(str(task.taskAttemptId()))
            # This worker's parent is PySpark's daemon, and that one's the executor.
            status = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
            time.sleep(LONGEST_S)
        yield f"{index}:{number}"


def main(directory: Path, output: str, sink: str) -> None:
    """Run a job for each step."""
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    # The workers are there before the first task is timed.
    context.parallelize(range(6), 6).count()
    for step in STEPS:
        context.setLocalProperty("commitsteps.step", step)
        context.setLocalProperty("commitsteps.hit", str(directory / f"{sink}-{step}"))
        lines = context.parallelize(range(PARTITIONS), PARTITIONS).mapPartitionsWithIndex(records)
        if sink == "rdd":
            lines.saveAsTextFile(f"{output}/{step}")
        else:
            table = spark.createDataFrame(lines.map(lambda line: Row(value=line)), "value string")
            table.write.format(sink).save(f"{output}/{step}")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
