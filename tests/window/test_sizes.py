from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest

from yarnspec.window.sizes import measured_chunks, size_bytes


@dataclass
class Plain:
    text: str


@dataclass(slots=True)
class Slotted:
    text: str


@pytest.mark.parametrize(
    "make",
    [
        lambda n: (n + 10**6, f"text {n}", n + 0.5),
        lambda n: {"a": n + 10**6, "b": [f"text {n}", {n + 10**6}]},
        lambda n: Plain(f"text {n}"),
        lambda n: Slotted(f"text {n}"),
        lambda n: f"text {n}",
        lambda n: b"x" * (1000 + n % 2),
    ],
)
def test_the_estimate_is_near_what_python_takes(make: Any) -> None:
    count = 5000
    tracemalloc.start()
    try:
        records = [make(number) for number in range(count)]
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    estimate = sum(size for _, size in measured_chunks(records, lambda record: (record,)))
    assert 0.8 * taken <= estimate <= 1.6 * taken


def test_what_is_met_twice_counts_once() -> None:
    text = "x" * 10_000
    assert size_bytes([text, text], text) < 11_000
    loop: list[Any] = [text]
    loop.append(loop)
    assert size_bytes(loop) < 11_000


def test_chunks_hold_all_records_and_large_ones_come_alone() -> None:
    records = list(range(5000))
    chunks = [chunk for chunk, _ in measured_chunks(records)]
    assert list(chain.from_iterable(chunks)) == records
    assert len(chunks[0]) == 1
    assert max(map(len, chunks)) == 1024
    large = ["x" * 10**5] * 5
    assert [len(chunk) for chunk, _ in measured_chunks(large, lambda record: (len(record),))] == [1] * 5
    assert all(size > sys.getsizeof(large[0]) for _, size in measured_chunks(large))


class Watched(list[float]):
    """Counts what is looked at."""

    looked = 0

    def __iter__(self) -> Iterator[float]:
        for item in super().__iter__():
            self.looked += 1
            yield item


def test_of_a_long_container_a_few_items_stand_for_all() -> None:
    items = Watched(number + 0.5 for number in range(10_000))
    assert 0.9 * 32 * 10_000 <= size_bytes(items) - sys.getsizeof(items) <= 1.1 * 32 * 10_000
    assert items.looked <= 100
    table = {f"key {number}": float(number) for number in range(10_000)}
    expected = sum(map(sys.getsizeof, chain(table, table.values())))
    assert 0.8 * expected <= size_bytes(table) - sys.getsizeof(table) <= 1.4 * expected
