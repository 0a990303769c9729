"""Other bounds while a job runs: when they take effect, what the timeline says, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.core.world import HOSTS, START_MS, World, names, of, only
from yarnspec.core.copies.speculation import EXTRA_CONTAINERS_TIMER
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import (
    AskHeldBlocks,
    BeginRescale,
    ChangeBounds,
    CheckHosts,
    Command,
    DeclareReady,
    EndRescale,
    EnterPhase,
    FinishApplication,
    KeepSurplus,
    RefuseScale,
    ReleaseContainer,
    RemoveExecutor,
    RequestContainers,
    SetTimer,
    StartDriver,
    UpdateTaskBlocks,
)
from yarnspec.core.messages.observations import ObservationsBuilder, RowKind, State
from yarnspec.core.messages.settings import PlacementSettings, RecoverySettings, ResourcesSettings

S = 1_000
RESCALE, QUIET, WAIT = "rescale", "rescale-quiet", "resource-wait"
DIED = ev.DriverLost(exit_code=134, reason="SIGABRT")


def report(*rooms: int) -> ev.HostsReported:
    """Hosts with room for so many executors each."""
    return ev.HostsReported(
        hosts=tuple(ev.HostReport(host=host, memory_mb=1408 * room) for host, room in zip(HOSTS, rooms, strict=False))
    )


def executing(count: int = 2, *rooms: int, max_delay_ms: int = -1, **changes: object) -> World:
    """A job that has run for longer than the cooldown, on hosts with room."""
    world = World(initial_executors=count, resources=ResourcesSettings(rescale_max_delay_ms=max_delay_ms), **changes)
    world.start()
    world.tell(report(*(rooms or (2, 2, 2, 2))))
    world.driver_ready()
    world.run(*world.wanted())
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.now_ms = START_MS + 100 * S
    world.commands.clear()
    return world


def scale(world: World, least: int, most: int, **more: Any) -> list[Command]:
    return world.tell(ev.ScaleRequested(least=least, most=most, by="ann", **more))


def spark_wants(world: World, count: int) -> list[Command]:
    return world.tell(ev.TargetExecutorsChanged(count=count))


def stage_ends(world: World, after_ms: int = 0) -> list[Command]:
    rows = ObservationsBuilder()
    rows.add(RowKind.STAGE_STARTED, stage=0, stage_attempt=0, tasks=1, flags=0, time_ms=world.now_ms)
    rows.add(RowKind.STAGE_ENDED, stage=0, stage_attempt=0, state=int(State.SUCCESS), time_ms=world.now_ms)
    return world.tell(ev.Observed(rows=rows.take()), after_ms)


def test_more_executors_are_asked_for_at_the_end_of_a_stage() -> None:
    world = executing(2)
    answer = scale(world, 2, 4)
    assert "the end of a stage" in only(ChangeBounds, answer).reason
    assert not of(RequestContainers, answer)
    answer = stage_ends(world, 5 * S)
    begun = only(BeginRescale, answer)
    assert (begun.number, begun.cause, begun.before, begun.wanted) == (1, "new requirements", 2, 4)
    asked = only(RequestContainers, answer).executor_ids
    assert len(asked) == 2
    assert not of(EndRescale, world.run(asked[0]))
    ended = only(EndRescale, world.run(asked[1]))
    assert (ended.number, ended.got, ended.why) == (1, 4, "succeeded")


def test_without_a_stages_end_max_delay_is_the_longest_wait() -> None:
    world = executing(2, max_delay_ms=10 * S)
    answer = scale(world, 2, 4)
    (timer,) = (one for one in of(SetTimer, answer) if one.name == RESCALE)
    assert timer.at_ms == world.now_ms + 10 * S
    assert of(BeginRescale, world.fire(RESCALE, timer.at_ms))


def test_while_no_job_runs_only_the_cooldown_is_waited_for() -> None:
    world = executing(2)
    world.tell(ev.JobEnded(job=0))
    answer = scale(world, 2, 3)
    assert only(ChangeBounds, answer).reason == "it holds at once"
    assert len(only(RequestContainers, answer).executor_ids) == 1
    answer = scale(world, 2, 4)
    assert "the end of the cooldown" in only(ChangeBounds, answer).reason
    assert only(BeginRescale, world.fire(RESCALE, world.now_ms + 30 * S)).wanted == 4


def test_after_a_rescale_the_cooldown_holds_the_next_one() -> None:
    world = executing(2)
    scale(world, 2, 3)
    stage_ends(world)
    world.now_ms += S
    answer = scale(world, 2, 4)
    assert "the end of the cooldown" in only(ChangeBounds, answer).reason
    assert not of(BeginRescale, stage_ends(world, S))
    world.fire(RESCALE, world.now_ms + 28 * S)
    (begun,) = of(BeginRescale, stage_ends(world, S))
    assert begun.number == 2


def test_with_room_for_the_least_only_more_is_waited_for_and_hosts_that_come_one_by_one_are_one_rescale() -> None:
    world = executing(1, 1)
    answer = scale(world, 2, 4, force=True)
    assert "room for 2 executors" in only(ChangeBounds, answer).reason
    world.tell(report(1, 1), 10 * S)
    for rooms in ((1, 1), (1, 1, 1)):
        world.tell(report(*rooms), 10 * S)
        assert not of(BeginRescale, stage_ends(world))  # not all that is desired
    world.now_ms = START_MS + 170 * S
    waits = world.fire(RESCALE, world.now_ms)
    assert "the end of a stage" in only(EnterPhase, waits).waits_for
    assert only(BeginRescale, stage_ends(world)).wanted == 4
    assert not of(BeginRescale, world.tell(report(1, 1, 1, 1), S))
    assert len(of(BeginRescale, world.commands)) == 1


def test_the_worked_example_of_the_proposal() -> None:
    """One slot, one executor. A second host comes, and 2 to 3 are asked for; with 3 to 3 all are waited for."""
    world = executing(1, 1)
    world.tell(report(1, 1))
    scale(world, 2, 3)
    assert not of(BeginRescale, stage_ends(world, 59 * S))
    world.fire(RESCALE, START_MS + 160 * S)
    assert of(BeginRescale, stage_ends(world))

    world = executing(1, 1)
    world.tell(report(1, 1))
    scale(world, 3, 3, force=True)
    for _ in range(10):
        assert not of(BeginRescale, stage_ends(world, 60 * S))
    world.tell(report(1, 1, 1))
    assert of(BeginRescale, stage_ends(world, S))


def holds(world: World, executor_id: str, count: int) -> list[Command]:
    """The driver says what an executor holds."""
    return world.tell(ev.HeldBlocksTold(executor_id=executor_id, count=count))


def asked(commands: list[Command]) -> list[str]:
    """The executors that the driver is asked about."""
    return [one.executor_id for one in of(AskHeldBlocks, commands)]


def asked_when_idle(world: World) -> list[str]:
    """The executors that the driver is asked about as time passes."""
    before = len(asked(world.commands))
    for _ in range(6):
        due = [one for one in of(SetTimer, world.commands) if one.name not in (RESCALE, QUIET, WAIT)]
        for one in sorted(due, key=lambda each: each.at_ms):
            world.fire(one.name, max(one.at_ms, world.now_ms + S))
        if len(asked(world.commands)) > before:
            break
    return asked(world.commands)[before:]


def test_fewer_executors_take_no_new_task_and_go_when_they_hold_nothing() -> None:
    world = executing(3)
    scale(world, 1, 2)
    answer = stage_ends(world)
    assert only(BeginRescale, answer).wanted == 2
    assert asked(answer) == ["3"]
    assert only(UpdateTaskBlocks, holds(world, "3", 0)).executors == ("3",)
    assert asked_when_idle(world) == ["3"]
    kept = holds(world, "3", ev.ONLY_MAP_OUTPUTS)
    assert "map outputs" in only(KeepSurplus, kept).reason
    assert only(UpdateTaskBlocks, kept).executors == ()
    assert not of(ReleaseContainer, kept)


def test_spark_hears_at_once_of_an_executor_that_goes() -> None:
    """Else dynamic allocation would count it until its container has ended, and let another one go."""
    world = executing(3)
    scale(world, 1, 2)
    stage_ends(world)
    holds(world, "3", 0)
    asked_when_idle(world)
    answer = holds(world, "3", 0)
    assert only(ReleaseContainer, answer).executor_id == "3"
    told = only(RemoveExecutor, answer)
    assert (told.executor_id, told.caused_by_app) == ("3", False)
    assert not of(CheckHosts, world.tell(ev.ExecutorRemoved(executor_id="3", reason="as told")))


def test_only_executors_beyond_the_most_go_and_dynamic_allocation_lets_the_others_go() -> None:
    world = executing(4, dynamic_bounds=(1, 8))
    spark_wants(world, 1)  # the last tasks have ended
    assert asked(scale(world, 1, 3)) == ["4"]


def asked_in_minutes(world: World, minutes: int, held: int) -> list[int]:
    """After which minutes the driver is asked about the surplus executor, and says that it holds something."""
    found = []
    for minute in range(1, minutes + 1):
        answer = world.fire(EXTRA_CONTAINERS_TIMER, world.now_ms + 60 * S)
        for executor_id in asked(answer):
            found.append(minute)
            holds(world, executor_id, held)
    return found


def test_one_that_holds_something_is_asked_ever_more_rarely_until_a_job_ends_and_told_of_once() -> None:
    world = executing(3)
    scale(world, 1, 2)
    stage_ends(world)
    holds(world, "3", 2)
    pauses = [after - before for before, after in itertools.pairwise([0, *asked_in_minutes(world, 300, 2)])]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert len(of(KeepSurplus, world.commands)) == 1
    assert asked(world.tell(ev.JobEnded(job=0))) == ["3"]
    holds(world, "3", 2)
    assert asked_in_minutes(world, 3, ev.ONLY_MAP_OUTPUTS) == [1, 2, 3]  # these keep it for some minutes only
    assert len(of(KeepSurplus, world.commands)) == 2


def two_leave(world: World) -> None:
    """Two of four executors hold nothing, and take no new task; their tasks run on."""
    scale(world, 1, 2)
    stage_ends(world)
    holds(world, "3", 0)
    assert only(UpdateTaskBlocks, holds(world, "4", 0)).executors == ("3", "4")


def test_executors_that_are_wanted_again_before_they_have_gone_take_tasks_again() -> None:
    world = executing(4)
    two_leave(world)
    assert asked_when_idle(world) == ["3", "4"]
    scale(world, 4, 4)
    answer = stage_ends(world, 31 * S) + world.fire(RESCALE, world.now_ms + 60 * S) + stage_ends(world)
    assert only(BeginRescale, answer).wanted == 4
    assert only(UpdateTaskBlocks, answer).executors == ()
    assert not of(RequestContainers, answer)
    # What the driver answers to a question of that time comes too late.
    assert not of(ReleaseContainer, [*holds(world, "3", 0), *holds(world, "4", 0)])
    assert asked_when_idle(world) == []


def test_executors_that_leave_again_are_asked_anew() -> None:
    world = executing(4)
    two_leave(world)
    assert asked_when_idle(world) == ["3", "4"]
    for most in (4, 2):
        scale(world, 1, most)
        stage_ends(world, 31 * S)
        world.fire(RESCALE, world.now_ms + 60 * S)
        stage_ends(world)
    told = [command for one in ("3", "4") for command in holds(world, one, 0)]
    assert not of(ReleaseContainer, told)  # an old answer: they have worked since
    assert of(UpdateTaskBlocks, told)[-1].executors == ("3", "4")
    assert asked_when_idle(world) == ["3", "4"]
    assert only(ReleaseContainer, holds(world, "3", 0)).executor_id == "3"


def test_an_executor_that_leaves_takes_the_place_of_one_that_is_lost() -> None:
    world = executing(4)
    two_leave(world)
    answer = world.lose("1", -100)
    assert only(UpdateTaskBlocks, answer).executors == ("4",)
    assert not of(RequestContainers, answer)
    answer = world.lose("2", -100)
    assert only(UpdateTaskBlocks, answer).executors == ()
    assert not of(RequestContainers, answer)
    assert asked_when_idle(world) == []


def test_so_it_does_when_the_replacement_would_have_to_wait() -> None:
    world = executing(2)
    scale(world, 1, 1)
    stage_ends(world)
    holds(world, "2", 0)
    answer = world.lose("1", 1)
    assert only(UpdateTaskBlocks, answer).executors == ()
    assert (world.view().held_back, world.view().wanted) == (0, 0)


def test_many_that_hold_something_work_on_and_are_asked_in_one_go() -> None:
    world = executing(12, 12)
    scale(world, 1, 2)
    surplus = [str(number) for number in range(3, 13)]
    assert asked(stage_ends(world)) == surplus
    kept = [command for one in surplus for command in holds(world, one, ev.ONLY_MAP_OUTPUTS)]
    assert len(of(KeepSurplus, kept)) == len(surplus)
    assert asked_when_idle(world) == surplus
    assert not of(UpdateTaskBlocks, world.commands)
    *others, last = surplus
    assert not of(UpdateTaskBlocks, [command for one in others for command in holds(world, one, 0)])
    assert set(only(UpdateTaskBlocks, holds(world, last, 0)).executors) == set(surplus)


def test_one_that_is_lost_before_the_driver_tells_of_it_keeps_no_other() -> None:
    world = executing(4)
    scale(world, 1, 2)
    stage_ends(world)
    holds(world, "3", 0)
    assert only(UpdateTaskBlocks, world.lose("4", -100)).executors == ("3",)


def test_what_makes_no_sense_is_refused() -> None:
    world = executing(2, 2, 2)
    assert "have room for 4 executors of this size" in only(RefuseScale, scale(world, 5, 6)).reason
    assert "the most no less" in only(RefuseScale, scale(world, 3, 2)).reason
    assert "1 or more" in only(RefuseScale, scale(world, 0, 2)).reason
    dynamic = executing(2, dynamic_bounds=(1, 8))
    assert "Spark's bounds are final" in only(RefuseScale, scale(dynamic, 1, 9)).reason
    assert "Spark's bounds are final" in only(RefuseScale, scale(dynamic, 2, 8)).reason
    without_end = executing(2, dynamic_bounds=(0, 2**31 - 1))
    assert "final, at least 0, no maximum: only fewer" in only(RefuseScale, scale(without_end, 2, 8)).reason


@pytest.mark.parametrize(
    ("state", "memory_mb", "room"),
    [
        ("DECOMMISSIONED", 0, 6),  # an exclude file that the ResourceManager began with
        ("DECOMMISSIONED", 2816, 6),
        ("SHUTDOWN", 2816, 6),
        ("LOST", 0, 6),
        ("LOST", 2816, 8),
        ("UNHEALTHY", 2816, 8),
    ],
)
def test_only_hosts_that_may_run_again_have_room_beside_those_that_run(state: str, memory_mb: int, room: int) -> None:
    world = executing(2)
    fourth = ev.HostReport(host=HOSTS[3], state=state, memory_mb=memory_mb)
    world.tell(ev.HostsReported(hosts=(*report(2, 2, 2).hosts, fourth)))
    assert f"have room for {room} executors of this size" in only(RefuseScale, scale(world, room + 1, 10)).reason
    assert of(ChangeBounds, scale(world, room, 10))


def test_a_running_host_whose_memory_nobody_knows_may_have_room() -> None:
    world = executing(2)
    world.tell(ev.HostsReported(hosts=(*report(2, 2, 2).hosts, ev.HostReport(host=HOSTS[3]))))
    assert of(ChangeBounds, scale(world, 100, 100))


@pytest.mark.parametrize("cap", [{"placement": PlacementSettings(max_per_host=1)}, {"executor_label": "gpu"}])
def test_only_hosts_where_executors_may_be_have_room_for_them(cap: dict[str, Any]) -> None:
    world = World(initial_executors=1, **cap)
    world.start()
    there = tuple(
        msgspec.structs.replace(
            one, free_memory_mb=one.memory_mb, labels=("gpu",) * ("executor_label" in cap and not n)
        )
        for n, one in enumerate(report(2, 2).hosts)
    )
    world.tell(ev.HostsReported(hosts=there))
    world.driver_ready()
    world.run(*world.wanted())
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    assert "have room for 2 executors of this size" in only(RefuseScale, scale(world, 3, 6)).reason
    assert of(ChangeBounds, scale(world, 2, 6))


def test_with_dynamic_allocation_spark_says_how_many_within_the_bounds() -> None:
    world = executing(2, dynamic_bounds=(1, 8))
    scale(world, 1, 3)
    assert len(only(RequestContainers, world.tell(ev.TargetExecutorsChanged(count=6))).executor_ids) == 1
    assert world.view().target == 3


def test_fewer_at_most_hold_as_soon_as_spark_wants_fewer_itself() -> None:
    world = executing(2, dynamic_bounds=(1, 8))
    world.tell(ev.TargetExecutorsChanged(count=6))
    assert "the end of a stage" in only(ChangeBounds, scale(world, 1, 3)).reason
    assert world.view().target == 6
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert of(EnterPhase, world.commands)[-1].waits_for == ""
    world.tell(ev.TargetExecutorsChanged(count=6))
    assert world.view().target == 3


def test_dynamic_allocation_that_the_program_turns_on_says_how_many_as_well() -> None:
    world = executing(2)
    world.driver_ready(dynamic_bounds=(1, 8))
    world.tell(ev.JobStarted(job=1, stages=(1,)), 100 * S)
    assert "Spark's bounds are final, 1 to 8" in only(RefuseScale, scale(world, 1, 9)).reason
    scale(world, 1, 4)
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert world.view().target == 1
    world.tell(ev.TargetExecutorsChanged(count=6))
    assert world.view().target == 4


def test_dynamic_allocation_that_the_program_turns_off_bounds_nothing() -> None:
    world = executing(2, dynamic_bounds=(1, 8))
    world.driver_ready(dynamic_bounds=(0, 0))
    scale(world, 2, 9, force=True)
    assert world.view().target == 9


@pytest.mark.parametrize("ready", [False, True])
def test_before_the_job_executes_other_bounds_hold_at_once(ready: bool) -> None:
    world = World(initial_executors=2, resources=ResourcesSettings(min_executors=2, max_executors=2))
    world.start()
    if ready:
        world.driver_ready()
    answer = scale(world, 1, 4)
    assert only(ChangeBounds, answer).reason == "it holds at once"
    assert len(only(RequestContainers, answer).executor_ids) == 2


@pytest.mark.parametrize("with_bounds", [False, True])
def test_before_the_job_executes_fewer_executors_go_as_well(with_bounds: bool) -> None:
    resources = ResourcesSettings(min_executors=5, max_executors=6) if with_bounds else ResourcesSettings()
    world = World(initial_executors=6, resources=resources)
    world.start()
    world.driver_ready()
    world.run(*world.wanted()[:4])
    assert asked(scale(world, 1, 2)) == ["3", "4"]
    assert not of(UpdateTaskBlocks, holds(world, "3", 0))
    assert only(UpdateTaskBlocks, holds(world, "4", 0)).executors == ("3", "4")
    assert asked_when_idle(world) == ["3", "4"]
    told = [holds(world, one, 0) for one in ("3", "4")]
    assert [only(ReleaseContainer, one).executor_id for one in told] == ["3", "4"]


def test_a_driver_whose_start_was_not_held_starts_by_sparks_own_rule_whatever_is_asked_for_meanwhile() -> None:
    world = World(initial_executors=4)
    assert not only(StartDriver, world.start()).awaits_negotiator
    scale(world, 6, 8)
    world.driver_ready()
    world.run(*world.wanted()[:4])
    assert world.tell(ev.JobStarted(job=0, stages=(0,)))
    assert [one.phase for one in of(EnterPhase, world.commands)][-2:] == ["creating_graph", "executing"]
    told = of(EnterPhase, world.commands)[-1]
    assert (told.sufficient, told.desired) == (6, 8)
    assert not of(FinishApplication, world.fire(WAIT, START_MS + 300 * S))

    world = World(initial_executors=4)
    world.start()
    world.driver_ready()
    world.run(*world.wanted()[:2])
    scale(world, 4, 8)
    told = of(EnterPhase, world.commands)[-1]
    assert (told.sufficient, told.desired, told.waits_for) == (0, 4, "more executors")
    world.fire("resources", START_MS + 30 * S)
    assert of(EnterPhase, world.commands)[-1].phase == "creating_graph"


def next_driver(world: World, before: Callable[[World], object] = lambda _: None) -> World:
    """The driver dies, something happens ``before`` the next one starts, and its SparkContext begins."""
    world.commands.clear()
    again = [one for one in of(SetTimer, world.tell(DIED)) if one.name == "driver-restart"]
    before(world)
    for one in again:
        world.fire(one.name, one.at_ms)
    world.tell(rec.JournalReplayed())
    assert only(StartDriver, world.commands).awaits_negotiator
    world.driver_ready()
    return world


@pytest.mark.parametrize("came", [None, 0, 1, 2])
def test_the_next_driver_of_a_plain_line_waits_for_the_least_that_was_asked_for_once_that_was_there(
    came: int | None,
) -> None:
    """Before that the job ran with four, which are enough again, although the change has begun. None: it has not."""
    world = executing(4, recovery=RecoverySettings(driver_restarts=2, enabled=True))
    world.tell(rec.JournalReplayed())
    assert only(ChangeBounds, scale(world, 6, 8)).ran_with == 4
    if came is not None:
        stage_ends(world)
        world.run(*world.wanted()[-4:][:came])
        world.fire(QUIET, world.now_ms + 60 * S)
    next_driver(world)
    least = 6 if came == 2 else 4
    *fewer, last = world.wanted()[:least]
    world.run(*fewer)
    assert not of(DeclareReady, world.commands)
    assert of(DeclareReady, world.run(last))
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    assert [one.phase for one in of(EnterPhase, world.commands)][-2:] == ["creating_graph", "executing"]
    assert not of(FinishApplication, world.fire(WAIT, world.now_ms + 300 * S))


def test_a_least_that_never_was_there_ends_no_job_that_has_run() -> None:
    """Not after the second death of the driver either; and one that was there is waited for."""
    world = executing(2, recovery=RecoverySettings(driver_restarts=3, enabled=True))
    world.tell(rec.JournalReplayed())
    scale(world, 8, 8)
    for came in (5, 8):
        next_driver(world)
        world.run(*world.wanted()[:1])
        assert not of(DeclareReady, world.commands)
        assert of(DeclareReady, world.run(*world.wanted()[1:came]))
        world.tell(ev.JobStarted(job=0, stages=(0,)))
        assert not of(FinishApplication, world.fire(WAIT, world.now_ms + 300 * S))
    next_driver(world)
    world.run(*world.wanted()[:7])
    assert not of(DeclareReady, world.commands)
    assert of(FinishApplication, world.fire(WAIT, world.now_ms + 300 * S))


def plain_line_that_asks_for_more_first() -> World:
    """Spark's own rule lets it run with four."""
    world = World(initial_executors=4, recovery=RecoverySettings(driver_restarts=2, enabled=True))
    world.start()
    world.driver_ready()
    assert only(ChangeBounds, scale(world, 6, 8)).ran_with == 0
    world.run(*world.wanted()[:4])
    assert only(ChangeBounds, world.tell(ev.JobStarted(job=0, stages=(0,)))).ran_with == 4
    return world


def line_with_a_higher_least_than_came() -> World:
    """It runs with four of eight, and the most stays, so six at least hold at once."""
    world = World(
        initial_executors=8, recovery=RecoverySettings(driver_restarts=2, enabled=True), resources=ResourcesSettings()
    )
    world.start()
    world.driver_ready()
    world.run(*world.wanted()[:4])
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    told = only(ChangeBounds, scale(world, 6, 8))
    assert (told.ran_with, told.reason) == (4, "it holds at once")
    return world


@pytest.mark.parametrize("begun", [plain_line_that_asks_for_more_first, line_with_a_higher_least_than_came])
def test_bounds_that_hold_at_once_wait_for_no_least_that_was_never_there(begun: Callable[[], World]) -> None:
    world = begun()
    world.tell(rec.JournalReplayed())
    next_driver(world)
    *fewer, last = world.wanted()[:4]
    world.run(*fewer)
    assert not of(DeclareReady, world.commands)
    assert of(DeclareReady, world.run(last))
    assert not of(FinishApplication, world.fire(WAIT, world.now_ms + 300 * S))


def test_a_least_that_is_asked_for_between_two_drivers_ends_no_job_that_has_run() -> None:
    world = executing(4, recovery=RecoverySettings(driver_restarts=3, enabled=True))
    world.tell(rec.JournalReplayed())
    next_driver(world, lambda world: scale(world, 6, 8))
    assert only(ChangeBounds, world.commands).ran_with == 4
    *fewer, last = world.wanted()[:4]
    world.run(*fewer)
    assert not of(DeclareReady, world.commands)
    assert of(DeclareReady, world.run(last))
    assert not of(FinishApplication, world.fire(WAIT, world.now_ms + 300 * S))


def test_it_is_told_once_that_the_least_was_there() -> None:
    """So the next attempt waits for it. As long as the bounds wait themselves nothing is told."""
    world = executing(4, recovery=RecoverySettings(driver_restarts=2, enabled=True))
    world.tell(rec.JournalReplayed())
    asked_for = only(ChangeBounds, scale(world, 6, 8))
    assert not of(ChangeBounds, next_driver(world).commands)
    world.run(*world.wanted()[:7])
    had = only(ChangeBounds, world.tell(ev.JobStarted(job=0, stages=(0,))))
    assert had == msgspec.structs.replace(asked_for, ran_with=0, reason="the job has had 6 executors")
    world.lose(world.wanted()[0], -100)
    world.lose(world.wanted()[1], -100)
    world.run(*world.wanted()[7:])
    assert len(of(ChangeBounds, world.commands)) == 1


def test_a_least_that_is_asked_for_in_the_next_attempt_ends_no_job_that_has_run() -> None:
    world = World(initial_executors=4)
    scale(world, 6, 8, earlier=True, ran_with=4)
    assert only(ChangeBounds, scale(world, 5, 8)).ran_with == 4
    assert only(ChangeBounds, scale(world, 3, 8)).ran_with == 0


@pytest.mark.parametrize("ran_with", [0, 4])
def test_so_does_the_next_attempts(ran_with: int) -> None:
    world = World(initial_executors=4)
    assert only(ChangeBounds, scale(world, 6, 8, earlier=True, ran_with=ran_with)).ran_with == ran_with
    began = world.tell(
        ev.AttemptStarted(
            application_id="application_1_0001", attempt=2, epoch=4, container_id="c", host=HOSTS[0],
            placement_mode="blacklist",
        )
    )  # fmt: skip
    assert only(StartDriver, began).awaits_negotiator
    world.tell(report(2, 2, 2, 2))
    world.driver_ready()
    world.run(*world.wanted()[: (ran_with or 6) - 1])
    assert not of(DeclareReady, world.commands)
    if ran_with:
        assert of(DeclareReady, world.run(world.wanted()[ran_with - 1]))
        return
    end = only(FinishApplication, world.fire(WAIT, START_MS + 300 * S))
    assert "only 5 of at least 6 executors" in end.reason


def test_so_it_does_where_the_program_had_turned_dynamic_allocation_off() -> None:
    world = World(initial_executors=4, dynamic_bounds=(2, 10))
    assert not of(RefuseScale, scale(world, 5, 6, earlier=True))


def test_the_next_driver_has_the_bounds_that_were_asked_for() -> None:
    world = executing(2, recovery=RecoverySettings(driver_restarts=2, enabled=False))
    scale(world, 2, 4)
    world.tell(ev.DriverStopping())
    world.driver_ready()
    assert world.view().target == 4
    world.tell(ev.TargetExecutorsChanged(count=2))  # what its configuration says
    assert world.view().target == 4


def test_executors_that_come_after_the_start_are_one_rescale_for_each_burst() -> None:
    world = World(initial_executors=4, resources=ResourcesSettings(min_executors=1, max_executors=4))
    world.start()
    world.driver_ready()
    ids = world.wanted()
    world.run(ids[0])
    world.fire("resources", START_MS + 10 * S)
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    assert only(BeginRescale, world.run(ids[1])).cause == "new resources"
    assert not of(BeginRescale, world.run(ids[2]))
    ended = only(EndRescale, world.fire(QUIET, world.now_ms + 60 * S))
    assert (ended.got, ended.why) == (3, "3 of 4 came; what is missing stays asked for")
    world.lose(ids[2], -102)
    assert names(world.run("5")) == []  # a replacement is no rescale
    answer = world.run(ids[3])
    assert only(BeginRescale, answer).before == 3
    assert only(EndRescale, answer).why == "succeeded"


def test_a_rescale_ends_with_the_context_or_the_driver() -> None:
    world = executing(4)
    scale(world, 1, 2)
    assert only(BeginRescale, stage_ends(world)).number == 1
    ended = only(EndRescale, world.tell(ev.DriverStopping()))
    assert (ended.number, ended.got, ended.why) == (1, 4, "the SparkContext stopped")
    assert not of(EndRescale, world.driver_ready())

    world = executing(2, recovery=RecoverySettings(driver_restarts=3, enabled=True))
    scale(world, 2, 4)
    stage_ends(world)
    ended = only(EndRescale, world.tell(DIED))
    assert (ended.number, ended.got, ended.why) == (1, 2, "the driver was lost")


def test_rescales_are_numbered_over_all_attempts() -> None:
    world = executing(2, earlier_rescales=3)
    scale(world, 2, 3)
    assert only(BeginRescale, stage_ends(world)).number == 4
    assert only(EndRescale, world.run(world.wanted()[-1])).number == 4


def test_surplus_executors_do_not_count_when_more_are_wanted_again() -> None:
    world = executing(4)
    scale(world, 1, 2)
    stage_ends(world)
    scale(world, 1, 3)
    world.fire(RESCALE, world.now_ms + 31 * S)
    answer = stage_ends(world, 61 * S)
    begun = of(BeginRescale, answer)[0]
    assert (begun.number, begun.before, begun.wanted) == (2, 2, 3)
    first, second = of(EndRescale, answer)
    assert (first.number, first.got, first.why) == (1, 4, "given up for other bounds")
    assert (second.number, second.got, second.why) == (2, 3, "succeeded")
