"""Watches Spark's dynamic allocation: prints the number of executors before, during and after many tasks.

It also prints on which host each container was that ran some of them: once for each of the two times.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from pyspark.sql import SparkSession


def main() -> None:
    """Load the cluster, then let it go idle."""
    spark = SparkSession.builder.getOrCreate()
    tracker = spark.sparkContext._jsc.sc().statusTracker()

    def executors() -> int:
        return len(tracker.getExecutorInfos()) - 1  # the driver is one of them

    def reaches(wanted: Callable[[int], bool], timeout_s: float) -> int:
        deadline = time.monotonic() + timeout_s
        while not wanted(executors()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return executors()

    def slowly(_: int) -> tuple[str, str]:
        time.sleep(1)
        return os.environ["CONTAINER_ID"], os.environ["NM_HOST"]

    begun = executors()
    used = dict(spark.sparkContext.parallelize(range(24), 24).map(slowly).collect())
    idle = reaches(lambda count: count <= 1, 40)
    again = dict(spark.sparkContext.parallelize(range(24), 24).map(slowly).collect())
    line = {"begun": begun, "used": used, "idle": idle, "used_again": again}
    print(json.dumps(line), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
