"""Runs queries of TPC-H or TPC-DS: `tpc.py DATA_URI QUERIES OUTPUT_URI SCALE`, QUERIES as `1,6,14` or `all`.

Prints one JSON line per query (`query`, `rows`, `seconds`, `hash`, and `head`, the first rows as text) and writes each
result as Parquet below OUTPUT_URI. Needs `--py-files …/queries.py`, a module with `TABLES`, `QUERIES` and `query_text`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

from pyspark.sql import SparkSession
from queries import QUERIES, TABLES, query_text  # type: ignore[import-not-found] # comes by --py-files

ROWS_SHOWN = 3


def main(data: str, wanted: str, output: str, scale: str) -> None:
    """Run the wanted queries one after the other."""
    spark = SparkSession.builder.appName("tpc").getOrCreate()
    for table in TABLES:
        spark.read.parquet(f"{data}/{table}").createOrReplaceTempView(table)
    numbers = list(QUERIES) if wanted == "all" else [int(number) for number in wanted.split(",")]
    for number in numbers:
        begun = time.monotonic()
        frame = spark.sql(query_text(number, float(scale)))
        # Two columns of a query may have the same name, which a file does not take.
        result = frame.toDF(*(f"c{index}" for index in range(len(frame.columns)))).toArrow()
        seconds = time.monotonic() - begun
        rows = [list(row.values()) for row in result.to_pylist()]
        line = {
            "query": number,
            "rows": len(rows),
            "seconds": round(seconds, 3),
            "hash": hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()[:16],
            "columns": frame.columns,
            "head": [[str(value) for value in row] for row in rows[:ROWS_SHOWN]],
        }
        print(json.dumps(line), flush=True)
        # One file, so that the rows keep their order.
        spark.createDataFrame(result).coalesce(1).write.mode("overwrite").parquet(f"{output}/q{number:02d}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
