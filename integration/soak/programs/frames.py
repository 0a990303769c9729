"""DataFrame jobs with a Python function, aggregations and a join: `frames.py SEED [PAUSE_S]`.

One comes after the other. Spark plans each anew while it runs (AQE). Prints `{"round": n}` after each and
`{"result": …}` at the end.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

ROWS = 16_000
TASKS = 8
ROUNDS = 5
PAUSE_S = 0.7

Row = tuple[int, int, int]


def constants(seed: int, number: int) -> tuple[int, int, int]:
    """A factor, an offset and a modulus for this round."""
    return 2 * ((seed + number) % 50) + 3, (seed * 17 + number) % 1000, 41 + (seed + 3 * number) % 60


def digest(rounds: list[list[Row]]) -> str:
    """What is compared."""
    return hashlib.sha256(json.dumps([sorted(rows) for rows in rounds]).encode()).hexdigest()[:16]


def expected(seed: int) -> str:
    """The right result, without Spark: per group its rows, their sum, and how many rows another grouping has there."""
    rounds = []
    for number in range(ROUNDS):
        factor, offset, modulus = constants(seed, number)
        sums: dict[int, int] = {}
        counts: dict[int, int] = {}
        for row in range(ROWS):
            key = (row * factor + offset) % modulus
            sums[key] = sums.get(key, 0) + row
            counts[row % modulus] = counts.get(row % modulus, 0) + 1
        rounds.append([(key, total, counts[key]) for key, total in sums.items() if key in counts])
    return digest(rounds)


def main(seed: int, pause_s: float = PAUSE_S) -> None:
    """Run the jobs."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    spark = SparkSession.builder.getOrCreate()

    @f.udf("long")  # type: ignore[untyped-decorator] # pyspark is not checked
    def slowly(row: int) -> int:
        if row % (ROWS // TASKS) == 0:
            time.sleep(pause_s)
        return row

    rounds, held = [], []  # Spark drops the shuffles of what nobody holds any more
    for number in range(ROUNDS):
        factor, offset, modulus = constants(seed, number)
        rows = spark.range(0, ROWS, 1, TASKS).select(slowly("id").alias("id"))
        sums = rows.groupBy(((f.col("id") * factor + offset) % modulus).alias("key")).agg(f.sum("id").alias("total"))
        counts = spark.range(ROWS).groupBy((f.col("id") % modulus).alias("key")).agg(f.count("*").alias("there"))
        held.append(sums.join(counts, "key").orderBy("key"))
        rounds.append([(row["key"], row["total"], row["there"]) for row in held[-1].collect()])
        print(json.dumps({"round": number}), flush=True)
    print(json.dumps({"result": digest(rounds)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(float, sys.argv[2:]))
