from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import pytest

from yarnspec.window.objects import map_batched_objects


def test_records_of_batches_come_one_by_one() -> None:
    batches: list[Any] = [[1], (2, 3), [], [4, 5, 6]]
    assert list(map_batched_objects(lambda records: (record * 2 for record in records), 1, batches)) == [
        2,
        4,
        6,
        8,
        10,
        12,
    ]


def test_batches_wait_by_their_records() -> None:
    read = 0

    def source() -> Iterator[list[int]]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield [0] * 10

    for used, _ in enumerate(map_batched_objects(lambda records: records, 40, source())):
        # Twenty records wait and twenty are in hand.
        assert read <= used // 10 + 4
    assert used == 999


def test_an_error_among_batches_comes_in_its_place_and_is_raised_though_it_is_caught() -> None:
    def source() -> Iterator[list[int]]:
        yield [1, 2]
        raise OSError("upstream")

    def forgiving(records: Iterator[int]) -> Iterator[Any]:
        try:
            yield from records
        except OSError:
            yield "caught"

    results = map_batched_objects(forgiving, 10, source())
    assert [next(results) for _ in range(3)] == [1, 2, "caught"]
    with pytest.raises(OSError, match="upstream"):
        next(results)


def test_a_function_that_returns_nothing_is_named() -> None:
    def forgot(records: Iterator[Any]) -> None:
        list(map(itemgetter(0), records))

    with pytest.raises(TypeError, match="forgot returned None"):
        list(map_batched_objects(forgot, 10, [[(1,)]]))  # type: ignore[arg-type] # the mistake
