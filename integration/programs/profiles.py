"""Runs stages on executors of two sizes: `profiles.py DIRECTORY [HEAP CORES PENS]`.

Each step prints one JSON line: its `step`, the `containers` that its tasks ran in, the `profiles` of these, the
`resources` that Spark gave to its tasks, and those that the `driver` knows. The tasks of the steps `usual` and `large`
wait until a file of that name is in the directory. Without a heap there is no second size: two more steps have profiles
that say only what a task needs, `small-tasks` and `large-tasks`. They print how many of their tasks ran `at_once`. The
program ends soon only if these are at least 4 and 2.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

TASKS = 2
LONGEST_S = 120
HOLD_S = 0.5


def main(directory: Path, heap: str, cores: int, pens: int) -> None:
    """Run the steps, one after the other."""
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    drivers = {name: list(one.addresses) for name, one in context.resources.items()}

    def where(index: int, until: str) -> tuple[int, str, str, dict[str, list[str]]]:
        deadline = time.monotonic() + LONGEST_S
        while until and not (directory / until).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        given = {name: list(one.addresses) for name, one in TaskContext.get().resources().items()}
        return index, os.environ["CONTAINER_ID"], os.environ.get("YARNSPEC_PROFILE", "0"), given

    def tell(step: str, rows: list[Any]) -> None:
        line = {
            "step": step,
            "sum": sum(row[0] for row in rows),
            "containers": sorted({row[1] for row in rows}),
            "profiles": sorted({row[2] for row in rows}),
            "resources": [row[3] for row in rows],
            "driver": drivers,
        }
        print(json.dumps(line), flush=True)

    def at_once(index: int, marks: Path, enough: int) -> int:
        """How many tasks run beside this one for a while, as soon as enough have begun."""
        deadline, seen = time.monotonic() + LONGEST_S, 0
        (marks / f"{index}.begun").touch()
        (marks / f"{index}.runs").touch()
        while len(list(marks.glob("*.begun"))) < enough and time.monotonic() < deadline:
            time.sleep(0.02)
        until = time.monotonic() + HOLD_S
        while time.monotonic() < until:
            seen = max(seen, len(list(marks.glob("*.runs"))))
            time.sleep(0.02)
        (marks / f"{index}.runs").unlink()
        return seen

    def run_at_once(step: str, cpus: int, enough: int) -> None:
        marks = directory / f"{context.applicationId}-{step}"
        marks.mkdir()
        profile = ResourceProfileBuilder().require(TaskResourceRequests().cpus(cpus)).build
        tasks = context.parallelize(range(2 * TASKS), 2 * TASKS).withResources(profile)
        seen = tasks.map(lambda index: at_once(index, marks, enough)).collect()
        print(json.dumps({"step": step, "at_once": max(seen)}), flush=True)

    numbers = context.parallelize(range(TASKS), TASKS)
    tell("usual", numbers.map(lambda index: where(index, "usual")).collect())
    if not heap:
        run_at_once("small-tasks", 1, 4)
        run_at_once("large-tasks", 2, 2)
    else:
        executors = ExecutorResourceRequests().memory(heap).cores(cores)
        if pens:
            executors = executors.resource("acme.io/pen", pens, discoveryScript=str(directory / "pens.sh"))
        profile = ResourceProfileBuilder().require(executors).require(TaskResourceRequests().cpus(1)).build
        large = numbers.withResources(profile).map(lambda index: where(index, "large"))
        kept = large.keyBy(lambda row: row[0]).partitionBy(TASKS).values()
        tell("large", kept.collect())
        # What follows the shuffle runs on executors of the usual size.
        tell("after", kept.map(lambda row: where(row[0], "")).collect())
        deadline = time.monotonic() + LONGEST_S
        while not (directory / "end").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    spark.stop()


if __name__ == "__main__":
    directory, *size = sys.argv[1:]
    heap, cores, pens = size or ("", "1", "0")
    main(Path(directory), heap, int(cores), int(pens))
