"""Whether results fit their schema: Arrow, in which they go to Spark, cuts some that do not without a word.

Columns are looked at, not records: the types of a whole column are collected at the speed of C, and its values one by
one where there are others than the usual.
"""

from __future__ import annotations

import array
import datetime
import operator
import reprlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

Check = Callable[[list[Any]], None]

_NONE = type(None)
_ARRAYS = {list, tuple, array.array}
# Doubles and floats hold all integers up to here.
_EXACT_IN_DOUBLE = 2**53
_EXACT_IN_FLOAT = 2**24


def fitted(records: list[Any], schema: StructType) -> list[tuple[Any, ...]]:
    """The records, each a Row, tuple, list or dict, as tuples in the order of the schema.

    A dict goes by name (a name that is missing is null, as in ``createDataFrame``), all others by place.

    Raises:
        TypeError: a record is none of these, or a value in it is of another type than its column, and would be cut.
        ValueError: a record has more values than there are columns, or fewer.
    """
    rows = _tuples(records, (tuple, list), schema, "a result")
    for place, field in enumerate(schema.fields):
        check = _check_of(field.dataType, f"the column {field.name}")
        if check is not None:
            check(list(map(operator.itemgetter(place), rows)))
    return rows


def _tuples(records: list[Any], by_place: tuple[type, ...], schema: StructType, where: str) -> list[tuple[Any, ...]]:
    names = schema.names
    kinds = set(map(type, records))
    for kind in kinds:
        if not issubclass(kind, (*by_place, dict)):
            told = next(record for record in records if type(record) is kind)
            good = ", ".join(("Row", *(each.__name__ for each in by_place)))
            raise TypeError(f"{where} is {_shown(told)}, and no {good} or dict as for {schema.simpleString()}")
    rows = records
    if not all(issubclass(kind, tuple) for kind in kinds):
        # Not as they are: PySpark takes what has attributes for an object, and its places for nothing.
        rows = [tuple(map(each.get, names)) if isinstance(each, dict) else tuple(each) for each in records]
    for length in set(map(len, rows)) - {len(names)}:
        told = next(row for row in rows if len(row) == length)
        raise ValueError(f"{where} is {_shown(told)}, with {length} values for the {len(names)} of the schema")
    return rows


def _check_of(kind: DataType, where: str) -> Check | None:
    """What looks at values for this type; None where Spark's conversion or Arrow refuse what does not fit."""
    from pyspark.sql import types

    if isinstance(kind, types.UserDefinedType):
        return _each(types._make_type_verifier(kind, name=where))
    of_kind: dict[type[DataType], Callable[[Any, str], Check | None]] = {
        types.StructType: _check_of_struct,
        types.ArrayType: _check_of_array,
        types.MapType: _check_of_map,
        types.DecimalType: _check_of_decimals,
    }
    if type(kind) in of_kind:
        return of_kind[type(kind)](kind, where)
    rules: tuple[tuple[type[DataType], set[type], Callable[[Any], bool]], ...] = (
        (types.IntegralType, {int}, _is_integer),
        # Integers that they cannot hold are refused by Arrow, as long as they are Python's own.
        (types.FloatType, {float, int}, lambda value: _is_real(value, _EXACT_IN_FLOAT)),
        (types.DoubleType, {float, int}, lambda value: _is_real(value, _EXACT_IN_DOUBLE)),
        (types.DateType, {datetime.date}, _is_date),
        (types.TimeType, {datetime.time}, lambda value: isinstance(value, datetime.time)),
        (types.DayTimeIntervalType, {datetime.timedelta}, lambda value: isinstance(value, datetime.timedelta)),
    )
    for its, usual, fits in rules:
        if isinstance(kind, its):
            return _check_of_values(kind, usual | {_NONE}, fits, where)
    return None


def _check_of_values(kind: DataType, usual: set[type], fits: Callable[[Any], bool], where: str) -> Check:
    def check(values: list[Any]) -> None:
        if set(map(type, values)) <= usual:
            return
        for value in _present(values):
            if not fits(value):
                raise _misfit(value, kind, where)

    return check


def _check_of_decimals(kind: DataType, where: str) -> Check:
    def check(values: list[Any]) -> None:
        for value in values:
            if isinstance(value, Decimal) and value.is_nan():  # which would become null
                raise _misfit(value, kind, where)

    return check


def _check_of_struct(kind: StructType, where: str) -> Check:
    checks = [_check_of(field.dataType, f"{field.name} in {where}") for field in kind.fields]

    def check(values: list[Any]) -> None:
        rows = _tuples(_present(values), (tuple,), kind, where)
        for place, each in enumerate(checks):
            if each is not None:
                each(list(map(operator.itemgetter(place), rows)))

    return check


def _check_of_array(kind: Any, where: str) -> Check:
    of_items = _check_of(kind.elementType, f"an item of {where}")

    def check(values: list[Any]) -> None:
        arrays = _present(values)
        # Arrow takes the items of a set, too, the fields of a Row and the bytes of bytes, and casts numpy's arrays.
        if not set(map(type, arrays)) <= _ARRAYS:
            told = next(value for value in arrays if type(value) not in _ARRAYS)
            raise _misfit(told, kind, where)
        if of_items is not None:
            of_items(list(chain.from_iterable(arrays)))

    return check


def _check_of_map(kind: Any, where: str) -> Check | None:
    of_keys = _check_of(kind.keyType, f"a key of {where}")
    of_values = _check_of(kind.valueType, f"a value of {where}")
    if of_keys is None and of_values is None:
        return None

    def check(values: list[Any]) -> None:
        # Others than dicts are refused by Spark's conversion.
        maps = [value for value in values if isinstance(value, dict)]
        if of_keys is not None:
            of_keys(list(chain.from_iterable(maps)))
        if of_values is not None:
            of_values(list(chain.from_iterable(each.values() for each in maps)))

    return check


def _each(verify: Callable[[Any], None]) -> Check:
    def check(values: list[Any]) -> None:
        for value in _present(values):
            verify(value)

    return check


def _present(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _is_integer(value: Any) -> bool:
    """Also one of numpy, or an IntEnum."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_real(value: Any, exact: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return not isinstance(value, Integral) or -exact <= int(value) <= exact


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _misfit(value: Any, kind: DataType, where: str) -> TypeError:
    return TypeError(f"a result has {_shown(value)} for {where}, which is {kind.simpleString()}")


def _shown(value: Any) -> str:
    return f"{reprlib.repr(value)} ({type(value).__name__})"
