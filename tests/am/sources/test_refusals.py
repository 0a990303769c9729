"""What application masters that were taken for dead leave word of."""

from __future__ import annotations

from yarnspec.am.sources.refusals import EarlierRefusals
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoveryevents import EpochRefused


def test_each_word_is_told_once_and_again_when_it_says_more() -> None:
    words: dict[int, dict[str, int]] = {1: {"records": 3}}
    told: list[Event] = []
    earlier = EarlierRefusals(lambda: words, told.append)
    earlier.look()
    earlier.look()
    assert told == [EpochRefused(epoch=1, refused={"records": 3})]
    words |= {1: {"records": 3, "commits": 1}, 2: {"commits": 2}}
    earlier.look()
    assert told[1:] == [
        EpochRefused(epoch=1, refused={"records": 3, "commits": 1}),
        EpochRefused(epoch=2, refused={"commits": 2}),
    ]
