"""Runs N tasks of S seconds and prints one JSON line with their sum and where they ran: `tasks.py N S`.

In cluster mode it leaves a thread of the driver's JVM behind, which would keep that JVM alive.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter

from pyspark.sql import SparkSession


def main(tasks: int, seconds: float) -> None:
    """Run one job."""
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext

    def where(index: int) -> tuple[int, str, str]:
        time.sleep(seconds)
        return index, os.environ["NM_HOST"], os.environ["CONTAINER_ID"]

    found = context.parallelize(range(tasks), tasks).map(where).collect()
    line = {
        "sum": sum(index for index, _, _ in found),
        "hosts": dict(Counter(host for _, host, _ in found)),
        "containers": sorted({container for _, _, container in found}),
        "driver_host": os.environ["NM_HOST"],
        "driver_container": os.environ["CONTAINER_ID"],
        "application_id": context.applicationId,
        "master": context.master,
        "deploy_mode": context.getConf().get("spark.submit.deployMode"),
        "python": sys.executable,
    }
    print(json.dumps(line), flush=True)
    if line["deploy_mode"] == "cluster":
        spark._jvm.java.util.concurrent.Executors.newFixedThreadPool(1).prestartAllCoreThreads()
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
