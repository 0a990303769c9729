"""What stays to be seen of stages when they have ended, and when their SparkContext has gone."""

from __future__ import annotations

import pytest

from tests.core.stragglers import H2, H3, Stragglers
from tests.core.world import of
from yarnspec.core.detectors import MAX_VERDICTS, protocol
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import JudgeTasks, Summarize
from yarnspec.core.messages.observations import Failure, State


def a_stage_with_a_copy_that_won() -> Stragglers:
    world = Stragglers()
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for index, task_id in enumerate(tasks):
        if index != 1:
            world.end(task_id)
    world.pass_ms(1_100)
    world.end(world.launch(0, 1, "1", copy=True))
    world.stage_ends(0)
    return world


def test_a_stages_numbers_outlive_its_context() -> None:
    world = a_stage_with_a_copy_that_won()
    (before,) = world.negotiator.speculation_view(world.now_ms).stages
    assert (before.finished_executions, before.fastest_copies, before.speculative_executions) == (8, 1, 1)
    assert before.effective_copies == 1
    world.tell(ev.DriverStopping())
    world.tell(ev.DriverFinished(exit_code=0))
    view = world.negotiator.speculation_view(world.now_ms)
    (after,) = view.stages
    assert (after.finished_executions, after.fastest_copies, after.speculative_executions) == (8, 1, 1)
    assert (after.running_copies, after.gained_ms, view.slow_tasks) == (0, before.gained_ms, 0)


def test_no_task_is_slow_any_more_when_its_stage_has_ended() -> None:
    world = Stragglers(speculation={"max_concurrent_executions": 1})
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for task_id in tasks[1:]:
        world.end(task_id)
    world.pass_ms(1_100)
    assert world.negotiator.speculation_view(world.now_ms).stages[0].slow_tasks == 1
    world.end(tasks[0])
    (told,) = of(Summarize, world.stage_ends(0))
    assert "ended with 1 slow tasks" in told.reason
    (stage,) = told.stages
    assert stage.slow_tasks == 0
    assert world.negotiator.speculation_view(world.now_ms).stages == (stage,)


def test_of_a_task_that_was_restarted_the_newest_original_is_shown() -> None:
    world = Stragglers()
    world.stage(0, 4)
    failed = world.launch(0, 0, "1")
    world.pass_ms(1_000)
    world.end(failed, State.FAILED, Failure.EXCEPTION)
    again = world.launch(0, 0, "2")
    world.pass_ms(300)
    (stage,) = world.negotiator.speculation_view(world.now_ms).stages
    assert stage.running_ms_by_index == {0: 300}
    world.pass_ms(99_700)
    (stage,) = world.negotiator.speculation_view(world.now_ms).stages
    assert stage.running_ms_by_index == {0: 100_000}
    world.end(again)
    world.pass_ms(1_000)
    (stage,) = world.negotiator.speculation_view(world.now_ms).stages
    assert stage.running_ms_by_index == {0: 100_000}


def test_a_stage_of_the_next_context_takes_the_place_of_the_one_of_its_number() -> None:
    world = a_stage_with_a_copy_that_won()
    world.tell(ev.DriverStopping())
    world.driver_ready()
    world.fill(0, 4)
    (now,) = world.negotiator.speculation_view(world.now_ms).stages
    assert (now.state, now.tasks, now.finished_executions, now.speculative_executions) == ("RUNNING", 4, 0, 0)


def test_all_slow_tasks_count_though_a_pass_tells_of_some_only() -> None:
    slow = 2 * MAX_VERDICTS
    world = Stragglers(hosts=(H2, H3), slots=slow, speculation={"min_copies": 1, "max_share_of_stage": 0.0})
    tasks = world.fill(0, 2 * slow)
    world.pass_ms(900)
    for task_id in tasks[::2]:
        world.end(task_id)
    answer = world.pass_ms(600)
    view = world.negotiator.speculation_view(world.now_ms)
    assert (view.slow_tasks, view.stages[0].slow_tasks) == (slow, slow)
    told = [one for judged in of(JudgeTasks, answer) for one in judged.verdicts]
    assert len({one.task_id for one in told}) == len(told) <= MAX_VERDICTS
    for _ in range(10):
        told += [one for judged in of(JudgeTasks, world.pass_ms(500)) for one in judged.verdicts]
    assert len({one.task_id for one in told}) == len(told) == MAX_VERDICTS


def test_that_more_become_slow_when_the_worst_have_been_told_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_VERDICTS", 1)
    world = Stragglers(hosts=(H2, H3), slots=8, speculation={"min_copies": 1, "max_share_of_stage": 0.0})
    world.stage(0, 12)
    quick = [world.launch(0, index, "1") for index in range(9)]
    world.launch(0, 9, "2")
    world.pass_ms(900)
    later = [world.launch(0, index, "2") for index in (10, 11)]
    for task_id in quick:
        world.end(task_id)
    world.pass_ms(5_000)
    told = [(len(one.verdicts), one.untold) for one in of(JudgeTasks, world.commands)]
    assert told == [(1, 0), (0, 2)]
    for task_id in later:
        world.end(task_id)
    world.pass_ms(1_000)
    assert [(len(one.verdicts), one.untold) for one in of(JudgeTasks, world.commands)] == [*told, (0, 0)]
