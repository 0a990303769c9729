"""Rows that tie under a query's ORDER BY may come in any order, and any of them where its LIMIT cuts; no others."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest

from integration.tpch.compare import Expected, Row, disagreement, expected

ROWS = "values (1, 'a', 1.5), (2, 'b', 2.5), (2, 'c', 3.5), (2, 'd', 4.5), (3, 'e', 5.5)"
A, B, C, D, E = (1, "a", 1.5), (2, "b", 2.5), (2, "c", 3.5), (2, "d", 4.5), (3, "e", 5.5)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(f"create table t as select * from ({ROWS}) as given(k, name, amount)")  # noqa: S608 - words of ours
        yield opened


def test_ties_are_found_whatever_the_order_names(connection: duckdb.DuckDBPyConnection) -> None:
    hidden = expected(connection, "select name from t order by k")
    grouped = expected(connection, "select k from t group by k order by count(*) > 1, max(k) desc")
    assert [len(tie) for tie in hidden.ties] == [1, 3, 1]
    assert grouped.ties == [[(3,)], [(1,)], [(2,)]]


@pytest.mark.parametrize(
    "text",
    [
        "select k from t",
        "select k, rank() over (order by k) from t",
        "select k from (select k from t order by k limit 5)",
    ],
)
def test_without_an_order_of_its_own_all_rows_tie(text: str, connection: duckdb.DuckDBPyConnection) -> None:
    assert [len(tie) for tie in expected(connection, text).ties] == [5]


def test_a_limit_at_the_end_is_the_queries_own(connection: duckdb.DuckDBPyConnection) -> None:
    assert expected(connection, "select k from t order by k LIMIT 2 ; \n").count == 2
    assert expected(connection, "select k from t order by k limit 100;").count == 5


@pytest.mark.parametrize("rows", [[A, B, C], [A, D, B], [A, C, D]])
def test_any_of_the_rows_in_a_tie_may_be_within_the_limit(
    rows: list[Row], connection: duckdb.DuckDBPyConnection
) -> None:
    assert disagreement(7, rows, expected(connection, "select * from t order by k limit 3")) is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([A, B], "query 7: 2 rows, expected 3"),
        ([B, A, C], "query 7: row 0 is (2, 'b', 2.5), expected (1, 'a', "),
        ([A, B, B], "query 7: row 2 is (2, 'b', 2.5), expected (2, 'c', "),
        ([A, B, E], "query 7: row 2 is (3, 'e', 5.5), expected (2, 'c', "),
    ],
)
def test_other_rows_are_told(rows: list[Row], words: str, connection: duckdb.DuckDBPyConnection) -> None:
    told = disagreement(7, rows, expected(connection, "select * from t order by k limit 3"))
    assert told is not None
    assert told.startswith(words)


def test_numbers_are_alike_whatever_their_type() -> None:
    right = Expected([[(Decimal("0.33333333"), None)]], 1)
    assert disagreement(7, [(1 / 3, None)], right) is None
    assert disagreement(7, [(0.3334, None)], right) is not None
    assert disagreement(7, [(1 / 3, 0)], right) is not None
