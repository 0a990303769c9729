"""Sets a master in its code, as many programs do: `master_in_code.py MASTER`."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def main(master: str) -> None:
    """Count in a session with that master."""
    spark = SparkSession.builder.master(master).getOrCreate()
    where = spark.sparkContext.parallelize(range(2), 2).map(lambda _: os.environ["CONTAINER_ID"]).collect()
    print("master", spark.sparkContext.master, "application", spark.sparkContext.applicationId, "tasks", len(where))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
