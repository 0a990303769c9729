"""What an executor had when it died: for how long, and for whom, that waits while the driver lives."""

from __future__ import annotations

from tests.core.world import HOSTS, World, hosts, names, of, only
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.settings import RecoverySettings, ResourcesSettings

DEADLINE_MS = 15_000
ON = RecoverySettings(enabled=True, live_adoption=True, live_adoption_deadline_ms=DEADLINE_MS)


def running(recovery: RecoverySettings = ON) -> World:
    """Two executors on two hosts, both healthy."""
    world = World(recovery=recovery)
    world.start()
    world.tell(rec.JournalReplayed())
    world.driver_ready()
    world.run("1", host=HOSTS[1])
    world.run("2", host=HOSTS[2])
    world.now_ms += 60_000
    return world


def two_on_one_host() -> World:
    """Executors 1 and 2 on one host, and a third one on another."""
    world = World(recovery=ON, initial_executors=3)
    world.start()
    world.driver_ready()
    world.run("1", "2", host=HOSTS[1])
    world.run("3", host=HOSTS[2])
    return world


def began(executor_id: str = "1", host: str = HOSTS[1]) -> rec.LiveAdoptionBegan:
    return rec.LiveAdoptionBegan(executor_id=executor_id, host=host, outputs=4)


def ended(adopted: int = 4, executor_id: str = "1", host: str = HOSTS[1]) -> rec.LiveAdoptionEnded:
    return rec.LiveAdoptionEnded(
        executor_id=executor_id, host=host, outputs=4, adopted=adopted, lost=4 - adopted, why="executor 3 has looked"
    )


def newest(world: World) -> cm.WantedContainer:
    """How the container is to be placed that was asked for last."""
    return of(cm.UpdatePlacement, world.commands)[-1].wanted[-1]


def explained(world: World, host: str) -> str:
    found = world.negotiator.explain_host(host, world.now_ms)
    assert found is not None
    return "\n".join(found.lines)


def test_the_replacement_is_asked_for_on_the_host_of_the_one_that_died_and_nowhere_else() -> None:
    world = running()
    timer = only(cm.SetTimer, world.tell(began()))
    assert timer.at_ms == world.now_ms + DEADLINE_MS
    assert only(cm.RequestContainers, world.lose("1", 137)).executor_ids == ("3",)
    assert (newest(world).hosts, newest(world).strict) == ((HOSTS[1],), True)
    assert "4 map outputs of executor 1, which is gone, are waited for" in explained(world, HOSTS[1])


def test_without_anything_that_waits_the_replacement_goes_anywhere() -> None:
    world = running()
    world.lose("1", 137)
    assert (newest(world).hosts, newest(world).strict) == ((), False)


def test_when_they_were_taken_over_nobody_waits_any_more() -> None:
    world = running()
    timer = only(cm.SetTimer, world.tell(began()))
    world.lose("1", 137)
    world.run("3", host=HOSTS[1])
    assert not of(rc.GiveUpHost, world.tell(ended()))
    assert not world.fire(timer.name, timer.at_ms)
    assert "4 of 4 map outputs of executor 1, which is gone, were taken over" in explained(world, HOSTS[1])


def test_after_the_deadline_they_are_given_up_and_the_replacement_may_go_anywhere() -> None:
    world = running()
    timer = only(cm.SetTimer, world.tell(began()))
    world.lose("1", 137)
    answered = world.fire(timer.name, timer.at_ms)
    given_up = only(rc.GiveUpHost, answered)
    assert given_up.host == HOSTS[1]
    assert given_up.reason.endswith("no executor took them over within 15 s")
    assert (newest(world).hosts, newest(world).strict) == ((), False)
    world.tell(ended(adopted=0))
    assert "0 of 4" in explained(world, HOSTS[1])


def test_a_host_that_is_blocked_or_lost_is_given_up_at_once() -> None:
    world = running()
    world.tell(began())
    world.lose("1", 137)
    assert only(rc.GiveUpHost, world.block(HOSTS[1], force=True)).host == HOSTS[1]

    world = running()
    world.tell(began())
    assert "calls it LOST" in only(rc.GiveUpHost, world.tell(hosts(h3="LOST"))).reason


def test_a_host_that_yarn_does_not_know_to_be_dead_is_given_up_when_its_nodemanager_does_not_answer() -> None:
    world = running()
    world.tell(ev.ExecutorRemoved(executor_id="1", reason="its connection broke"))
    world.tell(began())
    found = world.tell(hosts(h3="UNREACHABLE"))
    assert "its NodeManager does not answer" in only(rc.GiveUpHost, found).reason
    assert only(cm.RequestContainers, found).executor_ids == ("3",)
    assert newest(world).hosts == ()


def test_where_another_executor_runs_on_its_host_the_outputs_wait_while_the_nodemanager_does_not_answer() -> None:
    world = running()
    world.tell(ev.TargetExecutorsChanged(count=3))
    world.run("3", host=HOSTS[1])
    world.tell(ev.ExecutorRemoved(executor_id="1", reason="its connection broke"))
    world.tell(began())
    assert not of(rc.GiveUpHost, world.tell(hosts(h3="UNREACHABLE")))
    assert of(rc.GiveUpHost, world.tell(ev.ExecutorRemoved(executor_id="3", reason="its connection broke")))


def test_nobody_waits_where_yarn_has_given_the_place_to_another_application() -> None:
    world = running()
    world.tell(ev.ContainersPreempted(container_ids=("c1",)))
    assert "preempted" in only(rc.GiveUpHost, world.tell(began())).reason


def test_with_another_executor_on_its_host_what_a_preempted_one_had_waits() -> None:
    world = World(recovery=ON, initial_executors=3)
    world.start()
    world.driver_ready()
    world.run("1", "2", host=HOSTS[1])
    world.tell(ev.ContainersPreempted(container_ids=("c1",)))
    assert not of(rc.GiveUpHost, world.tell(began()))
    assert not of(rc.GiveUpHost, world.lose("1", -102))


def test_a_replacement_that_outputs_wait_for_is_asked_for_without_a_back_off() -> None:
    world = running()
    ids = iter(range(3, 20))
    dies = "1"
    for _ in range(6):
        world.now_ms += 5_000
        world.tell(began(dies))
        asked = only(cm.RequestContainers, world.lose(dies, 137))
        dies = str(next(ids))
        assert asked.executor_ids == (dies,)
        world.run(dies, host=HOSTS[1])
        world.tell(ended(executor_id=str(int(dies) - 1) if dies != "3" else "1"))
    assert of(cm.RequestContainers, world.lose("2", -100, host=HOSTS[2]))  # nothing is held back by then
    assert not of(cm.RequestContainers, world.lose(dies, 137))  # nothing waits for this one


def test_nobody_waits_for_the_place_of_an_executor_that_is_not_needed() -> None:
    world = running()
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert "no other executor" in only(rc.GiveUpHost, world.tell(began())).reason


def test_the_next_context_of_a_program_waits_for_nothing_of_the_last_one() -> None:
    world = running()
    world.tell(began())
    world.tell(ev.DriverStopping())
    world.driver_ready()
    assert {one.hosts for one in of(cm.UpdatePlacement, world.commands)[-1].wanted} == {()}


def test_nobody_waits_for_the_places_of_two_executors_of_one_host_that_are_not_needed() -> None:
    world = two_on_one_host()
    world.tell(ev.TargetExecutorsChanged(count=1))
    assert not of(rc.GiveUpHost, world.tell(began("1")))  # the second executor may take them over
    assert "no other executor" in only(rc.GiveUpHost, world.tell(began("2"))).reason


def test_nobody_waits_where_a_smaller_target_leaves_no_replacement_to_come() -> None:
    world = running()
    world.tell(began())
    assert "no other executor" in only(rc.GiveUpHost, world.tell(ev.TargetExecutorsChanged(count=1))).reason


def test_nobody_waits_for_two_executors_of_one_host_that_were_preempted_together() -> None:
    world = two_on_one_host()
    world.tell(ev.ContainersPreempted(container_ids=("c1", "c2")))
    assert "preempted" in only(rc.GiveUpHost, world.tell(began("1"))).reason
    assert "preempted" in only(rc.GiveUpHost, world.tell(began("2"))).reason


def test_nobody_waits_where_an_executor_beside_the_target_takes_the_place() -> None:
    world = World(recovery=ON, initial_executors=3, resources=ResourcesSettings(max_executors=3))
    world.start()
    world.driver_ready()
    for number, executor_id in enumerate(world.wanted(), 1):
        world.run(executor_id, host=HOSTS[number])
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.now_ms += 600_000
    world.tell(ev.ScaleRequested(least=2, most=2, by="a test"))
    world.tell(ev.JobEnded(job=0))
    assert len([row for row in world.negotiator._containers.rows if row.extra]) == 1
    assert "no other executor" in only(rc.GiveUpHost, world.tell(began())).reason


def test_a_smaller_target_takes_back_other_requests_before_one_that_outputs_wait_for() -> None:
    world = running()
    world.tell(ev.TargetExecutorsChanged(count=6))
    world.tell(began())
    (replacement,) = only(cm.RequestContainers, world.lose("1", 137)).executor_ids
    withdrawn = of(cm.ReleaseContainer, world.tell(ev.TargetExecutorsChanged(count=3)))
    assert len(withdrawn) == 3
    assert replacement not in {one.executor_id for one in withdrawn}
    assert HOSTS[1] in {one.hosts[0] for one in of(cm.UpdatePlacement, world.commands)[-1].wanted if one.hosts}


def test_a_request_that_fails_is_made_again_after_a_pause_even_where_outputs_wait() -> None:
    world = running()
    world.tell(began())
    (replacement,) = only(cm.RequestContainers, world.lose("1", 137)).executor_ids
    answer = world.tell(ev.RequestFailed(executor_ids=(replacement,), message="busy"))
    assert not of(cm.RequestContainers, answer)
    (timer,) = (one for one in of(cm.SetTimer, answer) if one.name == "replacement-backoff")
    assert of(cm.RequestContainers, world.fire(timer.name, timer.at_ms))


def test_another_executor_of_the_same_host_needs_no_container_there() -> None:
    world = two_on_one_host()
    world.now_ms += 60_000
    world.tell(began())
    world.lose("1", 137)
    assert newest(world).hosts == ()


def test_two_that_died_on_one_host_wait_each_on_its_own() -> None:
    world = running()
    first = only(cm.SetTimer, world.tell(began("1")))
    world.now_ms += 1_000
    second = only(cm.SetTimer, world.tell(began("2")))
    world.tell(ended(executor_id="1"))
    assert not of(rc.GiveUpHost, world.fire(first.name, first.at_ms))
    assert only(rc.GiveUpHost, world.fire(second.name, second.at_ms)).host == HOSTS[1]


def test_the_death_of_the_driver_ends_the_wait() -> None:
    world = running(
        recovery=RecoverySettings(
            enabled=True, live_adoption=True, live_adoption_deadline_ms=DEADLINE_MS, driver_restarts=1
        )
    )
    timer = only(cm.SetTimer, world.tell(began()))
    world.lose("1", 137)
    world.tell(ev.DriverLost(exit_code=-9, reason="its process was ended by signal 9"))
    assert "GiveUpHost" not in names(world.fire(timer.name, timer.at_ms))
