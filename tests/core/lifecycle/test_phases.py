"""The phases of an attempt: waiting for resources, executing, and the ways in which it ends."""

from __future__ import annotations

import pytest

from tests.core.world import HOSTS, START_MS, World, hosts, names, of, only
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    AbandonAttempt,
    Command,
    FinishApplication,
    RequestContainers,
    SetTimer,
    StopDriver,
    Warn,
)
from yarnspec.core.negotiator import SPREAD_HOSTS_TIMER

WAIT = "resource-wait"


def deadline(commands: list[Command]) -> SetTimer | None:
    found = [one for one in of(SetTimer, commands) if one.name == WAIT]
    return found[-1] if found else None


def begun(**changes: object) -> World:
    world = World(**changes)
    world.start()
    return world


def test_phases_in_their_order() -> None:
    world = World()
    assert world.view().phase == "new"
    world.start()
    assert world.view().phase == "waiting"
    world.driver_ready()
    world.run("1")
    assert world.view().phase == "executing"
    world.lose("1", -102)
    assert world.view().phase == "waiting"
    world.tell(ev.DriverStopping())
    assert world.view().phase == "finishing"
    world.tell(ev.DriverFinished(exit_code=0))
    assert world.view().phase == "finished"


def test_resources_that_do_not_come_in_time_end_the_application_with_yarns_reason() -> None:
    world = begun()
    timer = deadline(world.commands)
    assert timer is not None
    assert timer.at_ms == START_MS + 300_000
    world.driver_ready()
    world.tell(ev.PendingExplained(reason="queue root.small is over its capacity"))
    answer = world.fire(WAIT, timer.at_ms)
    assert names(answer) == ["StopDriver", "FinishApplication"]
    end = only(FinishApplication, answer)
    assert (end.status, end.exit_code) == ("FAILED", 6)
    assert "queue root.small is over its capacity" in end.reason
    assert "within 300 s" in end.reason
    assert "target 2: 0 running, 0 starting, 2 asked for" in end.reason
    assert only(StopDriver, answer).reason == end.reason


def test_the_reason_names_blocked_hosts_and_executors_that_never_registered() -> None:
    world = begun()
    world.driver_ready()
    world.block(HOSTS[2])
    world.allocate("1")
    answer = world.fire(WAIT, START_MS + 300_000)
    reason = only(FinishApplication, answer).reason
    assert f"blocked hosts: {HOSTS[2]}" in reason
    assert "1 containers started but did not register" in reason


def test_the_wait_ends_with_the_first_executor() -> None:
    world = begun()
    world.driver_ready()
    world.run("1")
    # Spark's own wait for more is over by then as well.
    assert names(world.fire(WAIT, START_MS + 300_000)) == ["DeclareReady", "EnterPhase"]
    assert world.view().counters["stale_timers"] == 1


def test_a_new_wait_begins_when_all_executors_are_lost() -> None:
    world = begun()
    world.driver_ready()
    world.run("1", "2")
    world.now_ms += 1_000_000
    assert deadline(world.lose("1", -102)) is None
    timer = deadline(world.lose("2", -102))
    assert timer is not None
    assert timer.at_ms == world.now_ms + 300_000
    assert only(FinishApplication, world.fire(WAIT, timer.at_ms)).exit_code == 6


def test_a_program_that_takes_its_time_to_start_spark_is_not_ended_while_it_holds_containers() -> None:
    world = begun()
    world.allocate("1")
    assert world.fire(WAIT, START_MS + 300_000) == []
    world.now_ms = START_MS + 900_000
    timer = deadline(world.driver_ready())
    assert timer is not None
    assert timer.at_ms == START_MS + 1_200_000


def test_the_wait_can_be_turned_off() -> None:
    assert deadline(begun(resource_wait_ms=0).commands) is None


def test_nothing_is_waited_for_when_spark_wants_nothing() -> None:
    world = begun(initial_executors=0)
    assert "RequestContainers" not in names(world.commands)
    assert deadline(world.commands) is None
    world.driver_ready()
    assert deadline(world.tell(ev.TargetExecutorsChanged(count=1))) is not None
    world.tell(ev.TargetExecutorsChanged(count=0))
    assert world.fire(WAIT, START_MS + 300_000) == []


def test_a_program_that_ends_well_ends_the_application() -> None:
    world = begun()
    world.driver_ready()
    answer = world.tell(ev.DriverFinished(exit_code=0))
    end = only(FinishApplication, answer)
    assert (end.status, end.exit_code, names(answer)) == ("SUCCEEDED", 0, ["FinishApplication"])


def test_of_a_program_that_ends_without_a_context_a_warning_tells() -> None:
    """Its Spark may have run where nobody sees it; one with a context, and one that fails, tell by themselves."""
    for seen, exit_code, warned in ((False, 0, True), (True, 0, False), (False, 1, False)):
        world = begun()
        if seen:
            world.driver_ready()
        world.tell(ev.DriverFinished(exit_code=exit_code))
        assert any("no SparkContext" in warning for warning in world.warnings) == warned


def test_a_program_that_fails_is_final_and_shows_its_traceback() -> None:
    answer = begun().tell(
        ev.DriverFinished(exit_code=3, reason="ValueError: no", traceback="Traceback ...\nValueError")
    )
    end = only(FinishApplication, answer)
    assert (end.status, end.exit_code) == ("FAILED", 1)
    assert end.diagnostics == "Traceback ...\nValueError"
    assert "exit code 3" in end.reason
    assert "ValueError: no" in end.reason


def test_a_lost_driver_leaves_the_job_to_the_next_attempt() -> None:
    answer = begun().tell(ev.DriverLost(exit_code=137, reason="killed by signal 9"))
    assert names(answer) == ["AbandonAttempt"]
    abandoned = only(AbandonAttempt, answer)
    assert abandoned.exit_code == 137
    assert "killed by signal 9" in abandoned.reason


def test_a_lost_driver_with_exit_code_0_is_still_a_crash() -> None:
    assert only(AbandonAttempt, begun().tell(ev.DriverLost(exit_code=0, reason="gone"))).exit_code == 1


@pytest.mark.parametrize(
    "end",
    [ev.DriverFinished(exit_code=0), ev.DriverFinished(exit_code=1), ev.DriverLost(exit_code=137, reason="killed")],
)
def test_after_the_end_nothing_is_commanded(end: ev.Event) -> None:
    world = begun()
    world.driver_ready()
    world.run("1")
    world.tell(end)
    assert world.lose("1", -102) == []
    assert world.block(HOSTS[2]) == []
    assert world.tell(ev.DriverLost(exit_code=9, reason="late")) == []
    assert world.start() == []


def test_events_of_a_driver_before_the_attempt_began_are_counted_and_ignored() -> None:
    world = World()
    for event in (
        ev.DriverReady(driver_url=""),
        ev.DriverStopping(),
        ev.DriverLost(exit_code=1, reason=""),
        ev.DriverFinished(exit_code=0),
    ):
        assert world.tell(event) == []
    assert world.view().counters["out_of_order"] == 4
    assert names(world.start(report=False))[0] == "StartDriver"


def test_a_second_start_is_ignored() -> None:
    world = begun()
    assert world.start(epoch=2) == []
    world.lose("1", 1)
    assert all(int(executor_id) < 10_000 for executor_id in world.wanted())


def test_unknown_and_stale_timers_are_dropped_and_counted() -> None:
    world = begun()
    world.fire("no such timer", world.now_ms)
    world.tell(ev.TimerFired(name=WAIT, at_ms=START_MS - 1))
    assert world.view().counters["stale_timers"] == 2


def test_warnings_that_were_only_counted_are_told_at_the_end() -> None:
    world = begun()
    world.tell(ev.FeedLagged(count=12))
    world.tell(ev.FeedLagged(count=5_000), 1_000)
    assert [one.times for one in of(Warn, world.commands)] == [12]
    world.tell(ev.FeedLagged(count=1), 1_000)
    ended = world.tell(ev.DriverFinished(exit_code=0))
    assert [one.times for one in of(Warn, ended) if "observations" in one.reason] == [5_001]


def test_the_view_before_anything_happened() -> None:
    view = World().view()
    assert (view.phase, view.containers, view.placement_lag) == ("new", (), 0)


def test_the_view_tells_the_whole_state() -> None:
    world = begun()
    world.driver_ready()
    world.run("1")
    world.block(HOSTS[2], duration_ms=60_000)
    world.tell(ev.PendingExplained(reason="no room"))
    world.tell(ev.ProblemNoticed(message="unreadable"))
    world.tell(ev.ProblemNoticed(message="unreadable"))
    world.tell(ev.ProgramWarned(key="spark.master", value="x", message="spark.master is ours"))
    world.tell(ev.ResourceManagerReconnected())
    view = world.view()
    assert (view.target, view.wanted, view.allocated, view.running) == (2, 1, 0, 1)
    assert [(one.executor_id, one.host, one.state) for one in view.containers] == [
        ("1", HOSTS[1], "running"),
        ("2", "", "wanted"),
    ]
    assert [(one.host, one.reason, one.until_ms) for one in view.blocked_hosts] == [
        (HOSTS[2], "slow", world.now_ms + 60_000)
    ]
    assert view.pending_reason == "no room"
    assert world.warnings == ["unreadable", "spark.master is ours"]


def test_hosts_that_come_late_ask_for_nothing_again() -> None:
    world = World()
    timer = next(one for one in of(SetTimer, world.start(report=False)) if one.name == SPREAD_HOSTS_TIMER)
    assert of(RequestContainers, world.fire(timer.name, timer.at_ms))
    assert world.tell(hosts()) == []
