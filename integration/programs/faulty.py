"""Rounds of tasks that cannot run on one host: `faulty.py DIRECTORY`.

A round has 8 tasks of some milliseconds. While DIRECTORY/faulty is there, those on the host that it names raise an
error. Rounds go on until DIRECTORY/stop appears. Prints a JSON line for each round (`round`, `hosts`) and a last one
(`wrong`: rounds with a wrong result).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

TASKS = 8
TASK_S = 0.05
LONGEST_S = 600


def task(directory: Path, numbers: Iterator[int]) -> Iterator[tuple[str, int]]:
    """One task."""
    here = os.environ["NM_HOST"]
    faulty = directory / "faulty"
    if faulty.exists() and faulty.read_text() == here:
        raise OSError(f"no such device on {here}")
    for number in numbers:
        time.sleep(TASK_S)
        yield here, number


def main(directory: Path) -> None:
    """Run rounds."""
    context = SparkSession.builder.getOrCreate().sparkContext
    deadline = time.monotonic() + LONGEST_S
    rounds = wrong = 0
    while not (directory / "stop").exists():
        rounds += 1
        data = context.parallelize(range(TASKS), TASKS).mapPartitions(lambda numbers: task(directory, numbers))
        found = data.collect()
        wrong += [number for _, number in found] != list(range(TASKS))
        print(json.dumps({"round": rounds, "hosts": sorted({host for host, _ in found})}), flush=True)
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {directory}/stop")
    print(json.dumps({"wrong": wrong}), flush=True)
    context.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
