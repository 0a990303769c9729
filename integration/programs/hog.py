"""Takes more memory than its container has, once: `hog.py MARKER`; the second time the same task is modest."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

FAR_TOO_MUCH_BYTES = 1 << 30
LONG_ENOUGH_S = 60


def main(marker: str) -> None:
    """Run one job whose first task is greedy."""
    spark = SparkSession.builder.getOrCreate()

    def take(index: int) -> int:
        if index == 0 and not Path(marker).exists():
            Path(marker).write_text(os.environ["CONTAINER_ID"])
            taken = bytearray(os.urandom(1 << 20) * (FAR_TOO_MUCH_BYTES >> 20))
            time.sleep(LONG_ENOUGH_S)
            return len(taken)
        return index

    print("sum", sum(spark.sparkContext.parallelize(range(4), 4).map(take).collect()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
