"""Seed 000's rule, boundary by boundary."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.taskworld import TaskWorld
from yarnspec.core.detectors.baseline import needed
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.observations import Failure, State


def world(**changes: float) -> TaskWorld:
    return TaskWorld(DetectorSettings(kind="execution-time", **{"baseline_lower_bound_ms": 0, **changes}))


def finished(world: TaskWorld, *took_ms: int, tasks: int, at: int = 0) -> None:
    """A stage whose first tasks are launched at once and take so long."""
    world.stage(tasks)
    for index, each in enumerate(took_ms):
        world.end(world.launch(index, "h1", at), at + each)


@pytest.mark.parametrize(
    ("tasks", "ratio", "expected"),
    [(1, 0.75, 1), (2, 0.75, 2), (3, 0.75, 3), (4, 0.75, 3), (5, 0.75, 4), (8, 0.75, 6), (10, 0.75, 8), (30, 0.1, 3),
     (7, 1.0, 7), (7, 0.0, 0), (0, 0.75, 0)],
)  # fmt: skip
def test_the_share_that_must_have_finished_is_rounded_up(tasks: int, ratio: float, expected: int) -> None:
    assert needed(tasks, ratio) == expected


@given(st.integers(1, 100_000), st.floats(0, 1))
def test_no_baseline_with_fewer_than_the_share(tasks: int, ratio: float) -> None:
    count = needed(tasks, ratio)
    assert 0 <= count <= tasks
    assert count >= tasks * ratio - 1e-6
    assert count < tasks * ratio + 1


def test_nobody_is_slow_before_the_share_has_finished() -> None:
    few = world()
    finished(few, 1000, 1000, 1000, 1000, 1000, tasks=8)
    few.launch(6, "h2")
    assert few.judge(1_000_000) == []

    enough = world()
    finished(enough, 1000, 1000, 1000, 1000, 1000, 1000, tasks=8)
    enough.launch(6, "h2")
    assert enough.slow_tasks(1_000_000) == [6]


def test_slow_begins_at_the_baseline_itself() -> None:
    those = world()
    finished(those, 1000, 2000, 2000, 2000, 2000, 3000, tasks=8)
    those.launch(6, "h2", 500)
    assert those.judge(3499) == []
    (verdict,) = those.judge(3500)
    assert verdict.elapsed_ms == 3000
    assert verdict.numbers == {"tasks": 8, "finished": 6, "needed": 6, "median_ms": 2000, "baseline_ms": 3000}
    assert "3.0 s" in verdict.reason
    assert "2.0 s" in verdict.reason


def test_the_tasks_of_a_stage_that_is_forgotten_are_not_kept() -> None:
    """Ten stages of 100,000 tasks would not fit the negotiator's memory."""
    those = world()
    finished(those, 1000, 1000, 1000, 1000, 1000, 1000, tasks=8)
    those.launch(6, "h2")
    assert those.slow_tasks(1_000_000) == [6]
    left = [weakref.ref(stage) for stage in those.table.stages.values()]
    assert len(left) == 1
    those.speeds.context_over()
    those.table.forget()
    gc.collect()
    assert [one() for one in left] == [None]


def test_the_median_of_an_even_number_lies_between_the_middle_two() -> None:
    those = world()
    finished(those, 1000, 1000, 1000, 2000, 2000, 2000, tasks=8)
    those.launch(6, "h2")
    assert those.judge(2249) == []
    assert those.slow_tasks(2250) == [6]


def test_the_lower_bound_holds_where_it_is_larger() -> None:
    those = world(baseline_lower_bound_ms=60_000)
    finished(those, *[1000] * 6, tasks=8)
    those.launch(6, "h2")
    assert those.judge(59_999) == []
    assert those.slow_tasks(60_000) == [6]


def test_only_those_count_that_finished_first_by_the_time_of_their_end() -> None:
    """Eight of ten have finished, six count by R; the two slow ones ended last, but were heard of first."""
    those = world(baseline_ratio=0.6)
    those.stage(10)
    late = [those.launch(index, "h1") for index in (8, 9)]
    for task in late:
        those.end(task, 9000)
    for index in range(6):
        those.end(those.launch(index, "h1"), 1000 + index)
    those.launch(6, "h2")
    assert those.slow_tasks(1504) == [6]


def test_a_later_finisher_does_not_move_the_baseline() -> None:
    those = world(baseline_ratio=0.5)
    finished(those, 1000, 1000, tasks=4)
    those.launch(2, "h2")
    slow = those.launch(3, "h2")
    assert those.slow_tasks(1500) == [2, 3]
    those.end(slow, 50_000)
    assert those.judge(50_000)[0].numbers["median_ms"] == 1000


def test_an_earlier_end_that_is_heard_of_late_does() -> None:
    those = world(baseline_ratio=0.5)
    finished(those, 4000, 4000, tasks=4)
    quick = those.launch(2, "h1")
    those.launch(3, "h2")
    assert those.judge(5999) == []
    those.end(quick, 1000)
    (verdict,) = those.judge(5999)
    assert verdict.numbers["median_ms"] == 2500


def test_a_lost_success_takes_the_baseline_back() -> None:
    those = world()
    finished(those, 1000, 1000, tasks=4)
    lost = those.launch(2, "h1")
    those.end(lost, 1000)
    those.launch(3, "h2")
    assert those.slow_tasks(2000) == [3]
    those.end(lost, 2500, State.FAILED, Failure.EXECUTOR_LOST)
    assert those.judge(3000) == []
    assert "2 have" in those.detector.explain(those.running(), 3, 0).text


def test_fewer_count_once_an_older_attempt_of_the_stage_has_ended_tasks() -> None:
    those = world()
    finished(those, 1000, 1000, 1000, 1000, 2000, 3000, 3000, 3000, tasks=10)
    those.launch(8, "h2")
    assert those.judge(9000)[0].numbers["median_ms"] == 1500
    those.running().ended_by_older(np.array([9]))
    numbers = those.judge(9000)[0].numbers
    assert (numbers["needed"], numbers["median_ms"]) == (7, 1000)


def test_time_counts_from_the_launch_of_the_attempt_that_finished() -> None:
    """The task's first attempt failed after a long time; its second one took 1 s."""
    those = world(baseline_ratio=0.5)
    those.stage(2)
    those.end(those.launch(0, "h1"), 60_000, State.FAILED, Failure.EXCEPTION)
    those.end(those.launch(0, "h1", 60_000), 61_000)
    those.launch(1, "h2", 60_000)
    assert those.judge(61_499) == []
    assert those.slow_tasks(61_500) == [1]


def test_attempts_of_finished_tasks_are_not_judged() -> None:
    those = world()
    finished(those, 1000, 1000, 1000, tasks=4)
    original = those.launch(3, "h2")
    copy = those.launch(3, "h3", 2000, copy=True)
    assert [each.task_id for each in those.judge(6000)] == [original.task_id, copy.task_id]
    those.end(copy, 6100)
    assert those.judge(7000) == []


def test_the_worst_come_first_and_those_with_a_copy_last() -> None:
    those = world()
    finished(those, *[100] * 9, tasks=12)
    for index, at in ((9, 300), (10, 200), (11, 100)):
        those.launch(index, "h2", at)
    those.launch(11, "h3", 900, copy=True)
    assert those.slow_tasks(1000) == [10, 9, 11]


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_small_stages_are_never_judged_by_the_default_ratio(tasks: int) -> None:
    those = world()
    finished(those, *[10] * (tasks - 1), tasks=tasks)
    those.launch(tasks - 1, "h2")
    assert those.judge(10_000_000) == []


def test_with_a_ratio_of_zero_the_lower_bound_alone_is_the_baseline() -> None:
    those = world(baseline_ratio=0.0, baseline_lower_bound_ms=5000)
    those.stage(3)
    those.launch(0, "h1")
    assert those.judge(4999) == []
    assert those.slow_tasks(5000) == [0]


def test_an_explanation_has_the_numbers_of_a_task_that_is_not_slow() -> None:
    those = world()
    finished(those, 2000, 2000, 2000, tasks=4)
    those.launch(3, "h2")
    those.observe()
    explained = those.detector.explain(those.running(), 3, those.running().started_ms + 2500)
    assert not explained.slow
    assert explained.numbers["baseline_ms"] == 3000
    assert "2.5 s on h2" in explained.text
    assert "3.0 s" in explained.text
    assert those.detector.threshold_ms(those.running(), 0) == 3000
    assert those.detector.min_finished(those.running()) == 3


@given(st.lists(st.integers(1, 10_000), min_size=3, max_size=30), st.integers(0, 20_000))
def test_slow_is_what_the_seed_says(took_ms: list[int], elapsed_ms: int) -> None:
    """Against the rule written down plainly."""
    tasks = len(took_ms) + 1
    those = world()
    finished(those, *took_ms, tasks=tasks)
    those.launch(tasks - 1, "h2")
    first = sorted(took_ms)[: needed(tasks, 0.75)]
    middle = sorted(first)[(len(first) - 1) // 2] + sorted(first)[len(first) // 2]
    expected = len(took_ms) >= tasks * 0.75 and elapsed_ms >= middle / 2 * 1.5
    assert bool(those.judge(elapsed_ms)) == expected
