"""In which order records come: what a key is, and where keys stand that Python cannot compare."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

Key = Callable[[Any], Any]

# Values that always equal themselves, or are looked into.
_ALWAYS_EQUAL = (int, str, bytes, tuple, list)
_NULL = (0, None)
_NAN = (2, None)
# Floats hold all integers up to here.
_EXACT = 2**53


class Order(enum.Enum):
    """The order in which records are sorted.

    As in Spark, nulls come first in ascending and last in descending order, and NaN counts as larger than any number;
    a NaT of numpy or pandas, a date that is none, counts as null.

    >>> Order.DESCENDING.reverse
    True
    """

    ASCENDING = "ascending"
    DESCENDING = "descending"

    @property
    def reverse(self) -> bool:
        """The argument ``reverse`` of Python's ``sorted``."""
        return self is Order.DESCENDING


def field_of(name: str, record: Any) -> Any:
    """The field of that name: an item of a Row or a mapping, an attribute of any other object."""
    # A Row has its fields as attributes too, but not one that is named `count`.
    if isinstance(record, Mapping) or hasattr(record, "__fields__"):
        return record[name]
    return getattr(record, name)


def comparable(keys: Sequence[Any]) -> bool:
    """Whether Python's own comparison puts these keys where Spark would: no null, NaN or NaT is among them."""
    kinds = set(map(type, keys))
    if type(None) in kinds:
        return False
    # Only a NaN, or a NaT of numpy or pandas, differs from itself.
    if not all(issubclass(kind, _ALWAYS_EQUAL) for kind in kinds) and any(map(operator.ne, keys, keys)):
        return False
    if any(issubclass(kind, tuple | list) for kind in kinds):
        return comparable(list(chain.from_iterable(key for key in keys if isinstance(key, tuple | list))))
    return True


def quick(keys: list[Any]) -> list[Any]:
    """Keys in the same order that Python compares faster: integers as floats, where those hold them exactly."""
    if set(map(type, keys)) == {int} and min(keys) >= -_EXACT and max(keys) <= _EXACT:
        return list(map(float, keys))
    return keys


def rank(key: Any) -> Any:
    """A key that Python compares as Spark would, also with nulls, NaN and NaT among the keys or inside them."""
    if key is None:
        return _NULL
    if isinstance(key, tuple | list):
        # Flat, each item after its rank: half the memory of pairs, and quicker.
        return (1, tuple(chain.from_iterable(map(rank, key))))
    if isinstance(key, _ALWAYS_EQUAL) or key == key:  # noqa: PLR0124 - a NaN does not, nor a NaT
        return (1, key)
    # A NaT is what Spark takes for a null.
    return _NAN if isinstance(key, Real | Decimal) else _NULL
