"""Runs rounds of tasks that wait 10 ms for each record: `waits.py DIRECTORY`.

How many records each task of a round has stands in DIRECTORY/sizes when the round begins. Rounds go on until
DIRECTORY/stop appears, the program until DIRECTORY/end. Prints one JSON line when a round begins (`begins`, `sizes`),
one when it has ended (`round`, `hosts`) and a last one (`rounds`, `wrong`: rounds with a wrong result).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

RECORD_S = 0.01
LONGEST_S = 720


def main(directory: Path) -> None:
    """Run rounds."""
    context = SparkSession.builder.getOrCreate().sparkContext

    def work(sizes):  # type: ignore[no-untyped-def] # runs in Spark's workers
        for size in sizes:
            for _ in range(size):
                time.sleep(RECORD_S)
            yield os.environ["NM_HOST"], size

    deadline = time.monotonic() + LONGEST_S
    rounds = wrong = 0
    while not (directory / "stop").exists():
        sizes = [int(word) for word in (directory / "sizes").read_text().split()]
        rounds += 1
        print(json.dumps({"begins": rounds, "sizes": sizes}), flush=True)
        found = context.parallelize(sizes, len(sizes)).mapPartitions(work).collect()
        wrong += [size for _, size in found] != sizes
        print(json.dumps({"round": rounds, "hosts": sorted({host for host, _ in found})}), flush=True)
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {directory}/stop")
    print(json.dumps({"rounds": rounds, "wrong": wrong}), flush=True)
    while not (directory / "end").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    context.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
