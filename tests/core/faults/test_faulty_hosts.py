"""Faulty hosts: tasks fail there and succeed elsewhere."""

from __future__ import annotations

import pytest

from tests.core.stragglers import H2, H3, H4, Stragglers, fails_on_h3, others_end_well
from tests.core.world import of, only
from yarnspec.core.messages.commands import (
    BlockExecutor,
    BlockHost,
    Command,
    RefuseBlock,
    UnblockExecutor,
    UnblockHost,
    UpdateTaskBlocks,
)
from yarnspec.core.messages.events import UnblockRequested
from yarnspec.core.messages.observations import Failure, State


def wide(commands: list[Command]) -> list[BlockHost]:
    """The hosts that were blocked for the application."""
    return [one for one in of(BlockHost, commands) if one.level == "application"]


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
