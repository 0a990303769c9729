"""Why slow tasks were not copied, for the event log: what is told, how often, and of which tasks not."""

from __future__ import annotations

import pytest

from tests.core.stragglers import NO_FLAGS, Stragglers
from tests.core.world import names, of, only
from yarnspec.core.copies import speculation
from yarnspec.core.copies.notes import topic_of
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import Command, JudgeTasks, LaunchCopy, WithholdCopies
from yarnspec.core.messages.observations import Failure, StageFlag, State


def with_slow_tasks(slow: int = 1, flags: StageFlag = NO_FLAGS, **changes: object) -> tuple[Stragglers, list[int]]:
    """Eight tasks on four hosts, of which the first so many go on when the others have ended after a second."""
    world = Stragglers(**changes)  # type: ignore[arg-type]
    tasks = world.fill(0, 8, flags)
    world.pass_ms(900)
    for task_id in tasks[slow:]:
        world.end(task_id)
    return world, tasks


def told(answer: list[Command]) -> list[tuple[tuple[int, ...], str]]:
    return [(one.indexes, one.reason) for one in of(WithholdCopies, answer)]


def test_why_a_slow_task_is_not_copied_is_told_once_with_its_verdict() -> None:
    world, _ = with_slow_tasks(flags=StageFlag.WRITES)
    answer = world.pass_ms(10_000)
    reason = only(WithholdCopies, answer)
    assert (reason.stage, reason.stage_attempt, reason.indexes) == (0, 0, (0,))
    assert "its stage writes by itself" in reason.reason
    order = names(answer)
    assert order.index("WithholdCopies") == order.index("JudgeTasks") + 1


def test_tasks_of_a_stage_with_the_same_reason_share_a_record() -> None:
    world, _ = with_slow_tasks(4, flags=StageFlag.WRITES)
    ((indexes, _),) = told(world.pass_ms(10_000))
    assert indexes == (0, 1, 2, 3)


def test_a_limit_is_told_with_its_numbers_of_the_tasks_that_it_holds_back_alone() -> None:
    world, _ = with_slow_tasks(4, speculation={"min_copies": 1})
    answer = world.pass_ms(10_000)
    copied = {one.index for one in of(LaunchCopy, answer)}
    assert len(copied) == 2
    ((indexes, reason),) = told(answer)
    assert set(indexes) == {0, 1, 2, 3} - copied
    assert reason.startswith("2 copies are live in its stage, and 2 may be (")


def test_other_numbers_are_no_other_reason() -> None:
    shares = {"min_copies": 1, "max_share_of_stage": 0.5, "max_share_of_application": 1.0}
    world, tasks = with_slow_tasks(4, speculation=shares)
    first = world.pass_ms(1_500)
    ((_, reason),) = told(first)
    assert "of the 4 tasks that run now" in reason
    ended, _ = (one.index for one in of(LaunchCopy, first))
    world.end(tasks[ended])
    after = world.pass_ms(10_000)
    assert told(after) == []
    (left,) = {0, 1, 2, 3} - {one.index for one in of(LaunchCopy, [*first, *after])}
    explanation = world.negotiator.explain_task(0, left, world.now_ms)
    assert explanation is not None
    (noted,) = [line for line in explanation.lines if line.startswith("slow, and not copied")]
    assert "of the 3 tasks that run now" in noted  # one note, brought up to date


def test_another_reason_is_told_as_well_and_one_that_comes_back_is_not() -> None:
    world, _ = with_slow_tasks(flags=StageFlag.BARRIER)
    assert len(told(world.pass_ms(3_000))) == 1
    stage = world.negotiator._speculation.table.stages[0, 0]
    reasons = []
    for flags in (StageFlag.STREAM, StageFlag.BARRIER, StageFlag.STREAM):
        stage.flags = flags
        reasons += [reason for _, reason in told(world.pass_ms(3_000))]
    assert reasons == ["its stage belongs to a stream"]


def test_each_attempt_of_a_stage_is_told_anew() -> None:
    world, tasks = with_slow_tasks(flags=StageFlag.WRITES)
    assert len(told(world.pass_ms(3_000))) == 1
    world.end(tasks[0], State.KILLED)
    world.stage_ends(0, State.FAILED)
    world.stage(0, 8, StageFlag.WRITES, stage_attempt=1)
    again = [world.launch(0, index, str(index % 4 + 1), stage_attempt=1) for index in range(8)]
    world.pass_ms(900)
    for task_id in again[1:]:
        world.end(task_id)
    assert only(WithholdCopies, world.pass_ms(3_000)).stage_attempt == 1


def test_nothing_is_told_of_a_task_while_a_copy_of_it_waits_rests_or_runs() -> None:
    world, _ = with_slow_tasks()
    answer = world.pass_ms(3_000)
    assert of(LaunchCopy, answer)
    answer += world.tell(ev.CopyRefused(stage=0, stage_attempt=0, index=0, why="no"))
    answer += world.pass_ms(3_000)
    world.launch(0, 0, "2", copy=True)
    answer += world.pass_ms(3_000)
    assert told(answer) == []


def test_that_a_task_was_copied_too_often_is_told() -> None:
    world, _ = with_slow_tasks(speculation={"max_copies_of_task": 1})
    world.pass_ms(3_000)
    copy = world.launch(0, 0, "2", copy=True)
    world.end(copy, State.FAILED, Failure.EXCEPTION)
    ((indexes, reason),) = told(world.pass_ms(3_000))
    assert (indexes, reason) == ((0,), "it was copied 1 times, which is the limit for one task")


def test_reasons_come_with_their_verdicts_as_many_as_are_told_in_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "_AT_ONCE", 3)
    world, _ = with_slow_tasks(4, flags=StageFlag.WRITES)
    answer = world.pass_ms(10_000)
    verdicts = [[one.index for one in each.verdicts] for each in of(JudgeTasks, answer)]
    assert [len(each) for each in verdicts] == [3, 1]
    assert [list(indexes) for indexes, _ in told(answer)] == [sorted(each) for each in verdicts]


def test_a_reason_without_its_numbers() -> None:
    assert topic_of("12 tasks of its stage wait") == topic_of("9 tasks of its stage wait")
    assert topic_of("(0.3 of the 12 tasks)") == topic_of("(0.25 of the 9 tasks)")
    assert topic_of("12 copies are live in its stage") != topic_of("12 copies are live in the application")
