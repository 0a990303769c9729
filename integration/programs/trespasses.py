"""Tries to overwrite what is another user's, in each way in which what is there can go: `trespasses.py TARGET`.

TARGET is a table of one partition, ``day=1``, with one row. Prints what came of each try, and how many rows there are
then.
"""

from __future__ import annotations

import json
import sys

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession, functions


def main(target: str) -> None:
    """Run it."""
    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(3).withColumn("day", functions.lit(1).cast("long"))
    spark.sql(f"CREATE TABLE theirs (id LONG, day LONG) USING parquet PARTITIONED BY (day) LOCATION '{target}'")
    spark.sql("MSCK REPAIR TABLE theirs")
    came: dict[str, list[object]] = {}
    for how in ("static", "dynamic", "one"):
        try:
            if how == "one":
                spark.sql("INSERT OVERWRITE theirs PARTITION (day = 1) SELECT id FROM range(3)")
            else:
                options = {"partitionOverwriteMode": how}
                rows.write.mode("overwrite").partitionBy("day").options(**options).parquet(target)
            said = "done"
        except Py4JJavaError as error:
            said = "denied" if "Permission denied" in str(error) else str(error)
        came[how] = [said, spark.read.parquet(target).count()]
    print(json.dumps(came), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
