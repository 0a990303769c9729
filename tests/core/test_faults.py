"""Faulty hosts: tasks that fail there and succeed elsewhere, executors that die young there while others live."""

from __future__ import annotations

import pytest

from tests.core.stragglers import H2, H3, H4, Stragglers
from tests.core.world import of, only
from yarnspec.core.commands import (
    BlockExecutor,
    BlockHost,
    Command,
    RefuseBlock,
    UnblockExecutor,
    UnblockHost,
    UpdateTaskBlocks,
)
from yarnspec.core.deaths import YoungDeath
from yarnspec.core.events import UnblockRequested
from yarnspec.core.hostdeaths import HostDeaths
from yarnspec.core.observations import Failure, State


def fails_on_h3(world: Stragglers, index: int, failure: Failure, elsewhere: str = "1", at: str = "2") -> list[Command]:
    world.end(world.launch(0, index, at), State.FAILED, failure)
    return world.end(world.launch(0, index, elsewhere))


def wide(commands: list[Command]) -> list[BlockHost]:
    """The hosts that were blocked for the application."""
    return [one for one in of(BlockHost, commands) if one.level == "application"]


def others_end_well(world: Stragglers, first: int) -> None:
    for index in range(first, first + 20):
        for number, executor_id in enumerate(("1", "3", "4")):
            world.end(world.launch(0, 20 * number + index, executor_id))


@pytest.fixture
def world() -> Stragglers:
    """Three of four hosts have done 20 tasks each."""
    made = Stragglers(blocks={"faulty_duration_ms": 100_000, "faulty_duration_max_ms": 300_000})
    made.stage(0, 1_000)
    others_end_well(made, 900)
    return made


def test_tasks_that_fail_on_a_host_and_succeed_elsewhere_make_it_faulty(world: Stragglers) -> None:
    assert of(BlockHost, fails_on_h3(world, 0, Failure.EXCEPTION)) == []
    assert wide(fails_on_h3(world, 1, Failure.EXCEPTION)) == []
    block = only(BlockHost, fails_on_h3(world, 2, Failure.EXCEPTION))
    assert (block.host, block.cause, block.level, block.until_ms) == (
        H3,
        "faulty",
        "application",
        world.now_ms + 100_000,
    )
    assert "0.0, 0.1, 0.2" in block.reason


@pytest.mark.parametrize(
    "failure",
    [
        Failure.FETCH_FAILED,
        Failure.EXECUTOR_LOST,
        Failure.COMMIT_DENIED,
        Failure.KILLED,
        Failure.OTHER,
        Failure.COPY_FAILED,
    ],
)
def test_what_is_not_the_hosts_fault_never_blocks_it(world: Stragglers, failure: Failure) -> None:
    for index in range(20):
        task = world.launch(0, index, "2")
        assert of(BlockHost, world.end(task, State.FAILED, failure)) == []
        assert of(BlockHost, world.end(world.launch(0, index, "1"))) == []


def test_want_of_memory_keeps_the_task_off_and_is_not_held_against_the_host(world: Stragglers) -> None:
    for index in range(20):
        answer = world.end(world.launch(0, index, "2"), State.FAILED, Failure.OUT_OF_MEMORY)
        assert [(one.level, one.index) for one in of(BlockHost, answer)] == [("task", index)]
        assert of(BlockHost, world.end(world.launch(0, index, "1"))) == []
    assert world.view().blocks == ()


def test_an_original_that_fails_beside_its_copy_says_nothing_of_its_host(world: Stragglers) -> None:
    """The copy may hold what both need."""
    for index in range(20):
        original = world.launch(0, index, "2")
        world.pass_ms(1)
        copy = world.launch(0, index, "1", copy=True)
        world.pass_ms(1)
        world.end(original, State.FAILED, Failure.EXCEPTION)
        assert of(BlockHost, world.end(copy)) == []


def test_data_that_fails_everywhere_blocks_nobody(world: Stragglers) -> None:
    for index in range(20):
        for executor_id in ("1", "2", "3"):
            world.end(world.launch(0, index, executor_id), State.FAILED, Failure.EXCEPTION)
    assert world.view().blocks == ()


@pytest.mark.parametrize("tasks", [2, 8, 60])
def test_bad_data_that_is_all_read_on_one_host_first_blocks_no_host(world: Stragglers, tasks: int) -> None:
    """The tasks are kept off it, one by one; their stage only when they are too many, until some fail elsewhere."""
    for index in range(tasks):
        world.end(world.launch(0, index, "2"), State.FAILED, Failure.EXCEPTION)
        assert ("stage" in {one.level for one in world.view().blocks}) == (index >= 50)
    for index in range(tasks):
        for executor_id in ("1", "3", "4"):
            world.end(world.launch(0, index, executor_id), State.FAILED, Failure.EXCEPTION)
            levels = {one.level for one in world.view().blocks}
            assert not levels & ({"stage", "application"} if index > 1 else {"application"})
    assert world.view().blocks == ()


def test_tasks_that_fail_about_as_often_on_other_hosts_block_nobody(world: Stragglers) -> None:
    for index in range(0, 40, 2):
        world.end(world.launch(0, index, "1"), State.FAILED, Failure.EXCEPTION)
        world.end(world.launch(0, index, "2"))
        fails_on_h3(world, index + 1, Failure.EXCEPTION)
    assert world.view().blocks == ()


def test_a_few_tasks_that_fail_where_most_end_well_are_no_proof(world: Stragglers) -> None:
    """Each ends well elsewhere, for it is kept off; so did those that ended well there."""
    for index in range(100, 120):
        world.end(world.launch(0, index, "2"))
    for index in range(3):
        fails_on_h3(world, index, Failure.EXCEPTION)
    assert {one.level for one in world.view().blocks} <= {"task"}
    explanation = world.negotiator.explain_host(H3, world.now_ms)
    assert explanation is not None
    assert any("3 tasks failed there" in line and "20 tasks ended well there" in line for line in explanation.lines)


def test_what_failed_and_ended_well_before_the_window_does_not_count(world: Stragglers) -> None:
    for index in range(100, 120):
        world.end(world.launch(0, index, "2"))
    world.pass_ms(700_000)
    others_end_well(world, 200)
    for index in range(2):
        assert of(BlockHost, fails_on_h3(world, index, Failure.EXCEPTION)) == []
    assert "0 ended well there" in only(BlockHost, fails_on_h3(world, 2, Failure.EXCEPTION)).reason


def test_failures_of_long_ago_do_not_count(world: Stragglers) -> None:
    for index in (0, 1):
        fails_on_h3(world, index, Failure.EXCEPTION)
    world.pass_ms(700_000)
    for index in (2, 3):
        assert wide(fails_on_h3(world, index, Failure.EXCEPTION)) == []


def test_a_host_that_is_faulty_again_is_blocked_twice_as_long_up_to_the_limit(world: Stragglers) -> None:
    lasted = []
    for turn in range(4):
        others_end_well(world, 100 * turn + 100)
        for index in (0, 1):
            fails_on_h3(world, 3 * turn + index, Failure.EXCEPTION)
        block = of(BlockHost, fails_on_h3(world, 3 * turn + 2, Failure.EXCEPTION))[-1]
        assert block.until_ms is not None
        lasted.append(block.until_ms - world.now_ms)
        world.pass_ms(lasted[-1] + 1_000)
        assert not [one for one in world.view().blocks if one.cause == "faulty"]
    assert lasted == [100_000, 200_000, 300_000, 300_000]


def test_a_host_is_blocked_twice_as_long_though_somebody_blocked_it_in_the_place_of_the_first_time(
    world: Stragglers,
) -> None:
    for index in range(3):
        fails_on_h3(world, index, Failure.EXCEPTION)
    world.block(H3, by="ann", duration_ms=200_000)
    world.pass_ms(201_000)
    assert world.view().blocks == ()
    others_end_well(world, 200)
    for index in (3, 4):
        fails_on_h3(world, index, Failure.EXCEPTION)
    block = of(BlockHost, fails_on_h3(world, 5, Failure.EXCEPTION))[-1]
    assert (block.level, block.until_ms) == ("application", world.now_ms + 200_000)


def test_where_one_executor_of_several_fails_only_that_one_is_blocked(world: Stragglers) -> None:
    world.tell_target(5)
    world.executor("5", H3)
    for index in (0, 1):
        fails_on_h3(world, index, Failure.EXCEPTION)
    answer = fails_on_h3(world, 2, Failure.EXCEPTION)
    block = only(BlockExecutor, answer)
    assert (block.executor_id, block.host, block.cause) == ("2", H3, "faulty")
    assert only(UpdateTaskBlocks, answer).executors == ("2",)
    assert of(BlockHost, answer) == []
    gone = world.lose("2", 1, host=H3)
    assert {(one.executor_id, one.level) for one in of(UnblockExecutor, gone)} == {("2", "stage"), ("2", "application")}
    assert only(UpdateTaskBlocks, gone).executors == ()


def blocked(world: Stragglers) -> set[tuple[str, str, str, int | None, int | None]]:
    return {(one.level, one.host, one.executor_id, one.stage, one.index) for one in world.view().blocks}


def test_a_task_that_failed_is_tried_elsewhere_until_it_succeeds(world: Stragglers) -> None:
    world.tell_target(5)
    world.executor("5", H3)
    block = only(BlockExecutor, world.end(world.launch(0, 7, "2"), State.FAILED, Failure.EXCEPTION))
    assert (block.executor_id, block.cause, block.level, block.stage, block.index) == ("2", "faulty", "task", 0, 7)
    explanation = world.negotiator.explain_task(0, 7, world.now_ms)
    assert explanation is not None
    assert any("kept off executor 2" in line and "failed there" in line for line in explanation.lines)
    # In another executor of the host as well: it is the host that it is kept off.
    assert only(BlockHost, world.end(world.launch(0, 7, "5"), State.FAILED, Failure.EXCEPTION)).level == "task"
    assert blocked(world) == {("task", H3, "2", 0, 7), ("task", H3, "", 0, 7)}
    world.end(world.launch(0, 7, "1"))
    assert blocked(world) == set()


def test_a_task_that_fails_on_two_hosts_is_kept_off_none(world: Stragglers) -> None:
    world.end(world.launch(0, 7, "2"), State.FAILED, Failure.EXCEPTION)
    assert blocked(world) == {("task", H3, "", 0, 7)}
    world.end(world.launch(0, 7, "1"), State.FAILED, Failure.EXCEPTION)
    assert blocked(world) == set()


def test_a_stage_of_which_two_tasks_failed_in_an_executor_and_ended_well_elsewhere_is_kept_off_it(
    world: Stragglers,
) -> None:
    world.tell_target(5)
    world.executor("5", H3)
    for index, elsewhere in ((0, "5"), (1, "1")):
        world.end(world.launch(0, index, "2"), State.FAILED, Failure.EXCEPTION)
        assert {one[0] for one in blocked(world)} == {"task"}
        world.end(world.launch(0, index, elsewhere))
    # The other executor of the same host has run one of them.
    assert blocked(world) == {("stage", H3, "2", 0, None)}
    world.stage_ends(0)
    assert blocked(world) == set()


def test_a_stage_of_which_tasks_failed_in_two_executors_of_a_host_is_kept_off_the_host(world: Stragglers) -> None:
    world.tell_target(5)
    world.executor("5", H3)
    fails_on_h3(world, 0, Failure.EXCEPTION, at="2")
    assert blocked(world) == set()
    fails_on_h3(world, 1, Failure.EXCEPTION, at="5")
    assert blocked(world) == {("stage", H3, "", 0, None)}
    (reason,) = (one.reason for one in world.view().blocks)
    assert "2 tasks of stage 0 failed there and ended well elsewhere: 0.0, 0.1" in reason
    world.stage_ends(0)
    assert blocked(world) == set()


def test_a_task_that_ended_well_in_the_end_after_it_had_failed_on_two_hosts_keeps_its_stage_off_neither(
    world: Stragglers,
) -> None:
    for index in range(4):
        for executor_id in ("2", "3"):
            world.end(world.launch(0, index, executor_id), State.FAILED, Failure.EXCEPTION)
        world.end(world.launch(0, index, "1"))
    assert blocked(world) == set()


def test_two_tasks_that_failed_and_ended_well_elsewhere_may_be_chance_in_a_stage_that_has_just_begun() -> None:
    world = Stragglers()
    world.stage(0, 1_000)
    for index in (0, 1):
        fails_on_h3(world, index, Failure.EXCEPTION)
    assert blocked(world) == set()


def test_a_stage_goes_on_where_only_tasks_of_its_earlier_attempt_failed(world: Stragglers) -> None:
    """In another attempt of the stage a task of the same index is another one."""
    fail_at_once(world, range(1))
    world.stage_ends(0, State.FAILED)
    world.stage(0, 1_000, stage_attempt=1)
    for index in range(100, 160):
        world.end(world.launch(0, index, "134"[index % 3], stage_attempt=1))
    world.end(world.launch(0, 0, "1", stage_attempt=1))
    for index in (1, 2):
        assert blocked(world) == set()
        world.end(world.launch(0, index, "2", stage_attempt=1), State.FAILED, Failure.EXCEPTION)
        world.end(world.launch(0, index, "1", stage_attempt=1))
    assert blocked(world) == {("stage", H3, "", 0, None)}


def fail_at_once(world: Stragglers, tasks: range, executor_id: str = "2") -> None:
    for index in tasks:
        world.end(world.launch(0, index, executor_id), State.FAILED, Failure.EXCEPTION)


def test_a_host_that_fails_tasks_faster_than_they_are_tried_elsewhere_gets_none_twice(world: Stragglers) -> None:
    """All other slots are busy: only so many tasks are kept off one by one."""
    fail_at_once(world, range(50))
    assert {one[0] for one in blocked(world)} == {"task"}
    fail_at_once(world, range(50, 51))
    assert ("stage", H3, "", 0, None) in blocked(world)
    assert any("held back until they were tried elsewhere" in one.reason for one in world.view().blocks)
    # The first ones end well elsewhere: now it is proven, and more and more so.
    for index in range(5):
        world.end(world.launch(0, index, "1"))
    assert {one for one in blocked(world) if one[0] != "task"} == {
        ("stage", H3, "", 0, None),
        ("application", H3, "", None, None),
    }


def test_tasks_that_are_held_back_go_on_when_some_of_them_fail_elsewhere_too(world: Stragglers) -> None:
    """One may have failed there by accident."""
    fail_at_once(world, range(55))
    for index in range(3):
        assert ("stage", H3, "", 0, None) in blocked(world)
        answer = world.end(world.launch(0, index, "1"), State.FAILED, Failure.EXCEPTION)
    lifted = {(one.level, one.index): one.reason for one in of(UnblockHost, answer)}
    assert set(lifted) == {("stage", None), ("task", 2)}
    assert "task 0.2 failed on another host as well" in lifted["stage", None]
    # What is bad is not held back again.
    fail_at_once(world, range(60, 70))
    assert {one[0] for one in blocked(world)} == {"task"}


def test_what_is_proven_holds_when_a_task_fails_on_another_host_as_well(world: Stragglers) -> None:
    fail_at_once(world, range(55))
    for index in range(10):
        world.end(world.launch(0, index, "1"))
    world.end(world.launch(0, 20, "1"), State.FAILED, Failure.EXCEPTION)
    assert ("stage", H3, "", 0, None) in blocked(world)


def test_failures_that_are_spread_over_the_hosts_hold_no_stage_back(world: Stragglers) -> None:
    for index in range(100):
        fail_at_once(world, range(index, index + 1), "1234"[index % 4])
    assert {one[0] for one in blocked(world)} == {"task"}


def test_a_second_host_that_fails_tasks_at_once_is_held_back_as_well() -> None:
    world = Stragglers(blocked_share=0.5)
    world.stage(0, 1_000)
    for index in range(60):
        fail_at_once(world, range(index, index + 1), "23"[index % 2])
    assert {one for one in blocked(world) if one[0] == "stage"} == {
        ("stage", H3, "", 0, None),
        ("stage", H4, "", 0, None),
    }


def test_where_tasks_fail_beside_many_that_end_well_none_is_held_back(world: Stragglers) -> None:
    for index in range(60):
        world.end(world.launch(0, 200 + index, "2"))
    fail_at_once(world, range(55))
    assert {one[0] for one in blocked(world)} == {"task"}


def test_a_stage_is_not_kept_off_where_most_of_its_tasks_end_well(world: Stragglers) -> None:
    for index in range(4):
        world.end(world.launch(0, index, "2"))
        world.end(world.launch(0, 10 + index, "1"))
    for index in (20, 21):
        fails_on_h3(world, index, Failure.EXCEPTION)
    assert world.view().blocks == ()


def test_a_task_that_failed_can_always_run_somewhere(world: Stragglers) -> None:
    world.end(world.launch(0, 7, "2"), State.FAILED, Failure.EXCEPTION)
    for executor_id, host in (("1", H2), ("3", H4)):
        world.lose(executor_id, 143, host=host)
        assert blocked(world) == {("task", H3, "", 0, 7)}
    world.lose("4", 143, host=world.where["4"])
    assert blocked(world) == set()


def test_the_next_faulty_executor_of_a_host_is_blocked_longer(world: Stragglers) -> None:
    world.tell_target(6)
    for executor_id in ("5", "6"):
        world.executor(executor_id, H3)
    lasted = []
    for turn, executor_id in enumerate(("5", "6")):
        for index in (0, 1):
            fails_on_h3(world, 3 * turn + index, Failure.EXCEPTION, at=executor_id)
        block = only(BlockExecutor, fails_on_h3(world, 3 * turn + 2, Failure.EXCEPTION, at=executor_id))
        assert block.until_ms is not None
        lasted.append(block.until_ms - world.now_ms)
        world.lose(executor_id, 1, host=H3)
    assert lasted == [100_000, 200_000]


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


def test_a_task_of_another_attempt_of_the_stage_proves_nothing(world: Stragglers) -> None:
    """After a lost map output the stage runs again with fewer tasks, and their indices are given anew."""
    for index in range(6):
        world.end(world.launch(0, index, "2"), State.FAILED, Failure.EXCEPTION)
    world.stage_ends(0, State.FAILED)
    world.stage(0, 6, stage_attempt=1)
    for index in range(6):
        answer = world.end(world.launch(0, index, "1", stage_attempt=1))
        assert [one for one in of(BlockHost, answer) if one.level == "application"] == []


def test_unblocking_a_host_lifts_what_was_found_faulty_on_it() -> None:
    world = Stragglers()
    world.tell_target(5)
    world.executor("5", H3)
    world.stage(0, 1_000)
    others_end_well(world, 900)
    for index in (0, 1):
        fails_on_h3(world, index, Failure.EXCEPTION)
    only(BlockExecutor, fails_on_h3(world, 2, Failure.EXCEPTION))
    answer = world.tell(UnblockRequested(host=H3, by="ann"))
    assert only(UnblockExecutor, answer).executor_id == "2"
    assert of(RefuseBlock, answer) == []


def crashes_on_h4(world: Stragglers, index: int, executor_id: str) -> list[Command]:
    """A task ends the process of a new executor there; Spark tells of it after YARN does."""
    world.tell_target(3)
    world.pass_ms(30_000)
    world.executor(executor_id, H4)
    task_id = world.launch(0, index, executor_id)
    answer = world.lose(executor_id, 134, "Aborted", host=H4)
    world.end(task_id, State.FAILED, Failure.EXECUTOR_LOST)
    return answer


def test_executors_that_died_with_the_same_task_are_held_against_their_host_when_it_ends_well_elsewhere() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    assert of(UpdateTaskBlocks, crashes_on_h4(world, 0, "3")) == []
    off = only(UpdateTaskBlocks, crashes_on_h4(world, 0, "4"))
    assert [(one.hosts, one.index) for one in off.stages] == [((H4,), 0)]
    block = only(BlockHost, world.end(world.launch(0, 0, "1")))
    assert (block.host, block.cause) == (H4, "faulty")
    assert "Aborted" in block.reason


def test_a_task_that_takes_each_executor_with_it_blocks_no_host() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    for executor_id in ("3", "4", "5", "6"):
        answer = crashes_on_h4(world, 0, executor_id)
        assert [one.level for one in of(BlockHost, answer) if one.level != "task"] == []


def test_several_tasks_that_take_their_executors_with_them_block_no_host_until_one_ends_well_elsewhere() -> None:
    """Retried tasks run in the executor that has free slots, which is the one that replaces the one that died."""
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
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


def wide_blocks(answer: list[Command]) -> list[str]:
    return [one.host for one in of(BlockHost, answer) if one.level != "task"]


def comes_up_on_h4(world: Stragglers, executor_id: str) -> None:
    world.tell_target(3)
    world.pass_ms(30_000)
    world.executor(executor_id, H4)


@pytest.mark.parametrize("lives_by_then", [False, True])
def test_the_tasks_of_an_attempt_of_a_stage_end_well_with_the_stage(lives_by_then: bool) -> None:
    """The dead executor had map outputs: the stage fails, and its next attempt gives other indices to fewer tasks."""
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
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


def test_a_task_whose_copy_has_won_by_then_explains_no_death() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4")):
        comes_up_on_h4(world, executor_id)
        world.launch(0, index, executor_id)
        world.end(world.launch(0, index, "1", copy=True))
        answer = world.lose(executor_id, 134, "Aborted", host=H4)
    assert wide_blocks(answer) == [H4]


def test_a_task_that_was_retried_before_yarn_tells_of_the_death_explains_none() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4")):
        comes_up_on_h4(world, executor_id)
        world.end(world.launch(0, index, executor_id), State.FAILED, Failure.EXECUTOR_LOST)
        world.end(world.launch(0, index, "1"))
        answer = world.lose(executor_id, 134, "Aborted", host=H4)
    assert wide_blocks(answer) == [H4]


def test_long_tasks_that_run_on_elsewhere_explain_no_death() -> None:
    """What runs longer elsewhere than it can have run in an executor that died young did not end that one."""
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    blocked = []
    for index, executor_id in enumerate(("3", "4", "5")):
        blocked.append(wide_blocks(crashes_on_h4(world, index, executor_id)))
        world.launch(0, index, "1")  # none of them ends
    # At the third death the first retry has run for a minute, and an executor is young for half of that.
    assert blocked == [[], [], [H4]]


def test_the_attempts_that_were_there_before_explain_nothing() -> None:
    """Copies of tasks that end their processes, while the originals have not come to that yet on a slow host."""
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    for index in range(4):
        world.launch(0, index, "2")
    for index, executor_id in enumerate(("3", "4", "5", "6")):
        comes_up_on_h4(world, executor_id)
        copy = world.launch(0, index, executor_id, copy=True)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []
        world.end(copy, State.FAILED, Failure.EXECUTOR_LOST)


def test_a_task_of_a_stage_that_ended_well_explains_no_death() -> None:
    """An attempt of a stage that failed may outlive the one that took its place."""
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    for stage, executor_id in enumerate(("3", "4")):
        world.stage(stage, 10)
        comes_up_on_h4(world, executor_id)
        world.launch(stage, 0, executor_id)
        world.stage_ends(stage, State.FAILED)
        world.stage(stage, 10, stage_attempt=1)
        world.stage_ends(stage, stage_attempt=1)
        answer = world.lose(executor_id, 134, "Aborted", host=H4)
    assert wide_blocks(answer) == [H4]


def test_a_stage_that_ended_well_and_runs_again_can_explain_deaths() -> None:
    """Its outputs were lost."""
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    world.stage_ends(0)
    world.stage(0, 10, stage_attempt=1)
    for index, executor_id in enumerate(("3", "4", "5")):
        comes_up_on_h4(world, executor_id)
        world.launch(0, index, executor_id, stage_attempt=1)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []


def test_a_stage_that_ends_well_on_the_host_itself_says_nothing_against_it() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    world.stage(0, 10)
    for index, executor_id in enumerate(("3", "4")):
        assert wide_blocks(crashes_on_h4(world, index, executor_id)) == []
    world.stage_ends(0, State.FAILED)
    world.stage(0, 2, stage_attempt=1)
    comes_up_on_h4(world, "5")
    for index in (0, 1):
        world.end(world.launch(0, index, "5", stage_attempt=1))
    assert wide_blocks(world.stage_ends(0, stage_attempt=1)) == []


def test_tasks_of_stages_that_have_ended_can_explain_deaths_too() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
    for stage, executor_id in enumerate(("3", "4", "5")):
        world.stage(stage, 4)
        comes_up_on_h4(world, executor_id)
        task_id = world.launch(stage, 0, executor_id)
        world.stage_ends(stage, State.FAILED)
        assert wide_blocks(world.lose(executor_id, 134, "Aborted", host=H4)) == []
        world.end(task_id, State.FAILED, Failure.EXECUTOR_LOST)


def test_a_host_whose_disks_failed_is_faulty_at_once() -> None:
    world = Stragglers(hosts=(H2, H3))
    world.pass_ms(60_000)
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
