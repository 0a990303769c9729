from __future__ import annotations

import dataclasses
import math
from collections import namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row

from yarnspec.window.order import Order, comparable, field_of, quick, rank

NAN = math.nan


@pytest.mark.parametrize("keys", [[], [1, 2], ["a", "b"], [1.0, math.inf], [(1, "a"), (2, "b")], [[1], [2.5]], [True]])
def test_what_python_compares_as_spark_does(keys: list[Any]) -> None:
    assert comparable(keys)


@pytest.mark.parametrize(
    "keys",
    [
        [None],
        [1, None],
        [1.0, NAN],
        [(1, None), (2, 3)],
        [(1.0, 2), (NAN, 3)],
        [[(1, [None])]],
        [np.float64("nan")],
        [np.float32("nan"), np.float32(1)],
        [np.datetime64("2026-01-01"), np.datetime64("NaT")],
        [(np.timedelta64("NaT"), 1)],
        [Decimal(1), Decimal("NaN")],
    ],
)
def test_what_it_does_not(keys: list[Any]) -> None:
    assert not comparable(keys)


def test_ranks_put_nulls_first_and_nan_last() -> None:
    keys = [2.0, NAN, None, np.float32("nan"), -math.inf, math.inf, 1]
    assert [str(key) for key in sorted(keys, key=rank)] == ["None", "-inf", "1", "2.0", "inf", "nan", "nan"]


def test_ranks_put_dates_that_are_none_with_the_nulls() -> None:
    days = [np.datetime64("2026-01-02"), np.datetime64("NaT"), np.datetime64("2026-01-01"), None]
    assert [str(day) for day in sorted(days, key=rank)] == ["NaT", "None", "2026-01-01", "2026-01-02"]


def test_ranks_put_a_nan_of_decimals_last() -> None:
    keys = [Decimal(2), Decimal("NaN"), Decimal("-1.5"), None]
    assert [str(key) for key in sorted(keys, key=rank)] == ["None", "-1.5", "2", "NaN"]


def test_ranks_look_into_tuples() -> None:
    keys = [(2, None), (1, "b"), (None, "z"), (1, None), (1, "a")]
    assert sorted(keys, key=rank) == [(None, "z"), (1, None), (1, "a"), (1, "b"), (2, None)]


def test_ranks_keep_the_order_of_what_is_comparable() -> None:
    keys = [(3, "c"), (1, "z"), (1, "a"), (2, "")]
    assert sorted(keys, key=rank) == sorted(keys)


@dataclasses.dataclass
class Point:
    count: int


Pair = namedtuple("Pair", ["count", "other"])


@pytest.mark.parametrize("record", [Row(count=5, other=1), {"count": 5}, Point(5)])
def test_a_field_by_name(record: Any) -> None:
    assert field_of("count", record) == 5


def test_a_field_of_a_named_tuple() -> None:
    assert field_of("other", Pair(1, 5)) == 5


def test_the_two_orders() -> None:
    assert [order.reverse for order in Order] == [False, True]


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("edge", [0, 2**30, 2**53, 2**63, 2**1100])
def test_quick_keys_are_in_the_same_order(edge: int, order: Order) -> None:
    keys = [sign * edge + number for number in (3, -1, 0, 2, 1, -3, -2, 1) for sign in (1, -1)]
    told = list(enumerate(quick(keys)))
    found = sorted(told, key=lambda one: one[1], reverse=order.reverse)
    assert [keys[number] for number, _ in found] == sorted(keys, reverse=order.reverse)
    # Equal keys stay as they are, and no others become equal.
    assert len(set(quick(keys))) == len(set(keys))


def test_other_keys_stay_as_they_are() -> None:
    for keys in ([], ["b", "a"], [1, True], [1.5, 2], [(1,)]):
        assert quick(keys) is keys
