"""Watches Spark's dynamic allocation: prints the number of executors before, during and after many tasks.

It also prints on which host each container was that ran some of them: once for each of the two times. Each time it runs
more tasks until two containers have had some. The second time begins when the file of the first argument is there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession


def main() -> None:
    """Load the cluster, then let it go idle."""
    spark = SparkSession.builder.getOrCreate()
    tracker = spark.sparkContext._jsc.sc().statusTracker()

    def executors() -> int:
        return len(tracker.getExecutorInfos()) - 1  # the driver is one of them

    def wait_until(over: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not over() and time.monotonic() < deadline:
            time.sleep(0.2)

    def slowly(_: int) -> tuple[str, str]:
        time.sleep(1)
        return os.environ["CONTAINER_ID"], os.environ["NM_HOST"]

    def loaded(timeout_s: float = 120) -> dict[str, str]:
        used: dict[str, str] = {}
        deadline = time.monotonic() + timeout_s
        while len(used) < 2 and time.monotonic() < deadline:
            used |= dict(spark.sparkContext.parallelize(range(24), 24).map(slowly).collect())
        return used

    begun = executors()
    used = loaded()
    wait_until(lambda: executors() <= 1, 40)
    idle = executors()
    wait_until(Path(sys.argv[1]).exists, 120)
    again = loaded()
    line = {"begun": begun, "used": used, "idle": idle, "used_again": again}
    print(json.dumps(line), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
