"""The state machine that times transitions, row by row of the proposal, its example, and what always holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.core.lifecycle.transitions import (
    Cooldown,
    Idling,
    Stabilized,
    Stabilizing,
    StateTransitionManager,
    Timing,
    Transitioning,
)
from yarnspec.core.options.placement import ResourcesSettings

S = 1_000
OPTIONS = ResourcesSettings()
WAITING = Timing(stabilization_ms=OPTIONS.submission_stabilization_ms, max_delay_ms=0)
EXECUTING = Timing(
    cooldown_ms=OPTIONS.rescale_cooldown_ms, stabilization_ms=OPTIONS.rescale_stabilization_ms, max_delay_ms=None
)


class Slots:
    """So many slots of which the job runs on some and wants at least and at most so many."""

    def __init__(self, slots: int = 0, least: int = 1, most: int = 4, runs_on: int = 0) -> None:
        self.slots, self.least, self.most, self.runs_on = slots, least, most, runs_on

    def sufficient(self) -> bool:
        return self.slots >= self.least and min(self.slots, self.most) != self.runs_on

    def desired(self) -> bool:
        return self.sufficient() and self.slots >= self.most


def machine(timing: Timing, slots: Slots | None = None) -> tuple[StateTransitionManager, Slots]:
    slots = slots or Slots()
    return StateTransitionManager(timing, slots, 0), slots


def phase_of(manager: StateTransitionManager) -> object:
    return manager.phase


def test_row_resource_stabilization_timeout_is_10_s_from_the_first_change_while_waiting() -> None:
    manager, slots = machine(WAITING)
    assert phase_of(manager) == Idling()
    slots.slots = 1
    manager.on_change(7 * S)
    assert phase_of(manager) == Stabilizing(7 * S, 17 * S, None)
    slots.slots = 2
    manager.on_change(16 * S)  # another change prolongs nothing
    manager.on_time(17 * S - 1)
    assert not manager.transitioning
    manager.on_time(17 * S)
    assert manager.transitioning


def test_row_resource_wait_timeout_is_5_min_and_the_manager_never_goes_below_sufficient_resources() -> None:
    """What ends the wait is the lifecycle's timer (``test_waiting``)."""
    assert OPTIONS.wait_timeout_ms == 300 * S
    manager, _ = machine(WAITING, Slots(slots=1, least=2))
    for at_ms in range(0, 400 * S, S):
        manager.on_change(at_ms)
    assert phase_of(manager) == Idling()


def test_row_cooldown_after_rescaling_is_30_s_from_the_beginning_of_executing() -> None:
    manager, slots = machine(EXECUTING)
    slots.slots = 4
    manager.on_change(S)
    manager.on_trigger(2 * S)
    assert phase_of(manager) == Cooldown(30 * S, changed=True)
    manager.on_time(30 * S)
    assert phase_of(manager) == Stabilizing(30 * S, 90 * S, None)  # from the end of the cooldown on
    manager.begin(40 * S)
    assert phase_of(manager) == Cooldown(70 * S)


def test_row_the_cooldown_is_0_while_waiting() -> None:
    manager, slots = machine(WAITING)
    slots.slots = 4
    manager.on_change(0)
    assert manager.transitioning


def test_row_executing_resource_stabilization_timeout_is_60_s_and_always_forces_a_change() -> None:
    manager, slots = machine(Timing(cooldown_ms=30 * S, stabilization_ms=60 * S, max_delay_ms=0))
    manager.on_time(30 * S)
    slots.slots = 2
    manager.on_change(50 * S)
    manager.on_time(110 * S - 1)
    assert not manager.transitioning
    manager.on_time(110 * S)
    assert manager.transitioning


def test_row_max_delay_is_how_long_a_change_waits_for_a_trigger() -> None:
    timing = Timing(stabilization_ms=60 * S, max_delay_ms=90 * S)
    manager, slots = machine(timing)
    slots.slots = 2
    manager.on_change(0)
    manager.on_time(60 * S)
    assert phase_of(manager) == Stabilized(90 * S)
    manager.on_time(90 * S)
    assert manager.transitioning

    manager, slots = machine(Timing(stabilization_ms=60 * S, max_delay_ms=20 * S), Slots(slots=2))
    manager.on_change(0)
    slots.slots = 4
    manager.on_change(5 * S)
    manager.on_time(20 * S - 1)
    assert phase_of(manager) == Stabilizing(0, 60 * S, 20 * S)
    manager.on_time(20 * S)
    assert manager.transitioning


def test_row_checkpoints_and_the_least_increase_have_no_counterpart_a_trigger_always_looks() -> None:
    manager, slots = machine(EXECUTING)
    manager.on_time(30 * S)
    slots.slots = 1
    manager.on_change(31 * S)
    manager.on_trigger(32 * S)
    assert phase_of(manager) == Stabilizing(31 * S, 91 * S, None)  # sufficient only
    slots.slots = 4
    manager.on_trigger(33 * S)
    assert manager.transitioning  # desired


def test_insufficient_at_the_end_of_the_stabilization_the_next_change_begins_a_new_one() -> None:
    for timing in (WAITING, EXECUTING):
        manager, slots = machine(timing)
        manager.on_time(30 * S)
        slots.slots = 2
        manager.on_change(40 * S)
        slots.slots = 0
        manager.on_change(41 * S)
        manager.on_time(40 * S + timing.stabilization_ms)
        assert phase_of(manager) == Idling()
        slots.slots = 2
        manager.on_change(200 * S)
        assert phase_of(manager) == Stabilizing(200 * S, 200 * S + timing.stabilization_ms, None)


def test_stabilized_without_sufficient_resources_goes_back_to_idling() -> None:
    manager, slots = machine(EXECUTING, Slots(slots=2))
    manager.on_change(0)
    manager.on_time(90 * S)
    assert phase_of(manager) == Stabilized(None)
    slots.slots = 0
    manager.on_trigger(95 * S)
    assert phase_of(manager) == Idling()


def test_a_change_that_makes_no_difference_changes_nothing() -> None:
    manager, _ = machine(EXECUTING, Slots(slots=4, most=2, runs_on=2))
    manager.on_change(0)
    manager.on_time(30 * S)
    manager.on_change(31 * S)
    assert phase_of(manager) == Idling()


def test_the_worked_example_bounds_2_and_3_change_after_60_s_or_with_a_trigger() -> None:
    """One slot, parallelism 1. A second slot comes, and somebody asks for 2 to 3: sufficient, not desired."""
    for trigger in (False, True):
        manager, slots = machine(EXECUTING, Slots(slots=1, least=1, most=1, runs_on=1))
        manager.on_time(100 * S)
        slots.slots = 2
        manager.on_change(100 * S)
        assert phase_of(manager) == Idling()
        slots.least, slots.most = 2, 3
        manager.on_change(110 * S)
        manager.on_trigger(120 * S)
        manager.on_time(170 * S)
        assert phase_of(manager) == Stabilized(None)
        if trigger:
            manager.on_trigger(171 * S)
        assert manager.transitioning == trigger


def test_the_worked_example_bounds_3_and_3_wait_for_all_slots() -> None:
    manager, slots = machine(EXECUTING, Slots(slots=2, least=3, most=3, runs_on=1))
    manager.on_time(100 * S)
    for at_ms in range(100 * S, 1_000 * S, 10 * S):
        manager.on_change(at_ms)
        manager.on_trigger(at_ms)
    assert phase_of(manager) == Idling()
    slots.slots = 3
    manager.on_change(1_000 * S)
    manager.on_trigger(1_001 * S)
    assert manager.transitioning


@pytest.mark.parametrize("phase", [Idling(), Transitioning()])
def test_a_phase_without_a_time_ignores_the_timers_of_those_before(phase: Idling | Transitioning) -> None:
    manager, slots = machine(WAITING, Slots(slots=4))
    manager.phase = phase
    slots.slots = 0
    manager.on_time(1_000 * S)
    assert phase_of(manager) == phase


timings = st.builds(
    Timing,
    cooldown_ms=st.integers(0, 50),
    stabilization_ms=st.integers(0, 50),
    max_delay_ms=st.none() | st.integers(0, 80),
)
steps = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ctt."), st.integers(0, 6)), max_size=60)


@given(timings, steps)
def test_at_most_one_transition_in_a_cooldown_and_none_without_sufficient_resources(
    timing: Timing, history: list[tuple[int, str, int]]
) -> None:
    manager, slots = machine(timing, Slots(least=2, most=4, runs_on=3))
    now_ms, last_ms = 0, 0
    for pause_ms, what, count in history:
        now_ms += pause_ms
        if what == "c":
            slots.slots = count
        {"c": manager.on_change, "t": manager.on_trigger, ".": manager.on_time}[what](now_ms)
        due_ms = manager.phase.due_ms
        assert due_ms is None or due_ms > now_ms
        if manager.transitioning:
            assert slots.sufficient()
            assert now_ms - last_ms >= timing.cooldown_ms
            last_ms = now_ms
            manager.begin(now_ms)


@given(timings, steps, st.integers(0, 30), st.integers(2, 6).filter(lambda count: count != 3))
def test_resources_that_stay_sufficient_always_lead_to_a_transition(
    timing: Timing, history: list[tuple[int, str, int]], pause_ms: int, count: int
) -> None:
    manager, slots = machine(timing, Slots(least=2, most=4, runs_on=3))
    now_ms = 0
    for before_ms, what, some in history:
        now_ms += before_ms
        slots.slots = some if what == "c" else slots.slots
        {"c": manager.on_change, "t": manager.on_trigger, ".": manager.on_time}[what](now_ms)
        if manager.transitioning:
            manager.begin(now_ms)
    slots.slots = count
    since_ms = now_ms + pause_ms
    end_ms = since_ms + timing.cooldown_ms + timing.stabilization_ms + (timing.max_delay_ms or 0)
    manager.on_change(since_ms)
    for at_ms in range(since_ms, end_ms + 1):
        manager.on_time(at_ms)
    if timing.max_delay_ms is None:
        manager.on_trigger(end_ms)
    assert manager.transitioning


def test_no_cooldown_follows_a_transition_that_is_dropped() -> None:
    manager, slots = machine(Timing(cooldown_ms=30 * S, max_delay_ms=None))
    slots.slots = 4
    manager.on_change(40 * S)
    manager.on_trigger(41 * S)
    assert manager.transitioning
    manager.drop(41 * S)
    assert phase_of(manager) == Idling()
    manager.on_change(42 * S)
    manager.on_trigger(42 * S)
    assert manager.transitioning
