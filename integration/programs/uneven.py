"""Stages of tasks of very different sizes, each record a wait of 10 ms, two a round: `uneven.py START_FILE ROUNDS`.

Both read a shuffle, so that Spark knows how much each task reads. Says `{"ready": true}` when its Python workers are
there, and begins when START_FILE appears.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

RECORD_S = 0.01
RECORD_BYTES = 2000  # of noise, so that twice the records are twice the bytes
SIZES = (20, 200, 25, 25, 100, 20, 25, 50, 20, 25, 20, 67, 20, 25, 40, 20, 150, 22, 28, 35, 20, 80, 24, 20)
LONGEST_S = 360


def main(start: Path, rounds: int) -> None:
    """Run the rounds, two stages each, with a shuffle before either that is as uneven."""
    context = SparkSession.builder.getOrCreate().sparkContext

    def work(records):  # type: ignore[no-untyped-def] # runs in Spark's workers
        for record in records:
            time.sleep(RECORD_S)
            yield record

    context.parallelize(range(60), 12).mapPartitions(work).count()
    print(json.dumps({"ready": True}), flush=True)
    deadline = time.monotonic() + LONGEST_S
    while not start.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {start}")
        time.sleep(0.1)
    tasks = len(SIZES)
    # Who writes them is even: of what such a task makes out of nothing nobody could know the size.
    places = [place for place, size in enumerate(SIZES) for _ in range(size)]
    numbered = context.parallelize(places, tasks).map(lambda place: (place, os.urandom(RECORD_BYTES)))
    counts = set()
    for _ in range(rounds):
        read_once = numbered.partitionBy(tasks, lambda place: place).mapPartitions(work)
        counts.add(read_once.partitionBy(tasks, lambda place: place).mapPartitions(work).count())
    print(json.dumps({"right": counts == {sum(SIZES)}}), flush=True)
    context.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
