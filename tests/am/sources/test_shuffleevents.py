"""What the driver tells of shuffles becomes the core's events, and nothing else does."""

from __future__ import annotations

import msgspec
import pytest

from yarnspec.am.sources.shuffleevents import shuffle_event
from yarnspec.core.messages import recoveryevents as rec


def test_a_declaration() -> None:
    told = {
        "seq": 3,
        "type": "shuffle_declared",
        "question": 1,
        "shuffle": 1_000_005,
        "signature": "7d64-1",
        "description": "reduceByKey at job.py:63",
        "maps": 10,
        "reduces": 4,
        "determinism": "unordered",
        "reusable": False,
        "why_not": "it belongs to a stream",
        "parents": [1_000_004],
        "feed_rows": 12,
    }
    assert shuffle_event(told) == rec.ShuffleDeclared(
        question=1,
        shuffle=1_000_005,
        signature="7d64-1",
        description="reduceByKey at job.py:63",
        maps=10,
        reduces=4,
        determinism="unordered",
        reusable=False,
        why_not="it belongs to a stream",
        parents=(1_000_004,),
    )


def test_what_came_back_and_what_executors_found() -> None:
    restored = {"wanted": 4, "restored": 3, "waited_ms": 7, "by_host": {"h": 3}, "not_restored": {"truncated": 1}}
    found = shuffle_event({"seq": 1, "type": "shuffle_restored", "shuffle": 7, "signature": "s", **restored})
    assert found == rec.ShuffleRestored(shuffle=7, **restored)  # type: ignore[arg-type]
    told = {"type": "outputs_reported", "executor_id": "3", "host": "h", "found": 5, "adopted": 4, "garbage": 0}
    assert shuffle_event({**told, "refused": {"truncated": 1}, "bytes": 9, "duration_ms": 2}) == rec.OutputsReported(
        executor_id="3", host="h", found=5, adopted=4, refused={"truncated": 1}, bytes=9, duration_ms=2
    )


@pytest.mark.parametrize(
    ("told", "event"),
    [
        ({"type": "shuffle_dropped", "shuffle": 7}, rec.ShuffleForgotten(shuffle=7)),
        ({"type": "recording_stopped", "shuffle": -1, "why": "w"}, rec.RecordingStopped(shuffle=-1, why="w")),
        ({"type": "saved_unreadable", "why": "w"}, rec.SavedUnreadable(why="w")),
        (
            {"type": "adoption_off", "executor_id": "1", "host": "h", "why": "w"},
            rec.AdoptionOff(executor_id="1", host="h", why="w"),
        ),
        (
            {"type": "live_adoption_began", "executor_id": "1", "host": "h", "outputs": 3},
            rec.LiveAdoptionBegan(executor_id="1", host="h", outputs=3),
        ),
        (
            {"type": "live_adoption_ended", "executor_id": "1", "host": "h", "adopted": 2, "lost": 1, "why": "w"},
            rec.LiveAdoptionEnded(executor_id="1", host="h", adopted=2, lost=1, why="w"),
        ),
        ({"type": "unrecorded", "kind": "cached", "why": "w"}, rec.Unrecorded(kind="cached", why="w")),
        ({"type": "outputs_kept", "executor_id": "1", "host": "h"}, rec.OutputsKept(executor_id="1", host="h")),
        ({"type": "backend_started", "driver_url": "x"}, None),
    ],
)
def test_the_others(told: dict[str, object], event: object) -> None:
    assert shuffle_event(told) == event


def test_what_cannot_be_understood_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        shuffle_event({"type": "shuffle_dropped", "shuffle": "seven"})
