"""A program that puts files in the place of others dies at any step: each change is made once, or it is stopped."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.core.writelives import OLD, Ending, Files, X, Y, program, run, run_beside, steps_of
from yarnspec.core.messages import writeevents as wr

SEEDS = 50


def rows(files: Files) -> dict[str, list[int]]:
    found = {place: sorted(row for each in named.values() for row in each) for place, named in files.items()}
    return {place: each for place, each in found.items() if each}


def check(ending: Ending, whole: Ending, *, waits: bool) -> None:
    """Each change was made as when nothing happens; in a program that did not end none twice, and nothing was lost."""
    found = rows(ending.files)
    if ending.how == "ended":
        assert found == rows(whole.files)
    else:
        assert all(len(set(each)) == len(each) for each in found.values()), ending
        assert OLD in found["grown"], ending
        # Of files that are moved one by one and were not recorded as committed those that are left are removed.
        assert not waits or {X, Y} <= {row for each in found.values() for row in each}, ending
    if ending.how == "failed":
        assert ending.why in ("x is not there", "y is not there")
    if not ending.swapped:
        assert ending.how == "ended", f"there is no reason to stop it: {ending}"


def check_all(*, waits: bool) -> Counter[str]:
    """Let many programs crash at each of their steps."""
    return sum((crash_everywhere(seed, waits=waits) for seed in range(SEEDS)), Counter())


def crash_everywhere(seed: int, *, waits: bool) -> Counter[str]:
    """Let a program crash at each of its steps, and once more at some step after that."""
    seen: Counter[str] = Counter()
    rng = random.Random(seed)  # noqa: S311 - the same each time
    changes = program(rng)
    whole, steps = run(changes, [], rng), steps_of(changes)
    assert whole.how == "ended"
    for crash in range(1, steps + 1):
        for again in (False, True):
            crashes = [crash, rng.randint(1, steps)] if again else [crash]
            ending = run(changes, crashes, rng, waits=waits)
            check(ending, whole, waits=waits)
            seen[ending.how] += 1
    return seen


@pytest.mark.parametrize("waits", [True, False], ids=["recorded", "last commit not recorded"])
def test_no_change_is_made_twice_wherever_the_driver_dies(waits: bool) -> None:
    seen = check_all(waits=waits)
    assert min(seen["ended"], seen["stopped"]) > 10 * SEEDS
    assert seen["failed"] < SEEDS * 5


def test_a_core_that_believes_only_in_recorded_commits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wr.SavedWrite, "may_be_moved", property(lambda one: one.state == "committed"))
    with pytest.raises(AssertionError):
        check_all(waits=False)


def beside_everywhere(seed: int) -> Counter[str]:
    """Let a program be taken for dead at each of its steps, and go on when the next driver has ended."""
    seen: Counter[str] = Counter()
    rng = random.Random(seed)  # noqa: S311 - the same each time
    # What a program moves by itself nobody can refuse.
    changes = program(rng, moves=())
    whole, steps = run(changes, [], rng), steps_of(changes)
    for sealed in range(1, steps + 1):
        for awake, crash in ((0, 0), (rng.randint(1, 4), 0), (rng.randint(0, 4), rng.randint(1, steps))):
            beside = run_beside(changes, sealed, awake, rng, crash)
            check(beside.ending, whole, waits=True)
            assert beside.how in {"refused", "failed", "ended"} or beside.ending.swapped, beside
            # It may not have shown any file of its own since, nor taken any away but at that one moment.
            assert beside.deleted or rows(beside.files) == rows(beside.ending.files), beside
            seen[beside.how] += 1
            seen["deleted"] += beside.deleted
    return seen


def test_a_driver_that_lives_on_beside_the_next_one_commits_nothing() -> None:
    seen: Counter[str] = sum((beside_everywhere(seed) for seed in range(SEEDS)), Counter())
    assert seen["refused"] > 10 * SEEDS
    assert 0 < seen["deleted"] < seen["refused"] / 10
