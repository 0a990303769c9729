"""What the cluster's tests of recovery expect the next driver to use again, and to run."""

from __future__ import annotations

import pytest

from integration.lives import outputs, tasks_left, usable
from yarnspec.core.journal.journalrecords import Determinism, MapFinished, ShuffleRegistered
from yarnspec.core.journal.journalstate import Recorded

MAPS = 4
TASKS = 4 * MAPS
"""Three shuffles in a chain, and the stage that gives the result."""


def chain(*finished: int, first: Determinism = "determinate") -> Recorded:
    """Shuffles 1, 2, 3, of which so many maps are saved; a map's number is 10 times the shuffle's and its index."""
    recorded = Recorded()
    for number, count in enumerate(finished, 1):
        recorded.apply(
            ShuffleRegistered(
                shuffle=number, signature=f"s{number}", maps=MAPS, reduces=MAPS,
                determinism=first if number == 1 else "unordered", parents=() if number == 1 else (number - 1,),
            )
        )  # fmt: skip
        for index in range(count):
            recorded.apply(
                MapFinished(shuffle=number, index=index, map_id=10 * number + index, stage=0, executor_id="1", host="h",
                            epoch=1, size_bytes=1, blob=b"")
            )  # fmt: skip
    return recorded


@pytest.mark.parametrize(
    ("finished", "gone", "left"),
    [
        ((0, 0, 0), set(), TASKS),
        ((2, 0, 0), set(), TASKS - 2),
        ((4, 3, 0), set(), TASKS - 7),
        ((4, 4, 4), set(), MAPS),
        # What is below a whole shuffle is not needed, be it there or not.
        ((4, 4, 4), {(1, 10)}, MAPS),
        # One map of the first shuffle, which is the same again, and what is missing.
        ((4, 2, 0), {(1, 10)}, TASKS - 5),
        # A map of the second may give other rows: nothing above it is used.
        ((4, 4, 2), {(2, 20)}, TASKS - 7),
        ((4, 4, 4), {(2, 20)}, TASKS - 7),
        # And for that map one of the first has to run again as well.
        ((4, 4, 2), {(2, 20), (1, 13)}, TASKS - 6),
    ],
)
def test_what_is_left_of_a_chain(finished: tuple[int, ...], gone: set[tuple[int, int]], left: int) -> None:
    saved = chain(*finished)
    assert len(outputs(saved)) == sum(finished)
    assert tasks_left(saved, usable(saved, gone), TASKS) == left


def test_what_was_computed_before_a_map_below_ran_again_is_not_used() -> None:
    saved = chain(4, 4, 2)
    again = MapFinished(
        shuffle=2, index=0, map_id=200, stage=0, executor_id="1", host="h", epoch=2, size_bytes=1, blob=b""
    )
    saved.apply(again)
    assert usable(saved) == {1: {0, 1, 2, 3}, 2: {0, 1, 2, 3}, 3: set()}


def test_an_indeterminate_shuffle_is_used_whole_or_not_at_all() -> None:
    assert usable(chain(3, 0, 0, first="indeterminate"))[1] == set()
    whole = chain(4, 2, 0, first="indeterminate")
    assert usable(whole) == {1: {0, 1, 2, 3}, 2: {0, 1}, 3: set()}
    assert usable(whole, {(1, 12)}) == {1: set(), 2: set(), 3: set()}
