"""Which hosts are blocked for slowness, how widely, for how long, and when not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.stragglers import H3, Stragglers
from tests.core.world import HOSTS, hosts, of, only
from yarnspec.core.containers.capacity import compare
from yarnspec.core.copies.notes import Notes
from yarnspec.core.copies.slow_host_policy import SlowHostPolicy
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockHost,
    Command,
    LaunchCopy,
    RefuseBlock,
    SlowHostNotBlocked,
    UnblockHost,
    UpdatePlacement,
    UpdateTaskBlocks,
)
from yarnspec.core.slowness.host_speed import HostSpeeds, HostVerdict

SLOW = [1, 5]
"""The tasks of a stage of eight that run on H3."""


def stage_with_a_slow_host(world: Stragglers, stage: int, *, slow_ms: int = 9_000) -> list[Any]:
    """Eight tasks, two on each host; those on H3 take ``slow_ms`` after the others' second. What was commanded."""
    tasks = world.fill(stage, 8)
    answer = world.pass_ms(1_000)
    for index in set(range(8)) - set(SLOW):
        answer += world.end(tasks[index])
    answer += world.pass_ms(slow_ms)
    for index in SLOW:
        answer += world.end(tasks[index])
    return answer + world.stage_ends(stage)


def slow_world(**changes: Any) -> Stragglers:
    """A world in which H3 was learnt to be slow and is blocked for the application."""
    world = Stragglers(**changes)
    answer: list[Any] = []
    for stage in range(4):
        answer += stage_with_a_slow_host(world, stage)
        if H3 in {block.host for block in world.view().blocked_hosts}:
            return world
    raise AssertionError(f"the host was never blocked: {of(BlockHost, answer)}")


def test_one_slow_task_is_no_proof_against_its_host() -> None:
    world = Stragglers()
    tasks = world.fill(0, 8)
    world.pass_ms(1_000)
    for index in set(range(8)) - {1}:
        world.end(tasks[index])
    answer = world.pass_ms(5_000)
    assert of(LaunchCopy, answer)
    assert {block.level for block in of(BlockHost, answer)} == {"task"}
    assert {block.level for block in world.view().blocks} == {"task"}
    explanation = world.negotiator.explain_host(H3, world.now_ms)
    assert explanation is not None
    assert any("1 of stage 0" in line and "no proof" in line for line in explanation.lines)


def test_a_host_that_is_slow_over_tasks_and_stages_is_blocked_for_the_application_for_a_minute() -> None:
    world = Stragglers()
    answer: list[Any] = []
    for stage in range(4):
        answer += stage_with_a_slow_host(world, stage)
    block = next(one for one in of(BlockHost, answer) if one.level == "application")
    assert (block.host, block.cause) == (H3, "slow")
    assert all(one.host == H3 for one in of(BlockHost, answer))
    assert "times as slow" in block.reason
    placement = next(one for one in of(UpdatePlacement, answer) if one.blocked_hosts)
    assert placement.blocked_hosts == (H3,)
    assert any(one.hosts == (H3,) for one in of(UpdateTaskBlocks, answer))


def test_a_block_for_slowness_ends_after_its_minute_and_is_not_made_again_without_new_proof() -> None:
    world = slow_world()
    world.stage(90, 8)
    quick = [world.launch(90, index, "1") for index in range(4)]
    answer = world.pass_ms(70_000)
    assert [one.host for one in of(UnblockHost, answer) if one.level == "application"] == [H3]
    assert not any(one.host == H3 and one.level == "application" for one in of(BlockHost, answer))
    for task_id in quick:
        world.end(task_id)


def test_a_host_that_is_slow_again_is_blocked_again() -> None:
    world = slow_world()
    world.pass_ms(61_000)
    assert world.view().blocked_hosts == ()
    answer: list[Any] = []
    for stage in range(50, 53):
        answer += stage_with_a_slow_host(world, stage)
    assert any(one.host == H3 and one.level == "application" for one in of(BlockHost, answer))


def ten_stages_end_well(world: Stragglers, first: int) -> list[Any]:
    """Stages of eight tasks, none of them slow; what the core answers."""
    answer: list[Any] = []
    for stage in range(first, first + 10):
        tasks = world.fill(stage, 8)
        answer += world.pass_ms(1_100)
        for task_id in tasks:
            answer += world.end(task_id)
        answer += world.stage_ends(stage)
    return answer


def test_a_host_whose_tasks_prove_healthy_comes_back_before_its_time() -> None:
    world = slow_world(blocks={"slow_duration_ms": 3_600_000})
    answer = ten_stages_end_well(world, 60)
    lifted = [one for one in of(UnblockHost, answer) if one.level == "application"]
    assert [one.host for one in lifted] == [H3]
    assert "healthy" in lifted[0].reason


def test_it_comes_back_although_each_stage_is_shorter_than_the_time_between_two_looks() -> None:
    world = slow_world(blocks={"slow_duration_ms": 600_000})
    long = world.fill(50, 32)
    world.pass_ms(5_000)
    for task_id in long:
        world.end(task_id)
    world.stage_ends(50)
    for stage in range(51, 61):
        short = world.fill(stage, 8)
        world.pass_ms(300)
        for task_id in short:
            world.end(task_id)
        world.stage_ends(stage)
    assert world.view().blocked_hosts == ()


def test_blocks_of_a_stage_and_of_its_tasks_end_with_it() -> None:
    world = Stragglers()
    stage_with_a_slow_host(world, 0)
    assert [block for block in world.view().blocks if block.stage is not None] == []


def test_no_host_is_blocked_by_the_core_when_the_user_turns_that_off() -> None:
    world = Stragglers(blocks={"enabled": False})
    for stage in range(4):
        answer = stage_with_a_slow_host(world, stage)
        assert of(LaunchCopy, answer)
        assert of(BlockHost, answer) == []


def test_an_unblock_by_a_person_forgets_what_was_learnt() -> None:
    world = slow_world()
    before = world.negotiator.explain_host(H3, world.now_ms)
    world.tell(ev.UnblockRequested(host=H3, by="user"))
    after = world.negotiator.explain_host(H3, world.now_ms)
    assert before is not None
    assert after is not None
    assert float(before.numbers["factor"]) > 2
    assert float(after.numbers["factor"]) == 1
    assert (before.verdict, after.verdict) == ("it takes no new task and no new container", "it is not blocked")


def test_a_somewhat_slow_host_is_kept_while_many_waves_are_left() -> None:
    assert compare(8, 6, 2, 10.0).sooner_without
    assert compare(64, 6, 2, 10.0).sooner_without
    assert compare(1_000, 6, 2, 20.0).sooner_without
    assert not compare(1_000, 6, 2, 2.0).sooner_without
    assert not compare(1_000, 6, 2, 3.0).sooner_without
    assert compare(12, 6, 2, 2.0).sooner_without
    kept = compare(100, 0, 2, 50.0)
    assert not kept.sooner_without
    assert "no slot" in kept.text


def spared_world(stages: int = 3) -> tuple[Stragglers, list[Command]]:
    """A world in which H3 was learnt to be slow, and kept for all that is to be done; and what was commanded."""
    world = Stragglers()
    answer: list[Command] = []
    for stage in range(stages):
        tasks = world.fill(stage, 8)
        answer += world.pass_ms(1_000)
        for index in set(range(8)) - set(SLOW):
            answer += world.end(tasks[index])
        answer += world.stage(100 + stage, 10_000)
        answer += world.pass_ms(1_200)
        for index in SLOW:
            answer += world.end(tasks[index])
        answer += world.stage_ends(stage)
    return world, answer


def test_a_slow_host_is_not_blocked_when_the_work_would_end_later_without_it() -> None:
    world, answer = spared_world()
    assert [one.level for one in of(BlockHost, answer) if one.level != "task"] == []
    explanation = world.negotiator.explain_host(H3, world.now_ms)
    assert explanation is not None
    assert any("slow, but not blocked" in line and "tasks are left" in line for line in explanation.lines)


def test_why_a_slow_host_is_kept_is_recorded_once_with_its_numbers() -> None:
    world, answer = spared_world(6)
    told = only(SlowHostNotBlocked, answer)
    assert told.host == H3
    assert "x as long as on other hosts" in told.reason  # why it is slow
    assert "tasks are left; 6 slots elsewhere need" in told.reason  # and why it is kept all the same
    assert of(SlowHostNotBlocked, world.pass_ms(60_000)) == []


def with_two_proven(world: Stragglers, notes: Notes[str]) -> SlowHostPolicy:
    """Beside the world's own: two hosts are proven to be slow."""
    known = world.negotiator._speculation
    return SlowHostPolicy(known.blocklist, known._slots, known.table, Proven(DetectorSettings()), notes)


def test_it_is_recorded_again_for_another_reason_and_after_somebody_vouched_for_the_host() -> None:
    world = Stragglers(blocked_share=0.5)
    world.stage(0, 1_000)
    suspects = with_two_proven(world, Notes(10))

    def told() -> list[str]:
        return [one.host for one in suspects.weigh((), world.now_ms)[1]]

    assert told() == list(HOSTS[:2])
    assert told() == []
    suspects.forget_host(HOSTS[1])
    assert told() == [HOSTS[1]]
    for executor_id in ("3", "4"):
        world.lose(executor_id, -105, host=world.where[executor_id])
    assert told() == []  # with other numbers, for the same reason
    world.lose("2", -105, host=world.where["2"])
    assert told() == [HOSTS[0]]  # no slot is left elsewhere


class Proven(HostSpeeds):
    """Two hosts that are proven to be twice as slow as the others."""

    def slow(self) -> list[HostVerdict]:
        return [
            HostVerdict(
                host=host, factor=2.0, probability=1.0, observed=9, late=9, latest_ms=1, reason="slow", numbers={}
            )
            for host in HOSTS[:2]
        ]


def test_of_two_slow_hosts_found_at_once_the_second_does_not_count_on_the_first() -> None:
    """60 tasks are left: 6 slots do without the first; the second's work would be for 4 slots, not for 6."""
    world = Stragglers(blocked_share=0.5)
    world.stage(0, 60)
    notes: Notes[str] = Notes(10)
    suspects = with_two_proven(world, notes)
    wishes, spared = suspects.weigh((), world.now_ms)
    assert [wish.host for wish in wishes] == [HOSTS[0]]
    assert [one.host for one in spared] == [HOSTS[1]]
    assert "4 slots elsewhere" in spared[0].reason
    assert any("4 slots elsewhere" in line for line in notes.of(HOSTS[1], world.now_ms))


def test_a_task_that_can_start_nowhere_else_is_not_copied_and_nothing_is_refused() -> None:
    world = Stragglers(hosts=(H3,), slots=4)
    world.tell(hosts(H3))
    tasks = world.fill(0, 4)
    world.pass_ms(1_000)
    for task in tasks[1:]:
        world.end(task)
    answer = world.pass_ms(5_000)
    assert of(LaunchCopy, answer) == []
    assert of(RefuseBlock, answer) == []
    explanation = world.negotiator.explain_task(0, 0, world.now_ms)
    assert explanation is not None
    assert any(
        "not copied: it runs or may not start on each of the 1 running hosts" in one for one in explanation.lines
    )
    # With another host there is somewhere to go, were it blocked for the application or not before.
    world.tell(hosts(H3, HOSTS[3]))
    world.block(HOSTS[3])
    assert of(LaunchCopy, world.pass_ms(2_000)) == []
    world.tell(ev.UnblockRequested(host=HOSTS[3], by="user"))
    assert only(LaunchCopy, world.pass_ms(2_000)).index == 0


def test_a_slow_host_is_not_blocked_beyond_the_share() -> None:
    world = Stragglers()
    world.block(HOSTS[0])
    answer: list[Any] = []
    for stage in range(4):
        answer += stage_with_a_slow_host(world, stage)
    assert not any(one.level in ("application", "stage") for one in of(BlockHost, answer))
    explanation = world.negotiator.explain_host(H3, world.now_ms)
    assert explanation is not None
    assert any("would be blocked" in line for line in explanation.lines)
    assert only(BlockHost, world.tell(ev.BlockRequested(host=H3, reason="x", by="user", force=True))).host == H3


def test_a_host_that_nobody_has_heard_of_has_no_explanation() -> None:
    assert Stragglers().negotiator.explain_host("elsewhere", 0) is None


def test_a_slow_host_is_used_again_when_the_others_have_no_executor_left() -> None:
    world = slow_world(blocks={"slow_duration_ms": 3_600_000})
    world.tell_target(1)
    for executor_id in [one for one, host in world.where.items() if host != H3]:
        assert H3 in {block.host for block in world.view().blocked_hosts}
        answer = world.lose(executor_id, -105, host=world.where.pop(executor_id))
    assert "was left" in only(UnblockHost, answer).reason
    assert world.view().blocked_hosts == ()


@pytest.mark.parametrize("by", ["the detector", "a person"])
def test_the_last_executor_is_given_back_and_no_host_beside_it(by: str) -> None:
    """The block of a host without an executor is not in the way, and one by a person stays, whatever is lifted."""
    world = Stragglers(blocked_share=0.5)
    slow: dict[str, Any] = {
        "reason": "slow",
        "by": "slow-task detector",
        "automatic": True,
        "cause": "slow",
        "level": "application",
    }
    world.tell(ev.BlockRequested(host=HOSTS[0], duration_ms=60_000, **slow))
    if by == "a person":
        world.block(H3)
    else:
        world.tell(ev.BlockRequested(host=H3, duration_ms=120_000, **slow))
    world.tell_target(1)
    lifted = [
        one.host for lost in ("1", "3", "4") for one in of(UnblockHost, world.lose(lost, -105, host=world.where[lost]))
    ]
    assert lifted == ([] if by == "a person" else [H3])


class TestEverySlowTask:
    """``blocklist.every_slow_task``: the proposal's own rule, off by default."""

    def slow_on(self, world: Stragglers, stage: int, *indices: int) -> list[int]:
        """Eight tasks, two on each host; all but these end after a second. Their ids by index."""
        tasks = world.fill(stage, 8)
        world.pass_ms(1_000)
        for index in set(range(8)).difference(indices):
            world.end(tasks[index])
        return tasks

    def wide(self, commands: list[Command]) -> list[BlockHost]:
        return [one for one in of(BlockHost, commands) if one.level == "application"]

    def made(self, **changes: Any) -> Stragglers:
        changes["blocks"] = {"every_slow_task": True, **changes.get("blocks", {})}
        return Stragglers(**changes)

    def test_one_slow_task_blocks_its_host_for_a_while_and_is_copied(self) -> None:
        world = self.made()
        self.slow_on(world, 0, 1)
        answer = world.pass_ms(1_500)
        block = only(BlockHost, answer)
        assert (block.host, block.level, block.cause) == (H3, "application", "slow")
        assert block.until_ms is not None
        assert world.now_ms - 1_500 < block.until_ms - 60_000 <= world.now_ms
        assert "blocklist.every_slow_task" in block.reason
        assert only(LaunchCopy, answer).index == 1
        # The copy is asked for after Spark knows where it may not start.
        kinds = [type(one) for one in answer]
        assert kinds.index(UpdateTaskBlocks) < kinds.index(LaunchCopy)
        explanation = world.negotiator.explain_host(H3, world.now_ms)
        assert explanation is not None
        assert any("blocklist.every_slow_task" in line for line in explanation.lines)

    def test_the_block_ends_although_the_task_is_still_slow(self) -> None:
        world = self.made()
        self.slow_on(world, 0, 1)
        assert self.wide(world.pass_ms(2_000))
        answer = world.pass_ms(120_000)
        assert [one.host for one in of(UnblockHost, answer) if one.level == "application"] == [H3]
        assert self.wide(answer) == []

    def test_the_block_lasts_although_other_tasks_there_end_well(self) -> None:
        world = self.made(blocks={"slow_duration_ms": 3_600_000})
        self.slow_on(world, 0, 1)
        answer = world.pass_ms(2_000)
        assert [one.host for one in self.wide(answer)] == [H3]
        answer += ten_stages_end_well(world, 1)
        assert [one for one in of(UnblockHost, answer) if one.level == "application"] == []

    def test_a_further_slow_task_there_extends_the_block(self) -> None:
        world = self.made()
        self.slow_on(world, 0, 1)
        first = only(BlockHost, world.pass_ms(2_000))
        self.slow_on(world, 1, 1, 5)
        (second,) = self.wide(world.pass_ms(30_000))
        assert second.until_ms is not None
        assert first.until_ms is not None
        assert second.host == H3
        assert second.until_ms > first.until_ms

    def test_a_host_on_which_somebody_asked_for_a_block_is_left_to_that(self) -> None:
        world = self.made()
        world.block(H3)
        self.slow_on(world, 0, 1)
        assert self.wide(world.pass_ms(5_000)) == []

    def test_no_more_hosts_than_the_share(self) -> None:
        """One of four hosts. The next one comes when the first is back, if its task is still slow then."""
        world = self.made()
        self.slow_on(world, 0, 1, 2)
        answer = world.pass_ms(5_000)
        assert len(self.wide(answer)) == 1
        assert len(of(RefuseBlock, answer)) == 1
        first = self.wide(answer)[0].host
        later = self.wide(world.pass_ms(61_000))
        assert [one.host for one in later] == [({HOSTS[1], HOSTS[2]} - {first}).pop()]

    def test_never_hosts_are_left_out(self) -> None:
        world = self.made(blocks={"never_hosts": H3})
        self.slow_on(world, 0, 1)
        answer = world.pass_ms(70_000)
        assert of(BlockHost, answer) == []
        assert only(SlowHostNotBlocked, answer).host == H3
        assert of(LaunchCopy, answer)

    def test_what_somebody_vouches_for_is_blocked_for_new_tasks_only(self) -> None:
        world = self.made()
        self.slow_on(world, 0, 1)
        assert self.wide(world.pass_ms(2_000))
        world.tell(ev.UnblockRequested(host=H3, by="user"))
        assert self.wide(world.pass_ms(10_000)) == []
        self.slow_on(world, 1, 1)
        assert self.wide(world.pass_ms(2_000))

    def test_without_blocks_there_are_none(self) -> None:
        world = self.made(blocks={"enabled": False})
        self.slow_on(world, 0, 1)
        assert of(BlockHost, world.pass_ms(5_000)) == []

    def test_a_host_is_blocked_although_the_work_ends_sooner_with_it(self) -> None:
        world = self.made(hosts=HOSTS[:3])
        world.stage(0, 5_000)
        ids = [world.launch(0, index, str(1 + index % 3)) for index in range(6)]
        world.pass_ms(1_000)
        for index in (0, 2, 3, 5):
            world.end(ids[index])
        for index in range(6, 3_000):
            world.end(world.launch(0, index, "1"))
        assert {one.host for one in self.wide(world.pass_ms(3_000))} == {H3}
