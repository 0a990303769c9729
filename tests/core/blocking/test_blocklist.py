"""Blocking and unblocking hosts, through the one door."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.world import HOSTS, World, hosts, names, of, only
from yarnspec.core.blocking.blocklist import SUBMIT
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockHost,
    RefuseBlock,
    RequestContainers,
    SetTimer,
    UnblockHost,
    UpdatePlacement,
    Warn,
)

H2, H3, H4, H5 = HOSTS
MINUTE_MS = 60_000


@pytest.fixture
def world() -> World:
    made = World()
    made.start()
    return made


def test_a_block_reaches_the_placement_and_sets_its_end(world: World) -> None:
    answer = world.block(H3, duration_ms=MINUTE_MS)
    assert names(answer) == ["BlockHost", "SetTimer", "UpdateTaskBlocks", "UpdatePlacement"]
    block = only(BlockHost, answer)
    assert (block.host, block.until_ms, block.by) == (H3, world.now_ms + MINUTE_MS, "user")
    assert "slow" in block.reason
    assert "60 s" in block.reason
    assert "1 blocked of 4" in block.reason
    placement = only(UpdatePlacement, answer)
    assert placement.blocked_hosts == (H3,)
    assert placement.version == 2
    assert [one.id for one in placement.wanted] == ["1", "2"]


def test_a_block_expires_by_its_timer_with_a_reason(world: World) -> None:
    timer = only(SetTimer, world.block(H3, duration_ms=MINUTE_MS))
    answer = world.fire(timer.name, timer.at_ms)
    assert only(UnblockHost, answer).host == H3
    assert "60 s" in only(UnblockHost, answer).reason
    assert only(UpdatePlacement, answer).blocked_hosts == ()
    assert world.view().blocked_hosts == ()


def test_a_host_that_spark_excludes_gets_no_container_until_spark_takes_it_again(world: World) -> None:
    answer = world.tell(ev.HostExcluded(host=H3, failures=2, timeout_ms=3 * 3_600_000))
    block = only(BlockHost, answer)
    assert block.until_ms == world.now_ms + 3 * 3_600_000
    assert "2 of its executors failed tasks" in block.reason
    assert only(UpdatePlacement, answer).blocked_hosts == (H3,)
    answer = world.tell(ev.HostUnexcluded(host=H3))
    assert only(UnblockHost, answer).host == H3
    assert only(UpdatePlacement, answer).blocked_hosts == ()


def test_the_next_context_excludes_hosts_itself(world: World) -> None:
    world.tell(ev.HostExcluded(host=H3, failures=2, timeout_ms=3 * 3_600_000))
    world.block(H4)
    assert [one.host for one in of(UnblockHost, world.tell(ev.DriverStopping()))] == [H3]


def test_spark_excludes_no_more_hosts_than_may_be_blocked_by_guesses(world: World) -> None:
    for host in HOSTS:
        last = world.tell(ev.HostExcluded(host=host, failures=2))
    assert only(RefuseBlock, last).host == H5
    assert {one.host for one in world.view().blocked_hosts} < set(HOSTS)


def test_a_host_that_somebody_else_blocked_stays_blocked_when_spark_takes_it_again(world: World) -> None:
    world.tell(ev.HostExcluded(host=H3, failures=2))
    world.block(H3)
    assert world.tell(ev.HostUnexcluded(host=H3)) == []
    assert world.tell(ev.HostUnexcluded(host=H4)) == []


def test_a_block_without_duration_stays_until_somebody_unblocks(world: World) -> None:
    assert names(world.block(H3)) == ["BlockHost", "UpdateTaskBlocks", "UpdatePlacement"]
    answer = world.tell(ev.UnblockRequested(host=H3, by="user"))
    assert "by user" in only(UnblockHost, answer).reason
    assert only(UpdatePlacement, answer).blocked_hosts == ()


def test_a_longer_block_extends(world: World) -> None:
    first = only(SetTimer, world.block(H3, duration_ms=MINUTE_MS))
    answer = world.block(H3, duration_ms=3 * MINUTE_MS, reason="still slow")
    assert only(BlockHost, answer).until_ms == world.now_ms + 3 * MINUTE_MS
    assert of(UpdatePlacement, answer) == []
    assert world.fire(first.name, first.at_ms) == []
    assert world.view().counters["stale_timers"] == 1
    second = only(SetTimer, answer)
    assert only(UnblockHost, world.fire(second.name, second.at_ms)).host == H3


@pytest.mark.parametrize("first_ms", [None, 3 * MINUTE_MS])
def test_a_shorter_block_does_not_shorten(world: World, first_ms: int | None) -> None:
    until_ms = only(BlockHost, world.block(H3, duration_ms=first_ms)).until_ms
    answer = world.block(H3, duration_ms=MINUTE_MS)
    assert names(answer) == ["BlockHost"]
    assert only(BlockHost, answer).until_ms == until_ms
    assert "already blocked" in only(BlockHost, answer).reason


def test_a_shorter_block_of_a_person_is_no_guess_for_that_time(world: World) -> None:
    """Proof of health, or the share, may end a guess; what a person asked for holds, and the guess goes on after it."""
    began_ms = world.now_ms
    world.block(H3, automatic=True, cause="slow", by="slow-task detector", duration_ms=MINUTE_MS)
    answer = world.block(H3, by="ann", reason="disk", duration_ms=MINUTE_MS // 2)
    both = only(BlockHost, answer)
    assert (both.by, both.cause, both.until_ms) == ("ann", "asked", began_ms + MINUTE_MS)
    assert "disk (blocked by ann for 30 s), and slow (by slow-task detector for 60 s)" in both.reason
    (block,) = world.view().blocks
    assert (block.automatic, block.since_ms) == (False, began_ms)
    explanation = world.negotiator.explain_host(H3, world.now_ms)
    assert explanation is not None
    assert explanation.lines[:2] == (
        "blocked by ann for 30 s more: disk", "blocked by slow-task detector for 60 s more: slow",
    )  # fmt: skip
    timer = only(SetTimer, answer)
    assert timer.at_ms == began_ms + MINUTE_MS // 2
    # Shorter ones of either kind change nothing.
    for automatic in (False, True):
        assert names(world.block(H3, automatic=automatic, cause="slow", duration_ms=10_000)) == ["BlockHost"]
    answer = world.fire(timer.name, timer.at_ms)
    guess = only(BlockHost, answer)
    assert (guess.by, guess.cause, guess.until_ms) == ("slow-task detector", "slow", began_ms + MINUTE_MS)
    assert "the time that ann asked for is over" in guess.reason
    assert [block.automatic for block in world.view().blocks] == [True]
    timer = only(SetTimer, answer)
    assert timer.at_ms == began_ms + MINUTE_MS
    assert only(UnblockHost, world.fire(timer.name, timer.at_ms)).host == H3
    assert world.view().blocks == ()


def test_a_longer_automatic_block_after_a_persons_is_a_guess_after_that(world: World) -> None:
    began_ms = world.now_ms
    world.block(H3, by="ann", reason="disk", duration_ms=10_000)
    timer = only(SetTimer, world.block(H3, automatic=True, cause="slow", by="detector", duration_ms=MINUTE_MS))
    assert [(block.automatic, block.by, block.until_ms) for block in world.view().blocks] == [
        (False, "ann", began_ms + MINUTE_MS)
    ]
    # A longer time of the person's is told to the timer; one beyond the guess makes an end of it.
    timer = only(SetTimer, world.block(H3, by="ann", reason="disk", duration_ms=20_000))
    assert timer.at_ms == began_ms + 20_000
    timer = only(SetTimer, world.block(H3, by="ann", reason="disk", duration_ms=2 * MINUTE_MS))
    assert timer.at_ms == began_ms + 2 * MINUTE_MS
    assert only(UnblockHost, world.fire(timer.name, timer.at_ms)).host == H3


def test_who_unblocks_ends_the_guess_as_well(world: World) -> None:
    world.block(H3, automatic=True, cause="slow", duration_ms=MINUTE_MS)
    timer = only(SetTimer, world.block(H3, by="ann", duration_ms=10_000))
    assert only(UnblockHost, world.tell(ev.UnblockRequested(host=H3, by="ann"))).host == H3
    assert world.fire(timer.name, timer.at_ms) == []
    assert world.view().blocks == ()


def test_the_share_ends_no_block_of_a_person_but_the_guess_after_it() -> None:
    world = World(blocked_share=0.5)
    world.start()
    world.block(H3, automatic=True, cause="slow", duration_ms=MINUTE_MS)
    timer = only(SetTimer, world.block(H3, by="ann", duration_ms=10_000))
    world.block(H2, by="ann", duration_ms=MINUTE_MS)
    assert of(UnblockHost, world.tell(hosts(h4="LOST", h5="LOST"))) == []
    answer = world.fire(timer.name, timer.at_ms)
    assert only(UnblockHost, answer).host == H3
    assert [block.host for block in world.view().blocks] == [H2]


def test_an_endless_block_forgets_the_end_of_the_one_before(world: World) -> None:
    timer = only(SetTimer, world.block(H3, duration_ms=MINUTE_MS))
    world.block(H3)
    assert world.fire(timer.name, timer.at_ms) == []
    assert [block.host for block in world.view().blocked_hosts] == [H3]


def test_the_timer_of_a_block_that_was_lifted_is_stale(world: World) -> None:
    timer = only(SetTimer, world.block(H3, duration_ms=MINUTE_MS))
    world.tell(ev.UnblockRequested(host=H3, by="user"))
    assert world.fire(timer.name, timer.at_ms) == []
    assert world.view().counters["stale_timers"] == 1


def test_a_timer_that_fires_early_by_the_clock_is_set_again(world: World) -> None:
    timer = only(SetTimer, world.block(H3, duration_ms=MINUTE_MS))
    answer = world.tell(ev.TimerFired(name=timer.name, at_ms=timer.at_ms))
    assert only(SetTimer, answer).at_ms == timer.at_ms
    assert names(answer) == ["SetTimer"]


def test_an_unknown_host_is_refused_with_near_names(world: World) -> None:
    answer = world.block("127.0.0.33")
    assert names(answer) == ["RefuseBlock"]
    assert H3 in only(RefuseBlock, answer).reason
    world.tell(hosts("worker7.example.com", "worker8.example.com"))
    assert "did you mean worker7.example.com?" in only(RefuseBlock, world.block("worker7")).reason


def test_a_users_block_over_the_share_needs_force(world: World) -> None:
    world.block(H3)
    refused = only(RefuseBlock, world.block(H4))
    assert "2 of 4" in refused.reason
    assert "at most 1 may be (placement.max_blocked_share is 0.33)" in refused.reason
    assert "force" in refused.reason
    assert only(BlockHost, world.block(H4, force=True)).host == H4


def test_an_automatic_block_over_the_share_is_refused_even_with_force(world: World) -> None:
    world.block(H3)
    refused = only(RefuseBlock, world.block(H4, automatic=True, by="detector", force=True))
    assert "2 of 4" in refused.reason
    assert "force it" not in refused.reason


def test_all_hosts_are_never_blocked_not_even_by_force(world: World) -> None:
    for host in (H2, H3, H4):
        assert of(BlockHost, world.block(host, force=True))
    assert "would be left" in only(RefuseBlock, world.block(H5, force=True)).reason


def test_the_only_host_cannot_be_blocked() -> None:
    world = World()
    world.start(report=False)
    world.tell(hosts(H2))
    assert of(RefuseBlock, world.block(H2, force=True))


def test_the_share_counts_running_hosts_only() -> None:
    world = World()
    world.start(report=False)
    many = [f"10.0.0.{n}" for n in range(1, 11)]
    world.tell(hosts(*many))
    world.block(many[0])
    assert of(BlockHost, world.block(many[1]))
    assert of(BlockHost, world.block(many[2]))
    world.tell(
        ev.HostsReported(
            hosts=tuple(ev.HostReport(host=host, state="RUNNING" if n < 6 else "LOST") for n, host in enumerate(many))
        )
    )
    assert "at most 1 may be" in only(RefuseBlock, world.block(many[4])).reason


@pytest.mark.parametrize(("share", "running", "limit"), [(0.29, 100, 29), (0.33, 100, 33), (0.33, 2, 1), (0.0, 9, 1)])
def test_the_limit_is_the_floor_of_the_share_and_at_least_one(share: float, running: int, limit: int) -> None:
    world = World(blocked_share=share)
    world.start(report=False)
    names_ = [f"10.0.1.{n}" for n in range(running)]
    world.tell(hosts(*names_))
    accepted = sum(bool(of(BlockHost, world.block(name, automatic=True))) for name in names_)
    assert accepted == limit


def test_an_automatic_block_always_ends(world: World) -> None:
    block = only(BlockHost, world.block(H3, automatic=True, by="detector"))
    assert block.until_ms == world.now_ms + 600_000


def test_a_block_survives_its_host_going_away_and_coming_back(world: World) -> None:
    world.block(H3)
    assert world.tell(hosts(h3="LOST")) == []
    assert world.tell(hosts(H2, H4, H5)) == []
    assert world.tell(hosts()) == []
    assert [block.host for block in world.view().blocked_hosts] == [H3]


def test_a_host_that_goes_away_is_not_blocked_for_it(world: World) -> None:
    assert world.tell(hosts(h2="LOST", h3="SHUTDOWN", h4="DECOMMISSIONED")) == []


def test_an_automatic_block_gives_way_when_nothing_else_is_left(world: World) -> None:
    world.block(H3, automatic=True, by="detector")
    answer = world.tell(hosts(h2="LOST", h4="LOST", h5="LOST"))
    assert only(UnblockHost, answer).host == H3
    assert only(UpdatePlacement, answer).blocked_hosts == ()


def blocked(world: World) -> list[str]:
    return [block.host for block in world.view().blocked_hosts]


def guess(host: str, seconds: int) -> ev.BlockRequested:
    return ev.BlockRequested(
        host=host, reason="slow", by="d", automatic=True, cause="slow", duration_ms=1_000 * seconds
    )


def test_automatic_blocks_over_the_share_of_the_hosts_that_are_left_give_way() -> None:
    world = World(blocked_share=0.5)
    world.start()
    world.tell(guess(H2, 100))
    world.tell(guess(H3, 50))
    assert blocked(world) == [H2, H3]
    lifted = only(UnblockHost, world.tell(hosts(h4="LOST")))
    assert lifted.host == H3
    assert "2 of 3 running hosts were blocked, and 1 may be" in lifted.reason
    assert blocked(world) == [H2]


def test_automatic_blocks_give_way_to_what_people_block_over_the_share() -> None:
    world = World(blocked_share=0.5)
    world.start()
    world.tell(guess(H2, 100))
    world.block(H3)
    answer = world.block(H4, force=True)
    assert only(UnblockHost, answer).host == H2
    assert blocked(world) == [H3, H4]


def test_a_users_block_does_not_give_way(world: World) -> None:
    world.block(H3)
    (warned,) = world.tell(hosts(h2="LOST", h4="LOST", h5="LOST"))
    assert isinstance(warned, Warn)
    assert warned.reason == "all running hosts that may be used are blocked: 2 containers wait"
    assert blocked(world) == [H3]


def test_unblocking_what_is_not_blocked_is_refused(world: World) -> None:
    world.block(H3)
    refused = only(RefuseBlock, world.tell(ev.UnblockRequested(host=H4, by="user")))
    assert refused.kind == "unblock"
    assert H3 in refused.reason


@pytest.mark.parametrize("duration_ms", [0, -5])
def test_a_block_of_no_length_is_refused(world: World, duration_ms: int) -> None:
    assert "ms is none" in only(RefuseBlock, world.block(H3, duration_ms=duration_ms)).reason


def test_before_the_hosts_are_known_a_user_is_told_to_wait() -> None:
    world = World()
    world.start(report=False)
    assert "not known yet" in only(RefuseBlock, world.block(H3)).reason


def test_hosts_excluded_at_submit_are_blocked_before_the_first_container_is_asked_for() -> None:
    world = World(excluded_hosts=(H3,))
    started = world.start(report=False)
    assert "RequestContainers" not in names(started)
    answer = world.tell(hosts())
    assert names(answer) == ["BlockHost", "UpdateTaskBlocks", "UpdatePlacement", "RequestContainers"]
    placement = only(UpdatePlacement, answer)
    assert placement.version == 1
    assert placement.blocked_hosts == (H3,)
    again = world.block(H3, by=SUBMIT, reason="excluded at submit")
    assert names(again) == ["BlockHost"]


def test_exclusions_that_come_as_events_before_the_start_hold_the_containers_too() -> None:
    world = World()
    assert world.block(H3, by=SUBMIT) == []
    assert of(RequestContainers, world.start(report=False)) == []
    answer = world.tell(hosts())
    assert only(UpdatePlacement, answer).blocked_hosts == (H3,)
    assert only(RequestContainers, answer).executor_ids == ("1", "2")


def test_blocks_of_an_earlier_attempt_hold_the_containers_too_and_need_no_known_host() -> None:
    world = World()
    for host in (H3, "127.0.0.9"):
        wish = ev.BlockRequested(host=host, reason="slow", by="user", duration_ms=60_000, force=True, earlier=True)
        assert world.tell(wish) == []
    assert of(RequestContainers, world.start(report=False)) == []
    answer = world.tell(hosts())
    assert only(UpdatePlacement, answer).blocked_hosts == (H3, "127.0.0.9")
    assert {one.until_ms for one in of(BlockHost, answer)} == {world.now_ms + 60_000}
    assert only(RequestContainers, answer).executor_ids == ("1", "2")


@pytest.mark.parametrize("down", [{}, {"h5": "LOST"}])
def test_what_was_excluded_at_submit_holds_whatever_the_share_says_of_the_hosts_now(down: dict[str, Any]) -> None:
    world = World(excluded_hosts=(H5, H4))
    world.start(report=False)
    answer = world.tell(hosts(**down))
    assert [one.host for one in of(BlockHost, answer)] == [H5, H4]
    assert of(RefuseBlock, answer) == []


def test_an_exclusion_at_submit_is_refused_when_no_running_host_would_be_left() -> None:
    world = World(excluded_hosts=(H3, H4))
    world.start(report=False)
    answer = world.tell(hosts(h2="LOST", h5="LOST"))
    assert only(BlockHost, answer).host == H3
    assert "would be left" in only(RefuseBlock, answer).reason


def test_a_blocked_host_that_is_down_does_not_count_in_the_share() -> None:
    world = World()
    world.start()
    world.block(H5)
    world.tell(hosts(h5="LOST"))
    assert of(BlockHost, world.block(H4))


def test_without_a_report_of_hosts_exclusions_are_taken_unchecked_after_a_while() -> None:
    world = World(excluded_hosts=(H3,))
    timer = of(SetTimer, world.start(report=False))[0]
    answer = world.fire(timer.name, timer.at_ms)
    assert only(UpdatePlacement, answer).blocked_hosts == (H3,)
    assert only(RequestContainers, answer).executor_ids == ("1", "2")
    assert "could not be listed" in world.warnings[0]


def test_a_host_excluded_at_submit_that_is_down_now_is_blocked_all_the_same() -> None:
    world = World(excluded_hosts=("127.0.0.9",))
    assert only(BlockHost, world.start()).host == "127.0.0.9"
