"""What application masters that were taken for dead leave word of."""

from __future__ import annotations

import queue

from yarnspec.am.shutout import ShutOut
from yarnspec.core.events import Event
from yarnspec.core.recoveryevents import EpochRefused

DEADLINE_S = 30.0


def test_each_word_is_told_once_and_again_when_it_says_more() -> None:
    words: dict[int, dict[str, int]] = {1: {"records": 3}}
    told: queue.SimpleQueue[Event] = queue.SimpleQueue()
    noted: list[Event] = []
    shut_out = ShutOut(lambda: words, told.put)
    shut_out.watcher.start()
    assert told.get(timeout=DEADLINE_S) == EpochRefused(epoch=1, refused={"records": 3})
    shut_out.finish(noted.append)
    assert noted == []
    words |= {1: {"records": 3, "writes": 1}, 2: {"writes": 2}}
    shut_out.finish(noted.append)
    assert noted == [
        EpochRefused(epoch=1, refused={"records": 3, "writes": 1}),
        EpochRefused(epoch=2, refused={"writes": 2}),
    ]
    assert told.empty()


def test_an_end_is_not_held_up_by_words_that_cannot_be_read() -> None:
    def unreadable() -> dict[int, dict[str, int]]:
        raise OSError("HDFS is away")

    noted: list[Event] = []
    ShutOut(unreadable, noted.append).finish(noted.append)
    assert noted == []
