"""One late task in each of several jobs of four: `late.py DIRECTORY KIND…`, a kind is barrier, foreach or plain.

The first attempt of task 0 waits until DIRECTORY/KIND appears; any other attempt does not wait. Prints a JSON line for
each job (`kind`, `stage`, `attempts`: which attempts of task 0 did the work).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession

TASKS = 4
LONGEST_S = 270


def main(directory: Path, kinds: list[str]) -> None:
    """Run the jobs."""
    context = SparkSession.builder.getOrCreate().sparkContext
    for stage, kind in enumerate(kinds):
        gate, done = str(directory / kind), str(directory / f"{kind}-done")

        def work(numbers, gate=gate, done=done):  # type: ignore[no-untyped-def] # runs in Spark's workers
            task = TaskContext.get()
            deadline = time.monotonic() + LONGEST_S
            while task.partitionId() == 0 and task.attemptNumber() == 0 and not Path(gate).exists():
                if time.monotonic() > deadline:
                    raise TimeoutError(gate)
                time.sleep(0.05)
            if task.partitionId() == 0:
                with Path(done).open("a") as file:
                    file.write(f"{task.attemptNumber()}\n")
            yield from numbers

        data = context.parallelize(range(TASKS), TASKS)
        if kind == "barrier":
            data.barrier().mapPartitions(work).collect()
        elif kind == "foreach":
            data.foreachPartition(lambda numbers, work=work: list(work(numbers)))
        else:
            data.mapPartitions(work).collect()
        attempts = [int(line) for line in Path(done).read_text().split()]
        print(json.dumps({"kind": kind, "stage": stage, "attempts": attempts}), flush=True)
    context.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
