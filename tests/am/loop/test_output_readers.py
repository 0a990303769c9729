"""Readers of the output get the rest of it, as long as they come for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from yarnspec.am.loop.output_readers import OutputReaders, Patience

LONG = Patience(first_s=30, stalled_s=30, longest_s=60)


class Drain:
    """The end of an attempt, which waits for readers in a thread of its own."""

    def __init__(self) -> None:
        self.found: list[bool] = []
        self._threads: list[threading.Thread] = []

    def start(self, readers: OutputReaders, patience: Patience = LONG) -> None:
        thread = threading.Thread(target=lambda: self.found.append(readers.drain(patience)), daemon=True)
        thread.start()
        self._threads.append(thread)

    def is_over(self, within_s: float = 10.0) -> bool:
        self._threads[-1].join(within_s)
        return not self._threads[-1].is_alive()


@pytest.fixture
def drain() -> Iterator[Drain]:
    drain = Drain()
    yield drain
    assert drain.is_over()


def test_nobody_is_waited_for_when_nobody_reads() -> None:
    began = time.monotonic()
    assert OutputReaders(expected=False).drain(LONG)
    assert time.monotonic() - began < 1


def test_each_reader_is_waited_for_on_its_own(drain: Drain) -> None:
    readers = OutputReaders(expected=False)
    readers.came("quick", 0, complete=False)
    readers.came("slow", 0, complete=False)
    drain.start(readers)
    readers.came("quick", 9, complete=True)
    assert not drain.is_over(0.2)
    readers.came("slow", 5, complete=False)
    readers.came("slow", 9, complete=True)
    assert drain.is_over()
    assert drain.found == [True]


def test_one_that_is_expected_gets_a_moment_to_come(drain: Drain) -> None:
    readers = OutputReaders(expected=True)
    drain.start(readers)
    assert not drain.is_over(0.2)
    readers.came("late", 0, complete=False)
    readers.came("late", 9, complete=True)
    assert drain.is_over()
    assert drain.found == [True]


def test_one_that_never_comes_is_not_waited_for_long() -> None:
    assert not OutputReaders(expected=True).drain(Patience(first_s=0.05))


def test_as_long_as_one_goes_on_it_is_waited_for() -> None:
    readers = OutputReaders(expected=False)
    readers.came("slow", 0, complete=False)
    patience = Patience(stalled_s=0.5)
    done = threading.Event()

    def read() -> None:
        for offset in range(1, 12):
            done.wait(0.1)
            readers.came("slow", offset, complete=False)
        readers.came("slow", 12, complete=True)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert readers.drain(patience)
    thread.join(10)


def test_one_that_stalls_is_given_up() -> None:
    readers = OutputReaders(expected=False)
    readers.came("stopped", 0, complete=False)
    began = time.monotonic()
    assert not readers.drain(Patience(stalled_s=0.1))
    assert time.monotonic() - began < 5


def test_there_is_an_end_to_all_waiting() -> None:
    readers = OutputReaders(expected=False)
    readers.came("endless", 0, complete=False)
    over = threading.Event()

    def read() -> None:
        offset = 0
        while not over.wait(0.01):
            offset += 1
            readers.came("endless", offset, complete=False)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert not readers.drain(Patience(longest_s=0.3))
    over.set()
    thread.join(10)


def test_one_that_went_away_before_the_end_is_not_waited_for() -> None:
    now = [100.0]
    readers = OutputReaders(expected=True, clock_s=lambda: now[0])
    readers.came("gone", 0, complete=False)
    now[0] += 60
    assert readers.drain(LONG)
