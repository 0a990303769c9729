"""Where containers are asked for: spreading, its relaxation, the limit, and what hosts have left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.copies.test_slow_host_policy import stage_with_a_slow_host
from tests.core.stragglers import H3, Stragglers
from tests.core.world import HOSTS, World, names, of, only
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placement_model import HostLoad, Loads, deal, shares
from yarnspec.core.containers.placing import SPREAD_TIMER, Placing
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    RelaxPlacement,
    ReleaseContainer,
    RequestContainers,
    SetTimer,
    UpdatePlacement,
    WantedContainer,
)
from yarnspec.core.messages.settings import PlacementSettings, Settings
from yarnspec.core.messages.timers import Timers

SIZE_MB = 1408
WAIT_MS = PlacementSettings().spread_wait_ms


def begun(*, free: dict[str, int] | None = None, executors: int = 4, **options: Any) -> World:
    """An attempt whose hosts have room for so many containers; all for 4 by default."""
    world = World(initial_executors=executors, placement=PlacementSettings(**options))
    world.start(report=False)
    world.tell(report(free or dict.fromkeys(HOSTS, 4)))
    world.driver_ready()
    return world


def report(free: dict[str, int], more_mb: int = 0, **more: Any) -> ev.HostsReported:
    """Hosts with room for so many containers, and some memory more, in which none fits."""
    return ev.HostsReported(
        hosts=tuple(
            ev.HostReport(host=host, free_memory_mb=count * SIZE_MB + more_mb, **more) for host, count in free.items()
        )
    )


def wanted(world: World) -> dict[str, WantedContainer]:
    return {one.id: one for one in of(UpdatePlacement, world.commands)[-1].wanted}


def targets(world: World) -> Counter[str]:
    """How many containers are asked for strictly on one host, by host."""
    return Counter(one.hosts[0] for one in wanted(world).values() if one.strict and len(one.hosts) == 1)


def late(world: World) -> list[Any]:
    """The ResourceManager is told, and gives nothing for as long as spreading waits."""
    told(world)
    timer = [one for one in of(SetTimer, world.commands) if one.name == SPREAD_TIMER][-1]
    return world.fire(timer.name, timer.at_ms)


def told(world: World) -> None:
    world.tell(ev.PlacementAcknowledged(version=of(UpdatePlacement, world.commands)[-1].version))


@pytest.mark.parametrize(("executors", "counts"), [(2, [1, 1]), (4, [1] * 4), (8, [2] * 4), (9, [2, 2, 2, 3])])
def test_containers_are_asked_for_evenly(executors: int, counts: list[int]) -> None:
    world = begun(executors=executors)
    assert sorted(targets(world).values()) == counts
    assert {one.rule for one in wanted(world).values()} == {"spread"}


def test_what_a_host_has_left_decides_who_gets_the_odd_one() -> None:
    world = begun(free={**dict.fromkeys(HOSTS, 4), HOSTS[2]: 9}, executors=5)
    assert targets(world)[HOSTS[2]] == 2


def test_applications_that_start_together_begin_on_different_hosts() -> None:
    """Also where hosts differ by a little room; each application has the same order at any time."""

    def first_host(number: int) -> str:
        world = World(initial_executors=1, placement=PlacementSettings())
        world.start(report=False, application_id=f"application_1700000000000_{number:04}")
        world.tell(report({**dict.fromkeys(HOSTS, 40), HOSTS[2]: 41}))
        return next(iter(targets(world)))

    first = Counter(first_host(number) for number in range(1, 41))
    assert first.keys() == set(HOSTS)
    assert max(first.values()) <= 20
    assert [first_host(number) for number in (7, 8)] == [first_host(number) for number in (7, 8)]


def test_a_host_that_was_learnt_to_be_slow_gets_the_odd_one_last() -> None:
    """It has the most room, and would be the first without that."""
    world = Stragglers(blocks={"enabled": False})
    for number in range(3):
        stage_with_a_slow_host(world, number)
    world.tell(report({**dict.fromkeys(HOSTS, 4), H3: 9}))
    world.tell_target(7)
    assert targets(world) == {host: 1 for host in HOSTS if host != H3}
    world.tell_target(8)
    assert targets(world) == dict.fromkeys(HOSTS, 1)


def test_full_hosts_do_not_count() -> None:
    world = begun(free={HOSTS[0]: 0, HOSTS[1]: 1, HOSTS[2]: 9, HOSTS[3]: 9}, executors=7)
    assert targets(world) == {HOSTS[1]: 1, HOSTS[2]: 3, HOSTS[3]: 3}


def test_a_host_without_free_cores_is_full_if_the_scheduler_counts_them() -> None:
    world = World(initial_executors=6, executor_vcores=4, placement=PlacementSettings())
    world.start(report=False)
    free = dict(zip(HOSTS, (2, 8, 8, 8), strict=True))
    hosts = (
        ev.HostReport(host=host, free_memory_mb=10 * SIZE_MB, vcores=8, free_vcores=cores)
        for host, cores in free.items()
    )
    world.tell(ev.HostsReported(hosts=tuple(hosts)))
    assert targets(world) == dict.fromkeys(HOSTS[1:], 2)
    world.tell(ev.TargetExecutorsChanged(count=7))
    assert wanted(world)["7"].hosts == ()


def test_hosts_of_another_label_are_no_targets() -> None:
    world = World(executor_label="fast")
    world.start(report=False)
    fast = ev.HostReport(host=HOSTS[1], labels=("fast",), free_memory_mb=9 * SIZE_MB)
    world.tell(ev.HostsReported(hosts=(fast, ev.HostReport(host=HOSTS[2], free_memory_mb=9 * SIZE_MB))))
    assert targets(world) == {HOSTS[1]: 2}


@pytest.mark.parametrize("limit", [0, 1])
@pytest.mark.parametrize(("own", "suitable"), [("", HOSTS[:2]), ("slow", HOSTS[2:])])
def test_without_a_label_of_their_own_executors_go_to_hosts_of_the_queues_default_label(
    limit: int, own: str, suitable: tuple[str, ...]
) -> None:
    world = World(
        initial_executors=2,
        executor_label=own,
        queue_label="fast",
        placement=PlacementSettings(max_per_host=limit),
    )
    world.start(report=False)
    labels = dict(zip(HOSTS, ("fast", "fast", "slow", "slow"), strict=True))
    hosts = (ev.HostReport(host=host, free_memory_mb=9 * SIZE_MB, labels=(one,)) for host, one in labels.items())
    world.tell(ev.HostsReported(hosts=tuple(hosts)))
    assert targets(world) == dict.fromkeys(suitable, 1)
    assert {one.label for one in wanted(world).values()} == {own}


def test_without_spreading_the_resource_manager_places() -> None:
    world = begun(spread=False)
    assert [(one.hosts, one.strict) for one in wanted(world).values()] == [((), False)] * 4
    assert SPREAD_TIMER not in [one.name for one in of(SetTimer, world.commands)]


def test_the_replacement_of_an_executor_goes_to_the_emptiest_host() -> None:
    world = begun()
    for number, host in enumerate(HOSTS, 1):
        world.run(str(number), host=host)
    world.now_ms += 60_000
    world.lose("3", -102, host=HOSTS[2])
    assert targets(world) == {HOSTS[2]: 1}


def test_a_replacement_goes_to_a_host_that_is_full_by_the_report_if_one_of_ours_has_ended_there() -> None:
    world = begun(free={HOSTS[0]: 2, **dict.fromkeys(HOSTS[1:], 8)}, executors=8)
    for executor_id, one in wanted(world).items():
        world.run(executor_id, host=one.hosts[0])
    world.tell(report({HOSTS[0]: 0, **dict.fromkeys(HOSTS[1:], 6)}))
    ended = next(row.executor_id for row in world.negotiator._containers.rows if row.host == HOSTS[0])
    world.now_ms += 60_000
    world.lose(ended, -102, host=HOSTS[0])
    assert targets(world) == {HOSTS[0]: 1}


def test_executors_that_run_count_when_more_are_wanted() -> None:
    world = begun(executors=2)
    world.run("1", "2", host=HOSTS[0])
    world.tell(ev.TargetExecutorsChanged(count=5))
    assert targets(world) == dict.fromkeys(HOSTS[1:], 1)


def test_what_does_not_come_is_relaxed_in_order_and_then_left_alone() -> None:
    world = begun(executors=1)
    (host,) = targets(world)
    assert not wanted(world)["1"].takes_late
    relaxed = only(RelaxPlacement, late(world))
    assert (relaxed.rule, relaxed.wanted, relaxed.hosts) == ("spread", ("1",), (host,))
    assert relaxed.reason == f"1 container did not come on {host} within 4 s: it may come on one other host"
    another = wanted(world)["1"]
    assert (another.rule, another.strict, another.takes_late, len(another.hosts)) == ("spread", True, True, 1)
    assert host not in another.hosts

    assert only(RelaxPlacement, late(world)).reason.endswith("it may come on any of the emptiest hosts")
    several = wanted(world)["1"]
    assert (several.rule, several.strict, several.takes_late) == ("several", True, True)
    assert set(several.hosts) == set(HOSTS) - {host, *another.hosts}

    assert only(RelaxPlacement, late(world)).rule == "several"
    anywhere = wanted(world)["1"]
    assert (anywhere.rule, anywhere.strict, anywhere.hosts) == ("", False, ())

    before = len(of(SetTimer, world.commands))
    world.tell(ev.PendingExplained(reason="no room"), after_ms=WAIT_MS)
    assert len(of(SetTimer, world.commands)) == before
    assert relaxed.reason in explained(world, host)
    world.run("1", host=host)
    assert relaxed.reason not in explained(world, host)


def explained(world: World, host: str) -> tuple[str, ...]:
    found = world.negotiator.explain_host(host, world.now_ms)
    assert found is not None
    return found.lines


def test_what_is_spread_again_is_not_relaxed_any_more() -> None:
    world = begun(executors=1)
    for _ in range(3):
        relaxed = only(RelaxPlacement, late(world))
        assert all(relaxed.reason in explained(world, host) for host in relaxed.hosts)
    world.tell(report(dict.fromkeys(HOSTS, 5)))
    assert targets(world).total() == 1
    assert not any("did not come" in line for host in HOSTS for line in explained(world, host))


def test_the_wait_counts_from_the_call_that_told_the_resource_manager() -> None:
    world = begun(executors=1)
    assert SPREAD_TIMER not in [one.name for one in of(SetTimer, world.commands)]
    world.now_ms += 60_000
    told(world)
    timer = of(SetTimer, world.commands)[-1]
    assert (timer.name, timer.at_ms) == (SPREAD_TIMER, world.now_ms + WAIT_MS)


def test_while_containers_come_that_were_asked_for_together_none_of_them_is_relaxed() -> None:
    """A ResourceManager takes longer than the wait for thousands of containers."""
    world = begun(executors=4)
    told(world)
    hosts = {one.id: one.hosts[0] for one in wanted(world).values()}
    for number in ("1", "2", "3"):
        world.now_ms += WAIT_MS - 1_000
        world.allocate(number, hosts[number])
        world.fire(SPREAD_TIMER, world.now_ms)
    came_ms = world.now_ms
    again = only(SetTimer, world.fire(SPREAD_TIMER, of(SetTimer, world.commands)[-1].at_ms))
    assert not of(RelaxPlacement, world.commands)
    assert again.at_ms == came_ms + WAIT_MS
    assert only(RelaxPlacement, world.fire(SPREAD_TIMER, again.at_ms)).wanted == ("4",)


def test_others_that_come_do_not_make_a_container_wait() -> None:
    world = begun(executors=1)
    told(world)
    world.tell(ev.TargetExecutorsChanged(count=2), after_ms=1_000)
    told(world)
    world.now_ms += WAIT_MS - 1_500
    world.allocate("2", wanted(world)["2"].hosts[0])
    assert only(RelaxPlacement, world.fire(SPREAD_TIMER, world.now_ms + 500)).wanted == ("1",)


def test_a_host_that_gives_a_container_late_is_one_like_all_others() -> None:
    """It is silent no more from the next report on, though its room has not grown."""
    free = dict.fromkeys(HOSTS, 8)
    world = begun(free=free, executors=1)
    (host,) = targets(world)
    late(world)
    world.run("1", host=host)
    world.tell(report(free | {host: 7}))
    world.tell(ev.TargetExecutorsChanged(count=2 * len(HOSTS)))
    assert targets(world) == {one: 2 - (one == host) for one in HOSTS}


def test_no_host_is_to_blame_when_all_are_silent() -> None:
    world = begun(executors=4)
    late(world)
    assert {one.rule for one in wanted(world).values()} == {"several"}


def test_a_queue_that_was_full_is_not_laid_to_the_hosts() -> None:
    """Some hosts seemed to be silent for themselves, until all were."""
    free = dict.fromkeys(HOSTS, 8)
    world = begun(free=free, executors=4)
    first = {one.hosts[0]: one.id for one in wanted(world).values()}
    for host in HOSTS[:2]:
        world.run(first[host], host=host)
    for _ in range(3):
        late(world)
    assert [one.hosts for one in wanted(world).values()] == [(), ()]
    world.tell(report(free | dict.fromkeys(HOSTS[:2], 7)))
    world.tell(ev.TargetExecutorsChanged(count=10))
    assert targets(world) == {HOSTS[0]: 1, HOSTS[1]: 1, HOSTS[2]: 2, HOSTS[3]: 2}


def test_a_host_that_was_silent_is_asked_again_after_a_while_though_its_room_has_not_grown() -> None:
    """The queue opened in the moment in which other hosts were asked."""
    free = dict.fromkeys(HOSTS, 8)
    world = begun(free=free, executors=2)
    silent = set(targets(world))
    late(world)
    others = {one.id: one.hosts[0] for one in wanted(world).values()}
    for executor_id, host in others.items():
        world.run(executor_id, host=host)
    world.tell(report(free | dict.fromkeys(others.values(), 7)))
    world.tell(ev.TargetExecutorsChanged(count=3))
    assert silent.isdisjoint(targets(world))
    world.now_ms += 15 * WAIT_MS
    world.tell(ev.TargetExecutorsChanged(count=8))
    assert {host: targets(world)[host] + (host in others.values()) for host in HOSTS} == dict.fromkeys(HOSTS, 2)


def test_hosts_that_refuse_leave_the_spread_to_the_others() -> None:
    """For example, YARN keeps containers off hosts with others' tags, of which the core knows nothing."""
    many = [f"10.0.0.{number}" for number in range(1, 9)]
    world = begun(free=dict.fromkeys(many, 4), executors=4)
    refused = targets(world)
    relaxed = only(RelaxPlacement, late(world))
    assert (relaxed.rule, len(relaxed.wanted)) == ("spread", 4)
    assert targets(world) == dict.fromkeys(set(many) - refused.keys(), 1)


def test_a_host_that_gave_nothing_is_no_target_until_it_has_more_room() -> None:
    world = begun(free={HOSTS[0]: 1, HOSTS[1]: 2}, executors=1)
    assert targets(world) == {HOSTS[1]: 1}
    late(world)
    world.tell(ev.TargetExecutorsChanged(count=2))
    assert targets(world) == {HOSTS[0]: 1}
    for free, more_mb in ((2, 900), (1, 0)):
        world.tell(report({HOSTS[0]: 1, HOSTS[1]: free}, more_mb))
        assert targets(world) == {HOSTS[0]: 1}
    world.tell(report({HOSTS[0]: 1, HOSTS[1]: 2}))
    assert targets(world) == {HOSTS[0]: 1, HOSTS[1]: 1}


def test_a_host_that_gets_blocked_or_lost_is_asked_no_more() -> None:
    world = begun(executors=4)
    world.block(HOSTS[1])
    assert HOSTS[1] not in targets(world)
    assert sum(targets(world).values()) == 4
    world.tell(report(dict.fromkeys(HOSTS[2:], 4)))
    assert targets(world) == {HOSTS[2]: 2, HOSTS[3]: 2}


def test_with_no_room_anywhere_nothing_is_waited_for() -> None:
    world = begun(free=dict.fromkeys(HOSTS, 0), executors=2)
    assert [(one.hosts, one.strict) for one in wanted(world).values()] == [((), False)] * 2
    assert only(RelaxPlacement, world.commands).wanted == ("1", "2")


@pytest.mark.parametrize("before", [0, 1])
def test_what_may_come_anywhere_is_spread_again_when_there_is_room(before: int) -> None:
    world = begun(free=dict.fromkeys(HOSTS, before), executors=8)
    assert targets(world).total() == 4 * before
    world.tell(report(dict.fromkeys(HOSTS, 4)))
    assert targets(world) == dict.fromkeys(HOSTS, 2)


def test_only_as_many_are_spread_again_as_have_room_and_only_where_room_is_new() -> None:
    world = begun(free=dict.fromkeys(HOSTS, 0), executors=8)
    some = dict.fromkeys(HOSTS, 0) | {HOSTS[1]: 1}
    world.tell(report(some))
    assert targets(world) == {HOSTS[1]: 1}
    for _ in range(3):
        if targets(world):
            late(world)
    assert not targets(world)
    world.tell(report(some))
    assert not targets(world)


def test_reports_in_which_no_more_containers_fit_are_no_reason_to_ask_again() -> None:
    """The queue is full: the ResourceManager gives nothing, whatever hosts report."""
    world = begun(executors=2)
    for _ in range(3):
        late(world)
    assert not targets(world)
    asked = len(of(UpdatePlacement, world.commands))
    for free, more_mb in ((4, 1), (4, 0), (4, 900), (3, 0), (3, 1000), (2, 1)):
        world.tell(report(dict.fromkeys(HOSTS, free), more_mb))
    assert len(of(UpdatePlacement, world.commands)) == asked
    world.tell(report({**dict.fromkeys(HOSTS, 2), HOSTS[1]: 3}))
    assert targets(world).total() == 1


def test_room_that_was_seen_while_nothing_was_asked_for_is_not_new_later() -> None:
    world = begun(executors=0)
    world.tell(report(dict.fromkeys(HOSTS, 4), 1))
    world.tell(ev.TargetExecutorsChanged(count=1))
    for _ in range(3):
        late(world)
    world.tell(report(dict.fromkeys(HOSTS, 4)))
    assert not targets(world)


def test_what_waits_for_a_crowded_host_moves_to_hosts_that_join() -> None:
    world = begun(free={HOSTS[0]: 4}, executors=4)
    assert targets(world) == {HOSTS[0]: 4}
    world.tell(report(dict.fromkeys(HOSTS, 4)))
    assert targets(world) == dict.fromkeys(HOSTS, 1)
    assert not any(one.takes_late for one in wanted(world).values())


@given(st.lists(st.integers(0, 6), min_size=4, max_size=4), st.lists(st.integers(2, 9), min_size=4, max_size=4))
def test_whatever_was_free_at_first_all_are_spread_when_there_is_room(first: list[int], then: list[int]) -> None:
    world = begun(free=dict(zip(HOSTS, first, strict=True)), executors=8)
    world.tell(report(dict(zip(HOSTS, then, strict=True))))
    assert targets(world) == dict.fromkeys(HOSTS, 2)


PYTHON = "python=3.11"


@pytest.mark.parametrize(
    ("about_hosts", "label", "why"),
    [
        ({"suits": False}, "", f"no running host satisfies {PYTHON}"),
        ({}, "fast", "no running host has the node label fast"),
        ({"labels": ("fast",)}, "", "every running host has a node label, and executors have none"),
        ({"state": "LOST"}, "", "no host is running"),
    ],
)
def test_why_no_host_takes_a_container_is_told(about_hosts: dict[str, Any], label: str, why: str) -> None:
    def told_of(limit: int, *, spread: bool = True) -> World:
        options = PlacementSettings(constraint=PYTHON, max_per_host=limit, spread=spread)
        world = World(initial_executors=2, executor_label=label, placement=options)
        world.start(report=False)
        world.tell(report(dict.fromkeys(HOSTS, 4), **about_hosts))
        return world

    for spread in (True, False):
        world = told_of(0, spread=spread)
        assert of(RelaxPlacement, world.commands) == []
        assert world.warnings == [f"{why}: 2 containers wait"]
    assert told_of(1).warnings[-1] == f"2 executors are not asked for: {why}"


@pytest.mark.parametrize("spread", [True, False])
def test_the_last_host_that_suits_is_lost_while_an_executor_waits(*, spread: bool) -> None:
    world = begun(executors=1, spread=spread, constraint=PYTHON)
    assert world.warnings == []
    for _ in range(2):
        world.tell(report(dict.fromkeys(HOSTS, 4), suits=False))
    assert world.warnings == [f"no running host satisfies {PYTHON}: 1 container waits"]


def test_the_limit_is_never_relaxed_and_what_it_leaves_no_place_for_is_not_asked_for() -> None:
    world = begun(executors=9, max_per_host=2)
    assert len(wanted(world)) == 8
    assert targets(world) == dict.fromkeys(HOSTS, 2)
    assert "1 executor is not asked for: at most 2 may be on one host" in world.warnings[-1]
    late(world)
    assert all(one.strict for one in wanted(world).values())
    claims = Counter(host for one in wanted(world).values() for host in one.hosts)
    assert max(claims.values()) == 2


def test_under_the_limit_spreading_gives_way_to_all_hosts_below_it() -> None:
    world = begun(free=dict(zip(HOSTS, (9, 8, 7, 0), strict=True)), executors=1, max_per_host=1)
    asked = [*targets(world)]
    late(world)
    asked += targets(world)
    assert len(set(asked)) == 2
    assert HOSTS[3] not in asked
    assert only(RelaxPlacement, late(world)).reason.endswith("may come on any host below the limit")
    (one,) = wanted(world).values()
    assert (set(one.hosts), one.strict, one.rule, one.takes_late) == (set(HOSTS), True, "limit", False)
    assert {one.rule for one in of(RelaxPlacement, world.commands)} == {"spread"}
    before = len(of(SetTimer, world.commands))
    told(world)
    assert len(of(SetTimer, world.commands)) == before


@pytest.mark.parametrize("limit", [1, 2])
def test_on_full_hosts_a_place_on_any_host_below_the_limit_is_taken(limit: int) -> None:
    """Each host stands in as many requests as it has places."""
    world = begun(free=dict.fromkeys(HOSTS, 0), executors=2, max_per_host=limit)
    relaxed = only(RelaxPlacement, world.commands)
    assert "no host has room for 2 containers now: they may come on any host below the limit" in relaxed.reason
    assert claims(world) == dict.fromkeys(HOSTS, limit)
    (given, other) = wanted(world).values()
    asked = len(of(UpdatePlacement, world.commands))
    world.run(given.id, host=given.hosts[0])
    assert len(of(UpdatePlacement, world.commands)) == asked
    world.tell(report(dict.fromkeys(HOSTS, 0), 1))
    assert set(wanted(world)[other.id].hosts) == {host for host in HOSTS if limit == 2 or host != given.hosts[0]}
    # A further executor has its share of the hosts.
    world.tell(ev.TargetExecutorsChanged(count=3))
    places = {host: limit - (host == given.hosts[0]) for host in HOSTS}
    assert all(claims(world)[host] == count for host, count in places.items())
    assert all(one.hosts for one in wanted(world).values())


def claims(world: World) -> Counter[str]:
    """In how many requests each host stands."""
    return Counter(host for one in wanted(world).values() for host in one.hosts)


def test_a_container_that_came_by_an_older_request_takes_its_place_from_the_others() -> None:
    """The ResourceManager gave it before it heard that others may come there now."""
    world = begun(free=dict.fromkeys(HOSTS[:3], 1), executors=2, max_per_host=1)
    first = {one.id: one.hosts[0] for one in wanted(world).values()}
    late(world)
    (dealt,) = (one for one in wanted(world).values() if one.rule == "limit")
    (other,) = first.keys() - {dealt.id}
    assert first[other] in dealt.hosts
    world.run(other, host=first[other])
    assert first[other] not in wanted(world)[dealt.id].hosts
    assert wanted(world)[dealt.id].hosts


def test_containers_that_come_where_they_may_make_no_new_placement() -> None:
    """Each would be as long as all asks: on many full hosts that was megabytes."""
    many = [f"10.0.0.{number}" for number in range(20)]
    world = begun(free=dict.fromkeys(many, 0), executors=40, max_per_host=4)
    asked = len(of(UpdatePlacement, world.commands))
    for one in list(wanted(world).values())[:30]:
        world.run(one.id, host=one.hosts[0])
    assert len(of(UpdatePlacement, world.commands)) == asked
    world.tell(report(dict.fromkeys(many, 0), 1))
    assert len(of(UpdatePlacement, world.commands)) == asked + 1
    assert claims(world).total() == 20 * 4 - 30


def test_a_container_of_a_withdrawn_request_takes_its_place_from_the_others() -> None:
    world = begun(free=dict.fromkeys(HOSTS, 0), executors=2, max_per_host=1)
    (_, newest) = wanted(world).values()
    world.tell(ev.TargetExecutorsChanged(count=1))
    (other,) = wanted(world).values()
    assert set(other.hosts) == set(HOSTS)
    world.allocate(newest.id, newest.hosts[0])
    assert set(wanted(world)[other.id].hosts) == set(HOSTS) - {newest.hosts[0]}


def test_places_are_dealt_again_when_one_of_those_who_wait_is_given_up() -> None:
    world = begun(free=dict.fromkeys(HOSTS, 0), executors=3, max_per_host=1)
    assert claims(world) == dict.fromkeys(HOSTS, 1)
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert [set(one.hosts) for one in wanted(world).values()] == [set(HOSTS)]


def test_the_only_host_below_the_limit_is_asked_on_and_nothing_is_told() -> None:
    world = begun(free={HOSTS[0]: 4}, executors=1, max_per_host=1)
    late(world)
    assert of(RelaxPlacement, world.commands) == []
    assert targets(world) == {HOSTS[0]: 1}


def test_a_place_that_comes_free_under_the_limit_is_asked_for() -> None:
    world = begun(executors=5, max_per_host=1)
    for executor_id in "1234":
        world.run(executor_id, host=wanted(world)[executor_id].hosts[0])
    assert "5" not in wanted(world)
    answer = world.tell(report(dict.fromkeys([*HOSTS, "127.0.0.6"], 4)))
    assert only(RequestContainers, answer).executor_ids == ("5",)
    assert targets(world) == {"127.0.0.6": 1}


def test_an_executor_that_is_given_up_counts_until_it_has_ended() -> None:
    world = begun(executors=4, max_per_host=1)
    for executor_id, one in wanted(world).items():
        world.run(executor_id, host=one.hosts[0])
    (left,) = wanted(world)["1"].hosts
    answer = world.tell(ev.ExecutorsUnwanted(executor_ids=("1",)))
    assert of(RequestContainers, answer) == []
    assert world.warnings[-1] == (
        "1 executor is not asked for: at most 1 may be on one host (placement.max_per_host), and 4 hosts take "
        "containers; 1 that is given up has not ended"
    )
    world.lose("1", 0, host=left)
    assert targets(world) == {left: 1}


def test_a_host_with_saved_outputs_waits_too_until_the_limit_allows_one_more() -> None:
    settings = Settings(initial_executors=1, executor_memory_mb=SIZE_MB, placement=PlacementSettings(max_per_host=1))
    table, hosts = ExecutorTable(settings), Hosts()
    hosts.replace(report(dict.fromkeys(HOSTS, 4)).hosts)
    placing = Placing(
        settings, containers=table, hosts=hosts, timers=Timers(), blocked=lambda: (), factor=lambda _: 1.0
    )
    (first,) = placing.ask()
    table.allocated(ev.ContainerAllocated(executor_id=first, container_id="c", host=HOSTS[1]))
    table.release(first, "Spark does not want it")
    table.set_required_hosts((HOSTS[1],))
    placing.ask()
    placing.settle(0)
    assert [*table.asks.wanted] == []
    table.lost(ev.ContainerLost(executor_id=first, container_id="c", host=HOSTS[1], exit_code=0))
    placing.settle(0)
    assert [one.hosts for one in table.asks.wanted] == [(HOSTS[1],)]


def test_spreading_does_not_count_an_executor_that_is_given_up() -> None:
    world = begun(executors=4)
    for executor_id, one in wanted(world).items():
        world.run(executor_id, host=one.hosts[0])
    (left,) = wanted(world)["1"].hosts
    world.tell(ev.ExecutorsUnwanted(executor_ids=("1",)))
    assert targets(world) == {left: 1}


def test_the_limit_asks_for_nothing_until_the_hosts_are_known() -> None:
    world = World(placement=PlacementSettings(max_per_host=1))
    world.start(report=False)
    timer = next(one for one in of(SetTimer, world.commands) if one.name == "hosts-wait-to-spread")
    assert "RequestContainers" not in names(world.fire(timer.name, timer.at_ms))
    assert only(RequestContainers, world.tell(report(dict.fromkeys(HOSTS, 9)))).executor_ids == ("1", "2")


def near(count: int, tasks: int, *on_hosts: int, profile: int = 0) -> ev.TargetExecutorsChanged:
    """Spark wants so many executors, for tasks of which so many have data on each host."""
    told = {host: found for host, found in zip(HOSTS, on_hosts, strict=False) if found}
    local = ev.LocalTasks(profile=profile, tasks=tasks, total=sum(on_hosts), hosts=told)
    sizes = (ev.ExecutorProfile(id=profile, count=count, memory_mb=SIZE_MB),) if profile else ()
    return ev.TargetExecutorsChanged(count=0 if profile else count, profiles=sizes, local_tasks=(local,))


def test_more_containers_are_asked_for_where_more_tasks_have_data() -> None:
    world = begun(executors=0)
    world.tell(near(5, 8, 0, 6, 2))
    assert targets(world) == {HOSTS[1]: 4, HOSTS[2]: 1}
    assert {one.rule for one in wanted(world).values()} == {"prefer"}


def test_tasks_with_data_on_several_hosts_leave_the_choice_to_spreading() -> None:
    world = begun(executors=0)
    world.tell(near(4, 9, 9, 9, 9, 9))
    assert targets(world) == dict.fromkeys(HOSTS, 1)


def test_executors_that_are_near_data_already_count() -> None:
    world = begun(executors=2)
    world.run("1", "2", host=HOSTS[1])
    world.tell(near(4, 4, 0, 2, 2))
    assert targets(world) == {HOSTS[2]: 2}


def test_executors_that_serve_all_tasks_with_data_leave_nothing_to_prefer() -> None:
    world = begun(executors=3)
    for executor, host in zip("123", HOSTS, strict=False):
        world.run(executor, host=host)
    world.tell(near(6, 3, 1, 1, 1))
    assert {one.rule for one in wanted(world).values()} == {"spread"}


def test_containers_that_are_asked_for_near_data_count() -> None:
    world = begun(executors=0)
    world.tell(near(2, 8, 0, 8))
    assert targets(world) == {HOSTS[1]: 2}
    world.tell(near(4, 8, 0, 4, 4))
    assert targets(world) == {HOSTS[1]: 2, HOSTS[2]: 2}


def test_thousands_of_containers_are_asked_for_where_tens_of_thousands_of_tasks_have_data() -> None:
    shares_of = {f"host{number}": 16 if number < 64 else 48 for number in range(128)}
    world = begun(free=dict.fromkeys(shares_of, 64), executors=0)
    local = ev.LocalTasks(tasks=32_768, total=32_768, hosts={host: 8 * share for host, share in shares_of.items()})
    world.tell(ev.TargetExecutorsChanged(count=4_096, local_tasks=(local,)))
    assert targets(world) == shares_of
    assert {one.rule for one in wanted(world).values()} == {"prefer"}


def test_more_than_the_tasks_with_data_can_use_are_spread() -> None:
    world = begun(executors=0)
    world.tell(near(5, 2, 0, 2))
    assert targets(world) == {HOSTS[1]: 2, HOSTS[0]: 1, HOSTS[2]: 1, HOSTS[3]: 1}
    assert Counter(one.rule for one in wanted(world).values()) == {"prefer": 2, "spread": 3}
    # Spark tells of no such tasks any more: nothing is preferred.
    world.tell(ev.TargetExecutorsChanged(count=7))
    assert targets(world)[HOSTS[1]] == 2
    assert sorted(targets(world).values()) == [1, 2, 2, 2]


def test_hosts_that_are_not_told_have_their_share_too() -> None:
    world = begun(executors=0)
    local = ev.LocalTasks(tasks=400, total=400, hosts={HOSTS[1]: 100, HOSTS[2]: 100})
    world.tell(ev.TargetExecutorsChanged(count=8, local_tasks=(local,)))
    assert targets(world) == dict.fromkeys(HOSTS, 2)
    assert Counter(one.rule for one in wanted(world).values()) == {"prefer": 4, "spread": 4}


def test_a_host_with_data_and_without_room_is_not_waited_for() -> None:
    world = begun(free={**dict.fromkeys(HOSTS, 4), HOSTS[1]: 1}, executors=0)
    answer = world.tell(near(3, 9, 0, 9))
    assert of(RelaxPlacement, answer) == []
    assert targets(world)[HOSTS[1]] == 1
    assert sorted(targets(world).values()) == [1, 1, 1]


def test_data_give_way_to_the_emptiest_hosts_when_their_host_is_silent() -> None:
    world = begun(executors=0)
    world.tell(near(1, 9, 0, 9))
    relaxed = only(RelaxPlacement, late(world))
    assert (relaxed.rule, relaxed.hosts) == ("prefer", (HOSTS[1],))
    assert relaxed.reason == f"1 container did not come on {HOSTS[1]} within 4 s: it may come on one other host"
    assert (wanted(world)["1"].rule, HOSTS[1] in wanted(world)["1"].hosts) == ("spread", False)
    assert only(RelaxPlacement, late(world)).rule == "spread"
    assert (wanted(world)["1"].rule, HOSTS[1] in wanted(world)["1"].hosts) == ("several", False)
    assert only(RelaxPlacement, late(world)).rule == "several"
    assert wanted(world)["1"].hosts == ()


def test_spreading_gives_way_before_the_data_do() -> None:
    """The host that lacks the most is silent: the others with data come next, and then any host."""
    five = (*HOSTS, "127.0.0.6")
    world = begun(free=dict.fromkeys(five, 4), executors=0)
    told_hosts = dict(zip(five, (5, 3, 3, 3), strict=False))
    local = ev.LocalTasks(tasks=9, total=14, hosts=told_hosts)
    world.tell(ev.TargetExecutorsChanged(count=1, local_tasks=(local,)))
    assert targets(world) == {five[0]: 1}
    assert only(RelaxPlacement, late(world)).rule == "spread"
    (another,) = wanted(world).values()
    assert (another.rule, len(another.hosts)) == ("prefer", 1)
    relaxed = only(RelaxPlacement, late(world))
    assert (relaxed.rule, relaxed.reason.rpartition(": ")[2]) == (
        "spread",
        "it may come on other hosts with data of tasks",
    )
    (after,) = wanted(world).values()
    assert (after.rule, {*after.hosts, *another.hosts}) == ("prefer", set(five[1:4]))
    assert only(RelaxPlacement, late(world)).rule == "prefer"
    assert {one.rule for one in wanted(world).values()} == {""}


def test_the_limit_is_kept_where_data_are() -> None:
    world = begun(executors=0, max_per_host=2)
    world.tell(near(4, 9, 0, 9))
    assert targets(world)[HOSTS[1]] == 2
    assert targets(world).total() == 4
    late(world)
    assert "prefer" not in {one.rule for one in wanted(world).values()}


def test_the_data_of_a_profile_count_for_its_executors_alone() -> None:
    world = begun(executors=1)
    world.run("1", host=HOSTS[1])
    world.tell(near(2, 4, 0, 4, profile=3))
    assert targets(world) == {HOSTS[1]: 2}
    world.tell(ev.TargetExecutorsChanged(count=2))
    assert HOSTS[1] not in targets(world)


def test_without_spreading_no_data_are_preferred() -> None:
    world = begun(executors=0, spread=False)
    world.tell(near(2, 9, 0, 9))
    assert [(one.hosts, one.rule) for one in wanted(world).values()] == [((), "")] * 2


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 10**6), min_size=1, max_size=40), st.integers(0, 10**6))
def test_shares_are_in_proportion(tasks: dict[str, int], executors: int) -> None:
    total = sum(tasks.values())
    found = shares(tasks, total, executors)
    assert all(found[host] == count * executors / total for host, count in tasks.items())
    assert sum(found.values()) == pytest.approx(executors)


loads = st.builds(HostLoad, st.sampled_from("abcdefgh"), st.integers(0, 4), st.integers(0, 5), st.floats(0.5, 9))


@given(st.lists(loads, unique_by=lambda one: one.host), st.none() | st.integers(1, 4), st.sets(st.sampled_from("abc")))
def test_taking_the_emptiest_host_again_and_again_is_water_filling(
    given_loads: list[HostLoad], limit: int | None, avoid: set[str]
) -> None:
    room = {one.host: one.room for one in given_loads}
    count = {one.host: one.containers for one in given_loads}
    plan = Loads(given_loads, limit)
    while hosts := plan.several(avoid, 1):
        host = hosts[0]
        able = [
            each for each in room if room[each] > 0 and each not in avoid and (limit is None or count[each] < limit)
        ]
        assert host in able
        assert count[host] == min(count[each] for each in able)
        plan.take(host)
        count[host] += 1
        room[host] -= 1
    left = [each for each in room if each not in avoid and room[each] > 0]
    assert all(limit is not None and count[each] >= limit for each in left)


@given(st.lists(loads, unique_by=lambda one: one.host), st.none() | st.integers(1, 4), st.data())
def test_the_host_that_lacks_the_most_comes_first(
    given_loads: list[HostLoad], limit: int | None, data: st.DataObject
) -> None:
    for one in given_loads:
        one.lacking = data.draw(st.integers(-2, 6)) / 2
    before = {one.host: one.lacking for one in given_loads}
    plan = Loads(given_loads, limit)
    while hosts := plan.preferred((), 1):
        able = [one for one in given_loads if one.room > 0 and (limit is None or one.containers < limit)]
        most = max(one.lacking for one in able)
        chosen = next(one for one in able if one.host == hosts[0])
        assert chosen.lacking == most > 0
        assert chosen.containers == min(one.containers for one in able if one.lacking == most)
        plan.take(hosts[0])
        before[hosts[0]] -= 1
    full = [one for one in given_loads if one.room <= 0 or (limit is not None and one.containers >= limit)]
    assert all(one.lacking <= 0 or one in full for one in given_loads)
    assert {one.host: one.lacking for one in given_loads} == before


@given(
    st.dictionaries(st.integers(0, 5).map(str), st.lists(st.sampled_from("abcdef"), unique=True), min_size=1),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3)),
    st.sets(st.sampled_from("abcdef")),
)
def test_places_are_dealt_so_that_none_is_left_and_none_is_claimed_twice(
    named: dict[str, list[str]], places: dict[str, int], fit_for_even: set[str]
) -> None:
    able = {ask: fit_for_even if int(ask) % 2 == 0 else set("abcdef") for ask in named}
    dealt = deal(named, able, places)
    claimed = Counter(host for hosts in dealt.values() for host in hosts)
    assert all(claimed[host] <= places.get(host, 0) for host in claimed)
    for ask, hosts in dealt.items():
        assert set(hosts) <= able[ask]
        assert len(set(hosts)) == len(hosts)
        # A place that this one could have is taken by others.
        left = {host for host in able[ask] - set(hosts) if claimed[host] < places.get(host, 0)}
        assert not left
        assert hosts or all(len(others) <= 1 or able[ask].isdisjoint(others) for others in dealt.values())
    assert deal(dealt, able, places) == dealt


class Yarn:
    """Gives containers where they may come and where there is room, in an order that hypothesis draws.

    ``queue``: so many containers in all; None: the queue has no bound.
    """

    def __init__(self, world: World, room: dict[str, int], queue: int | None) -> None:
        self.world = world
        self.room_mb = {host: count * SIZE_MB for host, count in room.items()}
        self.queue = queue
        self.on: dict[str, str] = {}
        self.most: Counter[str] = Counter()
        self._given_mb: dict[str, int] = {}
        self._leaving: list[str] = []

    def give(self, data: st.DataObject) -> bool:
        if self.queue is not None and len(self.on) >= self.queue:
            return False
        ready = [(one, host) for one in wanted(self.world).values() for host in self.room_mb if self._may(one, host)]
        if not ready:
            return False
        one, host = data.draw(st.sampled_from(ready))
        self.room_mb[host] -= one.memory_mb
        self.on[one.id] = host
        self._given_mb[one.id] = one.memory_mb
        self.most |= Counter(self.on.values())
        self.world.run(one.id, host=host)
        return True

    def release(self, data: st.DataObject) -> None:
        """Spark gives up an executor. Its container goes on until ``end_released``."""
        if staying := sorted(self.on.keys() - self._leaving):
            self._leaving.append(data.draw(st.sampled_from(staying)))
            self.world.tell(ev.ExecutorsUnwanted(executor_ids=(self._leaving[-1],)))

    def end_released(self) -> None:
        for executor_id in self._leaving:
            host = self.on.pop(executor_id)
            self.room_mb[host] += self._given_mb[executor_id]
            self.world.lose(executor_id, 0, host=host)
        self._leaving.clear()

    def report(self, more_mb: int = 0) -> ev.HostsReported:
        """What is really free."""
        return ev.HostsReported(
            hosts=tuple(ev.HostReport(host=host, free_memory_mb=mb + more_mb) for host, mb in self.room_mb.items())
        )

    def _may(self, one: WantedContainer, host: str) -> bool:
        blocked = of(UpdatePlacement, self.world.commands)[-1].blocked_hosts
        named = not one.strict or host in one.hosts
        room = one.id not in self._given_mb and self.room_mb[host] >= one.memory_mb
        return room and host not in (*blocked, *one.not_hosts) and named


OTHER_SIZES_MB = (2 * SIZE_MB, SIZE_MB // 2)


@dataclass(frozen=True)
class Case:
    """Hosts with room as it is reported and as it is, and what is wanted."""

    reported: tuple[int, ...]
    wrong: tuple[int, ...]  # empty: the report is right
    executors: int
    limit: int
    spread: bool
    blocked: frozenset[str]
    data: tuple[int, ...]  # how many tasks have data on each host
    releases: int  # so many executors Spark gives up again, and others come in their place
    later: tuple[tuple[int, ...], ...]  # what the hosts report later, right or wrong
    queue: int | None  # so many containers the queue gives at first
    others: tuple[int, ...] = ()  # how many executors of each other size
    extra: int = 0  # how many containers for copies
    avoid: frozenset[str] = frozenset()  # these are kept off the copies' originals
    required: frozenset[str] = frozenset()  # hosts with saved outputs

    @property
    def shares(self) -> dict[str, float]:
        tasks = sum(self.data)
        told = dict(zip(HOSTS, self.data, strict=False))
        return shares(told, tasks, min(self.executors, tasks)) if tasks else {}

    @property
    def truth(self) -> dict[str, int]:
        return dict(zip(self.hosts, self.wrong or self.reported, strict=False))

    @property
    def hosts(self) -> tuple[str, ...]:
        return HOSTS[: len(self.reported)]

    @property
    def simple(self) -> bool:
        """Whether all containers are alike."""
        return not (any(self.others) or self.extra or self.required)

    def target(self, more: int = 0, data: tuple[int, ...] = ()) -> ev.TargetExecutorsChanged:
        """What Spark wants: so many more usual executors than at first, and perhaps near data."""
        sizes = zip(self.others, OTHER_SIZES_MB, strict=False)
        others = (ev.ExecutorProfile(id=id_, count=count, memory_mb=mb) for id_, (count, mb) in enumerate(sizes, 1))
        told = near(self.executors + more, sum(data), *data)
        return msgspec.structs.replace(told, profiles=tuple(others))


rooms = st.integers(0, 4)
usual: dict[str, Any] = {
    "reported": st.lists(rooms, min_size=1, max_size=4).map(tuple),
    "wrong": st.just(()) | st.tuples(rooms, rooms, rooms, rooms),
    "executors": st.integers(1, 9),
    "limit": st.integers(0, 3),
    "spread": st.booleans(),
    "blocked": st.frozensets(st.sampled_from(HOSTS), max_size=1),
    "data": st.just(()) | st.tuples(rooms, rooms, rooms, rooms),
    "releases": st.integers(0, 3),
    "later": st.lists(st.tuples(rooms, rooms, rooms, rooms), max_size=3).map(tuple),
    "queue": st.none() | st.integers(0, 4),
}
some_hosts = st.frozensets(st.sampled_from(HOSTS), max_size=2)
mixed = {
    **usual,
    "executors": st.integers(2, 6),
    "others": st.tuples(st.integers(0, 3), st.integers(0, 3)),
    "extra": st.integers(0, 2),
    "avoid": some_hosts,
    "required": some_hosts,
}
cases = st.builds(Case, **usual) | st.builds(Case, **mixed)


@given(cases, st.data())
def test_no_avoided_host_no_host_beyond_the_limit_an_even_spread_and_an_end(case: Case, data: st.DataObject) -> None:
    """What may come is given in any order, now or later."""
    world = World(initial_executors=0, placement=PlacementSettings(spread=case.spread, max_per_host=case.limit))
    world.start(report=False)
    for host in case.blocked:
        world.block(host)
    world.tell(report(dict(zip(case.hosts, case.reported, strict=True))))
    world.driver_ready()
    blocked = {one.host for one in world.view().blocked_hosts}
    table = world.negotiator._containers
    table.set_required_hosts(tuple(sorted(case.required)))
    table.want_extra(case.extra, tuple(sorted(case.avoid)))
    world.tell(case.target(data=case.data))
    yarn = Yarn(world, case.truth, case.queue)
    for _ in range(case.releases):
        go_on(world, yarn, data, firings=data.draw(st.integers(0, 3)))
        yarn.release(data)
    go_on(world, yarn, data)
    table.set_required_hosts(())
    yarn.end_released()
    go_on(world, yarn, data)
    for reported in case.later:
        world.tell(report(dict(zip(case.hosts, reported, strict=False))))
        go_on(world, yarn, data)
    assert case.limit or case.later or case.required or no_rule_comes_back(world)

    # The queue opens, and the reports are right.
    yarn.queue = None
    world.tell(case.target())
    world.tell(yarn.report())
    world.tell(case.target(more=3))
    there = -1
    while there < len(yarn.on):
        there = len(yarn.on)
        go_on(world, yarn, data)
        world.tell(yarn.report())
    asked = len(of(UpdatePlacement, world.commands))
    for more_mb in (1, min(OTHER_SIZES_MB) - 1, 0):
        world.tell(yarn.report(more_mb))
    assert len(of(UpdatePlacement, world.commands)) == asked

    counts = Counter(yarn.on.values())
    assert not blocked & counts.keys()
    assert not case.limit or max(yarn.most.values(), default=0) <= case.limit
    for update in of(UpdatePlacement, world.commands):
        assert all(set(one.not_hosts).isdisjoint(one.hosts) for one in update.wanted)
    assert case.releases or not of(ReleaseContainer, world.commands)
    if not case.limit or not any(case.others):
        assert nothing_waits_that_has_a_place(world, yarn, case.limit, blocked)
    if case.simple:
        free = (min(case.truth[one], case.limit or case.executors + 3) for one in case.truth.keys() - blocked)
        assert counts.total() == min(case.executors + 3, sum(free))
    quiet = not (case.wrong or case.releases or case.later or of(RelaxPlacement, world.commands))
    if case.spread and case.simple and quiet:
        with_room = [one for one in case.truth.keys() - blocked if yarn.room_mb[one] > 0]
        evenly = (counts[one] >= min(max(counts.values()) - 1, case.limit or 99) for one in with_room if counts)
        assert any(case.data) or all(evenly)
        lacking = [one for one in with_room if counts[one] < min(case.shares.get(one, 0), case.limit or 99)]
        assert not lacking or all(counts[one] < case.shares.get(one, 0) + 1 for one in counts)


def go_on(world: World, yarn: Yarn, data: st.DataObject, firings: int = 40) -> None:
    """What may come is given, some of it late, until nothing is to come or for so many waits of spreading."""
    for _ in range(firings):
        while data.draw(st.integers(0, 3)) and yarn.give(data):
            pass
        told(world)
        due = [one.at_ms for one in of(SetTimer, world.commands) if one.name == SPREAD_TIMER]
        if not due or due[-1] < world.now_ms or not world.fire(SPREAD_TIMER, due[-1]):
            break
    else:
        assert firings < 40, "it asks without end"
    while yarn.give(data):
        pass


def nothing_waits_that_has_a_place(world: World, yarn: Yarn, limit: int, blocked: set[str]) -> bool:
    """No container waits that could be on some host, as far as the rules go."""
    table = world.negotiator._containers
    waiting = {(ask.wanted.memory_mb, ask.avoid) for ask in table.asks.all}
    if table.missing:
        waiting.add((SIZE_MB, ()))
    waiting |= {(OTHER_SIZES_MB[profile - 1], ()) for profile in table.missing_by_profile}
    counts = Counter(yarn.on.values())
    open_hosts = {host for host in yarn.room_mb if not limit or counts[host] < limit} - blocked
    return all(yarn.room_mb[host] < mb for mb, avoid in waiting for host in open_hosts.difference(avoid))


@given(st.lists(st.integers(2, 6), min_size=2, max_size=4), st.integers(0, 5), st.none() | st.integers(0, 3), st.data())
def test_after_a_queue_was_full_later_containers_are_spread_evenly_again(
    free: list[int], queue: int, opens_after: int | None, data: st.DataObject
) -> None:
    """The queue opens when all rules have given way, or earlier. Hosts that were silent may be left out for a while."""
    room = dict(zip(HOSTS, free, strict=False))
    world = begun(free=room, executors=queue + 2)
    yarn = Yarn(world, room, queue)
    go_on(world, yarn, data, firings=40 if opens_after is None else opens_after)
    yarn.queue = None
    if opens_after is not None:
        go_on(world, yarn, data)
    world.now_ms += 15 * WAIT_MS
    world.tell(yarn.report())
    world.tell(ev.TargetExecutorsChanged(count=queue + 8))
    asked = targets(world)
    counts = asked + Counter(yarn.on.values())
    with_room = [host for host, mb in yarn.room_mb.items() if mb >= (asked[host] + 1) * SIZE_MB]
    assert all(counts[host] - 1 <= counts[other] for host in asked for other in with_room)


def no_rule_comes_back(world: World) -> bool:
    ranks = {"prefer": 0, "spread": 1, "several": 2, "avoid": 3, "": 3}
    seen: dict[str, int] = {}
    for one in (one for update in of(UpdatePlacement, world.commands) for one in update.wanted):
        if ranks[one.rule] < seen.get(one.id, 0):
            return False
        seen[one.id] = ranks[one.rule]
    return True


def test_hosts_without_the_resource_types_of_an_executor_take_none() -> None:
    world = World(initial_executors=4, placement=PlacementSettings(), executor_resources={"yarn.io/gpu": 2})
    world.start(report=False)
    free = dict(zip(HOSTS, ({"yarn.io/gpu": 2}, {"yarn.io/gpu": 4}, {}, {"acme.io/pen": 9}), strict=True))
    world.tell(
        ev.HostsReported(
            hosts=tuple(
                ev.HostReport(host=host, free_memory_mb=9 * SIZE_MB, resources=types, free_resources=types)
                for host, types in free.items()
            )
        )
    )
    world.driver_ready()
    assert all(one.resources == {"yarn.io/gpu": 2} for one in wanted(world).values())
    # Two hosts have room for three by their GPUs; the fourth may come anywhere, where the ResourceManager finds some.
    assert targets(world) == {HOSTS[0]: 1, HOSTS[1]: 2}
