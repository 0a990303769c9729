from __future__ import annotations

import contextlib
import functools
import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from yarnspec.window import handover
from yarnspec.window.handover import Handover, results_of, through_queue

DEADLINE_S = 30


class Stop(Exception):  # noqa: N818 - raised on purpose
    pass


@pytest.fixture(autouse=True)
def _no_reader_stays() -> Iterator[None]:
    """Only readers count: threads of pytest's own may come up at any time, and nobody can join those."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name == "yarnspec-window-reader":
            thread.join(DEADLINE_S)
            assert not thread.is_alive(), thread


def same(records: Iterable[Any]) -> Iterable[Any]:
    return records


class Counted:
    """Tells how much of it has been read."""

    def __init__(self, records: Iterable[Any]) -> None:
        self.read = 0
        self._records = records

    def __iter__(self) -> Iterator[Any]:
        for record in self._records:
            self.read += 1
            yield record


class Steps:
    """A source whose next record comes when the test says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.changed = threading.Condition()
        self._given: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self.changed:
                self.asked += 1
                self.changed.notify_all()
                assert self.changed.wait_for(lambda: self._given, DEADLINE_S)
                record = self._given.pop(0)
            if isinstance(record, BaseException):
                raise record
            if record is None:
                return
            yield record

    def give(self, record: Any) -> None:
        with self.changed:
            self._given.append(record)
            self.changed.notify_all()

    def wait_until_asked(self, times: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.asked >= times, DEADLINE_S)


@pytest.mark.parametrize("queue_size", [1, 2, 3, 100, 1024, 10**9])
@pytest.mark.parametrize("count", [0, 1, 2, 511, 512, 513, 1025, 5000])
def test_every_record_crosses_in_order(count: int, queue_size: int) -> None:
    assert list(through_queue(same, range(count), queue_size)) == list(range(count))


def test_a_source_is_read_in_one_thread() -> None:
    def source() -> Iterator[int]:
        for _ in range(5000):
            yield threading.get_ident()

    assert len(set(through_queue(same, source()))) == 1


def test_the_function_gets_a_record_while_the_source_has_more_to_give() -> None:
    source = Steps()
    results = through_queue(lambda records: (record * 2 for record in records), source)
    threading.Thread(target=source.give, args=(1,)).start()
    assert next(results) == 2
    # It did not take a full chunk, nor the end, to hand the first one over.
    source.give(2)
    assert next(results) == 4
    source.give(None)
    assert list(results) == []


def test_the_source_is_read_while_the_function_works() -> None:
    source = Steps()
    for record in (1, 2, 3):
        source.give(record)

    def slow(records: Iterator[int]) -> Iterator[int]:
        first = next(records)
        # In here the source is asked for the fourth record, though this function has asked for one.
        source.wait_until_asked(4)
        source.give(None)
        yield first
        yield from records

    assert list(through_queue(slow, source)) == [1, 2, 3]


@pytest.mark.parametrize("queue_size", [1, 2, 9, 1000])
def test_a_slow_function_holds_the_source_back(queue_size: int) -> None:
    source = Counted(range(1, 2001))
    for used in through_queue(same, source, queue_size):
        assert source.read - used <= queue_size
    assert used == 2000


def test_batches_weigh_their_rows() -> None:
    source = Counted([[0] * 10] * 100)
    for used, _ in enumerate(Handover(source, 30, len), start=1):
        # Two wait, and one is in hand beside that which is used.
        assert source.read - used <= 3
    assert used == 100


def test_one_batch_is_let_in_however_large() -> None:
    assert list(through_queue(same, [[0] * 50] * 3, 10, len)) == [[0] * 50] * 3


def test_an_error_of_the_source_comes_after_the_records_before_it() -> None:
    def source() -> Iterator[int]:
        yield from range(300)
        raise Stop("upstream")

    results = through_queue(same, source())
    assert list(itertools.islice(results, 300)) == list(range(300))
    with pytest.raises(Stop, match="upstream"):
        next(results)


def test_an_error_of_the_source_is_raised_though_the_function_catches_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise Stop("upstream")

    def forgiving(records: Iterator[int]) -> Iterator[str]:
        try:
            for record in records:
                yield str(record)
        except Stop:
            yield "caught"

    results = through_queue(forgiving, source())
    assert next(results) == "1"
    assert next(results) == "caught"
    with pytest.raises(Stop, match="upstream"):
        next(results)


def test_an_error_that_the_function_makes_of_the_sources_is_the_one_raised() -> None:
    def source() -> Iterator[int]:
        raise Stop("upstream")
        yield

    def wrapping(records: Iterator[int]) -> Iterator[int]:
        try:
            yield from records
        except Stop as error:
            raise ValueError("cannot go on") from error

    with pytest.raises(ValueError, match="cannot go on") as told:
        list(through_queue(wrapping, source()))
    assert isinstance(told.value.__cause__, Stop)


@pytest.mark.parametrize("queue_size", [1, 10, 1000])
def test_an_error_of_the_function_ends_the_reading(queue_size: int) -> None:
    source = Counted(itertools.count(1))

    def failing(records: Iterator[int]) -> Iterator[int]:
        yield next(records)
        raise Stop("user")

    with pytest.raises(Stop, match="user"):
        list(through_queue(failing, source, queue_size))
    assert source.read <= queue_size + 1


def test_an_error_of_the_function_does_not_wait_for_a_source_that_is_silent() -> None:
    source = Steps()

    def failing(records: Iterator[int]) -> Iterator[int]:
        source.give(1)
        yield next(records)
        raise Stop("user")

    results = through_queue(failing, source)
    assert next(results) == 1
    source.wait_until_asked(2)
    with pytest.raises(Stop, match="user"):
        next(results)
    # The source answers at last: the reader ends.
    source.give(2)


@pytest.mark.parametrize(
    "early",
    [
        lambda records: [next(records), next(records)],
        lambda records: itertools.islice(records, 2),
        lambda records: (record for record, _ in zip(records, range(2), strict=False)),
    ],
    ids=["list", "iterator", "generator"],
)
def test_a_function_may_end_early(early: Callable[[Iterator[int]], Iterable[int]]) -> None:
    source = Counted(itertools.count(1))

    assert list(through_queue(early, source)) == [1, 2]
    assert source.read <= 1024
    assert "yarnspec-window-reader" not in {thread.name for thread in threading.enumerate()}


def test_reading_ends_with_the_results_though_the_function_keeps_the_iterator() -> None:
    kept = []

    def keeping(records: Iterator[int]) -> list[int]:
        kept.append(records)
        return [next(records)]

    assert list(through_queue(keeping, itertools.count())) == [0]
    assert "yarnspec-window-reader" not in {thread.name for thread in threading.enumerate()}


class Slow:
    """A source whose second record takes its time."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def __iter__(self) -> Iterator[int]:
        yield 1
        assert self.release.wait(DEADLINE_S)
        yield 2


@pytest.mark.parametrize("dropped", [False, True])
def test_an_early_end_waits_for_the_record_that_is_on_its_way(dropped: bool) -> None:
    """Code of the task that ran on would run beside the next one."""
    source = Slow()
    # Longer than an error waits.
    timer = threading.Timer(1.5, source.release.set)
    timer.start()
    results = through_queue(itertools.chain if dropped else lambda records: [next(records)], source)
    assert next(results) == 1
    if dropped:
        del results
    else:
        assert list(results) == []
    assert source.release.is_set()
    assert "yarnspec-window-reader" not in {thread.name for thread in threading.enumerate()}
    timer.join()


def test_an_early_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_PATIENCE_S", 0.01)
    source = Slow()
    with pytest.raises(TimeoutError, match=r"has not given its next record in 0\.01 s"):
        list(through_queue(lambda records: [next(records)], source))
    source.release.set()


def test_a_worker_whose_task_drops_the_results_of_a_source_that_hangs_ends() -> None:
    program = """
import threading
from yarnspec.window import handover
handover._PATIENCE_S = 0.01
def source():
    yield 1
    threading.Event().wait(60)
results = handover.through_queue(lambda records: records, source())
next(results)
del results
print("goes on")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ReaderStuck: a function of yarnspec.window has ended before its input" in done.stderr


def test_an_error_does_not_wait_though_sparks_worker_closes_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_PATIENCE_S", DEADLINE_S)
    source = Slow()

    def failing(records: Iterator[int]) -> Iterator[int]:
        yield next(records)
        raise Stop("user")

    results: Any = through_queue(failing, source)
    # As in Spark's worker, which closes them in any case.
    with pytest.raises(Stop, match="user"), contextlib.closing(results):
        list(results)
    assert not source.release.is_set()
    source.release.set()


def test_a_function_that_ends_early_does_not_meet_an_error_further_on() -> None:
    def source() -> Iterator[int]:
        yield from (1, 2)
        raise Stop("never asked for")

    assert list(through_queue(lambda records: [next(records)], source())) == [1]


def test_a_function_may_read_nothing() -> None:
    assert list(through_queue(lambda _: ["done"], itertools.count())) == ["done"]


def test_a_consumer_that_stops_ends_both_sides() -> None:
    ended = []

    def fn(records: Iterator[int]) -> Iterator[int]:
        try:
            yield from records
        finally:
            ended.append("fn")

    results = through_queue(fn, itertools.count())
    assert next(results) == 0
    del results
    assert ended == ["fn"]
    assert "yarnspec-window-reader" not in {thread.name for thread in threading.enumerate()}


def test_the_function_runs_in_the_callers_thread() -> None:
    def where(records: Iterator[int]) -> Iterator[threading.Thread]:
        list(records)
        yield threading.current_thread()

    assert list(through_queue(where, range(3))) == [threading.current_thread()]


def test_a_function_that_returns_nothing_is_named() -> None:
    def forgot(records: Iterator[int]) -> None:
        list(records)

    with pytest.raises(TypeError, match="forgot returned None"):
        list(through_queue(forgot, range(3)))  # type: ignore[arg-type] # the mistake
    with pytest.raises(TypeError, match="partial returned None"):
        results_of(functools.partial(forgot), iter(()))  # type: ignore[arg-type]


def test_a_queue_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="lets nothing pass"):
        Handover([], 0)


def test_who_closes_the_results_ends_both_sides() -> None:
    ended: list[str] = []

    def fn(records: Iterator[int]) -> Iterator[int]:
        try:
            yield from records
        finally:
            ended.append("fn")

    before = threading.active_count()
    results: Any = through_queue(fn, itertools.count(), 4)
    assert next(results) == 0
    results.close()
    assert ended == ["fn"]
    assert threading.active_count() == before


def test_empty_batches_fill_the_queue_too() -> None:
    read: list[int] = []

    def source() -> Iterator[list[int]]:
        for number in range(1_000):
            read.append(number)
            yield []

    results: Any = through_queue(lambda batches: batches, source(), 4, len)
    next(results)
    results.close()
    assert len(read) < 20
