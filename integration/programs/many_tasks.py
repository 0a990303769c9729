"""Runs N short tasks in the JVM, some that fail once, and one that is killed: `many_tasks.py N`."""

from __future__ import annotations

import json
import sys
import time

from pyspark import SparkContext, StatusTracker, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def fails_once(index: int) -> int:
    """Fail in the first attempt, for every third task."""
    if index % 3 == 0 and TaskContext.get().attemptNumber() == 0:
        raise ValueError(f"task {index} fails once")
    return index


def fails(index: int) -> int:
    """Task 0 fails always, while the other one waits and is killed."""
    if index == 0:
        raise ValueError("task 0 fails always")
    time.sleep(60)
    return index


def _let_tasks_end(context: SparkContext) -> None:
    """A killed task in Python ends when its worker does; only then does Spark tell of its end."""
    tracker = context.statusTracker()
    give_up = time.monotonic() + 30
    while not _over(tracker) and time.monotonic() < give_up:
        time.sleep(0.1)


def _over(tracker: StatusTracker) -> bool:
    """Whether no task of the job that failed runs; what is told of running tasks is right once its end is told."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup()]
    failed = [stage for job in jobs if job is not None and job.status == "FAILED" for stage in job.stageIds]
    stages = [tracker.getStageInfo(stage) for stage in failed]
    return bool(stages) and all(stage is not None and not stage.numActiveTasks for stage in stages)


def main(tasks: int) -> None:
    """Run the three jobs; the last one fails on purpose."""
    spark = SparkSession.builder.getOrCreate()
    began = time.monotonic()
    spark.range(0, tasks, 1, tasks).write.format("noop").mode("overwrite").save()
    seconds = time.monotonic() - began
    context = spark.sparkContext
    total = context.parallelize(range(9), 9).map(fails_once).sum()
    failed = False
    try:
        context.parallelize(range(2), 2).map(fails).count()
    except PySparkException:
        failed = True
    except Exception as error:  # Py4J's, with the job's failure in it
        failed = "task 0 fails always" in str(error)
    _let_tasks_end(context)
    print(json.dumps({"tasks": tasks, "seconds": seconds, "total": total, "failed": failed}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]))
