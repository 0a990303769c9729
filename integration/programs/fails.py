"""Runs a job and then fails: `fails.py exception | exit N | task | input`."""

from __future__ import annotations

import sys
import traceback

from pyspark.sql import SparkSession


def give_up() -> None:
    """Raise what the tests look for."""
    raise ValueError(f"the answer was not 42 but {'x' * 3_000_000} in the end")


def main(how: str, code: int) -> None:
    """Fail in the way that is asked for."""
    spark = SparkSession.builder.getOrCreate()
    print("counted", spark.range(10).count(), flush=True)
    if how == "exception":
        give_up()
    elif how == "exit":
        try:
            give_up()
        except ValueError:
            traceback.print_exc()
        print("went on", flush=True)
        sys.exit(code)
    elif how == "task":
        spark.sparkContext.parallelize(range(4), 4).map(lambda number: 1 // (number - 2)).collect()
    elif how == "input":
        spark.read.parquet("/nobody/has/written/this").count()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
