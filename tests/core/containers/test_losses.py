"""Containers that end: who is to blame, when they are replaced, when it is enough."""

from __future__ import annotations

import pytest

from tests.core.world import HOSTS, World, hosts, names, of, only
from yarnspec.core.containers.blame import blame, shorten
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    CheckHosts,
    Command,
    DecommissionHost,
    FinishApplication,
    ReleaseContainer,
    RemoveExecutor,
    RequestContainers,
    SetTimer,
    Warn,
)

OLD_MS = 31_000


def running(**changes: object) -> World:
    """Two executors that have proved healthy."""
    world = World(**changes)
    world.start()
    world.driver_ready()
    world.run("1", "2")
    world.now_ms += OLD_MS
    return world


def young(**changes: object) -> World:
    """Executors asked for, a driver that listens, nothing registered yet."""
    world = World(**changes)
    world.start()
    world.driver_ready()
    return world


@pytest.mark.parametrize("exit_code", [-100, -101, -102, -105, -106, -107, -108])
def test_what_the_cluster_took_is_not_the_applications_fault(exit_code: int) -> None:
    told = only(RemoveExecutor, running().lose("1", exit_code, "taken"))
    assert (told.executor_id, told.exit_code, told.caused_by_app) == ("1", exit_code, False)
    assert "taken" in told.reason
    assert str(exit_code) in told.reason


@pytest.mark.parametrize("exit_code", [0, 1, 50, 52, 56, 134, 137, -103, -104, -109, -1000])
def test_other_ends_are_the_applications_fault(exit_code: int) -> None:
    told = only(RemoveExecutor, running().lose("1", exit_code))
    assert told.caused_by_app
    assert f"exit code {exit_code}" in told.reason


def test_a_preempted_container_is_named_so_and_replaced_at_once() -> None:
    answer = running().lose("1", -102)
    assert names(answer) == ["RemoveExecutor", "UpdatePlacement", "RequestContainers"]
    assert "preempted" in only(RemoveExecutor, answer).reason
    assert only(RequestContainers, answer).executor_ids == ("3",)


@pytest.mark.parametrize("exit_code", [-104, -103])
def test_a_container_over_its_memory_tells_what_to_raise(exit_code: int) -> None:
    reason = only(RemoveExecutor, running().lose("1", exit_code)).reason
    assert "spark.executor.memoryOverhead" in reason
    assert "1408 MB" in reason


@pytest.mark.parametrize("exit_code", [137, 143])
@pytest.mark.parametrize("state", ["LOST", "SHUTDOWN", "DECOMMISSIONED"])
def test_a_kill_on_a_host_that_is_gone_is_the_hosts_fault(exit_code: int, state: str) -> None:
    world = running()
    world.tell(hosts(h3=state))
    answer = world.lose("1", exit_code)
    told = only(RemoveExecutor, answer)
    assert not told.caused_by_app
    assert state in told.reason
    assert of(RequestContainers, answer)


def test_sigterm_from_outside_costs_no_task_failure_but_a_start_that_ends_so_is_counted() -> None:
    world = young()
    world.allocate("1")
    answer = world.lose("1", 143)
    assert not only(RemoveExecutor, answer).caused_by_app
    assert of(SetTimer, answer)
    assert world.view().counters["young_deaths"] == 1


def test_exit_code_0_is_not_taken_for_fine() -> None:
    answer = running().lose("1", 0)
    assert only(RemoveExecutor, answer).caused_by_app
    assert only(RequestContainers, answer).executor_ids == ("3",)


def test_an_executor_that_spark_decommissioned_may_end_and_is_replaced() -> None:
    world = running()
    assert world.tell(ev.ExecutorsDecommissioned(executor_ids=("1", "77"))) == []
    answer = world.lose("1", 0)
    told = only(RemoveExecutor, answer)
    assert not told.caused_by_app
    assert "decommissioned" in told.reason
    assert only(RequestContainers, answer).executor_ids == ("3",)
    assert world.view().counters["young_deaths"] == 0


def test_an_executor_that_crashes_while_it_is_decommissioned_has_failed() -> None:
    world = running()
    world.tell(ev.ExecutorsDecommissioned(executor_ids=("1",)))
    assert only(RemoveExecutor, world.lose("1", 1)).caused_by_app


def test_spark_is_told_once_of_a_host_that_yarn_decommissions_and_of_executors_that_register_there_later() -> None:
    world = young(decommissions=True)
    world.run("1", host=HOSTS[1])
    world.allocate("2", HOSTS[1])
    told = only(DecommissionHost, world.tell(hosts(h3="DECOMMISSIONING", h4="DECOMMISSIONING")))
    assert told.host == HOSTS[1]
    assert "executors 1" in told.reason
    assert of(DecommissionHost, world.tell(hosts(h3="DECOMMISSIONING"))) == []
    assert only(DecommissionHost, world.register("2", HOSTS[1])).host == HOSTS[1]


def test_without_sparks_property_nobody_is_told_of_a_host_that_yarn_decommissions() -> None:
    assert of(DecommissionHost, running().tell(hosts(h3="DECOMMISSIONING"))) == []


def test_an_executor_that_has_served_is_replaced_at_once() -> None:
    assert names(running().lose("1", 137)) == ["RemoveExecutor", "UpdatePlacement", "RequestContainers"]


def test_spark_is_not_told_before_it_listens() -> None:
    world = World()
    world.start()
    world.allocate("1")
    assert of(RemoveExecutor, world.lose("1", -100)) == []


def test_while_spark_stops_nothing_is_replaced() -> None:
    world = running()
    assert world.tell(ev.DriverStopping()) == []
    assert world.lose("1", 0) == []
    assert world.lose("2", 1) == []
    assert world.tell(ev.TargetExecutorsChanged(count=5)) == []
    assert world.view().phase == "finishing"


def test_a_program_that_starts_spark_again_gets_executors_again() -> None:
    world = running()
    world.tell(ev.DriverStopping())
    world.lose("1", 0)
    world.lose("2", 0)
    assert only(RequestContainers, world.driver_ready()).executor_ids == ("3", "4")


def test_executors_of_a_context_that_stopped_end_for_free_under_the_next_one() -> None:
    world = running(max_executor_failures=0)
    world.tell(ev.DriverStopping())
    answer = world.driver_ready()
    assert [one.executor_id for one in of(ReleaseContainer, answer)] == ["1", "2"]
    assert only(RequestContainers, answer).executor_ids == ("3", "4")
    assert world.lose("1", 0) == []
    assert world.lose("2", 143) == []
    view = world.view()
    assert (view.phase, view.counters["young_deaths"], view.wanted) == ("waiting", 0, 2)
    world.run("3", "4")
    assert world.view().running == 2


def test_a_context_that_stops_takes_back_what_did_not_register_yet() -> None:
    world = World(initial_executors=3)
    world.start()
    world.driver_ready()
    world.run("1")
    world.allocate("2")
    answer = world.tell(ev.DriverStopping())
    assert [one.executor_id for one in of(ReleaseContainer, answer)] == ["2", "3"]
    assert world.wanted() == ()
    world.lose("1", 0)
    assert world.lose("2", -105) == []
    assert [one.executor_id for one in of(ReleaseContainer, world.allocate("3"))] == ["3"]


def test_the_next_context_begins_with_the_initial_target() -> None:
    world = running()
    world.tell(ev.TargetExecutorsChanged(count=0))
    world.tell(ev.DriverStopping())
    assert only(RequestContainers, world.driver_ready()).executor_ids == ("3", "4")


def test_many_contexts_one_after_the_other_never_fail_the_application() -> None:
    world = World()
    world.start()
    for number in range(20):
        ids = (str(2 * number + 1), str(2 * number + 2))
        world.driver_ready()
        for late in (2 * number - 1, 2 * number):
            world.lose(str(late), 0)
        world.run(*ids)
        world.tell(ev.DriverStopping())
    assert of(FinishApplication, world.commands) == []
    assert world.view().counters["young_deaths"] == 0


def test_executors_that_look_for_the_driver_at_the_wrong_port_are_asked_for_again() -> None:
    world = World()
    world.start()
    world.tell(ev.DriverStarted(pid=1, address="127.0.0.2:7"))
    world.allocate("1")
    answer = world.driver_ready()  # at port 1
    assert [one.executor_id for one in of(ReleaseContainer, answer)] == ["1", "2"]
    assert "127.0.0.2:7" in of(ReleaseContainer, answer)[0].reason
    assert only(RequestContainers, answer).executor_ids == ("3", "4")
    assert not only(RemoveExecutor, world.lose("1", -105)).caused_by_app


def test_a_driver_at_the_planned_port_keeps_the_executors_on_their_way() -> None:
    world = World()
    world.start()
    world.tell(ev.DriverStarted(pid=1, address="127.0.0.2:1"))
    world.allocate("1")
    assert of(ReleaseContainer, world.driver_ready()) == []


def test_a_loss_below_the_target_is_not_replaced() -> None:
    world = running()
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert names(world.lose("1", 137)) == ["RemoveExecutor"]


def test_before_the_driver_listens_young_deaths_wait_for_it_and_are_not_counted() -> None:
    world = World()
    world.start()
    for executor_id in ("1", "2"):
        world.allocate(executor_id)
        assert of(RequestContainers, world.lose(executor_id, 1)) == []
    assert world.view().held_back == 2
    assert world.view().counters["young_deaths"] == 0
    assert only(RequestContainers, world.driver_ready()).executor_ids == ("3", "4")


def test_before_the_driver_listens_what_the_cluster_took_is_replaced_at_once() -> None:
    world = World()
    world.start()
    world.allocate("1")
    answer = world.lose("1", -100, "Container released on a *lost* node")
    assert only(RequestContainers, answer).executor_ids == ("3",)


def test_what_hosts_will_not_start_is_held_back_and_the_end_at_last() -> None:
    """Skein gives such containers back to YARN, which tells of them as released; without an end they come again."""
    world = young()
    answer: list[Command] = []
    for number in range(1, 100):
        world.allocate(str(number))
        answer = world.lose(str(number), -100, "Container released by application")
        if of(FinishApplication, answer):
            break
        for timer in of(SetTimer, answer):
            world.fire(timer.name, timer.at_ms)
    assert "would not start it" in only(FinishApplication, answer).reason
    assert "--role am" in only(FinishApplication, answer).reason


def test_what_was_on_its_way_to_a_lost_node_is_replaced_at_once() -> None:
    world = young()
    world.allocate("1")
    answer = world.lose("1", -100, "Container released on a *lost* node")
    assert only(RequestContainers, answer).executor_ids == ("3",)


def test_replacements_of_young_deaths_wait_twice_as_long_each_round() -> None:
    world = young(initial_executors=1, max_executor_failures=99)
    waits = []
    for n in range(1, 8):
        world.allocate(str(n))
        answer = world.lose(str(n), 1, "no such class")
        assert of(RequestContainers, answer) == []
        timer = next(one for one in of(SetTimer, answer) if one.name == "replacement-backoff")
        waits.append(timer.at_ms - world.now_ms)
        assert only(RequestContainers, world.fire(timer.name, timer.at_ms)).executor_ids == (str(n + 1),)
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]


def test_the_time_that_an_executor_worked_is_a_part_of_the_wait() -> None:
    """Each lives ten seconds: the waits are those of above, less ten."""
    world = young(initial_executors=1, max_executor_failures=9)
    waits = []
    for n in range(1, 8):
        world.allocate(str(n))
        world.register(str(n))
        answer = world.lose(str(n), 137, after_ms=10_000)
        timers = [one for one in of(SetTimer, answer) if one.name == "replacement-backoff"]
        waits += [one.at_ms - world.now_ms for one in timers]
        assert len(of(RequestContainers, answer)) == 1 - len(timers)
        for timer in timers:
            assert only(RequestContainers, world.fire(timer.name, timer.at_ms)).executor_ids == (str(n + 1),)
    assert waits == [6_000, 20_000, 20_000]


def test_young_deaths_of_one_round_share_one_wait() -> None:
    world = young()
    world.allocate("1")
    world.allocate("2")
    timer = next(one for one in of(SetTimer, world.lose("1", 1)) if one.name == "replacement-backoff")
    assert "replacement-backoff" not in [one.name for one in of(SetTimer, world.lose("2", 1))]
    assert only(RequestContainers, world.fire(timer.name, timer.at_ms)).executor_ids == ("3", "4")


def test_a_held_replacement_is_not_asked_for_by_other_events() -> None:
    world = young()
    world.allocate("1")
    world.lose("1", 1)
    assert of(RequestContainers, world.block(HOSTS[3])) == []
    assert only(RequestContainers, world.tell(ev.TargetExecutorsChanged(count=3))).executor_ids == ("3",)
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert world.view().held_back == 0


def die_young(world: World, executor_id: str, exit_code: int = 1) -> list[str]:
    """Let one die and its replacement be asked for; the names of the commands."""
    world.allocate(executor_id, HOSTS[2])
    answer = world.lose(executor_id, exit_code, "could not find the main class", host=HOSTS[2])
    for timer in of(SetTimer, answer):
        if timer.name == "replacement-backoff":
            answer = answer + world.fire(timer.name, timer.at_ms)
    return names(answer)


def test_too_many_young_deaths_end_the_application() -> None:
    world = young(initial_executors=1)
    for n in range(1, 4):
        assert "FinishApplication" not in die_young(world, str(n))
    die_young(world, "4", 137)
    end = only(FinishApplication, world.commands)
    assert (end.status, end.exit_code) == ("FAILED", 1)
    assert "4 executors died" in end.reason
    assert "3 may" in end.reason
    assert "1 x 3, 137 x 1" in end.reason
    assert HOSTS[2] in end.reason
    assert "could not find the main class" in end.diagnostics
    assert names(world.commands)[-2:] == ["StopDriver", "FinishApplication"]


def test_executors_that_die_soon_after_they_registered_count_too() -> None:
    world = young(initial_executors=1)
    for n in range(1, 5):
        world.allocate(str(n))
        world.register(str(n))
        answer = world.lose(str(n), 56, after_ms=29_999)
        for timer in of(SetTimer, answer):
            if timer.name == "replacement-backoff":
                world.fire(timer.name, timer.at_ms)
    assert only(FinishApplication, world.commands).exit_code == 1


def test_the_limit_grows_with_the_target() -> None:
    world = young(initial_executors=5)
    ids = [str(n) for n in range(1, 12)]
    for executor_id in ids[:10]:
        assert "FinishApplication" not in die_young(world, executor_id)
    assert "FinishApplication" in die_young(world, "11")


def test_the_limit_can_be_set() -> None:
    world = young(initial_executors=5, max_executor_failures=0)
    assert "FinishApplication" in die_young(world, "1")


def test_a_healthy_executor_keeps_the_application_alive() -> None:
    world = running(max_executor_failures=1)
    world.tell(ev.TargetExecutorsChanged(count=3))
    for n in range(3, 30):
        assert "FinishApplication" not in die_young(world, str(n))


def test_deaths_before_a_healthy_executor_died_do_not_end_the_application() -> None:
    world = running(max_executor_failures=1)
    world.tell(ev.TargetExecutorsChanged(count=3))
    die_young(world, "3")
    world.lose("1", -102)
    world.lose("2", -102)
    assert "FinishApplication" not in die_young(world, "4")


def test_deaths_outside_the_window_are_forgotten() -> None:
    world = young(initial_executors=1, max_executor_failures=1, resource_wait_ms=0)
    for n in range(1, 6):
        assert "FinishApplication" not in die_young(world, str(n))
        world.now_ms += 600_001


def test_preempted_starts_are_no_failures() -> None:
    world = young(initial_executors=1, max_executor_failures=0)
    for n in range(1, 10):
        world.allocate(str(n))
        assert only(RequestContainers, world.lose(str(n), -102)).executor_ids == (str(n + 1),)


def test_long_diagnostics_are_shortened_to_one_line() -> None:
    text = shorten("a\n" * 1000)
    assert len(text) <= 400
    assert "\n" not in text
    verdict = blame(exit_code=1, diagnostics="x" * 5000, host="h", host_state="", memory_mb=1)
    assert len(verdict.text) < 500


def test_an_executor_that_spark_gave_up_is_released_and_replaced_when_yarn_says_nothing() -> None:
    world = running()
    timer = only(SetTimer, world.tell(ev.ExecutorRemoved(executor_id="1", reason="heartbeat timed out")))
    assert timer.at_ms == world.now_ms + 10_000
    assert world.tell(ev.ExecutorRemoved(executor_id="1", reason="again")) == []
    answer = world.fire(timer.name, timer.at_ms)
    assert names(answer) == ["ReleaseContainer", "UpdatePlacement", "RequestContainers"]
    assert "heartbeat timed out" in only(ReleaseContainer, answer).reason
    assert not only(RemoveExecutor, world.lose("1", 137)).caused_by_app
    assert world.view().counters["young_deaths"] == 0


def test_an_executor_that_spark_gave_up_is_replaced_as_soon_as_its_host_is_found_dead() -> None:
    world = running()
    answer = world.tell(ev.ExecutorRemoved(executor_id="1", reason="its connection broke"))
    assert only(CheckHosts, answer).hosts == (HOSTS[1],)
    timer = only(SetTimer, answer)
    found = world.tell(hosts(h3="UNREACHABLE"))
    assert names(found) == ["ReleaseContainer", "UpdatePlacement", "RequestContainers"]
    assert f"the NodeManager of {HOSTS[1]} does not answer" in only(ReleaseContainer, found).reason
    assert world.fire(timer.name, timer.at_ms) == []
    assert not only(RemoveExecutor, world.lose("1", -100)).caused_by_app
    assert world.view().wanted == 1


def test_what_starts_on_a_host_that_is_found_dead_starts_elsewhere() -> None:
    world = young()
    world.allocate("1", HOSTS[1])
    found = world.tell(hosts(h3="UNREACHABLE"))
    assert only(ReleaseContainer, found).executor_id == "1"
    assert only(RequestContainers, found).executor_ids == ("3",)
    world.lose("1", -100)
    assert world.view().counters["young_deaths"] == 0


def test_executors_on_a_host_that_does_not_answer_go_on_until_spark_gives_them_up() -> None:
    world = running()
    assert of(ReleaseContainer, world.tell(hosts(h3="UNREACHABLE"))) == []
    answer = world.tell(ev.ExecutorRemoved(executor_id="1", reason="its connection broke"))
    assert names(answer) == ["ReleaseContainer", "UpdatePlacement", "RequestContainers"]


def test_an_executor_whose_end_is_heard_of_in_time_is_replaced_once() -> None:
    world = running()
    timer = only(SetTimer, world.tell(ev.ExecutorRemoved(executor_id="1", reason="its connection broke")))
    assert only(RequestContainers, world.lose("1", -100)).executor_ids == ("3",)
    assert world.fire(timer.name, timer.at_ms) == []


def test_a_removal_of_what_is_gone_or_released_already_means_nothing() -> None:
    world = running()
    world.lose("1", -100)
    world.tell(ev.ExecutorsUnwanted(executor_ids=("2",)))
    for executor_id in ("1", "2", "77"):
        assert world.tell(ev.ExecutorRemoved(executor_id=executor_id)) == []
    world.tell(ev.DriverStopping())
    assert world.tell(ev.ExecutorRemoved(executor_id="3")) == []


@pytest.mark.parametrize(("exit_code", "free"), [(143, True), (137, True), (-102, True), (-104, False), (1, False)])
def test_a_kill_that_yarn_had_announced_is_not_the_applications_fault(exit_code: int, free: bool) -> None:
    world = running()
    assert world.tell(ev.ContainersPreempted(container_ids=("c1", "the AM's"), strict=True)) == []
    assert only(RemoveExecutor, world.lose("1", exit_code)).caused_by_app is not free
    assert only(RemoveExecutor, world.lose("2", 137)).caused_by_app


def test_ends_of_tasks_that_nobody_heard_of_are_a_warning() -> None:
    world = running()
    told = only(Warn, world.tell(ev.FeedLagged(count=12)))
    assert "observations of tasks were lost" in told.reason
    assert told.times == 12
    # What comes again soon is counted, and told a minute later.
    assert names(world.tell(ev.FeedLagged(count=3), after_ms=1_000)) == []
    assert only(Warn, world.tell(ev.FeedLagged(count=1), after_ms=60_000)).times == 4
