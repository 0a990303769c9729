"""Rows and Arrow batches, as the tasks of a DataFrame's view turn one into the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.types import LongType, StringType, StructField, StructType

from yarnspec.window.folds import reduced
from yarnspec.window.rows import RowFormat, fold_rows, map_batches, map_rows

NUMBERS = StructType([StructField("n", LongType())])
TEXTS = StructType([StructField("value", StringType())])
AS_NUMBERS = RowFormat(NUMBERS, single=False, batch_rows=100, large_types=False)
AS_TEXTS = RowFormat(TEXTS, single=True, batch_rows=10_000, large_types=True)


def batches(*parts: list[int]) -> Iterator[pa.RecordBatch]:
    return (pa.record_batch({"n": pa.array(part, pa.int64())}) for part in parts)


def rows_of(found: Iterator[pa.RecordBatch]) -> list[Any]:
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def test_rows_come_as_rows_and_go_in_batches() -> None:
    def double(rows: Iterator[Row]) -> Iterator[tuple[int]]:
        for row in rows:
            assert isinstance(row, Row)
            yield (2 * row.n,)

    found = list(map_rows(double, NUMBERS, AS_NUMBERS, 10, batches([1, 2], [], [3])))
    assert [batch.to_pydict() for batch in found] == [{"n": [2, 4, 6]}]


def test_a_batch_has_about_as_many_rows_as_sparks() -> None:
    def many(_rows: Iterator[Row]) -> Iterator[tuple[int]]:
        return ((number,) for number in range(5000))

    found = list(map_rows(many, NUMBERS, AS_NUMBERS, 10, batches()))
    assert rows_of(iter(found)) == [(number,) for number in range(5000)]
    assert len(found) > 4


def test_large_rows_fill_a_batch_early() -> None:
    def large(_rows: Iterator[Row]) -> Iterator[str]:
        return ("x" * (1 << 20) for _ in range(40))

    found = list(map_rows(large, NUMBERS, AS_TEXTS, 10, batches()))
    assert [batch.num_rows for batch in found] == [16, 16, 8]
    assert found[0].schema.field("value").type == pa.large_utf8()


@pytest.mark.parametrize("as_table", [False, True])
def test_a_null_where_the_schema_has_none(as_table: bool) -> None:
    """Spark does not look, and would take it for some number."""
    schema = StructType([StructField("s", StringType()), StructField("n", LongType(), nullable=False)])
    results = RowFormat(schema, single=False, batch_rows=100, large_types=False)

    def told(numbers: list[int | None]) -> list[Any]:
        batch = pa.record_batch({"n": pa.array(numbers, pa.int64()), "s": pa.array([None, "a"], pa.string())})
        result = pa.Table.from_batches([batch]) if as_table else batch
        return rows_of(map_batches(lambda _: [result], results, 10, batches()))

    assert told([1, 2]) == [(None, 1), ("a", 2)]
    with pytest.raises(ValueError, match="a null in the column n"):
        told([1, None])


def test_folds_of_rows() -> None:
    fold = partial(reduced, lambda one, other: (one[0] + other[0],))
    assert rows_of(fold_rows(fold, NUMBERS, AS_NUMBERS, batches([1, 2], [3]))) == [(6,)]
    assert rows_of(fold_rows(fold, NUMBERS, AS_NUMBERS, batches())) == []


def test_batches_go_as_they_are_and_tables_as_their_batches() -> None:
    given = list(batches([1], [2, 3]))
    assert list(map_batches(lambda each: each, AS_NUMBERS, 1, iter(given))) == given
    tables = map_batches(lambda each: [pa.Table.from_batches(list(each))], AS_NUMBERS, 1, iter(given))
    assert rows_of(tables) == [(1,), (2,), (3,)]


def test_batches_are_read_ahead_by_their_rows() -> None:
    read = []

    def source() -> Iterator[pa.RecordBatch]:
        for batch in batches(*[[0] * 10] * 50):
            read.append(threading.current_thread().name)
            yield batch

    for used, _ in enumerate(map_batches(lambda each: each, AS_NUMBERS, 30, source()), start=1):
        assert len(read) - used <= 4
    assert set(read) == {"yarnspec-window-reader"}


def test_nothing_instead_of_results_is_told() -> None:
    forgets: Any = lambda _: None  # noqa: E731 - it is the name that is told
    for task in (partial(map_batches, forgets, AS_NUMBERS, 1), partial(map_rows, forgets, NUMBERS, AS_NUMBERS, 1)):
        with pytest.raises(TypeError, match="<lambda> returned None"):
            list(task(batches([1])))


TWO = StructType([StructField("n", LongType()), StructField("s", StringType())])
AS_TWO = RowFormat(TWO, single=False, batch_rows=100, large_types=False)
AS_ONE = RowFormat(NUMBERS, single=True, batch_rows=100, large_types=False)


@pytest.mark.parametrize("kind", [pa.RecordBatch, pa.Table])
def test_columns_of_batches_are_taken_by_name(kind: Any) -> None:
    given = kind.from_pydict({"s": ["a"], "n": [1]})
    (batch,) = map_batches(lambda _batches: [given], AS_TWO, 1, batches())
    assert batch.to_pydict() == {"n": [1], "s": ["a"]}
    assert batch.schema.names == ["n", "s"]


@pytest.mark.parametrize(
    "columns",
    [
        {"n": [1], "other": ["a"]},
        {"n": [1]},
        {"n": [1], "s": ["a"], "more": [2]},
        {"N": [1], "S": ["a"]},
    ],
)
def test_columns_of_other_names_are_an_error(columns: dict[str, list[Any]]) -> None:
    given = pa.RecordBatch.from_pydict(columns)
    with pytest.raises(ValueError, match=r"a batch of results has the columns .*the schema \['n', 's'\]"):
        list(map_batches(lambda _batches: [given], AS_TWO, 1, batches()))


def test_the_column_of_a_single_type_has_any_name() -> None:
    given = pa.RecordBatch.from_pydict({"whatever": [1]})
    assert list(map_batches(lambda _batches: [given], AS_ONE, 1, batches())) == [given]
    two = pa.RecordBatch.from_pydict({"value": [1], "s": ["a"]})
    with pytest.raises(ValueError, match="the schema is one type"):
        list(map_batches(lambda _batches: [two], AS_ONE, 1, batches()))


def test_results_of_all_kinds_of_tasks_must_fit() -> None:
    fold = partial(reduced, lambda one, other: ((one[0] + other[0]) / 2,))
    with pytest.raises(TypeError, match=r"1\.5 \(float\) for the column n, which is bigint"):
        list(fold_rows(fold, NUMBERS, AS_NUMBERS, batches([1, 2])))
    with pytest.raises(TypeError, match=r"2\.5 \(float\) for the column n"):
        list(map_rows(lambda _rows: [(1,), (2.5,)], NUMBERS, AS_NUMBERS, 1, batches()))
    with pytest.raises(TypeError, match="for the column n"):
        list(map_rows(lambda _rows: [2.5], NUMBERS, AS_ONE, 1, batches()))
