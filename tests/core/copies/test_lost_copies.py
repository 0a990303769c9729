"""Copies of which not everything is heard: their hosts die, or the rows that tell of them are lost."""

from __future__ import annotations

from tests.core.stragglers import H5, Stragglers
from tests.core.world import of, only
from yarnspec.core.messages.commands import LaunchCopy
from yarnspec.core.messages.figures import LedgerFigures
from yarnspec.core.messages.observations import Failure, RowKind, State


def slow_task(world: Stragglers, stage: int) -> tuple[list[int], str]:
    """Four tasks, of which the last one is slow; their ids, and an executor where its copy may start."""
    tasks = world.fill(stage, 4)
    world.pass_ms(500)
    for task_id in tasks[:3]:
        world.end(task_id)
    copy = only(LaunchCopy, world.pass_ms(3_000))
    assert (copy.stage, copy.index) == (stage, 3)
    return tasks, next(one for one, host in world.where.items() if host not in copy.not_hosts)


def ledger(world: Stragglers) -> LedgerFigures:
    return world.negotiator.speculation_view(world.now_ms).ledger


def beaten_copy_dies_with_its_host(world: Stragglers, stage: int) -> None:
    """The original ends the stage, and the host of its copy dies before Spark has ended the copy."""
    tasks, executor_id = slow_task(world, stage)
    copy = world.launch(stage, 3, executor_id, copy=True)
    world.pass_ms(100)
    world.end(tasks[3])
    world.stage_ends(stage)
    world.lose(executor_id, -100, host=world.where[executor_id])
    world.end(copy, State.FAILED, Failure.EXECUTOR_LOST)
    del world.where[executor_id]


def test_a_copy_whose_host_dies_after_its_stage_has_failed() -> None:
    world = Stragglers()
    tasks, executor_id = slow_task(world, 2)
    world.stage(2, 5)
    reader = world.launch(2, 4, "1")
    copy = world.launch(2, 3, executor_id, copy=True)
    world.pass_ms(100)
    world.end(reader, State.FAILED, Failure.FETCH_FAILED)
    world.stage_ends(2, State.FAILED)
    world.pass_ms(5_000)
    world.lose(executor_id, -100, host=world.where[executor_id])
    world.end(copy, State.FAILED, Failure.EXECUTOR_LOST)
    world.end(tasks[3], State.KILLED, Failure.KILLED)
    assert (ledger(world).copies_running, ledger(world).copies_failed) == (0, 1)


def test_copies_that_died_with_their_hosts_take_no_others_place() -> None:
    world = Stragglers()
    beaten_copy_dies_with_its_host(world, 0)
    world.executor("5", H5)
    beaten_copy_dies_with_its_host(world, 1)
    world.executor("6", H5)
    assert (ledger(world).copies_launched, ledger(world).copies_running) == (2, 0)
    slow_task(world, 2)


def test_the_time_of_a_copy_that_died_with_its_host_is_wasted() -> None:
    world = Stragglers()
    tasks, executor_id = slow_task(world, 0)
    copy = world.launch(0, 3, executor_id, copy=True)
    world.pass_ms(700)
    row = {"stage": 0, "stage_attempt": 0, "index": 3, "attempt": 1, "task_id": copy, "run_ms": 700}
    world.rows((RowKind.TASK_COUNTERS, row))
    world.end(tasks[3])
    world.stage_ends(0)
    world.lose(executor_id, -100, host=world.where[executor_id])
    assert (ledger(world).spent_ms, ledger(world).wasted_ms) == (700, 700)


def test_a_copy_whose_start_was_lost_is_known_by_its_end() -> None:
    for state, failure in ((State.SUCCESS, Failure.NONE), (State.KILLED, Failure.KILLED)):
        world = Stragglers()
        tasks, executor_id = slow_task(world, 0)
        host = world.where[executor_id]
        row = {"stage": 0, "stage_attempt": 0, "index": 3, "attempt": 1, "task_id": 900, "speculative": 1, "host": host}
        times = {"launch_ms": world.now_ms - 100, "finish_ms": world.now_ms}
        ends = {**row, **times, "executor": executor_id, "state": int(state), "failure": int(failure)}
        answer = world.rows((RowKind.TASK_ENDED, ends))
        answer += world.end(tasks[3]) + world.pass_ms(1_000)
        won = int(state is State.SUCCESS)
        told = ledger(world)
        assert (told.copies_launched, told.copies_running, told.copies_withdrawn) == (1, 0, 0)
        assert (told.copies_won, told.copies_cancelled, told.spent_ms) == (won, 1 - won, 100)
        assert of(LaunchCopy, answer) == []


def test_a_copy_of_which_alone_something_was_heard() -> None:
    world = Stragglers()
    world.stage(0, 4)
    world.end(world.launch(0, 2, "1", copy=True))
    assert (ledger(world).copies_launched, ledger(world).copies_running, ledger(world).copies_won) == (1, 0, 1)
