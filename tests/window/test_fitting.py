"""Results that do not fit their schema: what Arrow would cut without a word, and Spark refuse without saying where."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import enum
import reprlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row, types
from pyspark.testing.objects import ExamplePoint, ExamplePointUDT

from yarnspec.window.rows import RowFormat, fold_rows

INT, BIGINT, TINY = types.IntegerType(), types.LongType(), types.ByteType()
FLOAT, DOUBLE, STRING, BOOLEAN = types.FloatType(), types.DoubleType(), types.StringType(), types.BooleanType()
BINARY, MOMENTS, LOCAL = types.BinaryType(), types.TimestampType(), types.TimestampNTZType()
DATE, TIME, INTERVAL = types.DateType(), types.TimeType(), types.DayTimeIntervalType()
NOT_A_TIME = type("NaT", (datetime.datetime,), {"__eq__": lambda *_: False, "__hash__": None})(2026, 1, 1)
"""As that of pandas, which calls itself a datetime."""
INTS, DOUBLES, DATES = types.ArrayType(BIGINT), types.ArrayType(DOUBLE), types.ArrayType(DATE)
BOOLEANS, DECIMAL = types.ArrayType(BOOLEAN), types.DecimalType(5, 1)
DECIMALS, LARGE = types.ArrayType(DECIMAL), types.DecimalType(38, 18)
PAIR = types.StructType([types.StructField("x", INT), types.StructField("s", STRING)])
PAIRS = types.ArrayType(PAIR)
COUNTS, NAMES = types.MapType(STRING, INT), types.MapType(INT, STRING)
PRICE = types.StructType([types.StructField("s", STRING), types.StructField("p", DECIMAL)])
PRICES = types.MapType(DECIMAL, DECIMAL)
MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5)
IN_UTC = MOMENT.replace(tzinfo=datetime.UTC)
EAST = datetime.timezone(datetime.timedelta(hours=9))
LONGER = datetime.timedelta(days=1, microseconds=3)


class Grade(enum.IntEnum):
    GOOD = 1


@dataclasses.dataclass
class Point:
    x: int
    s: str


def as_spark_gets_them(records: list[Any], schema: types.StructType, *, single: bool = False) -> list[Any]:
    """Through everything that a task does with results."""
    results = RowFormat(schema, single=single, batch_rows=100, large_types=False)
    batches = fold_rows(lambda _rows: iter(records), schema, results, iter([]))
    return [row for batch in batches for row in batch.to_pylist()]


def value(kind: types.DataType, given: Any) -> Any:
    # With values beside it that are as usual.
    schema = types.StructType([types.StructField("v", kind)])
    _, row, _ = as_spark_gets_them([None, given, None], schema, single=True)
    return row["v"]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (BIGINT, 2.5),
        (BIGINT, 2.0),
        (BIGINT, np.float64(2.5)),
        (BIGINT, Decimal("1.5")),
        (BIGINT, Fraction(1, 2)),
        (BIGINT, np.bool_(True)),
        (BIGINT, np.datetime64("2026-01-02T03:04:05.5")),
        (BIGINT, np.timedelta64(1500, "ns")),
        (BIGINT, True),
        (BIGINT, "7"),
        (BIGINT, 2**63),
        (BIGINT, np.uint64(2**63)),
        (INT, 1e300),
        (INT, 2**31),
        (TINY, 2.5),
        (DOUBLE, np.uint64(2**64 - 1)),
        (DOUBLE, np.int64(2**53 + 1)),
        (DOUBLE, 2**53 + 1),
        (DOUBLE, True),
        (DOUBLE, "1"),
        (DOUBLE, Decimal("1.5")),
        (FLOAT, np.int64(2**24 + 1)),
        (FLOAT, 2**24 + 1),
        (DECIMAL, Decimal("nan")),
        (DECIMALS, [Decimal("nan")]),
        (DATE, MOMENT),
        (DATE, 2.5),
        (DATE, 1),
        (TIME, np.float32(0.5)),
        (INTERVAL, 2.5),
        (INTERVAL, 1),
        (BOOLEAN, 7),
        (INTS, [1, 2.5]),
        (INTS, (1, 2.5)),
        (INTS, array.array("d", [1.5])),
        (INTS, np.array([1.5])),
        (INTS, np.array([True])),
        (INTS, np.ma.array([1, 2], mask=[False, True])),
        (INTS, {1, 2}),
        (INTS, b"xy"),
        (INTS, Row(x=1)),
        (INTS, range(2)),
        (DOUBLES, [np.uint64(2**64 - 1)]),
        (DOUBLES, np.array([2**64 - 1], "u8")),
        (DOUBLES, {1.5}),
        (BOOLEANS, {True}),
        (DATES, [MOMENT]),
        (DATES, [1]),
        (types.ArrayType(INTS), [[1], None, [2.5]]),
        (PAIR, (1.5, "x")),
        (PAIR, {"x": 1.5}),
        (PAIR, Row(x=1)),
        (PAIR, "ab"),
        (PAIR, Grade.GOOD),
        (PAIR, Point(1, "x")),
        (PAIRS, [(1, "a"), None, (2.5, "b")]),
        (COUNTS, {"a": 1, "b": 2.5}),
        (NAMES, {1: "a", 2.5: "b"}),
        (types.MapType(STRING, PAIRS), {"a": [{"x": 2.5}]}),
        (ExamplePointUDT(), (1.0, 2.0)),
    ],
)
def test_what_would_be_cut_is_an_error(kind: types.DataType, given: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        value(kind, given)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (BIGINT, 2**63 - 1, 2**63 - 1),
        (BIGINT, np.int64(3), 3),
        (TINY, Grade.GOOD, 1),
        (DOUBLE, 2**53, 2.0**53),
        (DOUBLE, np.int32(3), 3.0),
        (DOUBLE, np.float32(0.5), 0.5),
        (FLOAT, 0.5, 0.5),
        (DECIMAL, Decimal("1.25"), Decimal("1.2")),
        (DECIMAL, Decimal("-9999.949"), Decimal("-9999.9")),
        (DECIMAL, 0, Decimal("0.0")),
        (DECIMAL, np.int64(-9999), Decimal("-9999.0")),
        (types.DecimalType(2, 2), Decimal("0.994"), Decimal("0.99")),
        (LARGE, 10**20 - 1, Decimal(f"{10**20 - 1}.{0:018}")),
        (DECIMALS, [1, None, Decimal("0.5")], [Decimal("1.0"), None, Decimal("0.5")]),
        (types.ArrayType(PRICE), [("a", 1), None, {"p": 2}], [{"s": "a", "p": 1}, None, {"s": None, "p": 2}]),
        (PRICES, {1: None, Decimal("0.5"): 2}, [(1, None), (Decimal("0.5"), 2)]),
        (types.MapType(STRING, DECIMALS), {"a": [1], "b": None}, [("a", [1]), ("b", None)]),
        (BINARY, b"x", b"x"),
        (BINARY, bytearray(b"x"), b"x"),
        (BINARY, np.bytes_(b"x"), b"x"),
        (MOMENTS, IN_UTC, IN_UTC),
        (MOMENTS, MOMENT.replace(tzinfo=EAST), MOMENT.replace(tzinfo=EAST)),
        (LOCAL, MOMENT, MOMENT),
        (types.MapType(STRING, STRING), collections.OrderedDict(a="x"), [("a", "x")]),
        (DATE, MOMENT.date(), MOMENT.date()),
        (TIME, MOMENT.time(), MOMENT.time()),
        (INTERVAL, LONGER, LONGER),
        (STRING, 2.5, "2.5"),
        (BOOLEAN, True, True),
        (INTS, [1, None, 2], [1, None, 2]),
        (INTS, (1, 2), [1, 2]),
        (INTS, array.array("i", [1]), [1]),
        (INTS, [np.int64(1), 2], [1, 2]),
        (types.ArrayType(STRING), ["a", None], ["a", None]),
        (types.ArrayType(STRING), ("a", None), ["a", None]),
        (PAIR, (1, "x"), {"x": 1, "s": "x"}),
        (PAIR, {"s": "x", "x": 1}, {"x": 1, "s": "x"}),
        (PAIR, {"s": "x"}, {"x": None, "s": "x"}),
        (PAIRS, [Row(x=1, s="a"), None], [{"x": 1, "s": "a"}, None]),
        (COUNTS, {"a": 1, "b": None}, [("a", 1), ("b", None)]),
        (NAMES, {1: "a"}, [(1, "a")]),
        (ExamplePointUDT(), ExamplePoint(1.0, 2.0), [1.0, 2.0]),
    ],
)
def test_what_fits_stays_as_it_is(kind: types.DataType, given: Any, expected: Any) -> None:
    found = value(kind, given)
    assert found == expected
    assert type(found) is type(expected)


def test_the_error_says_what_and_where() -> None:
    schema = types.StructType([types.StructField("name", STRING), types.StructField("sizes", INTS)])
    with pytest.raises(TypeError, match=r"2\.5 \(float\) for an item of the column sizes, which is bigint"):
        as_spark_gets_them([("a", [1]), ("b", [1, 2.5])], schema)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (DECIMAL, 1.5),
        (DECIMAL, np.float64(1.5)),
        (DECIMAL, True),
        (DECIMAL, "1.5"),
        (DECIMAL, Fraction(1, 2)),
        (DECIMAL, Decimal("nan")),
        (DECIMAL, Decimal("snan")),
        (DECIMAL, Decimal("Infinity")),
        (DECIMAL, Decimal("-Infinity")),
        (DECIMAL, Decimal("9999.95")),
        (DECIMAL, Decimal("-9999.95")),
        (DECIMAL, 10**4),
        (types.DecimalType(2, 2), 1),
        (LARGE, 10**20),
        (MOMENTS, "2026-01-02"),
        (MOMENTS, MOMENT.date()),
        (MOMENTS, 1.5),
        (MOMENTS, np.datetime64("2026-01-02")),
        (MOMENTS, datetime.datetime.min.replace(tzinfo=EAST)),
        (LOCAL, IN_UTC),
        (LOCAL, MOMENT.date()),
        (LOCAL, NOT_A_TIME),
        (MOMENTS, NOT_A_TIME),
        (BINARY, "x"),
        (BINARY, [1]),
        (BINARY, memoryview(b"x")),
        (COUNTS, [("a", 1)]),
        (types.MapType(STRING, STRING), [("a", "x")]),
    ],
)
def test_a_value_of_no_use_to_spark_is_told_with_its_column(kind: types.DataType, given: Any) -> None:
    told = f"a result has {reprlib.repr(given)} ({type(given).__name__}) for "
    its = kind.simpleString()
    with pytest.raises(TypeError) as caught:
        value(kind, given)
    assert str(caught.value) == f"{told}the column v, which is {its}"
    with pytest.raises(TypeError) as caught:
        value(types.ArrayType(kind), [None, given])
    assert str(caught.value) == f"{told}an item of the column v, which is {its}"


@pytest.mark.parametrize("record", ["ab", b"ab", {1, 2}, range(2), np.array([1, 2]), Point(1, "x"), 7, None])
def test_what_is_no_record_is_an_error(record: Any) -> None:
    loose = types.StructType([types.StructField("x", STRING), types.StructField("s", STRING)])
    with pytest.raises(TypeError, match=r"a result is .* no Row, tuple, list or dict"):
        as_spark_gets_them([(1, "x"), record], loose)


@pytest.mark.parametrize("record", [(1,), [1, "x", 2], Row(x=1)])
def test_a_record_of_another_length_is_an_error(record: Any) -> None:
    with pytest.raises(ValueError, match="values for the 2 of the schema"):
        as_spark_gets_them([(1, "x"), record], PAIR)


def test_a_list_of_the_programs_own_is_a_row_of_its_values() -> None:
    class Record(list[Any]):
        pass

    found = as_spark_gets_them([Record([1, "a"]), (2, "b"), [3, "c"]], PAIR)
    assert found == [{"x": 1, "s": "a"}, {"x": 2, "s": "b"}, {"x": 3, "s": "c"}]


def test_rows_go_by_place_and_dicts_by_name() -> None:
    records = [Row(s=1, x="by place"), (2, "b"), [3, "c"], {"s": "by name", "x": 4, "other": 0}, {"x": 5}]
    found = as_spark_gets_them(records, PAIR)
    assert [tuple(row.values()) for row in found] == [(1, "by place"), (2, "b"), (3, "c"), (4, "by name"), (5, None)]
