"""Runs two small tasks and ends: what is left is the time it takes to get that far."""

from __future__ import annotations

from pyspark.sql import SparkSession


def main() -> None:
    """Run one job."""
    spark = SparkSession.builder.appName("first-task").getOrCreate()
    counted = spark.sparkContext.parallelize(range(2), 2).count()
    print(f'{{"counted": {counted}}}', flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
