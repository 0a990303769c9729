"""Jobs that write files, one after the other: `files.py SEED DIRECTORY [PAUSE_S]`.

Prints `{"round": n}` after each and `{"result": "written"}` at the end. Each task of a write sleeps before it writes:
faults find it at work.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from operator import add

ROWS = 2000
TASKS = 8
KEYS = 97
PRIME = 1_000_003
PAUSE_S = 0.4
OF_AN_RDD = "of an RDD"
ROUNDS = (
    ("new", "errorifexists"),
    ("added", "append"),
    ("added", "append"),
    ("replaced", "overwrite"),
    ("replaced", "overwrite"),
    ("lines", OF_AN_RDD),
)
"""Which output a round writes, and how."""
OUTPUTS = tuple(dict.fromkeys(name for name, _ in ROUNDS))


def pair(row: int, seed: int, number: int) -> tuple[int, int]:
    """The pair that a number becomes in this round."""
    return (row * 31 + seed + number) % KEYS, (row * row + seed * number) % PRIME


def line(key: int, total: int, number: int) -> str:
    """What is written of a key."""
    return f"{number} {key} {total}"


def digest(outputs: dict[str, list[str]]) -> str:
    """What is compared: the lines of each output, in any order."""
    return hashlib.sha256(json.dumps({name: sorted(outputs[name]) for name in OUTPUTS}).encode()).hexdigest()[:16]


def expected_outputs(seed: int) -> dict[str, list[str]]:
    """The right lines of each output, without Spark."""
    outputs: dict[str, list[str]] = {name: [] for name in OUTPUTS}
    for number, (name, mode) in enumerate(ROUNDS):
        sums: Counter[int] = Counter()
        for key, value in (pair(row, seed, number) for row in range(ROWS)):
            sums[key] += value
        lines = [line(key, total, number) for key, total in sums.items()]
        outputs[name] = [*outputs[name], *lines] if mode == "append" else lines
    return outputs


def expected(seed: int) -> str:
    """The right result, without Spark."""
    return digest(expected_outputs(seed))


def main(seed: int, directory: str, pause_s: float = PAUSE_S) -> None:
    """Run the jobs."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()

    def slowly(part: Iterator[str]) -> Iterator[str]:
        time.sleep(pause_s)
        return part

    for number, (name, mode) in enumerate(ROUNDS):
        rows = spark.sparkContext.parallelize(range(ROWS), TASKS)
        pairs = rows.map(lambda row, number=number: pair(row, seed, number))
        sums = pairs.reduceByKey(add, TASKS)
        lines = sums.map(lambda each, number=number: line(each[0], each[1], number)).mapPartitions(slowly)
        if mode == OF_AN_RDD:
            lines.saveAsTextFile(f"{directory}/{name}")
        else:
            frame = spark.createDataFrame(lines.map(lambda text: (text,)), "value string")
            frame.write.mode(mode).text(f"{directory}/{name}")
        print(json.dumps({"round": number}), flush=True)
    print(json.dumps({"result": "written"}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], *map(float, sys.argv[3:]))
