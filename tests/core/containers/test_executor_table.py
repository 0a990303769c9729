"""Asking for containers, withdrawing them, and what Spark wants."""

from __future__ import annotations

from tests.core.world import HOSTS, World, names, of, only
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    ReleaseContainer,
    RemoveExecutor,
    RequestContainers,
    SetTimer,
    StartDriver,
    UpdatePlacement,
)
from yarnspec.core.messages.settings import PlacementSettings


def started(**changes: object) -> World:
    world = World(**changes)
    world.start()
    world.driver_ready()
    return world


def test_driver_and_containers_start_at_once() -> None:
    unspread = PlacementSettings(spread=False)
    answer = World(initial_executors=3, executor_label="fast", placement=unspread).start(report=False)
    assert names(answer) == ["StartDriver", "UpdatePlacement", "RequestContainers", "SetTimer"]
    assert only(StartDriver, answer).epoch == 1
    assert only(RequestContainers, answer).executor_ids == ("1", "2", "3")
    placement = only(UpdatePlacement, answer)
    assert placement.version == 1
    assert [(one.id, one.memory_mb, one.vcores, one.label) for one in placement.wanted] == [
        ("1", 1408, 1, "fast"),
        ("2", 1408, 1, "fast"),
        ("3", 1408, 1, "fast"),
    ]


def test_ids_of_epochs_do_not_meet() -> None:
    assert only(RequestContainers, World().start(epoch=3)).executor_ids == ("200001", "200002")


def test_a_raised_target_asks_for_the_difference_with_new_ids() -> None:
    world = started()
    world.run("1", "2")
    answer = world.tell(ev.TargetExecutorsChanged(count=4))
    assert names(answer) == ["UpdatePlacement", "RequestContainers"]
    request = only(RequestContainers, answer)
    assert request.executor_ids == ("3", "4")
    assert "target 4: 2 running, 0 starting, 2 asked for" in request.reason
    assert world.wanted() == ("3", "4")


def test_the_same_target_again_asks_for_nothing() -> None:
    world = started()
    assert world.tell(ev.TargetExecutorsChanged(count=2)) == []


def test_a_lowered_target_withdraws_pending_requests_the_newest_first() -> None:
    world = started(initial_executors=4)
    world.run("1")
    answer = world.tell(ev.TargetExecutorsChanged(count=2))
    assert names(answer) == ["EnterPhase", "ReleaseContainer", "ReleaseContainer", "UpdatePlacement"]
    assert [one.executor_id for one in of(ReleaseContainer, answer)] == ["4", "3"]
    assert world.wanted() == ("2",)


def test_a_lowered_target_leaves_running_executors_alone() -> None:
    world = started()
    world.run("1", "2")
    assert world.tell(ev.TargetExecutorsChanged(count=0)) == []
    assert world.view().running == 2


def test_executors_that_spark_names_are_released_and_not_replaced() -> None:
    world = started()
    world.run("1", "2")
    world.tell(ev.TargetExecutorsChanged(count=1))
    answer = world.tell(ev.ExecutorsUnwanted(executor_ids=("2",)))
    assert names(answer) == ["ReleaseContainer"]
    assert only(ReleaseContainer, answer).executor_id == "2"
    assert world.tell(ev.ExecutorsUnwanted(executor_ids=("2",))) == []
    lost = world.lose("2", -105)
    assert names(lost) == ["RemoveExecutor"]
    assert not only(RemoveExecutor, lost).caused_by_app


def test_an_executor_that_spark_wants_exchanged_is_replaced() -> None:
    world = started()
    world.run("1", "2")
    answer = world.tell(ev.ExecutorsUnwanted(executor_ids=("2",)))
    assert names(answer) == ["ReleaseContainer", "UpdatePlacement", "RequestContainers"]
    assert only(RequestContainers, answer).executor_ids == ("3",)


def test_a_pending_executor_that_spark_names_is_withdrawn() -> None:
    world = started()
    world.tell(ev.TargetExecutorsChanged(count=2))
    answer = world.tell(ev.ExecutorsUnwanted(executor_ids=("1",)))
    assert only(ReleaseContainer, answer).executor_id == "1"
    assert world.wanted() == ("2", "3")


def test_a_container_that_comes_after_its_withdrawal_is_sent_back() -> None:
    world = started()
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert only(ReleaseContainer, world.allocate("2")).executor_id == "2"
    assert world.allocate("2") == []
    assert names(world.lose("2", -100)) == ["RemoveExecutor"]


def test_the_placement_that_yarn_served_is_the_one_that_goes() -> None:
    world = started(initial_executors=3)
    world.allocate("1", wanted_id="2")
    world.tell(ev.TargetExecutorsChanged(count=4))
    assert world.wanted() == ("1", "3", "4")
    world.allocate("2", wanted_id="1")
    world.allocate("3")
    world.tell(ev.TargetExecutorsChanged(count=5))
    assert world.wanted() == ("4", "5")


def test_a_withdrawn_request_takes_one_placement_with_it_even_when_its_own_was_served() -> None:
    world = started(initial_executors=2)
    world.allocate("1", wanted_id="2")
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert world.wanted() == ()


def test_registration_may_be_heard_of_before_allocation() -> None:
    world = started()
    world.register("1")
    assert world.allocate("1") == []
    view = world.view()
    assert (view.running, view.wanted) == (1, 1)


def test_a_dropped_container_stays_wanted() -> None:
    world = started()
    assert world.tell(ev.ContainerDropped(container_id="c9", host=HOSTS[1])) == []
    assert world.view().wanted == 2


def test_what_runs_on_a_host_that_gets_blocked_goes_on() -> None:
    world = started()
    world.run("1", host=HOSTS[1])
    answer = world.block(HOSTS[1])
    assert names(answer) == ["BlockHost", "UpdateTaskBlocks", "UpdatePlacement"]
    assert [one.state for one in world.view().containers] == ["running", "wanted"]


def test_acknowledged_versions_show_how_far_the_placement_has_come() -> None:
    world = started()
    world.block(HOSTS[1])
    assert world.view().placement_lag == 2
    assert world.tell(ev.PlacementAcknowledged(version=1)) == []
    assert world.view().placement_lag == 1
    for version in (1, 99, 0):
        world.tell(ev.PlacementAcknowledged(version=version))
    view = world.view()
    assert (view.placement_lag, view.counters["out_of_order"]) == (1, 3)


def test_requests_that_failed_are_made_again_with_new_ids_after_a_pause() -> None:
    world = started()
    answer = world.tell(ev.RequestFailed(executor_ids=("1", "2", "77"), message="connection refused"))
    timer = of(SetTimer, answer)[0]
    assert "2 requests failed: connection refused" in timer.reason
    assert only(RequestContainers, world.fire(timer.name, timer.at_ms)).executor_ids == ("3", "4")


def test_unknown_executors_are_ignored_and_counted() -> None:
    world = started()
    assert world.allocate("77") == []
    assert world.register("77") == []
    assert world.lose("77", 1) == []
    assert world.tell(ev.ExecutorsUnwanted(executor_ids=("77",))) == []
    assert world.lose("1", 1) != []
    assert world.lose("1", 1) == []
    assert world.view().counters["unknown_executors"] == 5


def test_an_end_that_is_heard_of_before_the_allocation_is_the_end() -> None:
    world = started()
    assert only(RemoveExecutor, world.lose("1", 0)).executor_id == "1"
    world.allocate("1")
    world.register("1")
    assert world.view().running == 0


def test_an_event_of_another_container_does_not_touch_the_executor() -> None:
    world = started()
    world.run("1")
    lost = ev.ContainerLost(executor_id="1", container_id="another", host=HOSTS[1], exit_code=1)
    assert world.tell(lost) == []
    assert world.view().running == 1


def test_an_epoch_that_has_used_up_its_ids_ends_with_a_reason() -> None:
    world = started(initial_executors=99_999)
    assert len(world.wanted()) == 99_999
    assert world.wanted()[-1] == "99999"
    answer = world.tell(ev.RequestFailed(executor_ids=world.wanted()))
    timer = of(SetTimer, answer)[0]
    answer = world.fire(timer.name, timer.at_ms)
    assert names(answer)[-2:] == ["StopDriver", "FinishApplication"]
    assert "99999" in answer[-1].reason
