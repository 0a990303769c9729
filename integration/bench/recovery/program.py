"""A job whose tasks wait for each record, as often as there are orders: `program.py DIRECTORY EXECUTORS`.

It waits for an order `go-N.json` (tasks, records, stages), and writes how the job fared to `done-N.json`; `stop` ends
it. With EXECUTORS it first waits for as many, and warms them up. Each attempt of a task notes in
`progress/ATTEMPT-JOB-STAGE-INDEX-TASK` how many records it has done and when. The stage that gives the result has
nothing to wait for: it is never spared.
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
NOTED = 5
POLL_S = 0.02
LONGEST_S = 1_200


def main(directory: Path, executors: int) -> None:
    """Carry out orders until there is a `stop`."""
    context = SparkContext.getOrCreate()
    (directory / "progress").mkdir(exist_ok=True)
    if executors:
        tracker = context._jsc.sc().statusTracker()
        until(lambda: len(tracker.getExecutorInfos()) > executors)  # the driver is in the list as well
        for number in (-1, -2):
            job(context, directory, number, tasks=executors * 4, records=20, stages=2)
    (directory / "ready").touch()
    number = 0
    while True:
        number += 1
        order = directory / f"go-{number}.json"
        until(lambda order=order: order.exists() or (directory / "stop").exists())
        if not order.exists():
            break
        asked = json.loads(order.read_text())
        begun = time.monotonic()
        right = job(context, directory, number, **asked)
        answer(directory / f"done-{number}.json", {"seconds": time.monotonic() - begun, "right": right})
    context.stop()


def job(context: SparkContext, directory: Path, number: int, *, tasks: int, records: int, stages: int) -> bool:
    """Run a chain of shuffles; every stage sees each record once, and so does the result."""
    total = tasks * records
    rdd = context.parallelize(range(total), tasks).map(lambda each: (each, each))
    for stage in range(stages):
        work = working(str(directory / "progress"), f"{number}-{stage}")
        rdd = rdd.mapPartitions(work).partitionBy(tasks, lambda each: each % tasks)
    found = rdd.map(lambda pair: (1, pair[1])).reduce(lambda one, other: (one[0] + other[0], one[1] + other[1]))
    return bool(found == (total, total * (total - 1) // 2))


def working(progress: str, stage: str) -> Any:
    """The function of every task: a wait for each record."""

    def work(records: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        attempt = os.environ["CONTAINER_ID"].split("_")[-2]
        name = f"{int(attempt)}-{stage}-{context.partitionId()}-{context.taskAttemptId()}"
        with Path(progress, name).open("w") as notes:

            def note(number: int) -> None:
                notes.write(f"{number} {time.time() * 1000:.0f}\n")
                notes.flush()

            note(0)
            number = 0
            for number, record in enumerate(records, 1):
                time.sleep(RECORD_S)
                if number % NOTED == 0:
                    note(number)
                yield record
            note(number)

    return work


def answer(path: Path, document: dict[str, object]) -> None:
    """Write a file by rename."""
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(document))
    scratch.rename(path)


def until(condition: Any) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
