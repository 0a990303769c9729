"""Sets a master in its code, as many programs do: `master_in_code.py MASTER [PYTHON-OPTION…]`.

It replaces itself with another Python first, as programs do that set LD_LIBRARY_PATH.
"""

from __future__ import annotations

import os
import sys

from pyspark.conf import SparkConf
from pyspark.sql import SparkSession


def main(master: str) -> None:
    """Count in a session with that master."""
    spark = SparkSession.builder.master(master).getOrCreate()
    where = spark.sparkContext.parallelize(range(2), 2).map(lambda _: os.environ["CONTAINER_ID"]).collect()
    names = {spark.sparkContext.master, spark.conf.get("spark.master"), SparkConf().get("spark.master")}
    print("master", *names, "application", spark.sparkContext.applicationId, "tasks", len(where))
    spark.stop()


if __name__ == "__main__":
    if "REPLACED" not in os.environ:
        os.environ["REPLACED"] = "yes"
        os.execv(sys.executable, [sys.executable, *sys.argv[2:], *sys.argv[:2]])  # noqa: S606 - what is tested
    main(sys.argv[1])
