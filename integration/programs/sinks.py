"""Saves to HDFS by yarnspec.sink and prints JSON lines: `sinks.py DIRECTORY MARKS [dies]`.

MARKS is a directory that all hosts see: tasks and driver tell each other things there. With `dies`, the first driver is
killed in the midst of its second save.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pyspark import SparkContext, TaskContext
from pyspark.sql import Row, SparkSession

from yarnspec.sink import PartitionFileSink, published_files

PARTITIONS = 6
DEADLINE_S = 60


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


class Lines:
    """Writes records as lines; where an original of partition 0 has a copy, it ends only after the publication."""

    def __init__(self, marks: str, *, slow: bool) -> None:
        self.marks = marks
        self.slow = slow

    def __call__(self, records: Iterator[Any], file: BinaryIO) -> None:
        """Write a partition."""
        task = TaskContext.get()
        assert task is not None
        if self.slow and task.partitionId() == 0 and task.attemptNumber() == 0:
            wait_for(Path(self.marks, "published").exists)
            Path(self.marks, "loser wrote").touch()
        for record in records:
            file.write(f"{record[0] if isinstance(record, Row) else record}\n".encode())


class Fatal:
    """The last partition kills the driver, once, when the files of all others are whole."""

    def __init__(self, marks: str) -> None:
        self.marks = marks

    def __call__(self, records: Iterator[int], file: BinaryIO) -> None:
        """Write a partition."""
        task = TaskContext.get()
        assert task is not None
        died = Path(self.marks, "died")
        if task.partitionId() == PARTITIONS - 1 and not died.exists():
            wait_for(Path(self.marks, "die").exists)
            died.touch()
            os.kill(int(Path(self.marks, "driver").read_text()), signal.SIGKILL)
            time.sleep(DEADLINE_S)
        file.write(repr(list(records)).encode())


class Killing:
    """Partition 0's first attempt kills its executor when the JVM has begun to take over what it wrote."""

    def __init__(self, marks: str) -> None:
        self.marks = marks

    def __call__(self, records: Iterator[int], file: BinaryIO) -> None:
        """Write a partition."""
        killed = Path(self.marks, "killed")
        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == 0 and not killed.exists():
            Path(file.name).unlink()
            os.mkfifo(file.name)
            threading.Thread(target=self.feed, args=(file.name, killed), daemon=True).start()
            return
        file.writelines(f"{record}\n".encode() for record in records)

    @staticmethod
    def feed(name: str, killed: Path) -> None:
        """What is written here has been read at the other end, but for 64 KiB."""
        with Path(name).open("wb") as pipe:
            pipe.write(bytes(8 << 20))
            pipe.flush()
            killed.touch()
            # This process's parent is pyspark's daemon, and that one's the executor.
            executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(DEADLINE_S)


def tell(what: str, found: Any) -> None:
    """One line of output."""
    print(json.dumps({"what": what} | found), flush=True)


def listing(context: SparkContext, directory: str) -> list[str]:
    """What is in a directory in HDFS, hidden names and all."""
    jvm: Any = context._jvm
    path = jvm.org.apache.hadoop.fs.Path(directory)
    files = path.getFileSystem(context._jsc.hadoopConfiguration())
    return sorted(str(each.getPath().getName()) for each in files.listStatus(path))


def saves(spark: SparkSession, directory: str, marks: str) -> None:
    """All modes on a name that needs quoting; a loser that ends after its output was published."""
    context = spark.sparkContext
    out = f"{directory}/an output 100%"
    slow = PartitionFileSink(out, Lines(marks, slow=True), suffix=".txt")
    first = slow.save(context.parallelize(range(10), PARTITIONS))
    tell("fail", dataclasses.asdict(first))
    Path(marks, "published").touch()
    quick = Lines(marks, slow=False)
    PartitionFileSink(out, quick, mode="overwrite", suffix=".txt").save(spark.range(10, numPartitions=2))
    PartitionFileSink(out, quick, mode="append", suffix=".txt").save(context.parallelize([], 1))
    PartitionFileSink(out, quick, mode="append", suffix=".txt").save(context.parallelize(range(10, 12), 2))
    killing = PartitionFileSink(f"{directory}/killed", Killing(marks)).save(context.parallelize(range(2), 2))
    contents = sorted(dict(context.wholeTextFiles(f"{directory}/killed").collect()).values())
    tell("killed", {"contents": contents, "attempts": dataclasses.asdict(killing.attempts)})
    found = context.textFile(out).collect()
    tell("read", {"lines": sorted(map(int, found)), "published": len(published_files(spark, out))})
    tell("listed", {"around": listing(context, directory), "within": listing(context, out)})


def dies(spark: SparkSession, directory: str, marks: str) -> None:
    """An append that is published, and then a save in whose midst the first driver dies."""
    context = spark.sparkContext
    jvm: Any = context._jvm
    Path(marks, "driver").write_text(str(jvm.java.lang.ProcessHandle.current().pid()))
    numbers = context.parallelize(range(12), PARTITIONS)
    appended = PartitionFileSink(f"{directory}/appended", Lines(marks, slow=False), mode="append").save(numbers)
    saved = PartitionFileSink(f"{directory}/saved", Fatal(marks)).save(numbers)
    tell("epoch", {"appended": appended.written, "saved": saved.written, "attempts": saved.attempts.all})
    found = dict(context.wholeTextFiles(f"{directory}/saved").collect()).values()
    tell("read", {"appended": context.textFile(f"{directory}/appended").count(), "saved": sorted(found)})
    tell("listed", {"around": listing(context, directory)})


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    (dies if sys.argv[3:] else saves)(session, *sys.argv[1:3])
    session.stop()
