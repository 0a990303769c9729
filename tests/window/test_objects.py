from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any

import pytest

from yarnspec.window.objects import Function, map_objects, map_results, through_batches, through_records


def map_batched_objects(fn: Function, queue_size: int, batches: Any) -> Iterator[Any]:
    return through_batches(partial(map_objects, fn), queue_size, 0, batches)


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


def test_an_error_of_a_function_before_it_is_raised_though_it_is_caught() -> None:
    def forgiving(records: Iterator[int]) -> Iterator[Any]:
        try:
            yield from records
        except ZeroDivisionError:
            yield "caught"

    def both(partition: int, records: Iterable[int]) -> Iterable[Any]:
        return map_results(forgiving, partition, (1 // record for record in records))

    results = through_records(both, 10, 0, [1, 0, 1])
    assert [next(results) for _ in range(2)] == [1, "caught"]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_a_function_may_read_in_a_thread_of_its_own_and_end_before_it() -> None:
    asked, go_on = threading.Event(), threading.Event()
    read: list[threading.Thread] = []

    def before(records: Iterable[int]) -> Iterator[int]:
        for record in records:
            if record == 1:
                asked.set()
                assert go_on.wait(60)
            yield record

    def fn(records: Iterator[int]) -> Iterator[int]:
        taken: queue.SimpleQueue[int] = queue.SimpleQueue()

        def read_on() -> None:
            for record in records:
                taken.put(record)

        read.append(threading.Thread(target=read_on))
        read[0].start()
        yield taken.get()
        assert asked.wait(60)

    assert list(map_results(fn, 0, before(range(3)))) == [0]
    go_on.set()
    read[0].join(60)
    assert not read[0].is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("fails", [False, True])
def test_what_the_functions_before_it_do_at_their_end_is_no_error_of_its_own(fails: bool) -> None:
    """As in Spark, where they just go."""

    def before(records: Iterable[int]) -> Iterator[int]:
        try:
            yield from records
        finally:
            yield -1  # the rest of a buffer, say

    def fn(records: Iterator[int]) -> Iterator[int]:
        yield next(records)
        if fails:
            raise LookupError("in the function")

    results: Any = map_results(fn, 0, before(range(3)))
    assert next(results) == 0
    if fails:
        with pytest.raises(LookupError, match="in the function"):
            next(results)
        results.close()
    else:
        assert list(results) == []


def test_what_is_dropped_ends_the_functions_before_it() -> None:
    ended: list[str] = []

    def before(records: Iterable[int]) -> Iterator[int]:
        try:
            yield from records
        finally:
            ended.append("before")

    def first(records: Iterator[int]) -> Iterator[int]:
        try:
            yield from records
        finally:
            ended.append("fn")

    results = through_records(lambda number, records: map_results(first, number, before(records)), 10, 0, range(9))
    assert next(results) == 0
    del results
    assert sorted(ended) == ["before", "fn"]
