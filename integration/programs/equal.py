"""Runs stages of equal tasks when all executors are there: `equal.py EXECUTORS TASKS STAGES LOCKS OUTPUT`.

With 0 EXECUTORS it waits for none, and begins when Spark lets it. A host has two processors for such tasks: files in
LOCKS, of which a task holds one while it works. OUTPUT gets one JSON object: `there_ms` (when all executors were
there), `ended_ms` (when the last stage had ended), `hosts` (how many executors each has), and `stages`. A stage has its
`ms`, and how many of its tasks ran on each executor and on each host.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

WORK_S = 0.5
PROCESSORS = 2
PATIENCE_S = 180


def work(locks: str, _: Iterable[int]) -> Iterator[tuple[str, str]]:
    """Hold one of the host's processors for a while."""
    host = os.environ["NM_HOST"]
    number = TaskContext.get().partitionId() % PROCESSORS
    with Path(locks, f"{host}-{number}").open("w") as processor:
        fcntl.flock(processor, fcntl.LOCK_EX)
        time.sleep(WORK_S)
    yield host, os.environ["CONTAINER_ID"]


def executors(context: SparkContext) -> list[str]:
    """The hosts of the executors that are registered."""
    spark = context._jsc.sc()
    driver = spark.env().blockManager().blockManagerId().hostPort()
    known = spark.statusTracker().getExecutorInfos()
    return [one.host() for one in known if f"{one.host()}:{one.port()}" != driver]


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
    for _ in range(stages):
        begun = time.monotonic()
        ran = context.parallelize(range(tasks), tasks).mapPartitions(lambda part: work(locks, part)).collect()
        took_ms = round((time.monotonic() - begun) * 1000)
        by_host, by_executor = Counter(host for host, _ in ran), Counter(one for _, one in ran)
        told.append({"ms": took_ms, "hosts": sorted(by_host.values()), "executors": sorted(by_executor.values())})
    ended_ms = time.time_ns() // 1_000_000
    hosts = Counter(executors(context))
    output.write_text(json.dumps({"there_ms": there_ms, "ended_ms": ended_ms, "hosts": hosts, "stages": told}))
    context.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
