"""Blocks of stages, tasks and executors, and those who listen to the blocklist."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from tests.core.world import HOSTS, START_MS, World, names, of, only, settings
from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.blocks import Block
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockExecutor,
    BlockHost,
    RefuseBlock,
    SetTimer,
    UnblockExecutor,
    UnblockHost,
    UpdatePlacement,
    UpdateTaskBlocks,
)
from yarnspec.core.messages.timers import Timers

H2, H3, H4, H5 = HOSTS


def running() -> World:
    world = World(initial_executors=3)
    world.start()
    world.driver_ready()
    world.run("1", host=H2)
    world.run("2", host=H3)
    world.run("3", host=H3)
    return world


def test_a_block_for_a_stage_keeps_tasks_off_and_not_containers() -> None:
    world = running()
    answer = world.block(H3, level="stage", stage=7, duration_ms=60_000)
    assert names(answer) == ["BlockHost", "SetTimer", "UpdateTaskBlocks"]
    stages = only(UpdateTaskBlocks, answer).stages
    assert [(one.stage, one.index, one.hosts) for one in stages] == [(7, None, (H3,))]
    timer = only(SetTimer, answer)
    lifted = only(UnblockHost, world.fire(timer.name, timer.at_ms))
    assert (lifted.host, lifted.level, lifted.stage) == (H3, "stage", 7)


def test_blocks_of_several_levels_hold_beside_each_other() -> None:
    world = running()
    world.block(H3, level="task", stage=7, index=1)
    world.block(H3, level="task", stage=7, index=2)
    world.block(H3, level="stage", stage=7)
    answer = world.block(H3)
    update = only(UpdateTaskBlocks, answer)
    assert update.hosts == (H3,)
    assert [(one.stage, one.index) for one in update.stages] == [(7, None), (7, 1), (7, 2)]
    world.tell(ev.UnblockRequested(host=H3, by="user"))
    assert len(world.view().blocks) == 3
    assert world.view().blocked_hosts == ()


@pytest.mark.parametrize(
    ("fields", "lacks"),
    [({"level": "stage"}, "the stage"), ({"level": "task", "stage": 1}, "index"), ({"level": "cluster"}, "--cluster")],
)
def test_a_request_that_lacks_something_is_refused(fields: dict[str, Any], lacks: str) -> None:
    world = running()
    assert lacks in only(RefuseBlock, world.block(H3, **fields)).reason
    assert lacks in only(RefuseBlock, world.tell(ev.UnblockRequested(host=H3, by="user", **fields))).reason


def test_a_guess_for_a_stage_counts_in_the_share_together_with_wider_blocks() -> None:
    world = running()
    guess = {"automatic": True, "cause": "slow", "by": "detector"}
    world.block(H5)
    assert "for stage 7" in only(RefuseBlock, world.block(H4, level="stage", stage=7, **guess)).reason
    assert of(BlockHost, world.block(H4, level="task", stage=7, index=0, **guess))


def test_a_task_is_never_kept_off_every_host() -> None:
    world = running()
    guess = {"automatic": True, "cause": "slow", "by": "detector", "level": "task", "stage": 7, "index": 0}
    for host in (H2, H3, H4):
        assert of(BlockHost, world.block(host, **guess))
    assert "would be left" in only(RefuseBlock, world.block(H5, **guess)).reason
    # A wider block that takes the last one lifts a guess.
    answer = world.block(H5)
    assert of(BlockHost, answer)
    lifted = only(UnblockHost, answer)
    assert (lifted.level, lifted.stage, lifted.index) == ("task", 7, 0)


def test_one_more_task_is_kept_off_at_the_same_cost_however_many_are_already() -> None:
    """A pass may keep off hundreds of slow tasks: what one costs must not grow with all that there are."""
    known = Hosts()
    known.replace(tuple(ev.HostReport(host=host) for host in HOSTS))
    blocklist = Blocklist(known, Timers(), settings())
    calls = Counter[int]()

    def block(index: int) -> None:
        wish = ev.BlockRequested(
            host=H3, reason="slow", by="d", automatic=True, cause="slow", level="task", stage=7, index=index
        )

        def count(frame: FrameType, event: str, _: object) -> None:
            # What the garbage collector calls meanwhile is not ours.
            if event == "call" and frame.f_globals["__name__"].startswith("yarnspec."):
                calls[index] += 1

        sys.setprofile(count)
        try:
            done = blocklist.request(wish, START_MS)
        finally:
            sys.setprofile(None)
        assert of(BlockHost, done)

    for index in range(300):
        block(index)
    assert calls[299] <= calls[10]


def test_a_stages_block_that_takes_the_last_host_of_its_tasks_ends_their_guesses_and_no_others() -> None:
    world = running()
    for stage in (7, 8):
        for host in (H2, H3, H4):
            guess = {"automatic": True, "cause": "slow", "by": "detector", "level": "task", "stage": stage}
            world.block(host, **guess, index=0)
    answer = world.block(H5, level="stage", stage=7)
    assert {(one.level, one.stage) for one in of(UnblockHost, answer)} == {("task", 7)}


def test_causes_have_durations_of_their_own() -> None:
    world = running()
    slow = only(BlockHost, world.block(H3, automatic=True, cause="slow", level="stage", stage=1))
    faulty = only(BlockHost, world.block(H3, automatic=True, cause="faulty"))
    assert slow.until_ms == world.now_ms + 60_000
    assert faulty.until_ms == world.now_ms + 600_000


def test_an_executor_alone_can_be_blocked() -> None:
    world = running()
    answer = world.block("", executor_id="2", duration_ms=5_000)
    block = only(BlockExecutor, answer)
    assert (block.executor_id, block.host) == ("2", H3)
    assert only(UpdateTaskBlocks, answer).executors == ("2",)
    assert of(UpdatePlacement, answer) == []
    assert only(UnblockExecutor, world.fire(*_timer(answer))).executor_id == "2"


def test_the_last_executor_is_not_blocked_and_guesses_keep_to_the_share() -> None:
    world = running()
    assert of(BlockExecutor, world.block("", executor_id="1"))
    guessed = world.block("", executor_id="2", automatic=True)
    assert "of 3 running executors may be blocked" in only(RefuseBlock, guessed).reason
    assert of(BlockExecutor, world.block("", executor_id="2"))
    assert "would be left" in only(RefuseBlock, world.block("", executor_id="3")).reason
    assert "does not run" in only(RefuseBlock, world.block("", executor_id="99")).reason


def test_an_executors_block_ends_with_it() -> None:
    world = running()
    world.block("", executor_id="2")
    assert only(UnblockExecutor, world.lose("2", 137, host=H3)).executor_id == "2"


class Ears:
    def __init__(self) -> None:
        self.heard: list[tuple[list[str], list[str]]] = []

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        self.heard.append(([block.host for block in added], [block.host for block in lifted]))


def test_a_listener_hears_the_whole_list_first_and_then_each_change() -> None:
    known = Hosts()
    known.replace(tuple(ev.HostReport(host=host) for host in HOSTS))
    blocklist = Blocklist(known, Timers(), settings(blocked_share=1.0))

    def block(host: str, duration_ms: int) -> ev.BlockRequested:
        return ev.BlockRequested(host=host, reason="slow", by="user", duration_ms=duration_ms)

    blocklist.request(block(H3, 1_000), START_MS)
    blocklist.request(block(H2, 1_000), START_MS)
    ears = Ears()
    blocklist.register(ears)
    assert ears.heard == [([H2, H3], [])]
    blocklist.request(block(H4, 1_000), START_MS)
    blocklist.request(block(H4, 5_000), START_MS)
    blocklist.request(block(H4, 2_000), START_MS)
    blocklist.expire(f"block:{H2}", START_MS + 1_000)
    assert ears.heard[1:] == [([H4], []), ([H4], []), ([], [H2])]


def _timer(answer: list[Any]) -> tuple[str, int]:
    timer = only(SetTimer, answer)
    return timer.name, timer.at_ms
