"""How much memory records take, by looking at a few of them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

_ALIGNMENT = 16
# In the list of records, and while they are sorted: in that of the keys, twice in the sort itself.
_POINTERS_BYTES = 4 * 8
_SAMPLE_EVERY_BYTES = 64 * 1024
_LARGEST_CHUNK = 1024
# Of one container.
_MOST_ITEMS = 50
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def size_bytes(*objects: Any) -> int:
    """The memory of the objects with all that they hold; what is met twice counts once.

    Containers, and objects with attributes, are looked into; of a long container its first items stand for all. What an
    extension type keeps from ``sys.getsizeof`` is not seen.
    """
    seen: set[int] = set()
    # Each with how many it stands for.
    waiting: list[tuple[Any, float]] = [(one, 1.0) for one in objects]
    total = 0.0
    while waiting:
        one, times = waiting.pop()
        if one is None or isinstance(one, bool | type) or id(one) in seen:
            continue
        seen.add(id(one))
        total += times * (-(-sys.getsizeof(one) // _ALIGNMENT) * _ALIGNMENT)
        if isinstance(one, int | float | str | bytes):
            continue
        if isinstance(one, dict | tuple | list | set | frozenset):
            share = times * max(1.0, len(one) / _MOST_ITEMS)
            waiting += [(each, share) for each in islice(one, _MOST_ITEMS)]
            if isinstance(one, dict):
                waiting += [(each, share) for each in islice(one.values(), _MOST_ITEMS)]
        waiting += [(each, times) for each in _attributes(one)]
    return round(total)


@contextlib.contextmanager
def resident_memory() -> Iterator[Callable[[], int]]:
    """A function that tells the memory of this process in bytes, in a microsecond; always 0 where there is no Linux."""
    try:
        file = Path("/proc/self/statm").open("rb", buffering=0)  # noqa: SIM115 - closed below
    except OSError:
        yield lambda: 0
        return
    with file:
        yield lambda: int(os.pread(file.fileno(), 100, 0).split()[1]) * _PAGE_BYTES


def give_back() -> None:
    """Have the C library return free memory to the system, so that it does not count as resident."""
    # Not every C library has it.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def measured_chunks(
    records: Iterable[Any],
    beside: Callable[[Any], Iterable[Any]] | None = None,
    most_bytes: float = _SAMPLE_EVERY_BYTES,
) -> Iterator[tuple[list[Any], int]]:
    """The records in lists, each with an estimate of its memory in bytes.

    One record in a list is measured, with all that ``beside`` says is held for it, and stands for all; the lists get as
    long as ``most_bytes`` allow, so that large records come alone.
    """
    sample_bytes = int(min(most_bytes, _SAMPLE_EVERY_BYTES))
    source = iter(records)
    length = 1
    while chunk := list(islice(source, length)):
        first = chunk[0]
        each = size_bytes(first, *(beside(first) if beside else ())) + _POINTERS_BYTES
        yield chunk, len(chunk) * each
        length = max(1, min(2 * length, _LARGEST_CHUNK, sample_bytes // each))


def _attributes(one: Any) -> Iterator[Any]:
    # The values alone: objects of one class share the names, and most have no dict of their own until it is asked for.
    yield from getattr(one, "__dict__", {}).values()
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(one, name, None)
