"""Writes the same records again and again, each time with a late task whose copy is killed at a step of its commit.

`commits.py DIRECTORY OUTPUT`: for each of SINKS and each of STEPS a job that writes to OUTPUT/SINK-STEP, the sinks side
by side. The first attempt of partition 0 waits until its copy has come to the step, which the file DIRECTORY/SINK-STEP
says, and has been killed there. Prints a JSON line for each job: `sink`, `step`, `killed` (the copy's task id).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import InheritableThread, SparkContext, TaskContext
from pyspark.sql import Row, SparkSession

SINKS = ("parquet", "text", "rdd")
# Before the output is opened, while it is written, when it is asked whether there is anything to commit, and just
# before and after the one moment in which it becomes part of the result.
STEPS = ("setupTask", "write", "needsTaskCommit", "commitTask", "committed")
PARTITIONS = 3
RECORDS = 2000
LONGEST_S = 180


def wait_for(file: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + LONGEST_S
    while not file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(file)
        time.sleep(0.02)


def records(index: int, _: Iterator[int]) -> Iterator[str]:
    """The records of a partition; the late task waits, and its copy stays in the middle when that is the step."""
    task = TaskContext.get()
    assert task is not None
    hit = Path(str(task.getLocalProperty("commitsteps.hit")))
    if index == 0 and task.attemptNumber() == 0:
        wait_for(hit.with_name(f"{hit.name}-ended"))
    stays = index == 0 and task.attemptNumber() > 0 and task.getLocalProperty("commitsteps.step") == "write"
    for number in range(RECORDS):
        if stays and number == RECORDS // 2 and not hit.exists():
            whole = hit.with_name(f"{hit.name}.{task.taskAttemptId()}")
            whole.write_text(f"{task.stageId()} {task.taskAttemptId()}")
            whole.rename(hit)
            time.sleep(LONGEST_S)
        yield f"{index}:{number}"


def kill(context: SparkContext, hit: Path) -> int:
    """Kill the copy that says in ``hit`` that it is there, wait until Spark knows that it has ended; its task id."""
    wait_for(hit)
    stage, task_id = map(int, hit.read_text().split())
    spark = context._jsc.sc()
    assert spark.killTaskAttempt(task_id, True, f"killed at {hit.name}")
    deadline = time.monotonic() + LONGEST_S
    # Spark's status store lags behind: it may not know yet of a copy that has only just started.
    while status(spark, stage, task_id) in (None, "RUNNING"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"task {task_id} of stage {stage} runs on")
        time.sleep(0.02)
    hit.with_name(f"{hit.name}-ended").touch()
    return task_id


def status(spark: Any, stage: int, task_id: int) -> str | None:
    """How an attempt of a task stands, as far as Spark's status store knows."""
    tasks = spark.statusStore().taskList(stage, 0, 1000)
    found = (tasks.apply(place) for place in range(tasks.size()))
    return next((str(one.status()) for one in found if one.taskId() == task_id), None)


def write(session: SparkSession, sink: str, step: str, directory: Path, output: str) -> None:
    """Run one job, and kill the copy of its late task on the way."""
    context = session.sparkContext
    hit = directory / f"{sink}-{step}"
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(kill(context, hit)))
    killer.start()
    context.setLocalProperty("commitsteps.step", step)
    context.setLocalProperty("commitsteps.hit", str(hit))
    lines = context.parallelize(range(PARTITIONS), PARTITIONS).mapPartitionsWithIndex(records)
    if sink == "rdd":
        lines.saveAsTextFile(f"{output}/{hit.name}")
    else:
        table = session.createDataFrame(lines.map(lambda line: Row(value=line)), "value string")
        table.write.format(sink).save(f"{output}/{hit.name}")
    killer.join()
    # In one piece: the other sinks' threads write as well.
    sys.stdout.write(json.dumps({"sink": sink, "step": step, "killed": killed[0]}) + "\n")
    sys.stdout.flush()


def main(directory: Path, output: str) -> None:
    """Run the jobs of all sinks side by side."""
    session = SparkSession.builder.getOrCreate()
    # The workers are there before the first task is timed.
    session.sparkContext.parallelize(range(18), 18).count()

    failed: list[BaseException] = []

    def run(sink: str) -> None:
        try:
            for step in STEPS:
                write(session, sink, step, directory, output)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [InheritableThread(target=run, args=(sink,)) for sink in SINKS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.stop()
    if failed:
        raise failed[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
