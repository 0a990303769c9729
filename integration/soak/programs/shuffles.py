"""An RDD job of several shuffles in one chain: `shuffles.py SEED [PAUSE_S]`. Prints `{"result": …}`.

Every step sleeps, so that faults find it at work; the last one needs the outputs of all those before.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter

ROWS = 2000
TASKS = 10
STEPS = 6
KEYS = 257
PRIME = 1_000_003
PAUSE_S = 0.4

Pair = tuple[int, int]


def first(row: int, seed: int) -> Pair:
    """The pair that a number becomes."""
    return (row * 31 + seed) % KEYS, (row * row + seed) % PRIME


def step(pair: Pair, number: int) -> Pair:
    """The pair that a pair becomes in this step: another key, so that it moves to another partition."""
    key, value = pair
    return (key * 7 + value + number) % KEYS, (value * 13 + key + number) % PRIME


def digest(pairs: list[Pair]) -> str:
    """What is compared."""
    return hashlib.sha256(json.dumps(sorted(pairs)).encode()).hexdigest()[:16]


def expected(seed: int) -> str:
    """The right result, without Spark."""
    pairs = [first(row, seed) for row in range(ROWS)]
    for number in range(STEPS):
        sums: Counter[int] = Counter()
        for key, value in (step(pair, number) for pair in pairs):
            sums[key] += value
        pairs = list(sums.items())
    return digest(pairs)


def main(seed: int, pause_s: float = PAUSE_S) -> None:
    """Run the job."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    pairs = spark.sparkContext.parallelize(range(ROWS), TASKS).map(lambda row: first(row, seed))
    for number in range(STEPS):

        def slowly(part: object, number: int = number) -> object:
            time.sleep(pause_s)
            return (step(pair, number) for pair in part)  # type: ignore[attr-defined] # an iterator

        pairs = pairs.mapPartitions(slowly).reduceByKey(lambda left, right: left + right, TASKS)
    print(json.dumps({"result": digest(pairs.collect())}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(float, sys.argv[2:]))
