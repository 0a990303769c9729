"""Keys of rows from a function, as Spark takes them: what does not fit the key's type is an error, not a null."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from yarnspec.window.fitting import EXACT_IN_DOUBLE, EXACT_IN_FLOAT, exactly

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.types import DataType


class FittedKey:
    """A key function whose values fit Spark's type of the key; any other value is a TypeError that names the function.

    Spark takes null for a value of another type, and all nulls are equal: nothing would be sorted, and nobody told.
    Numbers of another type that the key's type can hold become numbers of that type. Integers that it may only hold
    rounded do not fit: different ones would be equal.
    """

    def __init__(self, fn: Callable[[Row], Any], kind: DataType) -> None:
        self._fn = fn
        self._kind = kind
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)

    def __call__(self, row: Row) -> Any:
        """The key of a row."""
        key = self._fn(row)
        if key is None:
            return None
        try:
            fitted = self._convert(key)
            self._verify(fitted)
        except (TypeError, ValueError, ArithmeticError, AssertionError) as error:
            raise TypeError(
                f"the key function {self.__name__} returned {key!r} ({type(key).__name__}), which does not fit its "
                f"type, {self._kind.simpleString()}: annotate what it returns, or say key_type"
            ) from error
        return fitted

    # Both are made in the task: only the function and the type are shipped.

    @cached_property
    def _verify(self) -> Callable[[Any], None]:
        """Spark's own check, which looks into arrays and structs, too."""
        from pyspark.sql.types import _make_type_verifier

        verify: Callable[[Any], None] = _make_type_verifier(self._kind)
        return verify

    @cached_property
    def _convert(self) -> Callable[[Any], Any]:
        from pyspark.sql.types import DateType, DecimalType, DoubleType, FloatType, IntegralType, StringType

        if isinstance(self._kind, DecimalType):
            return _decimal(self._kind.precision, self._kind.scale)
        for kind, convert in (
            (IntegralType, _integer),
            (FloatType, _float(EXACT_IN_FLOAT)),
            (DoubleType, _float(EXACT_IN_DOUBLE)),
            # Spark's check lets these two pass as the text of anything, and as the day of a moment.
            (StringType, _text),
            (DateType, _date),
        ):
            if isinstance(self._kind, kind):
                return convert
        return _as_it_is


def _as_it_is(key: Any) -> Any:
    return key


def _integer(key: Any) -> Any:
    return int(key) if isinstance(key, Integral) else key


def _float(limit: int) -> Callable[[Any], Any]:
    def convert(key: Any) -> Any:
        if type(key) is float or not isinstance(key, Real):
            return key
        if not exactly(key, limit):
            raise ValueError(f"integers beyond {limit:,} may be rounded")
        return float(key)

    return convert


def _text(key: Any) -> Any:
    if not isinstance(key, str):
        raise TypeError
    return key


def _date(key: Any) -> Any:
    if isinstance(key, datetime.datetime):
        raise TypeError
    return key


def _decimal(precision: int, scale: int) -> Callable[[Any], Any]:
    context = decimal.Context(prec=precision, traps=[decimal.Inexact, decimal.InvalidOperation])
    last_digit = decimal.Decimal(1).scaleb(-scale)

    def convert(key: Any) -> Any:
        if not isinstance(key, Integral | decimal.Decimal):
            return key
        # An error where a digit would be lost, at either end.
        fitted = decimal.Decimal(int(key) if isinstance(key, Integral) else key).quantize(last_digit, context=context)
        if fitted.is_nan():
            # Spark's check takes it for a null.
            raise TypeError
        return fitted

    return convert
