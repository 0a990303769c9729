"""`python -m integration.bench.sink`: what Spark's list of tasks knows when a job has ended, beside what was accepted.

Plain local Spark, a job of a sink's, `spark.ui.retainedTasks` of 1,000. Its driver gets the name of each accepted
attempt's file as the task's result. The moment that the last one is there, Spark's own list of the stage's tasks is
read: as it is, and again after the listeners have been waited for. Told is for how many partitions each would not have
named the right file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
from pyspark import SparkContext

from integration.localsession import local_session
from yarnspec.sink.job import SinkJob

RETAINED = 1_000


def write(records: Iterator[int], file: BinaryIO) -> None:
    """The partition's number."""
    file.write(b"%d" % next(records))


def succeeded(context: SparkContext, stage: int) -> dict[int, str]:
    """Of each partition the task that has succeeded, by Spark's list as it is now."""
    tasks: Any = context._jsc.sc().statusStore().taskList(stage, 0, 2**31 - 1)
    listed = [tasks.apply(number) for number in range(tasks.size())]
    return {each.partitionId(): f"e1.t{each.taskId()}" for each in listed if each.status() == "SUCCESS"}


def measure(context: SparkContext, partitions: int) -> tuple[int, int, int]:
    """For how many partitions no file, or a wrong one, would be named: by what was accepted, by the list, and later."""
    job = SinkJob(context.parallelize(range(partitions), partitions), write, None)
    with tempfile.TemporaryDirectory() as directory:
        accepted = job.run(directory, 1, list(range(partitions)))
        ((stage, _),) = job._stages
        at_once = succeeded(context, stage)
        job.tasks(1)  # waits for the listeners
        later = succeeded(context, stage)
        right = {
            each.partition: each.id
            for each in accepted
            if Path(directory, each.name).read_text() == str(each.partition)
        }
    return (
        partitions - len(right),
        sum(at_once.get(partition) != task for partition, task in right.items()),
        sum(later.get(partition) != task for partition, task in right.items()),
    )


@click.command()
@click.option("--partitions", default=5_000, help="Of the large job.")
@click.option("--small", default=200, help="Partitions of a small one.")
@click.option("--repeats", default=5, help="How many small ones.")
def main(partitions: int, small: int, repeats: int) -> None:
    """Print a line for each job."""
    with tempfile.TemporaryDirectory() as scratch:
        for session in local_session(
            Path(scratch),
            "local[2]",
            {"spark.ui.retainedTasks": str(RETAINED), "spark.ui.showConsoleProgress": "false"},
        ):
            for count in (*[small] * repeats, partitions):
                wrong, at_once, later = measure(session.sparkContext, count)
                click.echo(
                    f"{count} partitions: accepted, missing or wrong {wrong}; by Spark's list at once {at_once}, "
                    f"after its listeners {later}"
                )


if __name__ == "__main__":
    main()
