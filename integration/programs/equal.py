"""Runs stages of equal tasks when all executors are there: `equal.py EXECUTORS TASKS STAGES LOCKS OUTPUT`.

With 0 EXECUTORS it waits for none, and begins when Spark lets it. One half of a stage's tasks begins when all of the
other half, which work for longer, run. So some executors are busy. A host has two processors for such tasks: files in
LOCKS, of which a task holds any one while it works. OUTPUT gets one JSON object: `there_ms` (when all executors were
there), `ended_ms` (when the last stage had ended), `hosts` (how many executors each has), and `stages`. A stage has its
`ms`, and how many of its tasks ran on each executor and on each host.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

WORK_S = 0.5
LONGER = 2
PROCESSORS = 2
PATIENCE_S = 180
LOOK_S = 0.005


def work(locks: str, begun: str, seconds: float) -> Iterator[tuple[str, str]]:
    """Say that it runs, and hold one of the host's processors for a while."""
    host = os.environ["NM_HOST"]
    Path(locks, f"{begun}-{TaskContext.get().partitionId()}").touch()
    with contextlib.ExitStack() as stack:
        processors = [stack.enter_context(Path(locks, f"{host}-{number}").open("w")) for number in range(PROCESSORS)]
        while not any(map(taken, processors)):
            time.sleep(LOOK_S)
        time.sleep(seconds)
    yield host, os.environ["CONTAINER_ID"]


def taken(processor: IO[str]) -> bool:
    """Take it, unless another task has it."""
    try:
        fcntl.flock(processor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def ran(context: SparkContext, tasks: int, locks: str, begun: str, seconds: float) -> list[tuple[str, str]]:
    """Run so many tasks; where each ran."""
    parts = context.parallelize(range(tasks), tasks)
    where: list[tuple[str, str]] = parts.mapPartitions(lambda _: work(locks, begun, seconds)).collect()
    return where


def both(context: SparkContext, tasks: int, locks: str, number: int) -> list[tuple[str, str]]:
    """Run a stage in its two halves; where each task ran."""
    half = tasks // 2
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ran, context, half, locks, f"{number}-first", LONGER * WORK_S)
        while not first.done() and len(list(Path(locks).glob(f"{number}-first-*"))) < half:
            time.sleep(LOOK_S)
        second = ran(context, tasks - half, locks, f"{number}-second", WORK_S)
        return [*first.result(), *second]


def executors(context: SparkContext) -> list[str]:
    """The hosts of the executors that are registered."""
    known = context._jsc.sc().statusStore().executorList(True)
    each = [known.apply(number) for number in range(known.size())]
    return [one.hostPort().rpartition(":")[0] for one in each if one.id() != "driver"]


def main(count: int, tasks: int, stages: int, locks: str, output: Path) -> None:
    """Wait for the executors, run the stages."""
    context = SparkSession.builder.getOrCreate().sparkContext
    until = time.monotonic() + PATIENCE_S
    while len(executors(context)) < count and time.monotonic() < until:
        time.sleep(0.02)
    there_ms = time.time_ns() // 1_000_000
    if count:
        context.parallelize(range(4 * count), 4 * count).foreach(lambda _: None)  # Python's workers start
    told = []
    for number in range(stages):
        begun = time.monotonic()
        where = both(context, tasks, locks, number)
        took_ms = round((time.monotonic() - begun) * 1000)
        by_host, by_executor = Counter(host for host, _ in where), Counter(one for _, one in where)
        told.append({"ms": took_ms, "hosts": sorted(by_host.values()), "executors": sorted(by_executor.values())})
    ended_ms = time.time_ns() // 1_000_000
    hosts = Counter(executors(context))
    output.write_text(json.dumps({"there_ms": there_ms, "ended_ms": ended_ms, "hosts": hosts, "stages": told}))
    context.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
