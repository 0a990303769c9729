"""Which saved shuffle a shuffle of the next driver takes over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.recovery.test_epoch_recovery import NEW, OLD, answer, declared, restored, saved, second_epoch
from tests.core.world import HOSTS, names, of, only
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.settings import RecoverySettings


def test_the_same_shuffle_is_recorded_and_then_answered_with_what_is_saved() -> None:
    world = second_epoch(saved())
    answered = world.tell(declared())
    assert names(answered) == ["RecordShuffle", "AnswerShuffle"]
    assert only(rc.RecordShuffle, answered).shuffle == OLD
    found = only(rc.AnswerShuffle, answered)
    assert (found.shuffle, found.restore, found.whole, found.record) == (OLD, True, False, True)
    assert "4 of its 4" in found.reason
    assert not answer(world, declared(7, signature="s0")).restore  # one use of each


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"signature": "another"}, "nothing is saved"),
        ({"maps": 5}, "maps were 4, now they are 5"),
        ({"reduces": 1}, "reduces were 3"),
        ({"determinism": "unordered"}, "determinism"),
        ({"parents": (NEW,)}, "from 0 shuffles, now from 1"),
        ({"reusable": False, "why_not": "it belongs to a stream"}, "a stream"),
    ],
)
def test_what_is_not_the_same_runs(fields: dict[str, Any], why: str) -> None:
    found = answer(second_epoch(saved()), declared(**fields))
    assert (found.shuffle, found.restore) == (None, False)
    assert why in found.reason
    assert found.record is fields.get("reusable", True)


def test_what_is_saved_of_a_shuffle_that_is_not_reusable_is_named() -> None:
    """The same computation ran twice, and something was found against it the second time."""
    again = saved(OLD + 1, signature="s0", by_host={}, not_reusable="it counts")
    found = answer(second_epoch(saved(), again), declared())
    assert not found.restore
    assert [shuffle for shuffle, why in found.unused if "it counts" in why] == [OLD]


def test_an_indeterminate_shuffle_comes_back_whole_or_not_at_all() -> None:
    whole = answer(second_epoch(saved(determinism="indeterminate")), declared(determinism="indeterminate"))
    assert (whole.restore, whole.whole) == (True, True)
    part = second_epoch(saved(determinism="indeterminate", by_host={HOSTS[1]: 3}))
    found = answer(part, declared(determinism="indeterminate"))
    assert not found.restore
    assert "whole or not at all, and 3 of 4" in found.reason


def above(parent: int) -> tuple[rec.SavedShuffle, rec.SavedShuffle]:
    return saved(determinism="indeterminate"), saved(OLD + 1, parents=(parent,))


@pytest.mark.parametrize(("count", "used"), [(4, True), (3, False)])
def test_what_is_above_an_indeterminate_shuffle_needs_exactly_that_one(count: int, used: bool) -> None:
    world = second_epoch(*above(OLD))
    assert answer(world, declared(determinism="indeterminate")).restore
    world.tell(restored(count=count))
    assert answer(world, declared(1, parents=(OLD,))).restore is used


def test_nothing_is_used_above_an_indeterminate_shuffle_that_runs_again() -> None:
    world = second_epoch(saved(OLD + 1, parents=(OLD,)))
    assert not answer(world, declared(determinism="indeterminate")).restore
    found = answer(world, declared(1, parents=(NEW,)))
    assert not found.restore
    assert "may hold something else" in found.reason
    assert found.unused == ((OLD + 1, "what it was computed from may be other rows today"),)
    # Nor two above it, whatever Spark calls it.
    assert not answer(world, declared(2, parents=(NEW + 1,))).restore


def test_what_is_above_a_determinate_shuffle_that_is_gone_is_used() -> None:
    world = second_epoch(saved(OLD + 1, parents=(OLD,)))
    assert not answer(world, declared()).restore
    assert answer(world, declared(1, parents=(NEW,))).restore


@pytest.mark.parametrize(("count", "used"), [(4, True), (3, False)])
def test_what_is_above_an_unordered_shuffle_needs_exactly_that_one(count: int, used: bool) -> None:
    world = second_epoch(saved(determinism="unordered"), saved(OLD + 1, parents=(OLD,)))
    found = answer(world, declared(determinism="unordered"))
    assert (found.restore, found.whole) == (True, False)
    world.tell(restored(count=count))
    assert answer(world, declared(1, parents=(OLD,))).restore is used


@pytest.mark.parametrize(("determinism", "used"), [("unordered", True), ("indeterminate", False)])
def test_where_somebody_says_that_maps_are_repeatable_what_is_above_lost_outputs_is_used(
    determinism: str, used: bool
) -> None:
    """As Spark does while a driver lives; of what gives other records each time nobody can say so."""
    repeatable = RecoverySettings(enabled=True, repeatable=True)
    saved_above = saved(OLD + 1, parents=(OLD,)), saved(OLD + 2, parents=(OLD + 1,), determinism="unordered")
    world = second_epoch(saved(determinism=determinism), *saved_above, recovery=repeatable)
    assert answer(world, declared(determinism=determinism)).restore
    world.tell(restored(count=3 if used else 0))
    bottom = OLD if used else NEW
    if not used:
        world.tell(declared(question=9, determinism=determinism))
    assert answer(world, declared(1, parents=(bottom,))).restore is used
    assert answer(world, declared(2, parents=(OLD + 1 if used else NEW + 1,), determinism="unordered")).restore is used


def test_an_unordered_shuffle_of_which_all_that_was_saved_came_back_need_not_be_whole() -> None:
    bottom = saved(determinism="unordered", by_host={HOSTS[1]: 3})
    world = second_epoch(bottom, saved(OLD + 1, parents=(OLD,)))
    assert answer(world, declared(determinism="unordered")).restore
    world.tell(restored(wanted=3, count=3))
    assert not answer(world, declared(1, parents=(OLD,))).restore


def test_nothing_is_used_above_what_is_computed_from_an_unordered_shuffle_that_runs_again() -> None:
    world = second_epoch(saved(OLD + 2, parents=(OLD + 1,)))
    assert not answer(world, declared(determinism="unordered")).restore
    assert not answer(world, declared(1, parents=(NEW,))).restore
    assert not answer(world, declared(2, parents=(NEW + 1,))).restore


def test_what_was_computed_before_a_map_of_an_unordered_shuffle_ran_again_is_not_used() -> None:
    bottom = saved(determinism="unordered", oldest=100_000_000, newest=200_000_000)
    before = saved(OLD + 1, parents=(OLD,), oldest=100_000_009, newest=100_000_010)
    after = saved(NEW + 1, signature="s2", parents=(OLD,), oldest=200_000_001, newest=200_000_002)
    world = second_epoch(bottom, before, after)
    assert answer(world, declared(determinism="unordered")).restore
    world.tell(restored())
    found = answer(world, declared(1, parents=(OLD,)))
    assert not found.restore
    assert "ran again" in found.reason
    assert answer(world, declared(2, parents=(OLD,))).restore


def test_what_was_sorted_by_bounds_is_no_match_for_other_ones() -> None:
    # The newer one's hosts do not come back in time; what was computed from it cannot go with the older one's bounds.
    world = second_epoch(saved(bounded=True), saved(NEW + 1, signature="s1", parents=(NEW,)))
    assert answer(world, declared()).restore
    world.tell(restored())
    assert not answer(world, declared(1, parents=(OLD,))).restore


def test_a_shuffle_of_which_nothing_came_back_is_forgotten_and_asked_about_again() -> None:
    world = second_epoch(saved())
    assert answer(world, declared()).restore
    assert only(rc.ForgetShuffle, world.tell(restored(count=0))).shuffle == OLD
    answered = world.tell(declared(question=9))
    assert only(rc.RecordShuffle, answered).shuffle == NEW
    found = only(rc.AnswerShuffle, answered)
    assert (found.question, found.shuffle, found.restore, found.record) == (9, None, False, True)
    assert only(rc.RecordShuffle, world.tell(declared(1, parents=(NEW,)))).parents == (NEW,)


def test_after_nothing_came_back_an_older_one_that_is_the_same_is_used() -> None:
    world = second_epoch(saved(), saved(OLD + 500, signature="s0"))
    assert answer(world, declared()).shuffle == OLD + 500
    world.tell(restored(OLD + 500, count=0))
    assert answer(world, declared(question=9)).shuffle == OLD


@pytest.mark.parametrize(
    ("fields", "used"), [({}, True), ({"determinism": "unordered"}, False), ({"bounded": True}, False)]
)
def test_above_a_shuffle_of_which_nothing_came_back_only_what_is_the_same_again_is_used(
    fields: dict[str, Any], used: bool
) -> None:
    saved_above = saved(OLD + 1, parents=(OLD,)), saved(OLD + 2, parents=(OLD + 1,))
    world = second_epoch(saved(**fields), *saved_above)
    known = {name: fields[name] for name in fields if name == "determinism"}
    assert answer(world, declared(**known)).restore
    forgotten = [one.shuffle for one in of(rc.ForgetShuffle, world.tell(restored(count=0)))]
    # What tells that those above it are of no use is the last to go.
    assert forgotten == ([OLD] if used else [OLD + 2, OLD + 1, OLD])
    world.tell(declared(question=9, **known))
    assert answer(world, declared(1, parents=(NEW,))).restore is used


@pytest.mark.parametrize("early", [True, False])
def test_nothing_is_used_above_a_shuffle_that_cannot_be_restored_in_all_it_does(early: bool) -> None:
    bottom = () if early else (saved(by_host={}, not_reusable="an accumulator of Scala's"),)
    world = second_epoch(*bottom, saved(OLD + 1, parents=(OLD,)))
    fields: dict[str, Any] = {"reusable": False, "why_not": "an accumulator of Scala's"} if early else {}
    assert "accumulator" in answer(world, declared(**fields)).reason
    found = answer(world, declared(1, parents=(NEW,)))
    assert not found.restore
    assert "has to run again in full" in found.reason


def test_of_a_parent_that_nobody_knows_nothing_is_believed() -> None:
    world = second_epoch(saved(OLD + 1, parents=(OLD,)))
    assert not answer(world, declared(1, parents=(NEW,))).restore


def test_the_newest_of_several_that_are_the_same_is_used() -> None:
    world = second_epoch(saved(), saved(OLD + 500, signature="s0"))
    assert answer(world, declared()).shuffle == OLD + 500
