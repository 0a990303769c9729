"""Map outputs of some size: `heavy.py DIRECTORY`. Prints `{"result": …}`, how many bytes they are.

When they are there it writes the file at-1 in DIRECTORY, waits until there is go-1, and reads them once more.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

MAPS = 12
MAP_BYTES = 400_000
BYTES = MAPS * MAP_BYTES
LONGEST_S = 540


def main(directory: Path) -> None:
    """Run the job twice."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    numbers = spark.sparkContext.parallelize(range(MAPS), MAPS)
    # Nothing that can be compressed.
    spread = numbers.map(lambda number: (number, random.Random(number).randbytes(MAP_BYTES))).partitionBy(2)  # noqa: S311
    spread.count()
    (directory / "at-1").touch()
    deadline = time.monotonic() + LONGEST_S
    while not (directory / "go-1").exists():
        if time.monotonic() > deadline:
            raise TimeoutError("nobody wrote go-1")
        time.sleep(0.05)
    print(json.dumps({"result": spread.map(lambda pair: len(pair[1])).sum()}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
