"""Rounds of short tasks that are slow on one host, beside long tasks that are not: `recovers.py DIRECTORY`.

A round has 8 tasks of 0.3 s; on the host that DIRECTORY/slow names, while it is there, they take 8 times as long.
Rounds go on until DIRECTORY/stop appears. When DIRECTORY/long appears, 21 tasks start before the next round, and end
when DIRECTORY/go appears. Prints a JSON line for each round (`round`, `hosts`), one when all long tasks run (`long`:
how many run on each host) and a last one (`wrong`: rounds with a wrong result).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

TASKS, LONG_TASKS = 8, 21
RECORDS, RECORD_S, SLOWER = 30, 0.01, 8
LONGEST_S = 600


def host_of(directory: Path) -> str:
    """The host that is slow now."""
    try:
        return (directory / "slow").read_text()
    except FileNotFoundError:
        return ""


def short(directory: Path, numbers: Iterator[int]) -> Iterator[tuple[str, int]]:
    """One short task."""
    here = os.environ["NM_HOST"]
    for number in numbers:
        for _ in range(RECORDS):
            time.sleep(RECORD_S * (SLOWER if host_of(directory) == here else 1))
        yield here, number


def long(directory: Path, numbers: Iterator[int]) -> Iterator[int]:
    """One long task."""
    deadline = time.monotonic() + LONGEST_S
    for number in numbers:
        scratch = directory / f"new-{number}"
        scratch.write_text(os.environ["NM_HOST"])
        scratch.rename(directory / f"long-{number}")
        while not (directory / "go").exists():
            if time.monotonic() > deadline:
                raise TimeoutError("nobody let the long tasks go")
            time.sleep(0.01)
        yield number


def run_long(context: SparkContext, directory: Path) -> InheritableThread:
    """Start the long tasks, and wait until all of them run: as many on each host, as nothing else runs meanwhile."""
    data = context.parallelize(range(LONG_TASKS), LONG_TASKS).mapPartitions(lambda numbers: long(directory, numbers))
    beside = InheritableThread(target=data.count)
    beside.start()
    deadline = time.monotonic() + LONGEST_S
    while len(list(directory.glob("long-*"))) < LONG_TASKS:
        if time.monotonic() > deadline:
            raise TimeoutError("not all long tasks run")
        time.sleep(0.05)
    running = Counter(file.read_text() for file in directory.glob("long-*"))
    print(json.dumps({"long": running}), flush=True)
    return beside


def main(directory: Path) -> None:
    """Run rounds."""
    context = SparkSession.builder.getOrCreate().sparkContext
    beside: InheritableThread | None = None
    deadline = time.monotonic() + LONGEST_S
    rounds = wrong = 0
    while not (directory / "stop").exists():
        if beside is None and (directory / "long").exists():
            beside = run_long(context, directory)
        rounds += 1
        data = context.parallelize(range(TASKS), TASKS).mapPartitions(lambda numbers: short(directory, numbers))
        found = data.collect()
        wrong += [number for _, number in found] != list(range(TASKS))
        print(json.dumps({"round": rounds, "hosts": sorted({host for host, _ in found})}), flush=True)
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {directory}/stop")
    if beside is not None:
        beside.join()
    print(json.dumps({"wrong": wrong}), flush=True)
    context.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
