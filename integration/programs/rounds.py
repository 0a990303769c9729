"""Runs rounds of short tasks until a file appears: `rounds.py STOP_FILE [TASKS] [SECONDS] [shuffled|forgotten]`.

Prints one JSON line per round (`round`, `hosts`, `containers`) and a last one (`rounds`, `wrong`: rounds with a wrong
result). With `shuffled` what the tasks return goes through a shuffle first. With `forgotten` Spark forgets the shuffle
after the round, and a job of one task runs while no executor holds map outputs. Then nothing runs for five
to nine seconds, one more each time, then five again. It gives up after twelve minutes.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LONGEST_S = 720
PAUSE_S = 0.5
SHORTEST_FREE_S, LONGEST_FREE_S = 5, 9


def main(stop: Path, tasks: int, seconds: float, *, shuffled: bool, forgotten: bool) -> None:
    """Run rounds."""
    spark = SparkSession.builder.getOrCreate()

    def where(index: int) -> tuple[int, str, str]:
        time.sleep(seconds)
        return index, os.environ["NM_HOST"], os.environ["CONTAINER_ID"]

    deadline = time.monotonic() + LONGEST_S
    rounds = wrong = 0
    while not stop.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody wrote {stop}")
        rows = spark.sparkContext.parallelize(range(tasks), tasks).map(where)
        if shuffled:
            rows = rows.keyBy(lambda row: row[0]).partitionBy(tasks).values()
        found = rows.collect()
        rounds += 1
        wrong += sum(index for index, _, _ in found) != tasks * (tasks - 1) // 2
        line = {
            "round": rounds,
            "hosts": sorted({host for _, host, _ in found}),
            "containers": sorted({container for _, _, container in found}),
        }
        print(json.dumps(line), flush=True)
        if forgotten:
            del rows
            for _ in range(2):  # Python tells the JVM in the background, now and then only after the first pause
                gc.collect()
                time.sleep(PAUSE_S)
                spark.sparkContext._jvm.System.gc()
            time.sleep(PAUSE_S)
            spark.sparkContext.parallelize([0], 1).count()
            time.sleep(SHORTEST_FREE_S + rounds % (LONGEST_FREE_S - SHORTEST_FREE_S + 1))
    print(json.dumps({"rounds": rounds, "wrong": wrong}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else 4,
        float(sys.argv[3]) if len(sys.argv) > 3 else 0.2,
        shuffled=sys.argv[4:] in (["shuffled"], ["forgotten"]),
        forgotten=sys.argv[4:] == ["forgotten"],
    )
