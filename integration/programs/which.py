"""Prints from which jar the driver and the tasks load a class that several jars have, as a JSON line."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

CLASS = "yarnspec.whichjar.Which"


def main() -> None:
    """Ask the driver's JVM, and those of the executors by a function of SQL that is not worked out in the driver."""
    spark = SparkSession.builder.getOrCreate()
    assert spark.sparkContext._jvm is not None
    driver = spark.sparkContext._jvm.yarnspec.whichjar.Which.jar()
    rows = spark.range(4).selectExpr(f"java_method('{CLASS}', 'jar') AS jar").distinct().collect()
    print(json.dumps({"driver": driver, "tasks": [row.jar for row in rows]}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
