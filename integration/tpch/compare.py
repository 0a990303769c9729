"""What DuckDB says about a query on the same files, and whether another engine's rows agree with it.

Rows that tie under a query's ORDER BY may come in any order. Where its LIMIT cuts through a tie, any of the tying rows
may be there. So DuckDB sorts each result twice without the limit: by the query's order and then by all columns upwards,
and by the query's order and then by all columns downwards. Between two places up to which both have seen the same rows
lies one tie.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path

import duckdb

Row = tuple[object, ...]

# Engines divide and average decimals differently: Spark keeps decimals of a few digits, DuckDB takes doubles.
RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-5
LIMIT = re.compile(r"\blimit\s+(\d+)\s*$", re.IGNORECASE)
ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)


@dataclass(frozen=True)
class Expected:
    """All rows of a query in its order, tie by tie, and how many of them it is to give."""

    ties: Sequence[Sequence[Row]]
    count: int


def duckdb_results(data: Path, texts: Mapping[int, str]) -> dict[int, Expected]:
    """Each query's result as DuckDB computes it from the Parquet files below ``data``, a directory for each table."""
    with duckdb.connect() as connection:
        # As Spark sorts. One thread adds up doubles in one order, so that both sorts see the same rows.
        connection.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'; set threads = 1")
        for table in sorted(data.iterdir()):
            connection.execute(f"create view {table.name} as select * from '{table}/*.parquet'")  # noqa: S608 - names of ours
        return {number: expected(connection, text) for number, text in texts.items()}


def expected(connection: duckdb.DuckDBPyConnection, text: str) -> Expected:
    """The result of one query."""
    text = text.strip().rstrip(";").rstrip()
    limit = LIMIT.search(text)
    body = text[: limit.start()] if limit else text
    columns = range(1, len(connection.sql(body).columns) + 1)
    end = "," if _is_ordered(body) else " order by"
    upwards = connection.execute(f"{body}{end} {', '.join(map(str, columns))}").fetchall()
    downwards = connection.execute(f"{body}{end} {', '.join(f'{each} desc' for each in columns)}").fetchall()
    return Expected(list(_ties(upwards, downwards)), min(int(limit[1]), len(upwards)) if limit else len(upwards))


def parquet_rows(directory: Path) -> list[Row]:
    """The rows of a result that was written as one Parquet file, in their order."""
    with duckdb.connect() as connection:
        return connection.execute(f"select * from '{directory}/*.parquet'").fetchall()  # noqa: S608 - a path of ours


def result_directory(number: int) -> str:
    """The name under which the program that runs queries writes the result of this one."""
    return f"q{number:02d}"


def disagreements(results: Path, right: Mapping[int, Expected]) -> list[str]:
    """What differs in the results that were written below a directory, one of each query at most."""
    found = (disagreement(number, parquet_rows(results / result_directory(number)), right[number]) for number in right)
    return [difference for difference in found if difference]


def disagreement(number: int, got: Sequence[Row], right: Expected) -> str | None:
    """The first difference between two results of a query in words, or None when they agree.

    Numbers are compared with a tolerance.
    """
    if len(got) != right.count:
        return f"query {number}: {len(got)} rows, expected {right.count}"
    rows = iter(enumerate(got))
    for tie in right.ties:
        free = list(tie)
        for index, row in islice(rows, len(tie)):
            match = next((place for place, wanted in enumerate(free) if _alike(row, wanted)), None)
            if match is None:
                others = f" or one of {len(free) - 1} that tie with it" if len(free) > 1 else ""
                return f"query {number}: row {index} is {row}, expected {free[0]}{others}"
            del free[match]
    return None


def _is_ordered(text: str) -> bool:
    """Whether the whole query has an ORDER BY: behind one of a window or a subquery comes a bracket that closes it."""
    *before, behind = ORDER.split(text)
    return bool(before) and behind.count("(") == behind.count(")")


def _ties(upwards: Iterable[Row], downwards: Iterable[Row]) -> Iterator[list[Row]]:
    open_: Counter[Row] = Counter()
    tie = []
    for up, down in zip(upwards, downwards, strict=True):
        tie.append(up)
        open_[up] += 1
        open_[down] -= 1
        for each in (up, down):
            if not open_[each]:
                del open_[each]
        if not open_:
            yield tie
            tie = []
    assert not open_, f"DuckDB gave other rows the second time: {list(open_)[:2]}"


def _alike(row: Row, wanted: Row) -> bool:
    return len(row) == len(wanted) and all(map(_same, row, wanted))


def _same(value: object, wanted: object) -> bool:
    if isinstance(value, int | float | Decimal) and isinstance(wanted, int | float | Decimal):
        return math.isclose(float(value), float(wanted), rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    if isinstance(value, date) and isinstance(wanted, date):
        return value.isoformat()[:10] == wanted.isoformat()[:10]
    return value == wanted
