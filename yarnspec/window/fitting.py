"""Checks that results fit their schema, and says which value does not, and where.

Results go to Spark in Arrow. Arrow cuts some values that do not fit, without a word. Spark's own conversion refuses
others, and does not say which value of which column.

The check looks at columns, not at records. It collects the types of a whole column at the speed of C, and looks at
single values only where a column has other types than the usual.
"""

from __future__ import annotations

import array
import datetime
import operator
import reprlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import chain, islice
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, DecimalType, StructType

# Gives the values back, as the same list when there is none to convert.
Fit = Callable[[list[Any]], list[Any]]

_NONE = type(None)
_ARRAYS = {list, tuple, array.array}
# Doubles and floats hold all integers up to here.
EXACT_IN_DOUBLE = 2**53
EXACT_IN_FLOAT = 2**24


def fitted(records: list[Any], schema: StructType) -> list[tuple[Any, ...]]:
    """The records, each a Row, tuple, list or dict, as tuples in the order of the schema.

    A dict goes by name (a name that is missing is null, as in ``createDataFrame``), all others by place.

    Raises:
        TypeError: a record is none of these, or a value in it is of another type than its column.
        ValueError: a record has more values than there are columns, or fewer.
    """
    rows = _tuples(records, (tuple, list), schema, "a result")
    return _fit_columns(rows, [_fit_of(field.dataType, f"the column {field.name}") for field in schema.fields])


def exactly(value: Any, limit: int) -> bool:
    """Whether a float that holds all integers up to the limit, and not all beyond it, surely holds this number."""
    return not isinstance(value, Integral) or -limit <= int(value) <= limit


def _fit_columns(rows: list[Any], fits: list[Fit | None]) -> list[Any]:
    converted = {}
    for place, fit in enumerate(fits):
        if fit is not None:
            values = list(map(operator.itemgetter(place), rows))
            found = fit(values)
            if found is not values:
                converted[place] = found
    if not converted:
        return rows
    columns = [*zip(*rows, strict=True)]
    return list(zip(*(converted.get(place, column) for place, column in enumerate(columns)), strict=True))


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


def _fit_of(kind: DataType, where: str) -> Fit | None:
    """A check of values for this type; None where Spark's conversion or Arrow refuse what does not fit."""
    from pyspark.sql import types

    if isinstance(kind, types.UserDefinedType):
        return _each(types._make_type_verifier(kind, name=where))
    of_kind: dict[type[DataType], Callable[[Any, str], Fit]] = {
        types.StructType: _fit_of_struct,
        types.ArrayType: _fit_of_array,
        types.MapType: _fit_of_map,
        types.DecimalType: _fit_of_decimals,
    }
    if type(kind) in of_kind:
        return of_kind[type(kind)](kind, where)
    rules: tuple[tuple[type[DataType], set[type], Callable[[Any], bool]], ...] = (
        (types.IntegralType, {int}, _is_integer),
        # Integers that they cannot hold are refused by Arrow, as long as they are Python's own.
        (types.FloatType, {float, int}, lambda value: _is_real(value, EXACT_IN_FLOAT)),
        (types.DoubleType, {float, int}, lambda value: _is_real(value, EXACT_IN_DOUBLE)),
        (types.DateType, {datetime.date}, _is_date),
        (types.TimeType, {datetime.time}, lambda value: isinstance(value, datetime.time)),
        (types.DayTimeIntervalType, {datetime.timedelta}, lambda value: isinstance(value, datetime.timedelta)),
        (types.BinaryType, {bytes, bytearray}, lambda value: isinstance(value, bytes | bytearray)),
        # Their type does not tell.
        (types.TimestampType, set(), _is_moment),
        (types.TimestampNTZType, set(), lambda value: _is_datetime(value) and value.tzinfo is None),
    )
    for its, usual, fits in rules:
        if isinstance(kind, its):
            return _fit_of_values(kind, usual | {_NONE}, fits, where)
    return None


def _fit_of_values(kind: DataType, usual: set[type], fits: Callable[[Any], bool], where: str) -> Fit:
    def fit(values: list[Any]) -> list[Any]:
        if set(map(type, values)) <= usual:
            return values
        for value in values:
            if value is not None and not fits(value):
                raise _misfit(value, kind, where)
        return values

    return fit


def _fit_of_decimals(kind: DecimalType, where: str) -> Fit:
    # Spark rounds to the scale: from here on to one digit more than the precision has.
    limit = Decimal((0, (9,) * kind.precision + (5,), -kind.scale - 1))
    lowest = limit.copy_negate()

    def fit(values: list[Any]) -> list[Any]:
        found = values
        if not set(map(type, values)) <= {Decimal, _NONE}:
            found = list(map(_as_decimal, values))
        for place, value in enumerate(found):
            # NaN would become null.
            if value is not None and not (isinstance(value, Decimal) and not value.is_nan() and lowest < value < limit):
                raise _misfit(values[place], kind, where)
        return found

    return fit


def _fit_of_struct(kind: StructType, where: str) -> Fit:
    fits = [_fit_of(field.dataType, f"{field.name} in {where}") for field in kind.fields]

    def fit(values: list[Any]) -> list[Any]:
        rows = _tuples(_present(values), (tuple,), kind, where)
        found = _fit_columns(rows, fits)
        if found is rows:
            return values
        rest = iter(found)
        return [None if value is None else next(rest) for value in values]

    return fit


def _fit_of_array(kind: Any, where: str) -> Fit:
    of_items = _fit_of(kind.elementType, f"an item of {where}")

    def fit(values: list[Any]) -> list[Any]:
        arrays = _present(values)
        # Arrow takes the items of a set, too, the fields of a Row and the bytes of bytes, and casts numpy's arrays.
        if not set(map(type, arrays)) <= _ARRAYS:
            told = next(value for value in arrays if type(value) not in _ARRAYS)
            raise _misfit(told, kind, where)
        items = list(chain.from_iterable(arrays))
        found = items if of_items is None else of_items(items)
        if found is items and tuple not in map(type, arrays):
            return values
        # Arrow takes tuples, and Spark's own way to some types lists alone.
        rest = iter(found)
        return [None if value is None else list(islice(rest, len(value))) for value in values]

    return fit


def _fit_of_map(kind: Any, where: str) -> Fit:
    of_keys = _fit_of(kind.keyType, f"a key of {where}")
    of_values = _fit_of(kind.valueType, f"a value of {where}")

    def fit(values: list[Any]) -> list[Any]:
        maps = _present(values)
        for each in maps:
            if not isinstance(each, dict):
                raise _misfit(each, kind, where)
        if of_keys is None and of_values is None:
            return values
        keys = list(chain.from_iterable(maps))
        items = list(chain.from_iterable(each.values() for each in maps))
        found_keys = keys if of_keys is None else of_keys(keys)
        found_items = items if of_values is None else of_values(items)
        if found_keys is keys and found_items is items:
            return values
        rest = zip(found_keys, found_items, strict=True)
        return [None if value is None else dict(islice(rest, len(value))) for value in values]

    return fit


def _each(verify: Callable[[Any], None]) -> Fit:
    def fit(values: list[Any]) -> list[Any]:
        for value in _present(values):
            verify(value)
        return values

    return fit


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
    return exactly(value, exact)


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _is_datetime(value: Any) -> bool:
    return isinstance(value, datetime.datetime) and value == value  # noqa: PLR0124 - pandas.NaT calls itself one


def _is_moment(value: Any) -> bool:
    if not _is_datetime(value):
        return False
    if not datetime.MINYEAR < value.year < datetime.MAXYEAR:
        try:
            value.astimezone(datetime.UTC)
        except (ValueError, OverflowError):
            return False  # there is no such year in UTC
    return True


def _as_decimal(value: Any) -> Any:
    return Decimal(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _misfit(value: Any, kind: DataType, where: str) -> TypeError:
    return TypeError(f"a result has {_shown(value)} for {where}, which is {kind.simpleString()}")


def _shown(value: Any) -> str:
    return f"{reprlib.repr(value)} ({type(value).__name__})"
