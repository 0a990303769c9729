"""Executors move to emptier hosts: which, when, and what keeps them where they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.lifecycle.test_rescaling import DIED, QUIET, RESCALE, S, asked, holds, scale, stage_ends
from tests.core.world import HOSTS, START_MS, World, of, only
from yarnspec.core.containers import candidate_hosts
from yarnspec.core.containers.placement_model import MOST_MOVED, HostLoad, uneven
from yarnspec.core.containers.placing import SPREAD_TIMER
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import (
    AskHeldBlocks,
    BeginRescale,
    ChangeBounds,
    Command,
    EndRescale,
    KeepSurplus,
    RelaxPlacement,
    ReleaseContainer,
    RequestContainers,
    SetTimer,
    UpdatePlacement,
    UpdateTaskBlocks,
)
from yarnspec.core.messages.settings import RecoverySettings, ResourcesSettings

SIZE_MB = 1408


def report(*free: int) -> ev.HostsReported:
    """Hosts that have so much left."""
    return free_on(dict(zip(HOSTS, free, strict=False)))


def free_on(free: dict[str, int]) -> ev.HostsReported:
    """Hosts with these names that have so much left."""
    return ev.HostsReported(
        hosts=tuple(
            ev.HostReport(host=host, memory_mb=8 * SIZE_MB, free_memory_mb=count * SIZE_MB)
            for host, count in free.items()
        )
    )


def uneven_job(
    dynamic_bounds: tuple[int, int] | None = None, recovery: RecoverySettings | None = None, **options: Any
) -> World:
    """A job with four executors on one host; then two hosts come."""
    recovery = recovery or RecoverySettings()
    world = World(initial_executors=4, resources=ResourcesSettings(**options), recovery=recovery)
    world.start(report=False)
    world.tell(rec.JournalReplayed())
    world.tell(report(8))
    world.driver_ready(dynamic_bounds=dynamic_bounds)
    world.run(*world.wanted(), host=HOSTS[0])
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.now_ms = START_MS + 100 * S
    world.commands.clear()
    world.tell(report(4))
    return world


def two_full_hosts(executors: int) -> World:
    """The first four executors are on one host, the others on another, and a job runs."""
    world = World(initial_executors=executors, resources=ResourcesSettings())
    world.start(report=False)
    world.tell(report(8, 8))
    world.driver_ready()
    wanted = world.wanted()
    world.run(*wanted[:4], host=HOSTS[0])
    world.run(*wanted[4:], host=HOSTS[1])
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.now_ms = START_MS + 100 * S
    return world


def two_hosts_come(world: World) -> list[Command]:
    """They come one after the other; the stage ends when the stabilization is over."""
    world.tell(report(4, 8))
    world.tell(report(4, 8, 8), 10 * S)
    assert not of(AskHeldBlocks, stage_ends(world, S))
    world.fire(RESCALE, START_MS + 160 * S)
    return stage_ends(world, S)


def restarted(world: World) -> None:
    """The driver dies, and the next one's SparkContext begins."""
    again = [one for one in of(SetTimer, world.tell(DIED)) if one.name == "driver-restart"]
    for one in again:
        world.fire(one.name, one.at_ms)
    world.tell(rec.JournalReplayed())
    world.driver_ready()


def all_hold_something(world: World) -> int:
    """The driver says so of each executor that it is asked about; how many these were."""
    each = asked(world.commands)
    for executor_id in each:
        each += asked(holds(world, executor_id, 1))
    return len(each)


def test_between_two_jobs_executors_move_once() -> None:
    world = uneven_job()
    world.tell(ev.JobEnded(job=0))
    world.tell(report(4, 8))
    world.fire(RESCALE, START_MS + 160 * S)
    assert all_hold_something(world)
    before = len(of(AskHeldBlocks, world.commands))
    for free in (7, 8, 7):
        world.tell(report(4, free), 60 * S)
    assert len(of(AskHeldBlocks, world.commands)) == before


def test_between_two_jobs_a_further_host_makes_no_second_move() -> None:
    world = uneven_job(rescale_cooldown_ms=0, rescale_stabilization_ms=S)
    world.tell(ev.JobEnded(job=0))
    world.tell(report(4, 2))
    world.fire(RESCALE, world.now_ms + S)
    holds(world, "4", 0)
    holds(world, "3", 0)
    world.run("5", "6", host=HOSTS[1])
    assert only(EndRescale, world.commands).why == "2 executors moved"
    for executor_id in ("3", "4"):
        world.lose(executor_id, 0, host=HOSTS[0])
    world.commands.clear()
    world.tell(report(6, 0, 8), S)
    for _ in range(9):
        world.fire(RESCALE, world.now_ms + 9 * S)
    assert not asked(world.commands)
    world.tell(ev.JobStarted(job=1, stages=(1,)))
    assert asked(stage_ends(world, S))


def test_the_next_drivers_executors_move_as_the_last_ones_would_have() -> None:
    """The host had come before the first driver died, and nobody had moved yet."""
    world = uneven_job(recovery=RecoverySettings(driver_restarts=2, enabled=True, live_adoption=False))
    world.tell(report(4, 8))
    restarted(world)
    world.run(*world.wanted()[:4], host=HOSTS[0])
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.fire(RESCALE, world.now_ms + 30 * S)
    world.fire(RESCALE, world.now_ms + 60 * S)
    assert len(asked(stage_ends(world, S))) == 2


def test_a_host_that_comes_while_there_are_too_many_executors_gets_its_own_afterwards() -> None:
    world = uneven_job(rescale_cooldown_ms=0, rescale_stabilization_ms=S)
    scale(world, 1, 3)
    world.fire(RESCALE, world.now_ms + S)
    assert asked(stage_ends(world)) == ["4"]
    world.tell(report(4, 8), S)
    world.fire(RESCALE, world.now_ms + 9 * S)
    assert not asked(stage_ends(world, S))
    holds(world, "4", 0)
    world.lose("4", 0, host=HOSTS[0])
    world.fire(RESCALE, world.now_ms + 9 * S)
    assert asked(stage_ends(world, S)) == ["3"]


def test_what_a_running_job_holds_may_move_after_it() -> None:
    world = uneven_job()
    world.tell(report(4, 8))
    world.fire(RESCALE, START_MS + 160 * S)
    stage_ends(world)
    assert all_hold_something(world)
    world.commands.clear()
    world.tell(ev.JobEnded(job=0), 60 * S)
    world.tell(report(4, 7), 60 * S)
    world.tell(report(4, 8), 60 * S)
    assert of(AskHeldBlocks, world.commands)


def test_first_another_executor_registers_then_the_surplus_one_goes() -> None:
    world = uneven_job()
    answer = two_hosts_come(world)
    assert asked(answer) == ["4", "3"]
    assert not of(BeginRescale, answer)
    assert not of(RequestContainers, answer)
    answer = holds(world, "4", 0)
    begun = only(BeginRescale, answer)
    assert (begun.cause, begun.before, begun.wanted) == ("new resources", 4, 4)
    assert only(RequestContainers, answer).executor_ids == ("5",)
    assert only(RequestContainers, holds(world, "3", 0)).executor_ids == ("6",)
    came = world.run("5", host=HOSTS[1])
    assert not of(EndRescale, came)
    assert asked(came) == ["4"]  # it has worked meanwhile
    assert only(UpdateTaskBlocks, holds(world, "4", 0)).executors == ("4",)
    came = world.run("6", host=HOSTS[2])
    assert asked(came) == ["3"]
    assert set(only(UpdateTaskBlocks, holds(world, "3", 0)).executors) == {"3", "4"}
    ended = only(EndRescale, came)
    assert (ended.why, ended.got) == ("2 executors moved", 4)  # not the six that are there for a while
    assert len(of(BeginRescale, world.commands)) == 1
    assert not of(ReleaseContainer, world.commands)  # they go when they are idle, as any surplus executor


def two_have_moved(world: World) -> None:
    """Executors 3 and 4 take no new task; 5 and 6 have come for them, and their tasks run on."""
    two_hosts_come(world)
    holds(world, "4", 0)
    holds(world, "3", 0)
    world.run("5", host=HOSTS[1])
    holds(world, "4", 0)
    world.run("6", host=HOSTS[2])
    assert set(only(UpdateTaskBlocks, holds(world, "3", 0)).executors) == {"3", "4"}


def test_those_that_leave_take_the_places_of_new_ones_that_are_lost() -> None:
    world = uneven_job()
    two_have_moved(world)
    answer = world.lose("5", -100, host=HOSTS[1])
    assert only(UpdateTaskBlocks, answer).executors == ("4",)
    answer += world.lose("6", -100, host=HOSTS[2])
    assert of(UpdateTaskBlocks, answer)[-1].executors == ()
    assert not of(RequestContainers, answer)


def test_no_move_begins_while_executors_of_the_one_before_have_not_gone() -> None:
    world = uneven_job()
    two_have_moved(world)
    world.tell(report(4, 7, 7, 8), 40 * S)
    world.fire(RESCALE, world.now_ms + 61 * S)
    assert not of(BeginRescale, stage_ends(world, S) + holds(world, "2", 0))
    world.lose("3", 0, host=HOSTS[0])
    world.lose("4", 0, host=HOSTS[0])
    world.tell(report(6, 7, 7, 8), S)
    world.fire(RESCALE, world.now_ms + 61 * S)
    assert asked(stage_ends(world, S)) == ["2"]


def asked_on(commands: list[Command]) -> list[tuple[str, ...]]:
    """The hosts that the containers of the newest placement are asked for on, and on no others; empty: anywhere."""
    return [one.hosts if one.strict else () for one in of(UpdatePlacement, commands)[-1].wanted]


def moves(world: World, executor_id: str) -> bool:
    """Whether this executor is asked for on an emptier host."""
    (asks,) = (one for one in world.negotiator._containers.asks.all if one.wanted.id == executor_id)
    row = world.negotiator._containers.row(executor_id)
    assert row is not None
    assert not asks.moves or asks.required == row.moves_to
    return bool(row.moves_to)


def test_what_comes_for_one_that_moves_comes_on_the_emptier_host_alone() -> None:
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    assert asked_on(holds(world, "3", 0)) == [(HOSTS[1],), (HOSTS[2],)]
    answer = world.lose("1", -100, host=HOSTS[0])
    assert asked_on(answer)[:2] == [(HOSTS[1],), (HOSTS[2],)]
    (again,) = only(RequestContainers, answer).executor_ids  # what replaces a lost one comes by the rules of all
    assert QUIET not in [one.name for one in of(SetTimer, world.allocate(again, HOSTS[0]))]
    world.allocate("5", HOSTS[1])
    world.allocate("6", HOSTS[2])
    (again,) = only(RequestContainers, world.lose("2", -100, host=HOSTS[0])).executor_ids
    assert not moves(world, again)


def test_executors_of_two_hosts_go_when_their_own_ones_have_come() -> None:
    world = two_full_hosts(8)
    world.tell(report(4, 4, 1, 1))
    world.fire(RESCALE, START_MS + 160 * S)
    moving = asked(stage_ends(world))
    assert len(moving) == 2
    answers = [only(RequestContainers, holds(world, executor_id, 0)) for executor_id in moving]
    first, second = (one.executor_ids[0] for one in answers)
    to_first, to_second = (hosts[0] for hosts in asked_on(world.commands))
    assert {to_first, to_second} == {HOSTS[2], HOSTS[3]}
    assert asked(world.run(second, host=to_second)) == [moving[1]]
    assert asked(world.run(first, host=to_first)) == [moving[0]]
    assert of(EndRescale, world.commands)[-1].why == "2 executors moved"


def test_a_host_that_gives_no_container_is_left_out_until_the_pause_is_over() -> None:
    """Two hosts have room by their reports, and neither gives any."""
    world = uneven_job(rescale_stabilization_ms=0, rescale_cooldown_ms=0)
    world.tell(report(4, 1, 1))
    tried = []
    for _ in range(6):
        while not (first := asked(stage_ends(world, S))):
            assert world.now_ms < START_MS + 3600 * S
        answer = holds(world, first[0], 0)
        tried += [(world.now_ms, *hosts) for hosts in asked_on(answer)]
        others = first[1:]
        for executor_id in others:
            others += asked(holds(world, executor_id, 1))
        for timer in of(SetTimer, world.commands):
            if timer.name == SPREAD_TIMER:
                world.fire(timer.name, timer.at_ms)
        assert only(EndRescale, world.fire(QUIET, world.now_ms + 60 * S)).why == "0 executors moved"
    hosts = [host for _, host in tried]
    assert set(hosts[:2]) == {HOSTS[1], HOSTS[2]}
    assert hosts[2:4] == hosts[:2]
    assert all(host != HOSTS[0] for host in hosts)


def test_with_dynamic_allocation_that_the_program_turns_on_nobody_moves() -> None:
    assert not of(AskHeldBlocks, two_hosts_come(uneven_job(dynamic_bounds=(1, 8))))


def test_an_executor_that_holds_something_stays_and_the_next_one_of_its_host_is_asked() -> None:
    world = uneven_job()
    two_hosts_come(world)
    answer = holds(world, "4", ev.ONLY_MAP_OUTPUTS)
    assert "map outputs" in only(KeepSurplus, answer).reason
    assert only(AskHeldBlocks, answer).executor_id == "2"
    answer = holds(world, "3", 2)
    assert "cached data" in only(KeepSurplus, answer).reason
    assert only(AskHeldBlocks, answer).executor_id == "1"
    assert not of(RequestContainers, holds(world, "2", -1))
    assert only(RequestContainers, holds(world, "1", 0)).executor_ids == ("5",)
    came = world.run("5", host=HOSTS[1])
    assert asked(came) == ["1"]
    assert only(EndRescale, came).why == "1 executor moved"


def test_executors_that_all_hold_something_are_asked_again_only_after_the_end_of_a_job() -> None:
    world = uneven_job()
    two_hosts_come(world)
    assert all_hold_something(world) == 4
    assert len(of(KeepSurplus, world.commands)) == 4
    for _ in range(3):
        world.tell(report(4, 8, 8), 40 * S)
        stage_ends(world, 70 * S)
    assert len(of(AskHeldBlocks, world.commands)) == 4
    assert asked(world.tell(ev.JobEnded(job=0))) == ["4", "3"]
    assert not of(BeginRescale, world.commands)


def test_in_a_program_that_pauses_after_a_job_the_driver_is_asked_again_20_s_after_the_first_time() -> None:
    world = uneven_job(rescale_stabilization_ms=S)
    world.tell(report(4, 8, 8))
    world.tell(ev.JobEnded(job=0), S)
    first_ms = world.now_ms
    assert all_hold_something(world) == 4
    world.tell(ev.JobStarted(job=1, stages=(1,)))
    assert only(SetTimer, world.tell(ev.JobEnded(job=1), S)).at_ms == first_ms + 20 * S
    assert asked(world.fire(RESCALE, first_ms + 20 * S)) == ["4", "3"]  # no new host: no stabilization


def test_executors_that_hold_something_job_after_job_are_asked_about_again_and_never_make_a_rescale() -> None:
    world = uneven_job(rescale_stabilization_ms=S)
    world.tell(report(4, 8))
    rounds: list[int] = []
    for job in range(240):
        begun = world.now_ms
        answer = world.tell(ev.JobStarted(job=job, stages=(job,)), 100) + stage_ends(world, 4 * S)
        answer += world.tell(ev.JobEnded(job=job), 900)
        each = asked(answer)
        for executor_id in each:
            each += asked(holds(world, executor_id, 1))
        rounds += [begun] if each else []
    pauses = [20, 40, 80, 160, 300, 300]  # and 240 jobs of 5 s are 1,200 s
    for pause, (before, after) in zip(pauses, itertools.pairwise(rounds), strict=True):
        assert pause * S <= after - before <= (pause + 10) * S
    assert not of(BeginRescale, world.commands)
    told = [one.executor_id for one in of(KeepSurplus, world.commands)]
    assert sorted(told) == ["1", "2", "3", "4"]


def test_a_second_full_host_is_asked_about_before_the_first_one_again() -> None:
    """The third host has room for one more only; jobs end all the time."""
    world = two_full_hosts(8)
    world.tell(report(4, 4, 1))
    hosts = {row.executor_id: row.host for row in world.negotiator._containers.rows}
    full: list[str] = []
    for job in range(60):
        answer = world.tell(ev.JobStarted(job=job, stages=(job,)), S) + stage_ends(world, 13 * S)
        answer += world.tell(ev.JobEnded(job=job), S)
        each = asked(answer)
        full += {hosts[executor_id] for executor_id in each}
        for executor_id in each:
            each += asked(holds(world, executor_id, ev.ONLY_MAP_OUTPUTS))
    assert len(full) >= 6
    assert all(one != other for one, other in itertools.pairwise(full))


def test_while_executors_are_asked_other_bounds_go_first() -> None:
    world = uneven_job()
    two_hosts_come(world)
    assert "the end of a stage" in only(ChangeBounds, scale(world, 1, 2)).reason
    assert not of(BeginRescale, holds(world, "4", 0))
    assert only(BeginRescale, stage_ends(world, S)).wanted == 2


def test_a_host_that_comes_while_executors_are_asked_is_looked_at_when_all_have_answered() -> None:
    world = two_full_hosts(7)
    world.tell(report(4, 0, 1))
    world.fire(RESCALE, START_MS + 160 * S)
    assert only(AskHeldBlocks, stage_ends(world, S)).executor_id == "4"
    world.tell(report(4, 0, 8))
    assert all_hold_something(world) == 4
    world.commands.clear()
    world.fire(RESCALE, world.now_ms + 60 * S)
    assert asked(stage_ends(world, S)) == ["7"]


def test_executors_that_the_driver_says_nothing_of_stay() -> None:
    world = uneven_job()
    two_hosts_come(world)
    assert not of(EndRescale, world.fire(QUIET, world.now_ms + 60 * S))
    assert not of(BeginRescale, holds(world, "4", 0))
    world.tell(report(4, 8, 8), 61 * S)
    world.fire(RESCALE, world.now_ms + 61 * S)
    assert asked(stage_ends(world, S)) == ["4", "3"]


def test_an_executor_that_is_missing_as_the_stabilization_ends_puts_the_move_off_until_its_replacement_is_there() -> (
    None
):
    world = uneven_job()
    world.tell(report(4, 8))
    world.tell(report(4, 8, 8), 10 * S)
    world.lose("1", -100, after_ms=40 * S, host=HOSTS[0])
    world.fire(RESCALE, START_MS + 160 * S)
    assert not of(AskHeldBlocks, stage_ends(world, S))
    world.run("5", host=HOSTS[1])
    world.fire(RESCALE, world.now_ms + 60 * S)
    assert asked(stage_ends(world, S)) == ["4"]


def test_a_host_that_comes_during_a_rescale_gets_executors_after_it() -> None:
    world = uneven_job()
    scale(world, 1, 6)
    assert only(BeginRescale, stage_ends(world)).wanted == 6
    world.allocate("5", HOSTS[0])
    world.allocate("6", HOSTS[0])
    world.tell(report(2, 8), S)
    world.register("5", HOSTS[0])
    assert of(EndRescale, world.register("6", HOSTS[0]))
    world.fire(RESCALE, world.now_ms + 90 * S)
    assert of(AskHeldBlocks, stage_ends(world, S))


def test_what_does_not_come_is_given_up() -> None:
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    for executor_id in ("3", "2", "1"):
        holds(world, executor_id, ev.ONLY_MAP_OUTPUTS)
    answer = world.fire(QUIET, world.now_ms + 60 * S)
    assert only(EndRescale, answer).why == "0 executors moved"
    assert only(ReleaseContainer, answer).executor_id == "5"
    assert not of(UpdateTaskBlocks, world.commands)
    # What kept executor 4 there was no job: the next one need not end before it is asked about again.
    world.tell(report(4, 8, 8), 61 * S)
    world.fire(RESCALE, world.now_ms + 100 * S)
    assert asked(stage_ends(world, S)) == ["4"]


def test_each_time_that_nothing_comes_the_pause_is_twice_as_long() -> None:
    world = uneven_job(rescale_stabilization_ms=0, rescale_cooldown_ms=0)
    world.tell(report(4, 8, 8))
    pauses = []
    for _ in range(12):
        begun = world.now_ms
        while not (first := asked(stage_ends(world, S))):
            assert world.now_ms < begun + 2 * 3600 * S
        pauses.append(world.now_ms - begun)
        holds(world, first[0], 0)
        world.fire(QUIET, world.now_ms + 60 * S)
    assert pauses[1:5] == [20 * S, 40 * S, 80 * S, 160 * S]
    assert pauses[-1] == 300 * S


@pytest.mark.parametrize("bounds", [{}, {"min_executors": 1, "max_executors": 4}])
def test_a_container_that_comes_after_the_end_of_the_move_goes_again_and_others_can_move_later(
    bounds: dict[str, Any],
) -> None:
    world = uneven_job(**bounds)
    two_hosts_come(world)
    holds(world, "4", 0)
    holds(world, "3", ev.ONLY_MAP_OUTPUTS)
    world.allocate("5", HOSTS[1])
    assert not of(EndRescale, world.fire(QUIET, world.now_ms + 60 * S))  # it has a container
    answer = world.fire(QUIET, world.now_ms + 300 * S)
    assert only(EndRescale, answer).why == "0 executors moved"
    assert only(UpdateTaskBlocks, answer).executors == ("5",)
    came = world.register("5", HOSTS[1])
    assert not of(BeginRescale, came)
    row = world.negotiator._containers.row("5")
    assert row is not None
    assert row.extra
    world.tell(report(4, 7, 8), 61 * S)
    world.fire(RESCALE, world.now_ms + 100 * S)
    assert of(AskHeldBlocks, stage_ends(world, S))


def test_outputs_that_wait_meanwhile_change_nothing_for_a_move() -> None:
    world = uneven_job(recovery=RecoverySettings(enabled=True))
    two_hosts_come(world)
    holds(world, "4", 0)
    world.tell(rec.LiveAdoptionBegan(executor_id="1", host=HOSTS[0], outputs=4))
    world.lose("1", -100, host=HOSTS[0])
    world.tell(rec.LiveAdoptionEnded(executor_id="1", host=HOSTS[0], outputs=4, adopted=4, lost=0, why="taken over"))
    assert moves(world, "5")


def test_at_the_end_of_a_move_those_go_that_still_start() -> None:
    """Executor 6 works on the host that was empty; 3 went for it, and 5 has not registered."""
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    holds(world, "3", 0)
    world.allocate("5", HOSTS[1])
    world.run("6", host=HOSTS[2])
    answer = world.fire(QUIET, world.now_ms + 360 * S)
    assert only(EndRescale, answer).why == "1 executor moved"
    extra = {row.executor_id for row in world.negotiator._containers.extra_executors}
    assert extra == {"3", "5"}


def test_a_host_that_gives_nothing_ends_the_move_a_minute_after_its_begin() -> None:
    """Executor 6 has come on the other one."""
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    begun = world.now_ms
    holds(world, "3", 0)
    (longer,) = (one for one in of(SetTimer, world.allocate("6", HOSTS[2])) if one.name == QUIET)
    assert longer.at_ms == begun + 360 * S
    (again,) = (one for one in of(SetTimer, world.register("6", HOSTS[2])) if one.name == QUIET)
    assert again.at_ms == begun + 60 * S
    assert only(EndRescale, world.fire(QUIET, again.at_ms)).why == "1 executor moved"


def test_one_that_dies_meanwhile_is_replaced_by_the_one_that_comes() -> None:
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    holds(world, "3", 1)
    assert moves(world, "5")
    world.lose("4", -100, host=HOSTS[0])
    assert not moves(world, "5")
    came = world.run("5", host=HOSTS[1])
    assert not of(UpdateTaskBlocks, came)
    assert len(of(RequestContainers, world.commands)) == 1


def two_move_to_one_host() -> tuple[World, list[str]]:
    """Two executors wait for others on the one host with room; also their ids."""
    world = uneven_job()
    world.tell(report(4, 2))
    world.fire(RESCALE, START_MS + 160 * S)
    moving = asked(stage_ends(world))
    holds(world, moving[0], 0)
    assert asked_on(holds(world, moving[1], 0)) == [(HOSTS[1],), (HOSTS[1],)]
    return world, moving


def test_one_of_two_requests_for_a_host_may_go_anywhere_when_only_one_executor_moves_there() -> None:
    world, moving = two_move_to_one_host()
    world.lose(moving[0], -100, host=HOSTS[0])
    pinned = [moves(world, executor_id) for executor_id in world.wanted()]
    assert sorted(pinned) == [False, True]


def test_the_second_of_two_requests_for_a_host_stays_when_the_first_has_come() -> None:
    world, _ = two_move_to_one_host()
    first, second = world.wanted()
    (leaves,) = asked(world.run(first, host=HOSTS[1]))
    holds(world, leaves, 0)
    assert moves(world, second)


def test_nothing_moves_where_it_is_not_wanted_or_changes_nothing() -> None:
    world = uneven_job(move_executors=False)
    assert not of(AskHeldBlocks, two_hosts_come(world))
    world = uneven_job()
    world.tell(report(4, 0))
    world.now_ms += 200 * S
    assert not of(AskHeldBlocks, stage_ends(world))  # the other host has no room


def test_other_bounds_go_first_and_the_drivers_death_ends_the_move() -> None:
    world = uneven_job(recovery=RecoverySettings(driver_restarts=2, enabled=True))
    two_hosts_come(world)
    holds(world, "4", 0)
    restarted(world)
    assert (world.view().wanted, world.view().running) == (4, 0)
    world = uneven_job()
    scale(world, 1, 2)
    answer = stage_ends(world)
    assert only(BeginRescale, answer).wanted == 2
    assert not any("emptier host" in one.reason for one in of(AskHeldBlocks, answer))


def test_other_bounds_during_a_move_end_it_and_its_rescale_first() -> None:
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    world.allocate("5", HOSTS[1])
    scale(world, 1, 6)
    world.fire(RESCALE, world.now_ms + 60 * S)
    answer = stage_ends(world, 61 * S)
    assert [type(one) for one in answer if isinstance(one, BeginRescale | EndRescale)] == [EndRescale, BeginRescale]
    assert only(EndRescale, answer).number == 1
    assert not of(UpdateTaskBlocks, answer)  # the container that has come counts for the new bounds
    assert len(only(RequestContainers, answer).executor_ids) == 1
    holds(world, "3", 0)
    world.register("5", HOSTS[1])
    assert only(EndRescale, world.run("6", host=HOSTS[2])).why == "succeeded"
    assert (world.view().running, world.view().wanted) == (6, 0)


def test_one_that_spark_lets_go_meanwhile_is_replaced_by_the_one_that_comes() -> None:
    world = uneven_job()
    two_hosts_come(world)
    holds(world, "4", 0)
    holds(world, "3", 0)
    assert not of(RequestContainers, world.tell(ev.ExecutorsUnwanted(executor_ids=("4",))))
    came = world.run("5", host=HOSTS[1])
    assert not of(UpdateTaskBlocks, came)
    came = world.run("6", host=HOSTS[2])
    assert asked(came) == ["3"]
    assert only(EndRescale, came).why == "1 executor moved"
    assert (world.view().running, world.view().wanted) == (5, 0)


def test_a_host_that_once_gave_nothing_takes_executors_after_a_while_though_nothing_is_asked_for() -> None:
    world = World(initial_executors=4, resources=ResourcesSettings())
    world.start(report=False)
    world.tell(report(8, 8))
    world.driver_ready()
    placed = only(UpdatePlacement, world.commands)
    world.tell(ev.PlacementAcknowledged(version=placed.version))
    world.run(*(one.id for one in placed.wanted if one.hosts == HOSTS[:1]), host=HOSTS[0])
    due_ms = world.negotiator._timers.due_ms(SPREAD_TIMER)
    assert due_ms is not None
    assert only(RelaxPlacement, world.fire(SPREAD_TIMER, due_ms)).hosts == HOSTS[1:2]
    world.run(*(one.id for one in placed.wanted if one.hosts != HOSTS[:1]), host=HOSTS[0])
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.tell(report(4, 8), 40 * S)
    stage_ends(world, S)
    assert world.negotiator._timers.due_ms(RESCALE) is None
    stage_ends(world, 60 * S)  # the host has been silent for long enough
    stage_ends(world, S)
    world.fire(RESCALE, world.now_ms + 60 * S)
    assert asked(stage_ends(world, S)) == ["4", "3"]


def test_fullest_hosts_on_which_nobody_may_move_do_not_keep_others_from_it() -> None:
    full = [f"full{number:02}" for number in range(MOST_MOVED + 4)]
    empty = [f"empty{number:02}" for number in range(len(full))]
    world = World(initial_executors=2 * len(full), resources=ResourcesSettings())
    world.start(report=False)
    world.tell(free_on(dict.fromkeys(full, 2)))
    world.driver_ready()
    host_of = {one.id: one.hosts[0] for one in only(UpdatePlacement, world.commands).wanted}
    for executor_id, host in host_of.items():
        world.run(executor_id, host=host)
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.now_ms = START_MS + 100 * S
    world.tell(free_on(dict.fromkeys(full, 0)))
    world.tell(free_on(dict.fromkeys(full, 0) | dict.fromkeys(empty, 2)))
    asked_on: list[set[str]] = []
    for _ in range(2):
        world.commands.clear()
        world.fire(RESCALE, world.now_ms + 60 * S)
        stage_ends(world, S)
        asked_on.append({host_of[one] for one in asked(world.commands)})
        all_hold_something(world)
    assert [len(hosts) for hosts in asked_on] == [MOST_MOVED, 4]
    assert asked_on[0] | asked_on[1] == set(full)


def test_the_hosts_are_looked_at_again_only_when_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def counted(hosts: Iterable[HostLoad], *args: Any, **kwargs: Any) -> tuple[tuple[str, str], ...]:
        looks.append(1)
        return uneven(hosts, *args, **kwargs)

    monkeypatch.setattr(candidate_hosts, "uneven", counted)
    world = uneven_job()
    world.tell(report(4, 8))
    before = len(looks)
    for _ in range(3):
        world.tell(ev.PendingExplained(reason=""), S)
    assert len(looks) == before
    world.tell(report(4, 8, 8), S)
    assert len(looks) == before + 1
    world.fire(RESCALE, START_MS + 160 * S)
    stage_ends(world, S)
    assert all_hold_something(world) == 4
    before = len(looks)
    for _ in range(3):
        world.tell(ev.PendingExplained(reason=""), S)
    assert len(looks) == before
    world.lose("4", -100, host=HOSTS[0])
    world.run("5", host=HOSTS[0])
    world.fire(RESCALE, world.now_ms + 61 * S)
    assert asked(stage_ends(world, S)) == ["5"]


LOADS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=6)


@given(LOADS)
def test_after_the_moves_the_hosts_with_room_are_even(loads: list[tuple[int, int]]) -> None:
    hosts = [HostLoad(f"h{number}", there, room) for number, (there, room) in enumerate(loads)]
    before = sum(one.containers for one in hosts)
    sources = uneven(hosts, most=100)
    assert sum(one.containers for one in hosts) == before
    assert all(one.room >= 0 and one.containers >= 0 for one in hosts)
    with_room = [one.containers for one in hosts if one.room > 0]
    if with_room:
        assert max(one.containers for one in hosts) - min(with_room) <= 1
    assert len(sources) <= before
