"""Key functions of rows: what Spark would take for a null without a word."""

from __future__ import annotations

import datetime
import decimal
import pickle
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row, types

from yarnspec.window.keys import FittedKey

BOOLEAN, INT, BIGINT = types.BooleanType(), types.IntegerType(), types.LongType()
FLOAT, DOUBLE, DECIMAL = types.FloatType(), types.DoubleType(), types.DecimalType(38, 18)
STRING, BINARY, DATE, TIMESTAMP = types.StringType(), types.BinaryType(), types.DateType(), types.TimestampType()
INTS = types.ArrayType(INT)
PAIR = types.StructType([types.StructField("a", INT), types.StructField("b", STRING)])
MOMENT = datetime.datetime(2026, 1, 2, 3, 4)


def value(row: Row) -> Any:
    return row.value


def fitted(kind: types.DataType, key: Any) -> Any:
    return FittedKey(value, kind)(Row(value=key))


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [
        (DOUBLE, 3, 3.0),
        (FLOAT, True, 1.0),
        (DOUBLE, np.float32(0.5), 0.5),
        (DOUBLE, np.int64(2), 2.0),
        (DOUBLE, np.float64(0.5), 0.5),
        (DOUBLE, -(2**53), -(2.0**53)),
        (DOUBLE, 2.0**60, 2.0**60),
        (FLOAT, 2**24, 2.0**24),
        (BIGINT, 2**63 - 1, 2**63 - 1),
        (INT, np.int64(2), 2),
        (BIGINT, True, 1),
        (BOOLEAN, False, False),
        (STRING, "é", "é"),
        (BINARY, b"x", b"x"),
        (DATE, MOMENT.date(), MOMENT.date()),
        (TIMESTAMP, MOMENT, MOMENT),
        (DECIMAL, 3, decimal.Decimal(3)),
        (DECIMAL, decimal.Decimal("-0.5"), decimal.Decimal("-0.5")),
        (INTS, [1, None], [1, None]),
        (PAIR, (1, "x"), (1, "x")),
        (BIGINT, None, None),
    ],
)
def test_what_fits(kind: types.DataType, key: Any, expected: Any) -> None:
    found = fitted(kind, key)
    assert found == expected
    assert type(found) is type(expected)


def test_nan_fits() -> None:
    assert str(fitted(DOUBLE, float("nan"))) == "nan"


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (BIGINT, 0.5),
        (BIGINT, 2**63),
        (INT, 2**31),
        (BIGINT, "1"),
        (DOUBLE, "1"),
        (DOUBLE, 10**400),
        (DOUBLE, 2**53 + 1),
        (DOUBLE, -(2**53) - 1),
        (DOUBLE, np.int64(2**53 + 1)),
        (FLOAT, 2**24 + 1),
        (FLOAT, np.int32(-(2**24) - 1)),
        (BOOLEAN, 1),
        (STRING, 1),
        (BINARY, "x"),
        (DATE, MOMENT),
        (TIMESTAMP, MOMENT.date()),
        (DECIMAL, decimal.Decimal(3).scaleb(-20)),
        (DECIMAL, decimal.Decimal(3).scaleb(25)),
        (DECIMAL, decimal.Decimal("NaN")),
        (DECIMAL, 0.5),
        (INTS, [0.5]),
        (PAIR, ("x", 1)),
        (PAIR, (1,)),
    ],
)
def test_what_does_not_is_told_with_the_functions_name(kind: types.DataType, key: Any) -> None:
    with pytest.raises(TypeError, match=r"the key function value returned .* does not fit its type"):
        fitted(kind, key)


def test_an_error_of_the_function_is_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        FittedKey(lambda row: 1 // row.value, INT)(Row(value=0))


def test_what_is_shipped_is_the_function_and_the_type() -> None:
    key = pickle.loads(pickle.dumps(FittedKey(value, DOUBLE)))  # noqa: S301 - our own
    assert key(Row(value=1)) == 1.0
