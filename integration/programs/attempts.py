"""Saves by yarnspec.sink, and at each step of an attempt one is killed, fails, or is held: `attempts.py WAY MARKS OUT`.

For each of STEPS a save to `OUT/STEP/OUTPUT`. WAY is one of WAYS; `held`: the attempt goes on, and ends, only after its
output has been published. MARKS is a directory that all hosts see. Prints a JSON line for each save, and what is in the
directories after it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

from yarnspec.sink import PartitionFileSink, published_files

WAYS = ("killed", "failed", "held")
WRITER_STEPS = ("records", "writing")
"""In Python: before the first record is there, and when a part of the file is written on the local disk."""
COPY_STEPS = ("create", "created", "written", "close", "closed", "renamed")
"""In the JVM (``integration/sinksteps``): around each operation on the output's file system; it writes in pieces."""
STEPS = (*WRITER_STEPS, *COPY_STEPS)
PARTITIONS = 3
BYTES = 3 << 20
OUTPUT = "an output 100%"
DEADLINE_S = 60


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def reached(step: str) -> None:
    """See ``integration/sinksteps/SinkSteps.java``, which does the same."""
    task = TaskContext.get()
    assert task is not None
    if task.partitionId() != 0 or task.getLocalProperty("sinksteps.step") != step:
        return
    hit = Path(str(task.getLocalProperty("sinksteps.hit")))
    whole = hit.with_name(f"{hit.name}.{task.taskAttemptId()}")
    whole.write_text(f"{task.stageId()} {task.taskAttemptId()}")
    try:
        hit.hardlink_to(whole)
    except FileExistsError:
        return
    way = task.getLocalProperty("sinksteps.way")
    if way == "killed":
        # This process's parent is pyspark's daemon, and that one's the executor.
        os.kill(int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
        time.sleep(DEADLINE_S)
    if way == "failed":
        raise OSError(f"failed at {step}")
    wait_for(hit.with_name(f"{hit.name}-go").exists)


def records(index: int, _: Iterator[int]) -> Iterator[int]:
    """One record."""
    reached("records")
    yield index


def write(numbers: Iterator[int], file: BinaryIO) -> None:
    """The number again and again."""
    for number in numbers:
        file.write(b"%d" % number)
        file.flush()
        reached("writing")
        file.write(b"%d" % number * (BYTES - 1))


def listing(context: SparkContext, directory: str) -> dict[str, int]:
    """What is in a directory, hidden names and all: name and size."""
    jvm: Any = context._jvm
    path = jvm.org.apache.hadoop.fs.Path(directory)
    files = path.getFileSystem(context._jsc.hadoopConfiguration())
    return {str(each.getPath().getName()): int(each.getLen()) for each in files.listStatus(path)}


def has_ended(context: SparkContext, stage: int, task_id: int) -> bool:
    """Whether Spark knows that this attempt has."""
    tasks: Any = context._jsc.sc().statusStore().taskList(stage, 0, 1000)
    found = [tasks.apply(place) for place in range(tasks.size())]
    return any(each.taskId() == task_id and str(each.status()) != "RUNNING" for each in found)


def save(context: SparkContext, way: str, step: str, marks: Path, directory: str) -> None:
    """One save, and what it came to."""
    hit = marks / f"{way}-{step}"
    for name, value in (("way", way), ("step", step), ("hit", str(hit))):
        context.setLocalProperty(f"sinksteps.{name}", value)
    numbers = context.parallelize(range(PARTITIONS), PARTITIONS).mapPartitionsWithIndex(records)
    out = f"{directory}/{step}/{OUTPUT}"
    saved = PartitionFileSink(out, write, suffix=".txt").save(numbers)
    stage, task_id = map(int, hit.read_text().split())
    at_once = listing(context, out)
    hit.with_name(f"{hit.name}-go").touch()
    if way == "held":
        wait_for(lambda: has_ended(context, stage, task_id))
    contents = dict(context.wholeTextFiles(out).collect()).values()
    found = {
        "step": step,
        "task": task_id,
        "attempts": dataclasses.asdict(saved.attempts),
        "contents": sorted((text[0], len(text), len(set(text))) for text in contents),
        "published": [file.rpartition("/")[2] for file in published_files(SparkSession.builder.getOrCreate(), out)],
        "at once": at_once,
        "within": listing(context, out),
        "around": sorted(listing(context, f"{directory}/{step}")),
    }
    print(json.dumps(found), flush=True)


def main(way: str, marks: Path, directory: str) -> None:
    """All steps."""
    context = SparkSession.builder.getOrCreate().sparkContext
    # The driver has its HDFS already, and keeps it; executors get this with the job.
    listing(context, "/")
    conf: Any = context._jsc.hadoopConfiguration()
    conf.set("fs.hdfs.impl", "yarnspec.sinksteps.StepsHdfs")
    conf.set("fs.file.impl", "yarnspec.sinksteps.StepsLocal")
    conf.set("fs.file.impl.disable.cache", "true")
    for step in STEPS:
        save(context, way, step, marks, directory)
    context.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
