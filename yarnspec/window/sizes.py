"""How much memory records take, by looking at a few of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

_ALIGNMENT = 16
_POINTER_BYTES = 8
_SAMPLE_EVERY_BYTES = 64 * 1024
_LARGEST_CHUNK = 1024


def size_bytes(*objects: Any) -> int:
    """The memory of the objects with all that they hold; what is met twice counts once.

    Containers, and objects with attributes, are looked into; what an extension type keeps from ``sys.getsizeof`` is
    not seen.
    """
    seen: set[int] = set()
    waiting: list[Any] = list(objects)
    total = 0
    while waiting:
        one = waiting.pop()
        if one is None or isinstance(one, bool | type) or id(one) in seen:
            continue
        seen.add(id(one))
        total += -(-sys.getsizeof(one) // _ALIGNMENT) * _ALIGNMENT
        if not isinstance(one, int | float | str | bytes):
            waiting += _held_by(one)
    return total


def measured_chunks(
    records: Iterable[Any], key: Callable[[Any], Any] | None = None, most_bytes: float = _SAMPLE_EVERY_BYTES
) -> Iterator[tuple[list[Any], int]]:
    """The records in lists, each with an estimate of its memory in bytes, those of their sort keys included.

    One record in a list is measured, and stands for all; the lists get as long as ``most_bytes`` allow, so that large
    records come alone.
    """
    sample_bytes = int(min(most_bytes, _SAMPLE_EVERY_BYTES))
    source = iter(records)
    length = 1
    while chunk := list(islice(source, length)):
        first = chunk[0]
        each = size_bytes(first, key and key(first)) + 2 * _POINTER_BYTES
        yield chunk, len(chunk) * each
        length = max(1, min(2 * length, _LARGEST_CHUNK, sample_bytes // each))


def _held_by(one: Any) -> Iterator[Any]:
    if isinstance(one, tuple | list | set | frozenset):
        yield from one
    elif isinstance(one, dict):
        yield from one
        yield from one.values()
    # The values alone: objects of one class share the names, and most have no dict of their own until it is asked for.
    yield from getattr(one, "__dict__", {}).values()
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(one, name, None)
