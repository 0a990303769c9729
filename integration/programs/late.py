"""One late task in each of several jobs of four: `late.py DIRECTORY KIND…`.

Kinds are barrier, foreach, pipe, source (a Python data source), no_copies, cached, and files (of text). The first
attempt of task 0 waits until DIRECTORY/KIND appears; any other attempt does not wait. Prints a JSON line for each job
(`kind`, `stage`, `attempts`: which attempts of task 0 did the work; `numbers`: the result).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import yarnspec

TASKS = 4
LONGEST_S = 270

Work = Callable[[Iterable[int]], Iterator[int]]


def late(gate: str, numbers: Iterable[int]) -> Iterator[int]:
    """Give the numbers of a task: late in the first attempt of task 0."""
    task = TaskContext.get()
    deadline = time.monotonic() + LONGEST_S
    while task.partitionId() == 0 and task.attemptNumber() == 0 and not Path(gate).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(gate)
        time.sleep(0.05)
    if task.partitionId() == 0:
        with Path(f"{gate}-done").open("a") as file:
            file.write(f"{task.attemptNumber()}\n")
    yield from numbers


class LateSource(DataSource):  # type: ignore[misc] # PySpark's types are not looked at
    """A data source of four partitions, each of one number."""

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return "late"

    def schema(self) -> str:
        """One column."""
        return "number int"

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - Spark gives it
        """Read behind the gate of the option."""
        return LateReader(self.options["gate"])


class LateReader(DataSourceReader):  # type: ignore[misc]
    """Reads what `late` gives."""

    def __init__(self, gate: str) -> None:
        self._gate = gate

    def partitions(self) -> list[InputPartition]:
        """One number each."""
        return [InputPartition(number) for number in range(TASKS)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        """A row for the number."""
        return ((number,) for number in late(self._gate, [partition.value]))


def run(spark: SparkSession, kind: str, directory: Path, work: Work) -> list[int]:
    """Run one job; gives its result."""
    data = spark.sparkContext.parallelize(range(TASKS), TASKS)
    found: list[Any] = []
    if kind == "barrier":
        found = data.barrier().mapPartitions(work).collect()
    elif kind == "foreach":
        data.foreachPartition(lambda numbers: list(work(numbers)))
    elif kind == "pipe":
        found = data.mapPartitions(work).pipe("cat").collect()
    elif kind == "source":
        spark.dataSource.register(LateSource)
        found = [row.number for row in spark.read.format("late").option("gate", str(directory / kind)).load().collect()]
    elif kind == "no_copies":
        with yarnspec.no_copies():
            found = data.mapPartitions(work).collect()
    elif kind == "cached":
        found = data.mapPartitions(work).cache().collect()
    else:
        files = directory / "numbers"
        files.mkdir()
        for number in range(TASKS):
            (files / f"{number}.txt").write_text(f"{number}\n", encoding="utf-8")
        found = spark.sparkContext.textFile(f"file://{files}", TASKS).map(int).mapPartitions(work).collect()
    return [int(one) for one in found]


def main(directory: Path, kinds: list[str]) -> None:
    """Run the jobs."""
    spark = SparkSession.builder.getOrCreate()
    for stage, kind in enumerate(kinds):
        gate = str(directory / kind)
        numbers = sorted(run(spark, kind, directory, partial(late, gate)))
        attempts = [int(line) for line in Path(f"{gate}-done").read_text().split()]
        print(json.dumps({"kind": kind, "stage": stage, "attempts": attempts, "numbers": numbers}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
