"""What DuckDB says about a query on the same files, and whether another engine's rows agree with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb

from integration.tpch.queries import TABLES, UNORDERED, query_text

Row = tuple[object, ...]

# Engines divide and average decimals differently: Spark keeps decimals of a few digits, DuckDB takes doubles.
RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-5


def duckdb_rows(data: Path, numbers: Iterable[int], scale: float) -> dict[int, list[Row]]:
    """Each query's rows as DuckDB computes them from the Parquet files below `data`."""
    with duckdb.connect() as connection:
        for table in TABLES:
            connection.execute(f"create view {table} as select * from '{data}/{table}/*.parquet'")  # noqa: S608 - a name of ours and a path
        return {number: connection.execute(query_text(number, scale)).fetchall() for number in numbers}


def parquet_rows(directory: Path) -> list[Row]:
    """The rows of a result that was written as one Parquet file, in their order."""
    with duckdb.connect() as connection:
        return connection.execute(f"select * from '{directory}/*.parquet'").fetchall()  # noqa: S608 - a path of ours


def disagreement(number: int, got: Sequence[Row], expected: Sequence[Row]) -> str | None:
    """The first difference between two results of a query in words, or None when they agree.

    Rows are compared in their order where the query has one, and numbers with a tolerance.
    """
    if len(got) != len(expected):
        return f"query {number}: {len(got)} rows, expected {len(expected)}"
    if number in UNORDERED:
        got, expected = sorted(got, key=repr), sorted(expected, key=repr)
    for index, (row, wanted) in enumerate(zip(got, expected, strict=True)):
        if len(row) != len(wanted) or not all(map(_same, row, wanted)):
            return f"query {number}: row {index} is {row}, expected {wanted}"
    return None


def _same(value: object, expected: object) -> bool:
    if isinstance(value, int | float | Decimal) and isinstance(expected, int | float | Decimal):
        return math.isclose(float(value), float(expected), rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    if isinstance(value, date) and isinstance(expected, date):
        return value.isoformat()[:10] == expected.isoformat()[:10]
    return value == expected
