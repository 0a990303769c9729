"""Cancels two jobs while a task of each runs together with its copy: `cancels.py DIRECTORY`.

The first job is cancelled by its group, the second by its tag. All attempts of task 0 of such a job would wait for
minutes. Beside each of them a job of another thread runs, and goes on when the other one is cancelled. Afterwards a
barrier stage needs all four cores. Prints a JSON line: `cancelled` (which jobs ended with an error of Spark that says
so), `beside` (the results of the jobs beside them), `barrier` (that of the barrier stage), and `went_on` (attempts
that waited to their end).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread, TaskContext
from pyspark.sql import SparkSession

TASKS = 4
LONGEST_S = 240


def hold(gate: str, numbers: Iterable[int]) -> Iterator[int]:
    """Task 0 says that it has begun, and waits."""
    task = TaskContext.get()
    assert task is not None
    if task.partitionId() == 0:
        Path(f"{gate}-began-{task.attemptNumber()}").touch()
        time.sleep(LONGEST_S)
        Path(f"{gate}-went-on-{task.attemptNumber()}").touch()
    yield from numbers


def wait(gate: str, numbers: Iterable[int]) -> Iterator[int]:
    """Say that it has begun, and go on when the gate is there."""
    Path(f"{gate}-began").touch()
    await_file(Path(gate))
    yield from numbers


def await_file(file: Path) -> None:
    """Wait until the file is there."""
    deadline = time.monotonic() + LONGEST_S
    while not file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {file}")
        time.sleep(0.05)


def main(directory: Path) -> None:
    """Run the jobs."""
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    cancelled: list[str] = []
    beside: list[int] = []

    def held(how: str) -> None:
        if how == "group":
            context.setJobGroup("held", "to be cancelled")
        else:
            context.addJobTag("held")
        try:
            context.parallelize(range(TASKS), TASKS).mapPartitions(partial(hold, str(directory / how))).collect()
        except Py4JJavaError as error:
            if "cancel" in str(error):
                cancelled.append(how)

    def other(how: str) -> None:
        context.setJobGroup("beside", "to be left alone")
        data = context.parallelize(range(TASKS), 1)
        beside.append(data.mapPartitions(partial(wait, str(directory / f"{how}-beside"))).sum())

    for how, cancel in (("group", context.cancelJobGroup), ("tag", context.cancelJobsWithTag)):
        holder = InheritableThread(target=partial(held, how))
        holder.start()
        for attempt in (0, 1):
            await_file(directory / f"{how}-began-{attempt}")
        worker = InheritableThread(target=partial(other, how))
        worker.start()
        await_file(directory / f"{how}-beside-began")
        cancel("held")
        holder.join()
        (directory / f"{how}-beside").touch()
        worker.join()
    barrier = context.parallelize(range(TASKS), TASKS).barrier().mapPartitions(lambda numbers: numbers).sum()
    went_on = sorted(path.name for path in directory.glob("*-went-on-*"))
    print(json.dumps({"cancelled": cancelled, "beside": beside, "barrier": barrier, "went_on": went_on}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
