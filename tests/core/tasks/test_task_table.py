"""The table of task attempts, with rows in the order of a well-behaved feed and in surprising ones."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.taskworld import T0, TaskWorld
from yarnspec.core.copies.stagemetrics import spans
from yarnspec.core.messages.observations import (
    COLUMNS,
    Failure,
    Observations,
    ObservationsBuilder,
    RowKind,
    StageFlag,
    State,
)
from yarnspec.core.tasks.task_table import Happened, TaskTable


def test_a_stage_and_its_attempts() -> None:
    those = TaskWorld()
    those.stage(3, flags=StageFlag.MAP)
    first = those.launch(0, "h1", 10, input_bytes=7)
    those.launch(1, "h2", 20)
    happened = those.observe()
    stage = those.running()
    assert happened.stages_started == [stage]
    assert (stage.name, stage.tasks, stage.flags, stage.started_ms) == ("s", 3, StageFlag.MAP, T0)
    assert (stage.running, stage.finished, stage.unlaunched) == (2, 0, 1)
    assert (those.table.running, those.table.running_on("e-h1"), those.table.running_on_host("h2")) == (2, 1, 1)
    assert those.table.running_on("e-h9") == 0

    those.end(first, 500)
    happened = those.observe()
    assert (stage.running, stage.finished, stage.unlaunched) == (1, 1, 1)
    assert happened.attempts_ended == []
    (attempt,) = stage.attempts_of(0)
    assert (attempt.host, attempt.executor_id, attempt.state, attempt.finish_ms) == (
        "h1",
        "e-h1",
        State.SUCCESS,
        T0 + 500,
    )
    assert stage.attempts_of(2) == stage.attempts_of(77) == ()
    assert stage.succeeded_by_executor() == {"e-h1": 1}
    assert stage.succeeded_by_host() == {"h1": 1}


def test_copies_and_the_ends_of_tasks_with_several_attempts_are_told_one_by_one() -> None:
    those = TaskWorld()
    those.stage(2)
    original, other = those.launch(0, "h1"), those.launch(1, "h1")
    those.observe()
    copy = those.launch(0, "h2", 1000, copy=True)
    happened = those.observe()
    assert [each.task_id for _, each in happened.copies_started] == [copy.task_id]
    those.end(copy, 2000)
    those.end(original, 2010, State.KILLED, Failure.KILLED)
    those.end(other, 2020)
    happened = those.observe()
    assert [(each.task_id, each.state) for _, each in happened.attempts_ended] == [
        (copy.task_id, State.SUCCESS),
        (original.task_id, State.KILLED),
    ]
    assert [each.attempt for each in those.running().attempts_of(0)] == [0, 1]


def test_of_two_that_finish_together_one_stands_for_the_task() -> None:
    those = TaskWorld()
    those.stage(1)
    original, copy = those.launch(0, "h1"), those.launch(0, "h2", copy=True)
    those.end(copy, 500)
    those.end(original, 500)
    those.observe()
    assert those.running().finished == 1
    assert len(those.running().succeeded()) == 1


def test_failed_attempts_are_told_one_by_one() -> None:
    those = TaskWorld()
    those.stage(1)
    task = those.launch(0, "h1")
    those.end(task, 5, State.FAILED, Failure.EXCEPTION)
    happened = those.observe()
    ((stage, attempt),) = happened.attempts_ended
    assert (stage.stage, attempt.failure, attempt.task_id) == (0, Failure.EXCEPTION, task.task_id)
    assert stage.unlaunched == 1


def test_a_lost_map_output_makes_its_task_unfinished() -> None:
    those = TaskWorld()
    those.stage(2)
    task = those.launch(0, "h1")
    those.end(task, 500)
    those.observe()
    those.end(task, 900, State.FAILED, Failure.EXECUTOR_LOST)
    ((_, attempt),) = those.observe().attempts_ended
    stage = those.running()
    assert (attempt.state, attempt.failure) == (State.FAILED, Failure.EXECUTOR_LOST)
    assert (stage.finished, stage.running, stage.unlaunched, stage.lost) == (0, 0, 2, 1)
    those.end(those.launch(0, "h2", 1000), 1500)
    those.observe()
    assert stage.finished == 1


def test_a_success_and_its_loss_in_one_batch() -> None:
    those = TaskWorld()
    those.stage(1)
    task = those.launch(0, "h1")
    those.end(task, 500)
    those.end(task, 900, State.FAILED, Failure.EXECUTOR_LOST)
    happened = those.observe()
    assert [each.state for _, each in happened.attempts_ended] == [State.FAILED]
    assert (those.running().finished, those.table.running) == (0, 0)


def test_a_task_before_its_stage() -> None:
    those = TaskWorld()
    those.launch(0, "h1", 50)
    assert len(those.observe().stages_started) == 1
    stage = those.running()
    assert (stage.tasks, stage.running) == (0, 1)
    those.stage(4, at=40)
    assert those.observe().stages_started == []
    assert (stage.tasks, stage.unlaunched, stage.started_ms) == (4, 3, T0 + 40)


def test_an_end_before_its_start() -> None:
    those = TaskWorld()
    those.stage(1)
    task = those.launch(0, "h1", 50, input_bytes=9)
    start = those.rows.take()
    those.end(task, 500)
    end = those.rows.take()
    those.tell(end)
    those.tell(start)
    (attempt,) = those.running().attempts_of(0)
    assert (attempt.state, attempt.launch_ms, attempt.host) == (State.SUCCESS, T0 + 50, "h1")
    assert (those.table.running, those.running().finished) == (0, 1)


def test_what_comes_twice_counts_once() -> None:
    those = TaskWorld()
    those.stage(2)
    task = those.launch(0, "h1")
    those.end(task, 100)
    batch = those.rows.take()
    those.tell(batch)
    again = those.tell(batch)
    assert again == Happened()
    assert (those.running().finished, those.table.running, len(those.running().attempts_of(0))) == (1, 0, 1)


def test_counters_after_the_end_and_old_ones_say_nothing() -> None:
    those = TaskWorld()
    those.stage(2)
    ended, running = those.launch(0, "h1"), those.launch(1, "h1")
    those.end(ended, 100, bytes_read=1000)
    those.count(running, 300, 50)
    those.observe()
    those.count(ended, 200, 7)
    those.count(running, 250, 20)
    those.observe()
    rows = those.running().rows
    assert rows["bytes_read"].tolist() == [1000, 50]


def test_attempts_that_outlive_their_stage_hold_their_slots() -> None:
    those = TaskWorld()
    those.stage(1)
    original, copy = those.launch(0, "h1"), those.launch(0, "h2", copy=True)
    those.end(copy, 500)
    those.end_stage(510)
    ((stage, state),) = those.observe().stages_ended
    assert (state, stage.ended, those.table.stages) == (State.SUCCESS, State.SUCCESS, {})
    assert those.table.running_on("e-h1") == those.table.running == 1
    those.end(original, 2500, State.KILLED, Failure.KILLED)
    ((_, attempt),) = those.observe().attempts_ended
    assert attempt.state is State.KILLED
    assert those.table.running == those.table.running_on("e-h1") == 0


def test_after_the_end_of_a_stage_nothing_brings_it_back() -> None:
    those = TaskWorld()
    those.stage(2)
    those.end_stage(100, state=State.FAILED)
    those.observe()
    those.stage(2)
    those.end(those.launch(0, "h1"), 200)
    happened = those.observe()
    assert (happened, those.table.stages) == (Happened(), {})


def test_an_executor_that_is_gone_takes_along_what_outlived_its_stage() -> None:
    those = TaskWorld()
    those.stage(1)
    those.launch(0, "h1")
    those.end(those.launch(0, "h2", copy=True), 500)
    those.end_stage(510)
    those.observe()
    those.table.forget_executor("e-h1")
    assert those.table.running == those.table.running_on("e-h1") == 0


def test_a_new_context_begins_with_nothing() -> None:
    those = TaskWorld()
    those.stage(1)
    those.launch(0, "h1")
    those.end_stage(5)
    those.observe()
    those.table.forget()
    assert (those.table.running, those.table.running_on("e-h1")) == (0, 0)
    those.stage(1)
    assert len(those.observe().stages_started) == 1


def test_rows_that_cannot_be_are_left_out() -> None:
    those = TaskWorld()
    those.stage(2)
    for index, task_id in ((5, 1), (-1, 2), (0, -1)):
        those.rows.add(RowKind.TASK_STARTED, stage=0, stage_attempt=0, time_ms=T0, index=index, task_id=task_id)
    those.rows.add(RowKind.TASK_ENDED, stage=-1, stage_attempt=0, time_ms=T0, index=0, task_id=1, state=1)
    those.rows.add(RowKind.TASK_COUNTERS, stage=0, stage_attempt=0, time_ms=T0, task_id=99, bytes_read=5)
    those.observe()
    assert (those.table.running, list(those.table.stages)) == (0, [(0, 0)])


def test_an_empty_batch_is_nothing() -> None:
    assert TaskTable().observe(ObservationsBuilder().take()) == Happened()


def test_attempts_of_a_stage_s_attempts_are_kept_apart() -> None:
    those = TaskWorld()
    for attempt in (0, 1):
        those.rows.add(RowKind.STAGE_STARTED, stage=4, stage_attempt=attempt, time_ms=T0, tasks=2, profile=attempt)
        those.rows.add(
            RowKind.TASK_STARTED, stage=4, stage_attempt=attempt, time_ms=T0, index=0, task_id=attempt, launch_ms=T0
        )
    those.observe()
    assert [(each.running, each.profile) for each in those.table.stages.values()] == [(1, 0), (1, 1)]


def test_the_longest_originals() -> None:
    those = TaskWorld()
    those.stage(5)
    for index, at in enumerate((400, 100, 300, 200)):
        those.launch(index, "h1", at)
    those.end(those.launch(4, "h1", 0), 950)
    those.launch(1, "h2", 50, copy=True)
    those.observe()
    assert spans(those.running(), 3, T0 + 1000) == [(4, 950), (1, 900), (3, 800)]
    assert len(spans(those.running(), 20, T0 + 1000)) == 5


def test_a_builder_refuses_what_is_no_column() -> None:
    with pytest.raises(KeyError, match="no such column: weight"):
        ObservationsBuilder().add(RowKind.TASK_STARTED, weight=3)


# The same table whatever way the rows come.

ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),  # task id
        st.sampled_from(["start", "count", "win", "fail"]),
    ),
    max_size=30,
)


def _rows(script: list[tuple[int, str]]) -> Observations:
    rows = ObservationsBuilder()
    rows.add(RowKind.STAGE_STARTED, stage=0, stage_attempt=0, time_ms=0, tasks=2, flags=0)
    for task_id, what in script:
        common: dict[str, Any] = {
            "stage": 0, "stage_attempt": 0, "time_ms": 10, "task_id": task_id, "index": task_id % 2,
            "attempt": task_id // 2, "launch_ms": 5, "host": f"h{task_id}", "executor": f"e{task_id}",
        }  # fmt: skip
        if what == "start":
            rows.add(RowKind.TASK_STARTED, speculative=task_id // 2, **common)
        elif what == "count":
            rows.add(RowKind.TASK_COUNTERS, bytes_read=3, **common)
        else:
            state = State.SUCCESS if what == "win" else State.FAILED
            rows.add(RowKind.TASK_ENDED, state=state, finish_ms=10, failure=Failure.NONE, **common)
    return rows.take()


def _slices(rows: Observations, cuts: list[int]) -> list[Observations]:
    ends = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    return [
        replace(rows, **{name: getattr(rows, name)[begin:end] for name in COLUMNS}, texts={})
        for begin, end in itertools.pairwise(ends)
    ]


@settings(max_examples=200)
@given(ROWS, st.lists(st.integers(0, 40), max_size=6))
def test_counts_are_right_in_any_order_and_in_any_batches(script: list[tuple[int, str]], cuts: list[int]) -> None:
    table = TaskTable()
    for batch in _slices(_rows(script), cuts):
        table.observe(batch)
    stage = table.stages[0, 0]
    attempts = [each for index in range(2) for each in stage.attempts_of(index)]
    assert len({each.task_id for each in attempts}) == len(attempts)
    running = [each for each in attempts if each.state is State.RUNNING]
    assert stage.running == table.running == len(running)
    for task_id in range(4):
        here = [each for each in running if each.task_id == task_id]
        assert table.running_on(f"e{task_id}") == table.running_on_host(f"h{task_id}") == len(here)
    cared_for = {each.index for each in running} | set(stage.rows["index"][stage.succeeded()].tolist())
    assert stage.unlaunched == 2 - len(cared_for)
    assert stage.finished == len(stage.succeeded()) == len(set(stage.rows["index"][stage.succeeded()].tolist()))
    assert (stage.rows["state"][stage.succeeded()] == State.SUCCESS).all()
    ended = {task_id for task_id, what in script if what in ("win", "fail")}
    assert {each.task_id for each in attempts if each.state is not State.RUNNING} == ended
    started = {task_id for task_id, what in script if what == "start"}
    assert {each.task_id for each in attempts} == ended | started


def test_growing_keeps_what_was_there() -> None:
    those = TaskWorld()
    those.stage(1000)
    tasks = [those.launch(index, f"h{index % 7}", index) for index in range(1000)]
    those.observe()
    for task in tasks[::2]:
        those.end(task, 5000)
    those.observe()
    stage = those.running()
    assert (stage.running, stage.finished) == (500, 500)
    assert np.array_equal(stage.rows["launch_ms"] - T0, np.arange(1000))
    assert sum(those.table.running_on_host(f"h{each}") for each in range(7)) == 500


def test_task_ids_out_of_order_are_found() -> None:
    those = TaskWorld()
    those.stage(4)
    for index, task_id in ((0, 40), (1, 10), (2, 30), (3, 20)):
        those.rows.add(
            RowKind.TASK_STARTED, stage=0, stage_attempt=0, time_ms=T0, index=index, task_id=task_id, launch_ms=T0
        )
    those.observe()
    assert those.running().find(np.array([10, 20, 30, 40, 25])).tolist() == [1, 3, 2, 0, -1]
