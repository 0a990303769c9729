"""A structured stream that would run for ever: `streaming.py CHECKPOINT`."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    rates = spark.readStream.format("rate").load()
    stream = rates.writeStream.format("noop").option("checkpointLocation", sys.argv[1]).start()
    stream.awaitTermination(60)
