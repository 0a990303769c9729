"""The list of blocked hosts that all applications of a cluster share."""

from __future__ import annotations

from typing import Any

from tests.core.world import HOSTS, START_MS, World, hosts, names, of, only
from yarnspec.core.blocking.clusterlist import counts_since_ms
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockHost,
    RefuseBlock,
    RequestContainers,
    SetTimer,
    UnblockHost,
    UpdatePlacement,
    UpdateTaskBlocks,
)

H2, H3, H4, H5 = HOSTS


def entry(host: str, **fields: Any) -> ev.ClusterBlock:
    return ev.ClusterBlock(
        **{
            "host": host,
            "reason": "bad disk",
            "by": "carol",
            "since_ms": START_MS,
            "until_ms": None,
            "admin": True,
            **fields,
        }
    )


def read(*entries: ev.ClusterBlock, problems: tuple[str, ...] = ()) -> ev.ClusterBlocksRead:
    return ev.ClusterBlocksRead(blocks=entries, problems=problems)


def started() -> World:
    world = World()
    world.start()
    return world


def test_an_entry_blocks_its_host_for_containers_and_tasks() -> None:
    answer = started().tell(read(entry(H3)))
    block = only(BlockHost, answer)
    assert (block.host, block.level, block.by, block.until_ms) == (H3, "cluster", "carol", None)
    assert "bad disk" in block.reason
    assert only(UpdatePlacement, answer).blocked_hosts == (H3,)
    assert only(UpdateTaskBlocks, answer).hosts == (H3,)


def test_the_same_list_again_changes_nothing() -> None:
    world = started()
    world.tell(read(entry(H3)))
    assert world.tell(read(entry(H3))) == []


def test_an_entry_that_goes_ends_the_block() -> None:
    world = started()
    world.tell(read(entry(H3)))
    answer = world.tell(read())
    assert (only(UnblockHost, answer).host, only(UnblockHost, answer).level) == (H3, "cluster")
    assert only(UpdatePlacement, answer).blocked_hosts == ()


def test_an_entry_ends_at_its_time_and_does_not_come_back() -> None:
    world = started()
    ending = entry(H3, until_ms=START_MS + 60_000)
    timer = only(SetTimer, world.tell(read(ending)))
    assert timer.at_ms == START_MS + 60_000
    assert only(UnblockHost, world.fire(timer.name, timer.at_ms)).host == H3
    assert world.tell(read(ending)) == []


def test_within_the_share_each_user_has_a_turn() -> None:
    world = World(blocked_share=0.5)
    world.start()
    many = [entry(host, by="mallory", admin=False, since_ms=START_MS - 9_000) for host in (H2, H3)]
    answer = world.tell(read(*many, entry(H4, by="ann", admin=False, since_ms=START_MS - 1_000)))
    assert [one.host for one in of(BlockHost, answer)] == [H2, H4]
    assert only(RefuseBlock, answer).host == H3


def test_an_entry_that_changes_changes_the_block_even_to_a_shorter_one() -> None:
    world = started()
    world.tell(read(entry(H3)))
    answer = world.tell(read(entry(H3, until_ms=START_MS + 5_000, reason="nearly mended")))
    assert only(BlockHost, answer).until_ms == START_MS + 5_000
    assert only(SetTimer, answer).at_ms == START_MS + 5_000


def test_all_hosts_are_never_blocked_whatever_the_list_says() -> None:
    world = started()
    answer = world.tell(read(*(entry(host) for host in HOSTS)))
    assert [one.host for one in of(BlockHost, answer)] == [H2, H3, H4]
    assert only(RefuseBlock, answer).host == H5
    assert "would be left" in only(RefuseBlock, answer).reason
    # It is told once, and taken when there are hosts enough.
    assert world.tell(read(*(entry(host) for host in HOSTS))) == []
    assert only(BlockHost, world.tell(hosts(*HOSTS, "127.0.0.6"))).host == H5


def test_an_admins_entries_may_go_over_the_share_and_others_may_not() -> None:
    world = started()
    others = [entry(H4, admin=False, since_ms=START_MS + 1), entry(H5, admin=False)]
    answer = world.tell(read(*others))
    assert only(BlockHost, answer).host == H5
    assert "2 of 4" in only(RefuseBlock, answer).reason
    answer = world.tell(read(*others, entry(H2), entry(H3)))
    assert [one.host for one in of(BlockHost, answer)] == [H2, H3]


def test_an_applications_own_block_of_the_host_is_another_one() -> None:
    world = started()
    world.block(H3)
    world.tell(read(entry(H3)))
    lifted = only(UnblockHost, world.tell(ev.UnblockRequested(host=H3, by="user")))
    assert lifted.level == "application"
    assert world.view().blocked_hosts[0].level == "cluster"
    refused = only(RefuseBlock, world.tell(ev.UnblockRequested(host=H3, by="user")))
    for said in (lifted.reason, refused.reason):
        assert f"(bad disk, by carol): yarnspec hosts --cluster unblock {H3}" in said


def test_nobody_gets_before_entries_that_an_earlier_look_found() -> None:
    assert counts_since_ms(10, 100, None) == 10
    assert counts_since_ms(500, 100, None) == 100  # whose clock is ahead gets no later either
    assert counts_since_ms(10, 200, 100) == 101
    assert counts_since_ms(150, 200, 100) == 150
    assert counts_since_ms(500, 200, 100) == 200


def blocked(world: World) -> list[str]:
    return [block.host for block in world.view().blocked_hosts]


def test_an_entry_does_not_lose_to_a_guess() -> None:
    world = started()
    world.block(H2, automatic=True, by="detector", cause="slow")
    answer = world.tell(read(entry(H3, admin=False)))
    assert only(BlockHost, answer).host == H3
    assert "was a guess" in only(UnblockHost, answer).reason
    assert blocked(world) == [H3]


def test_an_entry_does_not_lose_to_a_guess_for_the_last_host() -> None:
    world = World(blocked_share=1.0)
    world.start()
    for host in (H2, H4, H5):
        world.block(host, automatic=True, by="detector", cause="slow")
    world.tell(read(entry(H3)))
    assert H3 in blocked(world)
    assert set(blocked(world)) < set(HOSTS)


def test_an_entry_that_was_refused_is_heeded_when_somebodys_block_has_ended() -> None:
    world = started()
    world.block(H2)
    others = read(entry(H3, admin=False))
    assert "2 of 4" in only(RefuseBlock, world.tell(others)).reason
    assert world.tell(ev.PendingExplained(reason="")) == []
    assert only(BlockHost, world.tell(ev.UnblockRequested(host=H2, by="user"))).host == H3
    # And by time.
    world = started()
    timer = only(SetTimer, world.block(H2, duration_ms=1_000))
    assert of(RefuseBlock, world.tell(others))
    assert only(BlockHost, world.fire(timer.name, timer.at_ms)).host == H3
    # And when another entry ends at its time.
    world = started()
    first = entry(H2, admin=False, by="ann", since_ms=START_MS - 1, until_ms=START_MS + 1_000)
    timer = only(SetTimer, world.tell(read(first, entry(H3, admin=False))))
    assert blocked(world) == [H2]
    assert only(BlockHost, world.fire(timer.name, timer.at_ms)).host == H3


def test_entries_give_way_when_hosts_are_lost_and_hold_again_when_they_are_back() -> None:
    world = World(blocked_share=0.5)
    world.start()
    world.tell(read(entry(H3, by="bob", admin=False), entry(H4, by="ann", admin=False)))
    assert blocked(world) == [H3, H4]
    answer = world.tell(hosts(h2="LOST"))
    assert only(UnblockHost, answer).host == H4
    assert "2 of 3 running hosts would be blocked" in only(RefuseBlock, answer).reason
    assert only(UpdatePlacement, answer).blocked_hosts == (H3,)
    assert only(BlockHost, world.tell(hosts())).host == H4


def test_an_admins_entry_gives_way_too_when_no_other_host_is_left() -> None:
    world = started()
    world.tell(read(entry(H3)))
    answer = world.tell(hosts(h2="LOST", h4="LOST", h5="LOST"))
    assert "would be left" in only(UnblockHost, answer).reason
    assert blocked(world) == []


def test_an_entry_of_a_host_that_is_lost_takes_nothing_from_others() -> None:
    world = World()
    world.start(report=False)
    world.tell(hosts(h3="LOST"))
    world.tell(read(entry(H3, admin=False, since_ms=START_MS - 1), entry(H4, admin=False, by="ann")))
    assert blocked(world) == [H3, H4]


def test_a_user_whose_turn_comes_later_gives_way_to_one_who_adds_a_first_entry() -> None:
    world = World(blocked_share=0.5)
    world.start()
    mallorys = [entry(host, by="mallory", admin=False, since_ms=START_MS - 9_000) for host in (H2, H3)]
    world.tell(read(*mallorys))
    assert blocked(world) == [H2, H3]
    world.tell(read(*mallorys, entry(H4, by="ann", admin=False)))
    assert blocked(world) == [H2, H4]


def test_what_is_blocked_for_the_application_counts_before_the_list() -> None:
    world = started()
    world.tell(read(entry(H3, admin=False)))
    answer = world.block(H4, force=True)
    assert (of(BlockHost, answer)[0].host, only(UnblockHost, answer).host) == (H4, H3)
    assert blocked(world) == [H4]
    # The same host is none more.
    world.tell(read(entry(H4, admin=False)))
    assert {block.level for block in world.view().blocked_hosts} == {"application", "cluster"}


def test_a_list_is_not_heeded_blindly_while_the_hosts_are_not_known() -> None:
    world = World()
    world.tell(read(*(entry(host) for host in HOSTS)))
    timer = of(SetTimer, world.start(report=False))[0]
    answer = world.fire(timer.name, timer.at_ms)
    assert of(BlockHost, answer) == []
    assert of(RequestContainers, answer)
    assert "as soon as they are known" in world.warnings[0]
    assert len(of(BlockHost, world.tell(hosts()))) == len(HOSTS) - 1


def test_a_list_read_before_the_start_holds_the_first_containers() -> None:
    world = World()
    assert world.tell(read(entry(H3))) == []
    started_ = world.start(report=False)
    assert of(RequestContainers, started_) == []
    answer = world.tell(hosts())
    assert names(answer) == ["BlockHost", "UpdateTaskBlocks", "UpdatePlacement", "RequestContainers"]
    assert only(UpdatePlacement, answer).blocked_hosts == (H3,)


def test_the_list_stays_for_the_next_context() -> None:
    world = started()
    world.tell(read(entry(H3)))
    world.driver_ready()
    world.tell(ev.DriverStopping())
    assert [block.host for block in world.view().blocked_hosts] == [H3]
