"""The external sort as a whole: against ``sorted``, with budgets so small that everything goes to disk."""

from __future__ import annotations

import math
import random
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.window.order import Order, rank
from yarnspec.window.sort import ExternalSort

TINY = 4096
keys = st.none() | st.integers() | st.floats()
BOTH = pytest.mark.parametrize("order", Order)


def links(directory: Path) -> list[Path]:
    """This process's open files in the directory."""
    return [
        link for link in Path("/proc/self/fd").iterdir() if link.is_symlink() and str(directory) in str(link.readlink())
    ]


@BOTH
@given(records=st.lists(st.tuples(keys, st.integers(0, 3)), max_size=300))
def test_as_pythons_sort_with_nulls_and_nan_as_in_spark(order: Order, records: list[tuple[Any, int]]) -> None:
    numbered = [(*record, number) for number, record in enumerate(records)]
    found = list(ExternalSort(itemgetter(0), order, TINY, ["/tmp"]).sort(iter(numbered)))
    expected = sorted(numbered, key=lambda record: rank(record[0]), reverse=order.reverse)
    # The numbers tell equal records apart, and a NaN from another.
    assert [record[2] for record in found] == [record[2] for record in expected]


@BOTH
@given(records=st.lists(st.text(max_size=3) | st.just("é\ud800"), max_size=300))
def test_texts(order: Order, records: list[str]) -> None:
    found = list(ExternalSort(len, order, TINY, ["/tmp"]).sort(records))
    assert found == sorted(records, key=len, reverse=order.reverse)


@BOTH
@pytest.mark.parametrize("distinct", [1, 7, 10**6])
def test_many_runs_and_several_merges_are_stable(order: Order, distinct: int, tmp_path: Path) -> None:
    chance = random.Random(distinct)  # noqa: S311
    records = [(chance.randrange(distinct), number) for number in range(8000)]
    spills: list[tuple[int, int]] = []
    sort = ExternalSort(itemgetter(0), order, TINY, [str(tmp_path)], lambda *sizes: spills.append(sizes))
    assert list(sort.sort(records)) == sorted(records, key=itemgetter(0), reverse=order.reverse)
    # More runs than are merged at a time.
    assert len(spills) > 64
    assert all(memory > 0 and disk > 0 for memory, disk in spills)
    assert list(tmp_path.iterdir()) == []


def test_what_fits_stays_in_memory() -> None:
    spills: list[Any] = []
    sort = ExternalSort(abs, Order.ASCENDING, 1 << 20, ["/does/not/exist"], lambda *sizes: spills.append(sizes))
    assert list(sort.sort([-3, 2, 1])) == [1, 2, -3]
    assert spills == []


@pytest.mark.parametrize("records", [[], [1]])
def test_next_to_nothing(records: list[int]) -> None:
    assert list(ExternalSort(abs, Order.ASCENDING, 1, ["/tmp"]).sort(records)) == records


def test_the_memory_stays_within_the_budget() -> None:
    budget = 2 << 20

    def records() -> Iterator[tuple[int, str]]:
        chance = random.Random(1)  # noqa: S311
        for _ in range(70_000):
            yield (chance.getrandbits(60), f"{chance.getrandbits(60):x}")

    sort = ExternalSort(itemgetter(0), Order.ASCENDING, budget, ["/tmp"])
    tracemalloc.start()
    try:
        previous, count = -1, 0
        for record in sort.sort(records()):
            assert record[0] >= previous
            previous = record[0]
            count += 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 70_000
    # The records take five times as much.
    assert peak <= budget


def test_large_records_among_small_ones_that_are_measured() -> None:
    """The memory that the process takes tells what samples of the records do not."""
    program = """
from operator import itemgetter
from yarnspec.window.order import Order
from yarnspec.window.sort import ExternalSort

def records():
    for number in range(8192):
        # None of them is the first in a list of records, which is measured.
        yield number * 7919 % 8192, "x" * (300_000 if number % 16 == 8 else 10)

spills = []
sort = ExternalSort(itemgetter(0), Order.ASCENDING, 24 << 20, ["/tmp"], lambda *sizes: spills.append(sizes))
assert [record[0] for record in sort.sort(records())] == list(range(8192))
print(len(spills))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert int(done.stdout) >= 5, done


def test_records_that_are_each_larger_than_the_budget() -> None:
    records = [bytes([number]) * 100_000 for number in (3, 1, 2)]
    assert list(ExternalSort(itemgetter(0), Order.DESCENDING, 1000, ["/tmp"]).sort(records)) == sorted(
        records, reverse=True
    )


def test_the_file_has_no_name_and_goes_when_the_reader_stops(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def look(*_sizes: int) -> None:
        assert list(tmp_path.iterdir()) == []
        seen.extend((str(link.readlink()), stat.S_IMODE(link.stat().st_mode)) for link in links(tmp_path))

    results = ExternalSort(abs, Order.ASCENDING, TINY, [str(tmp_path)], look).sort(range(1000))
    assert next(results) == 0
    assert {mode for _, mode in seen} == {0o600}
    assert all(name.endswith("(deleted)") for name, _ in seen)
    del results
    assert links(tmp_path) == []


def test_nothing_stays_after_a_kill(tmp_path: Path) -> None:
    program = f"""
import os, signal
from yarnspec.window.order import Order
from yarnspec.window.sort import ExternalSort
results = ExternalSort(abs, Order.ASCENDING, {TINY}, [{str(tmp_path)!r}]).sort(range(10_000))
next(results)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []


def test_the_next_directory_is_taken_when_one_does_not_do(tmp_path: Path) -> None:
    sort = ExternalSort(abs, Order.ASCENDING, TINY, ["/does/not/exist", str(tmp_path)])
    assert list(sort.sort(range(1000, 0, -1))) == list(range(1, 1001))
    with pytest.raises(FileNotFoundError, match="does/not/exist"):
        ExternalSort(abs, Order.ASCENDING, TINY, ["/does/not/exist"]).sort(range(1000))


def test_an_error_of_the_source_or_the_key_closes_the_file(tmp_path: Path) -> None:
    def source() -> Iterator[int]:
        yield from range(1000)
        raise OSError("upstream")

    with pytest.raises(OSError, match="upstream"):
        ExternalSort(abs, Order.ASCENDING, TINY, [str(tmp_path)]).sort(source())
    with pytest.raises(ZeroDivisionError):
        ExternalSort(lambda record: 1 / (999 - record), Order.ASCENDING, TINY, [str(tmp_path)]).sort(range(1000))
    assert links(tmp_path) == []


def test_keys_that_cannot_be_compared_are_an_error() -> None:
    with pytest.raises(TypeError, match="not supported between"):
        ExternalSort(itemgetter(0), Order.ASCENDING, 1 << 20, []).sort([(1,), ("a",)])


def test_nulls_that_come_after_the_first_runs() -> None:
    records = [*range(500, 0, -1), None, 7.5, math.inf, None]
    found = list(ExternalSort(lambda record: record, Order.ASCENDING, TINY, ["/tmp"]).sort(records))
    assert found == [None, None, *sorted([*range(1, 501), 7.5, math.inf])]


@BOTH
@pytest.mark.parametrize("memory_bytes", [1 << 30, 1 << 18], ids=["memory", "disk"])
@pytest.mark.parametrize("at", [0, 2_345, 12_345, 19_990])
def test_a_key_function_that_raises_stop_iteration_is_an_error(
    at: int, memory_bytes: int, order: Order, tmp_path: Path
) -> None:
    """As in ``next(iter([]))``: it must not be taken for the end of the keys."""

    def key(record: int) -> int:
        return next(each for each in (record,) if each != at)

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(ExternalSort(key, order, memory_bytes, [str(tmp_path)]).sort(range(19_999, -1, -1)))
    assert links(tmp_path) == []


@BOTH
def test_a_key_function_that_raises_stop_iteration_when_runs_are_merged(order: Order, tmp_path: Path) -> None:
    spilled: list[int] = []

    def key(record: int) -> int:
        # Once more than at each record, which was when the runs were written.
        return next(each for each in (record,) if len(spilled) < 3 or each != 500)

    sort = ExternalSort(key, order, TINY, [str(tmp_path)], lambda *_sizes: spilled.append(1))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(sort.sort(range(501)))
    assert links(tmp_path) == []
