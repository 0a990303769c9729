"""Whether a task is copied again: after copies that never started, and after one that was denied its commit."""

from __future__ import annotations

import itertools

import pytest

from tests.core.stragglers import Stragglers
from tests.core.world import of, only
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import KillAttempt, LaunchCopy
from yarnspec.core.messages.observations import Failure, StageFlag, State


def slow_task(**changes: object) -> tuple[Stragglers, int, LaunchCopy]:
    """Four tasks, of which the last one is slow; its id, and the copy that is asked for."""
    world = Stragglers(**changes)  # type: ignore[arg-type]
    tasks = world.fill(0, 4)
    world.pass_ms(500)
    for task_id in tasks[:3]:
        world.end(task_id)
    return world, tasks[3], only(LaunchCopy, world.pass_ms(3_000))


def executor_for(world: Stragglers, copy: LaunchCopy) -> str:
    return next(one for one, host in world.where.items() if host not in copy.not_hosts)


def refuse(world: Stragglers) -> None:
    world.tell(ev.CopyRefused(stage=0, stage_attempt=0, index=3, why="the driver could not be told"))


def test_copies_that_never_started_are_none_of_the_tasks_copies() -> None:
    world, _, copy = slow_task(speculation={"max_copies_of_task": 2})
    for _ in range(5):
        refuse(world)
        copy = only(LaunchCopy, world.pass_ms(60_000))
    ledger = world.negotiator.speculation_view(world.now_ms).ledger
    assert (ledger.copies_asked, ledger.copies_launched, ledger.copies_refused) == (6, 0, 5)
    for _ in range(2):
        world.end(world.launch(0, 3, executor_for(world, copy), copy=True), State.FAILED, Failure.COPY_FAILED)
        asked = of(LaunchCopy, world.pass_ms(1_500))
    assert asked == []


def test_a_copy_that_is_refused_again_and_again_is_asked_for_ever_less_often() -> None:
    world, _, _ = slow_task()
    refuse(world)
    asked = []
    for _ in range(600):
        if of(LaunchCopy, world.pass_ms(1_000)):
            asked.append(world.now_ms)
            refuse(world)
    pauses = [after - before for before, after in itertools.pairwise(asked)]
    assert pauses[:4] == sorted(pauses[:4])
    assert set(pauses[8:]) == {60_000}


def test_a_copy_that_was_withdrawn_is_none_of_the_tasks_copies() -> None:
    world, original, _ = slow_task(speculation={"max_copies_of_task": 1})
    world.end(original, State.FAILED, Failure.EXCEPTION)
    world.pass_ms(1_000)
    world.launch(0, 3, "1")
    only(LaunchCopy, world.pass_ms(3_000))


def test_where_another_attempt_commits_no_further_copy_is_started() -> None:
    world, original, copy = slow_task()
    world.end(world.launch(0, 3, executor_for(world, copy), copy=True), State.FAILED, Failure.COMMIT_DENIED)
    assert of(LaunchCopy, world.pass_ms(10_000)) == []
    explanation = world.negotiator.explain_task(0, 3, world.now_ms)
    assert explanation is not None
    assert any("denied its commit" in line for line in explanation.lines)
    # The one that was to commit did not: the task begins again, and may be copied again.
    world.end(original, State.FAILED, Failure.EXCEPTION)
    world.launch(0, 3, "1")
    only(LaunchCopy, world.pass_ms(3_000))


def test_what_was_done_about_another_task_of_the_same_number_is_not_told() -> None:
    world, original, _ = slow_task()
    asked = world.negotiator.explain_task(0, 3, world.now_ms)
    assert asked is not None
    assert any("a copy was asked for" in line for line in asked.lines)
    world.end(original, State.FAILED, Failure.FETCH_FAILED)
    world.stage_ends(0, State.FAILED)
    ended = world.negotiator.explain_task(0, 3, world.now_ms)
    assert ended is not None
    assert any("a copy was asked for" in line for line in ended.lines)
    # Of the next attempt index 3 is whichever of the partitions that are left is the fourth.
    world.stage(0, 4, stage_attempt=1)
    world.launch(0, 3, "2", stage_attempt=1)
    other = world.negotiator.explain_task(0, 3, world.now_ms)
    assert other is not None
    assert not any("a copy was asked for" in line for line in other.lines)


def test_sparks_own_copies_are_left_alone_where_speculation_is_off() -> None:
    world = Stragglers(speculation={"enabled": False})
    tasks = world.fill(0, 4)
    world.launch(0, 3, "1", copy=True)
    assert of(KillAttempt, world.end(tasks[2], State.FAILED, Failure.FETCH_FAILED)) == []


def test_where_the_copy_that_was_to_commit_fails_another_one_is_started() -> None:
    world, _, copy = slow_task(speculation={"max_concurrent_executions": 3})
    commits = world.launch(0, 3, executor_for(world, copy), copy=True)
    other = only(LaunchCopy, world.pass_ms(3_000))
    world.end(world.launch(0, 3, executor_for(world, other), copy=True), State.FAILED, Failure.COMMIT_DENIED)
    assert of(LaunchCopy, world.pass_ms(10_000)) == []
    world.end(commits, State.FAILED, Failure.COPY_FAILED)
    only(LaunchCopy, world.pass_ms(3_000))


@pytest.mark.parametrize("newer", ["runs", "has ended"])
def test_a_lost_output_that_is_there_again_keeps_no_stage_from_copies(newer: str) -> None:
    world = Stragglers()
    world.tell(ev.JobStarted(job=0, stages=(0, 1, 2), parents=((1, (0,)), (2, (0,)))))
    old = world.fill(1, 2)
    world.end(old[0], State.FAILED, Failure.FETCH_FAILED)
    world.stage_ends(1, State.FAILED)
    world.pass_ms(3_000)
    world.stage(1, 2, stage_attempt=1)
    if newer == "has ended":
        for index, executor in enumerate(("1", "2")):
            world.end(world.launch(1, index, executor, stage_attempt=1))
        world.stage_ends(1, stage_attempt=1)
    tasks = world.fill(2, 4)
    world.pass_ms(500)
    # The older attempt has tried for some seconds to fetch what is there again by now.
    world.end(old[1], State.FAILED, Failure.FETCH_FAILED)
    for task_id in tasks[:3]:
        world.end(task_id)
    assert only(LaunchCopy, world.pass_ms(3_000)).stage == 2


def test_what_an_older_attempt_of_the_stage_has_ended_waits_for_no_slot() -> None:
    world = Stragglers(slots=1)
    world.stage(1, 6)
    old = [world.launch(1, index, executor) for index, executor in enumerate(world.where)]
    world.end(old[0], State.FAILED, Failure.FETCH_FAILED)
    world.stage_ends(1, State.FAILED)
    world.pass_ms(1_000)
    world.stage(1, 6, stage_attempt=1)
    world.pass_ms(500)
    for task_id in old[1:]:
        world.end(task_id)
    # Spark launches none of these three in the newer attempt, and says nothing of it.
    tasks = [world.launch(1, index, executor, stage_attempt=1) for index, executor in ((0, "1"), (4, "2"), (5, "3"))]
    world.pass_ms(500)
    for task_id in tasks[:2]:
        world.end(task_id)
    assert only(LaunchCopy, world.pass_ms(3_000)).index == 5


@pytest.mark.parametrize(("flags", "waiting"), [(StageFlag.MAP, 1), (StageFlag.INDETERMINATE, 2)])
def test_a_partition_that_runs_in_both_attempts_is_a_task_less_only_once(flags: StageFlag, waiting: int) -> None:
    """Of five tasks the older attempt ends one that runs in the newer one as well, and one that waits there."""
    world = Stragglers(slots=1)
    world.stage(1, 5, flags)
    old = [world.launch(1, index, executor) for index, executor in enumerate(world.where)]
    world.end(old[0], State.FAILED, Failure.FETCH_FAILED)
    world.stage_ends(1, State.FAILED)
    world.pass_ms(1_000)
    world.stage(1, 5, flags, stage_attempt=1)
    both = world.launch(1, 1, "1", stage_attempt=1)
    world.launch(1, 0, "2", stage_attempt=1)
    world.launch(1, 4, "3", stage_attempt=1)
    world.pass_ms(500)
    for task_id in old[1:3]:
        world.end(task_id)
    stage = world.negotiator._speculation.table.stages[1, 1]
    assert (stage.unlaunched, stage.left) == (waiting, 3 + waiting)
    world.end(both)
    assert (stage.unlaunched, stage.left) == (waiting, 2 + waiting)
