"""Hosts that nothing blocks by itself: ``blocklist.never_hosts``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.stragglers import H2, H3, Stragglers, fails_on_h3, others_end_well
from tests.core.world import World, of, only
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockExecutor,
    BlockHost,
    Command,
    LaunchCopy,
    RefuseBlock,
    SlowHostNotBlocked,
)
from yarnspec.core.messages.observations import Failure
from yarnspec.core.messages.settings import BlockSettings

NEVER = f"other, {H3} ,"


def slow_stages(world: Stragglers) -> list[Command]:
    """Four stages of eight tasks; those on H3 take nine times as long as the others."""
    answer: list[Command] = []
    for stage in range(4):
        tasks = world.fill(stage, 8)
        answer += world.pass_ms(1_000)
        for index in (0, 2, 3, 4, 6, 7):
            answer += world.end(tasks[index])
        answer += world.pass_ms(9_000)
        for index in (1, 5):
            answer += world.end(tasks[index])
        answer += world.stage_ends(stage)
    return answer


def failing_tasks(world: Stragglers) -> list[Command]:
    """Tasks fail on H3 and end well elsewhere, more than chance explains."""
    world.stage(0, 1_000)
    others_end_well(world, 900)
    answer: list[Command] = []
    for index in range(6):
        answer += fails_on_h3(world, index, Failure.EXCEPTION)
    return answer


def explained(world: World, host: str) -> str:
    found = world.negotiator.explain_host(host, world.now_ms)
    assert found is not None
    return "\n".join(found.lines)


@pytest.mark.parametrize(("happens", "cause"), [(slow_stages, "slow"), (failing_tasks, "faulty")])
def test_what_would_block_another_host_blocks_none_of_these(happens: Any, cause: str) -> None:
    blocked = Stragglers()
    assert H3 in {one.host for one in of(BlockHost, happens(blocked)) if one.cause == cause}

    world = Stragglers(blocks={"never_hosts": NEVER})
    answer = happens(world)
    assert [one for one in answer if isinstance(one, BlockHost | BlockExecutor | RefuseBlock)] == []
    told = only(SlowHostNotBlocked, answer)
    assert (told.host, told.cause) == (H3, cause)
    assert told.reason.endswith("nothing blocks this host by itself (blocklist.never_hosts)")
    assert world.view().blocks == ()
    # Why it is left in use is said for as long as anybody asks.
    assert "nothing blocks this host by itself (blocklist.never_hosts)" in explained(world, H3)
    left = world.negotiator.hosts_left_in_use
    assert left[H3].endswith("; nothing blocks this host by itself (blocklist.never_hosts)")
    assert left["other"] == "nothing blocks this host by itself (blocklist.never_hosts)"
    assert H2 not in left
    assert "never_hosts" not in explained(world, H2)


def test_a_slow_task_there_is_copied_all_the_same() -> None:
    world = Stragglers(blocks={"never_hosts": NEVER})
    (copy,) = of(LaunchCopy, slow_stages(world))[:1]
    assert copy.not_hosts == (H3,)


def test_an_executor_that_tasks_fail_in_is_not_blocked_there() -> None:
    def fail(world: Stragglers) -> list[Command]:
        world.tell_target(5)
        world.executor("5", H3)
        return failing_tasks(world)

    assert of(BlockExecutor, fail(Stragglers()))
    world = Stragglers(blocks={"never_hosts": NEVER})
    assert of(BlockExecutor, fail(world)) == []
    assert world.view().blocks == ()


def test_a_host_of_dying_executors_is_not_blocked() -> None:
    def die(world: Stragglers) -> list[Command]:
        world.pass_ms(60_000)
        world.tell_target(5)
        world.lose("2", 143, host=H3)
        answer: list[Command] = []
        for executor_id in ("5", "6"):
            world.executor(executor_id, H3)
            answer += world.lose(executor_id, 1, "no such library", host=H3)
        return answer

    assert H3 in {one.host for one in of(BlockHost, die(Stragglers()))}
    answer = die(Stragglers(blocks={"never_hosts": NEVER}))
    assert of(BlockHost, answer) == []
    assert only(SlowHostNotBlocked, answer).cause == "faulty"


def test_what_spark_itself_excludes_is_told() -> None:
    world = World(blocks=BlockSettings(never_hosts=NEVER))
    world.start()
    excluded = ev.HostExcluded(host=H3, failures=2, timeout_ms=3_600_000)
    answer = world.tell(excluded)
    assert [one for one in answer if isinstance(one, BlockHost | RefuseBlock)] == []
    told = only(SlowHostNotBlocked, answer).reason
    assert told == (
        "2 of its executors failed tasks; Spark itself starts no task there until it takes the host again, "
        "3600 s at most; containers still start there, as blocklist.never_hosts wants"
    )
    assert world.view().blocks == ()
    assert told in explained(world, H3)
    assert world.negotiator.hosts_left_in_use[H3] == told
    for over in (ev.HostUnexcluded(host=H3), ev.DriverStopping()):
        assert of(SlowHostNotBlocked, world.tell(excluded))
        world.tell(over)
        assert "Spark itself" not in explained(world, H3)


def test_what_people_ask_for_holds() -> None:
    world = World(blocks=BlockSettings(never_hosts=NEVER), excluded_hosts=(H3,))
    assert {one.host for one in of(BlockHost, world.start())} == {H3}
    world = World(blocks=BlockSettings(never_hosts=NEVER))
    world.start()
    assert only(BlockHost, world.block(H3, duration_ms=60_000)).host == H3
    assert {(block.host, block.cause) for block in world.view().blocked_hosts} == {(H3, "asked")}
    world.tell(ev.UnblockRequested(host=H3, by="user"))
    entry = ev.ClusterBlock(host=H3, reason="disk", by="ann", since_ms=0, until_ms=None, admin=True)
    assert only(BlockHost, world.tell(ev.ClusterBlocksRead(blocks=(entry,)))).level == "cluster"
