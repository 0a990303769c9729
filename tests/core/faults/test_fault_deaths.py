"""Faulty hosts: executors die young there while others live."""

from __future__ import annotations

import pytest

from tests.core.stragglers import H2, H3, H4, Stragglers
from tests.core.world import of, only
from yarnspec.core.containers.deaths import YoungDeath
from yarnspec.core.faults.hostdeaths import HostDeaths
from yarnspec.core.messages.commands import BlockHost, Command, UpdateTaskBlocks
from yarnspec.core.messages.observations import Failure, State


@pytest.fixture
def world() -> Stragglers:
    """The executors of two hosts have lived long enough to be healthy."""
    made = Stragglers(hosts=(H2, H3))
    made.pass_ms(60_000)
    return made


def test_executors_that_die_young_on_a_host_make_it_faulty_while_others_live() -> None:
    world = Stragglers()
    world.pass_ms(60_000)
    answer: list[Command] = []
    for executor_id in ("5", "6"):
        world.tell_target(5)
        world.executor(executor_id, H4)
        answer = world.lose(executor_id, 1, "no such library", host=H4)
        world.pass_ms(60_000)
    # An executor that proved healthy lives on that host: these deaths are not the host's.
    assert of(BlockHost, answer) == []
    world.lose("3", 143, host=H4)
    for executor_id in ("7", "8"):
        world.executor(executor_id, H4)
        answer = world.lose(executor_id, 1, "no such library", host=H4)
    block = only(BlockHost, answer)
    assert (block.host, block.cause) == (H4, "faulty")
    assert "no such library" in block.reason


def crashes_on_h4(world: Stragglers, index: int, executor_id: str) -> list[Command]:
    """A task ends the process of a new executor there; Spark tells of it after YARN does."""
    world.tell_target(3)
    world.pass_ms(30_000)
    world.executor(executor_id, H4)
    task_id = world.launch(0, index, executor_id)
    answer = world.lose(executor_id, 134, "Aborted", host=H4)
    world.end(task_id, State.FAILED, Failure.EXECUTOR_LOST)
    return answer


def test_executors_that_died_with_the_same_task_are_held_against_their_host_when_it_ends_well_elsewhere(
    world: Stragglers,
) -> None:
    world.stage(0, 10)
    assert of(UpdateTaskBlocks, crashes_on_h4(world, 0, "3")) == []
    off = only(UpdateTaskBlocks, crashes_on_h4(world, 0, "4"))
    assert [(one.hosts, one.index) for one in off.stages] == [((H4,), 0)]
    block = only(BlockHost, world.end(world.launch(0, 0, "1")))
    assert (block.host, block.cause) == (H4, "faulty")
    assert "Aborted" in block.reason


def test_a_task_that_takes_each_executor_with_it_blocks_no_host(world: Stragglers) -> None:
    world.stage(0, 10)
    for executor_id in ("3", "4", "5", "6"):
        answer = crashes_on_h4(world, 0, executor_id)
        assert [one.level for one in of(BlockHost, answer) if one.level != "task"] == []


def test_several_tasks_that_take_their_executors_with_them_block_no_host_until_one_ends_well_elsewhere(
    world: Stragglers,
) -> None:
    """Retried tasks run in the executor that has free slots, which is the one that replaces the one that died."""
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4", "5")):
        answer = crashes_on_h4(world, index, executor_id)
        assert [one.level for one in of(BlockHost, answer) if one.level != "task"] == []
    (off,) = of(UpdateTaskBlocks, answer)
    assert [(one.hosts, one.index) for one in off.stages] == [((H4,), index) for index in range(3)]
    # One of them was not the task's fault, and the others are one more.
    assert only(BlockHost, world.end(world.launch(0, 1, "1"))).host == H4


def test_a_task_that_ends_well_explains_no_death_wherever_it_did() -> None:
    """What was retried on the host itself and ended well is no suspect; the tasks of the latest death are the first."""
    deaths = HostDeaths(600_000)
    first, second = {(0, 0, index) for index in range(3)}, {(0, 0, index) for index in range(3, 5)}
    deaths.add(YoungDeath(1_000, "1", H4, 134, "Aborted"), first)
    assert deaths.to_try_elsewhere(H4, 1_000) == []
    deaths.add(YoungDeath(2_000, "2", H4, 134, "Aborted"), second)
    assert deaths.to_try_elsewhere(H4, 2_000) == [*sorted(second), *sorted(first)]
    assert deaths.ended_well((0, 0, 0), H4) == []
    assert deaths.ended_well((0, 0, 1), H2) == [H4]
    assert deaths.count(H4, 2_000) == 1
    assert deaths.ended_well((0, 0, 2), H2) == [H4]
    assert deaths.count(H4, 2_000) == 2
    assert deaths.to_try_elsewhere(H4, 2_000) == []
    assert deaths.count(H4, 601_500) == 1, "the first is older than the window"


def wide_blocks(answer: list[Command]) -> list[str]:
    return [one.host for one in of(BlockHost, answer) if one.level != "task"]


def comes_up_on_h4(world: Stragglers, executor_id: str) -> None:
    world.tell_target(3)
    world.pass_ms(30_000)
    world.executor(executor_id, H4)


@pytest.mark.parametrize("lives_by_then", [False, True])
def test_the_tasks_of_an_attempt_of_a_stage_end_well_with_the_stage(world: Stragglers, lives_by_then: bool) -> None:
    """The dead executor had map outputs: the stage fails, and its next attempt gives other indices to fewer tasks."""
    for attempt, executor_id in enumerate(("3", "4")):
        world.stage(0, 10 - attempt, stage_attempt=attempt)
        comes_up_on_h4(world, executor_id)
        task_id = world.launch(0, attempt, executor_id, stage_attempt=attempt)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []
        world.end(task_id, State.FAILED, Failure.EXECUTOR_LOST)
        world.stage_ends(0, State.FAILED, stage_attempt=attempt)
    world.stage(0, 8, stage_attempt=2)
    if lives_by_then:
        comes_up_on_h4(world, "5")
        world.pass_ms(40_000)
    assert wide_blocks(world.stage_ends(0, stage_attempt=2)) == ([] if lives_by_then else [H4])


def test_a_task_whose_copy_has_won_by_then_explains_no_death(world: Stragglers) -> None:
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4")):
        comes_up_on_h4(world, executor_id)
        world.launch(0, index, executor_id)
        world.end(world.launch(0, index, "1", copy=True))
        answer = world.lose(executor_id, 134, "Aborted", host=H4)
    assert wide_blocks(answer) == [H4]


def test_a_task_that_was_retried_before_yarn_tells_of_the_death_explains_none(world: Stragglers) -> None:
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4")):
        comes_up_on_h4(world, executor_id)
        world.end(world.launch(0, index, executor_id), State.FAILED, Failure.EXECUTOR_LOST)
        world.end(world.launch(0, index, "1"))
        answer = world.lose(executor_id, 134, "Aborted", host=H4)
    assert wide_blocks(answer) == [H4]


def test_long_tasks_that_run_on_elsewhere_explain_no_death(world: Stragglers) -> None:
    """What runs longer elsewhere than it can have run in an executor that died young did not end that one."""
    world.stage(0, 10)
    blocked = []
    for index, executor_id in enumerate(("3", "4", "5")):
        blocked.append(wide_blocks(crashes_on_h4(world, index, executor_id)))
        world.launch(0, index, "1")  # none of them ends
    # At the third death the first retry has run for a minute, and an executor is young for half of that.
    assert blocked == [[], [], [H4]]


def test_the_attempts_that_were_there_before_explain_nothing(world: Stragglers) -> None:
    """Copies of tasks that end their processes, while the originals have not come to that yet on a slow host."""
    world.stage(0, 10)
    for index in range(4):
        world.launch(0, index, "2")
    for index, executor_id in enumerate(("3", "4", "5", "6")):
        comes_up_on_h4(world, executor_id)
        copy = world.launch(0, index, executor_id, copy=True)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []
        world.end(copy, State.FAILED, Failure.EXECUTOR_LOST)


def test_a_task_of_a_stage_that_ended_well_explains_no_death(world: Stragglers) -> None:
    """An attempt of a stage that failed may outlive the one that took its place."""
    for stage, executor_id in enumerate(("3", "4")):
        world.stage(stage, 10)
        comes_up_on_h4(world, executor_id)
        world.launch(stage, 0, executor_id)
        world.stage_ends(stage, State.FAILED)
        world.stage(stage, 10, stage_attempt=1)
        world.stage_ends(stage, stage_attempt=1)
        answer = world.lose(executor_id, 134, "Aborted", host=H4)
    assert wide_blocks(answer) == [H4]


def test_a_stage_that_ended_well_and_runs_again_can_explain_deaths(world: Stragglers) -> None:
    """Its outputs were lost."""
    world.stage(0, 10)
    world.stage_ends(0)
    world.stage(0, 10, stage_attempt=1)
    for index, executor_id in enumerate(("3", "4", "5")):
        comes_up_on_h4(world, executor_id)
        world.launch(0, index, executor_id, stage_attempt=1)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []


def test_a_stage_that_ends_well_on_the_host_itself_says_nothing_against_it(world: Stragglers) -> None:
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4")):
        assert wide_blocks(crashes_on_h4(world, index, executor_id)) == []
    world.stage_ends(0, State.FAILED)
    world.stage(0, 2, stage_attempt=1)
    comes_up_on_h4(world, "5")
    for index in (0, 1):
        world.end(world.launch(0, index, "5", stage_attempt=1))
    assert wide_blocks(world.stage_ends(0, stage_attempt=1)) == []


def test_tasks_of_stages_that_have_ended_can_explain_deaths_too(world: Stragglers) -> None:
    for stage, executor_id in enumerate(("3", "4", "5")):
        world.stage(stage, 4)
        comes_up_on_h4(world, executor_id)
        task_id = world.launch(stage, 0, executor_id)
        world.stage_ends(stage, State.FAILED)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []
        world.end(task_id, State.FAILED, Failure.EXECUTOR_LOST)


def test_a_host_whose_disks_failed_is_faulty_at_once(world: Stragglers) -> None:
    world.tell_target(3)
    world.executor("3", H4)
    assert only(BlockHost, world.lose("3", -101, host=H4)).host == H4


@pytest.mark.parametrize("exit_code", [-103, -104, 52, 137])
def test_deaths_for_want_of_memory_or_with_nobody_healthy_are_not_the_hosts(exit_code: int) -> None:
    world = Stragglers(hosts=(H2, H3))
    world.tell_target(3)
    for executor_id in ("3", "4", "5"):
        world.executor(executor_id, H4)
        assert of(BlockHost, world.lose(executor_id, 1, host=H4)) == []
        world.pass_ms(5_000)
    world.pass_ms(60_000)
    for executor_id in ("6", "7", "8"):
        world.executor(executor_id, H4)
        assert of(BlockHost, world.lose(executor_id, exit_code, host=H4)) == []
        world.pass_ms(60_000)
