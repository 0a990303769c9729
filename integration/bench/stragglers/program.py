"""The program of every arm: `program.py DIRECTORY EXECUTORS` runs one job for each order that it finds there.

An order `go-N.json` names tasks, records and stages; the answer `done-N.json` says how long the job took, whether its
result was right, and comes when the last attempt of its tasks has ended. `stop` ends the program. Each attempt writes
how far it came after how long into `progress-N`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import SparkContext, TaskContext

RECORD_S = 0.01
POLL_S = 0.02
LONGEST_S = 300
NOTED = 5
WARM_ROUNDS, WARM_RECORDS = 4, 20


def main(directory: Path, executors: int) -> None:
    """Answer orders until there is a `stop`."""
    context = SparkContext.getOrCreate()
    tracker = context._jsc.sc().statusTracker()

    def running() -> list[int]:
        # The driver is in the list as well.
        return [info.numRunningTasks() for info in tracker.getExecutorInfos()]

    until(lambda: len(running()) > executors)
    warm_up(context, directory / "progress-0", executors)
    answer(directory / "ready.json", {"am_host": os.environ["NM_HOST"], "application_id": context.applicationId})
    number = 0
    while True:
        number += 1
        order = directory / f"go-{number}.json"
        until(lambda order=order: order.exists() or (directory / "stop").exists(), LONGEST_S * 4)
        if not order.exists():
            break
        asked = json.loads(order.read_text())
        context.setJobDescription(f"repeat {number}")
        progress = directory / f"progress-{number}"
        progress.mkdir()
        begun = time.monotonic()
        right = job(context, progress, asked["tasks"], asked["records"], asked["stages"])
        seconds = time.monotonic() - begun
        until(lambda: not any(running()))
        answer(directory / f"done-{number}.json", {"seconds": seconds, "right": right})
    context.stop()


def job(context: SparkContext, progress: Path, tasks: int, records: int, stages: int) -> bool:
    """Run a chain of shuffles; every stage sees each record once, and so does the result."""
    work = working(str(progress))
    rdd = context.parallelize(range(tasks * records), tasks).map(lambda number: (number, number)).mapPartitions(work)
    for _ in range(stages - 1):
        rdd = rdd.partitionBy(tasks, lambda number: number % tasks).mapPartitions(work)
    found = rdd.map(lambda pair: (1, pair[1])).reduce(lambda one, other: (one[0] + other[0], one[1] + other[1]))
    total = tasks * records
    return bool(found == (total, total * (total - 1) // 2))


def working(progress: str) -> Any:
    """The function of every task: a wait for each record."""

    def work(records: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        name = f"{os.environ['NM_HOST']}-{context.taskAttemptId() if context else 0}"
        with Path(progress, name).open("w") as notes:
            begun = time.monotonic()
            for number, record in enumerate(records, 1):
                time.sleep(RECORD_S)
                if number % NOTED == 0:
                    notes.write(f"{number} {time.monotonic() - begun}\n")
                    notes.flush()
                yield record

    return work


def warm_up(context: SparkContext, progress: Path, executors: int) -> None:
    """Run short tasks until every executor has run one, and a short job: all have their Python workers and classes."""

    def where(_: int) -> str:
        time.sleep(0.3)
        return os.environ["CONTAINER_ID"]

    tasks = executors * 2
    for _ in range(2):
        until(lambda: len(set(context.parallelize(range(tasks), tasks).map(where).collect())) == executors)
    progress.mkdir()
    job(context, progress, tasks * WARM_ROUNDS, WARM_RECORDS, stages=3)


def answer(path: Path, document: dict[str, object]) -> None:
    """Write a file by rename."""
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(document))
    scratch.rename(path)


def until(condition: Any, timeout_s: float = LONGEST_S) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
