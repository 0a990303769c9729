"""Overrides configuration keys in its code: `overrides.py KEY=VALUE…`, and prints what it sees."""

from __future__ import annotations

import sys

from pyspark import SparkConf
from pyspark.sql import SparkSession


def main(pairs: list[str]) -> None:
    """Set the keys and run a job."""
    conf = SparkConf()
    for pair in pairs:
        key, _, value = pair.partition("=")
        conf.set(key, value)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    print("counted", spark.range(10).count())
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
