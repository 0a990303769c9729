"""A driver that dies while its application master lives: when it is started again, and what that begins anew."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.core.recovery.test_epoch_recovery import ON, declared, replayed, saved
from tests.core.world import HOSTS, World, names, of, only
from yarnspec.core.lifecycle.executor_events import LEFT_OVER_TIMER
from yarnspec.core.lifecycle.restarts import RESTART_TIMER, Restarts, first_epoch
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.settings import RecoverySettings
from yarnspec.core.recovery.epoch_recovery import REPLAY_TIMER

AGAIN = RecoverySettings(enabled=True, driver_restarts=4, epochs_per_attempt=5)
KILLED = ev.DriverLost(exit_code=-9, reason="its process was ended by signal 9")


def running(**changes: Any) -> World:
    """An attempt whose driver runs, with two executors."""
    world = World(recovery=AGAIN, **changes)
    world.start()
    world.tell(replayed(epochs=(), progress=0))
    world.driver_ready()
    world.run("1", "2")
    return world


def again(world: World, epoch: int, *shuffles: rec.SavedShuffle, progress: int | None = None) -> list[Command]:
    """The journal of a restarted driver's epoch was read."""
    done = epoch - 1 if progress is None else progress
    return world.tell(replayed(*shuffles, epochs=tuple(range(1, epoch)), progress=done))


def test_each_attempt_has_numbers_for_all_the_lives_that_it_may_have() -> None:
    for restarts in range(6):
        epochs = [first_epoch(attempt, restarts) + more for attempt in range(1, 9) for more in range(restarts + 1)]
        assert epochs == list(range(1, len(epochs) + 1))
    assert [first_epoch(attempt, 0) for attempt in (1, 2, 3)] == [1, 2, 3]


def test_the_first_restart_comes_at_once_and_each_further_one_later() -> None:
    restarts = Restarts(RecoverySettings(enabled=True, driver_restarts=9))
    assert [restarts.next() for _ in range(10)] == [0, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000, None]
    assert Restarts(RecoverySettings(enabled=False, driver_restarts=9)).next() is None


def test_a_driver_that_was_killed_is_started_again_in_the_next_epoch_once_the_journal_was_read() -> None:
    world = running()
    began = only(cm.BeginEpoch, world.tell(KILLED))
    assert (began.epoch, began.restart) == (2, 1)
    assert "epoch 1 was lost with exit code -9: its process was ended by signal 9" in began.reason
    assert "restart 1 of 4" in began.reason
    started = again(world, 2, saved())
    assert names(started)[:3] == ["RecordProgram", "OfferSaved", "StartDriver"]
    start = only(cm.StartDriver, started)
    assert (start.epoch, start.reason) == (2, began.reason)


def test_its_executors_have_ids_that_no_earlier_life_gave() -> None:
    world = running()
    world.tell(KILLED)
    asked = only(cm.RequestContainers, again(world, 2))
    assert asked.executor_ids == ("100001", "100002")


def test_containers_that_were_still_to_come_are_given_back_and_one_that_comes_late_too() -> None:
    world = World(recovery=AGAIN)
    world.start()
    world.tell(replayed(epochs=(), progress=0))
    world.allocate("1")
    answered = world.tell(KILLED)
    assert {one.executor_id for one in of(cm.ReleaseContainer, answered)} == {"1", "2"}
    assert only(cm.ReleaseContainer, world.allocate("2")).executor_id == "2"


def test_executors_of_the_dead_driver_end_by_themselves_or_are_made_to() -> None:
    world = running()
    answered = world.tell(KILLED)
    assert not of(cm.ReleaseContainer, answered)
    due = next(one for one in of(cm.SetTimer, answered) if one.name == LEFT_OVER_TIMER)
    assert due.at_ms - world.now_ms == 10_000
    world.lose("1", 1)
    late = world.fire(LEFT_OVER_TIMER, due.at_ms)
    assert [one.executor_id for one in of(cm.ReleaseContainer, late)] == ["2"]


def test_their_ends_are_held_against_nobody() -> None:
    """Each death of the driver ends all its executors: they count neither as failed starts nor against a host."""
    world = running()
    for epoch in range(2, 6):
        world.tell(KILLED)
        if epoch > 2:
            world.fire(RESTART_TIMER, world.now_ms + 60_000)
        again(world, epoch)
        first = (epoch - 1) * 10_000
        world.driver_ready()
        for executor in (str(first - 9_999), str(first - 9_998)):
            assert not of(cm.FinishApplication, world.lose(executor, 1))
        world.run(str(first + 1), str(first + 2))
    assert world.view().counters["young_deaths"] == 0


def test_the_second_restart_waits_and_asks_for_nothing_meanwhile() -> None:
    world = running()
    world.tell(KILLED)
    again(world, 2)
    answered = world.tell(KILLED)
    assert "BeginEpoch" not in names(answered)
    assert not of(cm.RequestContainers, world.tell(ev.TargetExecutorsChanged(count=5)))
    due = next(one for one in of(cm.SetTimer, answered) if one.name == RESTART_TIMER)
    assert due.at_ms - world.now_ms == 1_000
    assert only(cm.BeginEpoch, world.fire(RESTART_TIMER, due.at_ms)).epoch == 3


def test_the_next_epoch_asks_for_as_many_executors_of_the_size_as_the_program_set() -> None:
    world = running()
    size = ev.ExecutorProfile(id=0, count=0, memory_mb=2000, heap_mb=1600, cores=2)
    world.tell(ev.DriverReady(driver_url="spark://x@h:1", executor=size))
    world.tell(ev.TargetExecutorsChanged(count=5))
    world.tell(KILLED)
    (asked,) = of(cm.RequestContainers, again(world, 2))
    assert (len(asked.executor_ids), asked.profile and asked.profile.memory_mb) == (5, 2000)


def test_nothing_that_a_dead_driver_told_is_heard_and_it_is_counted() -> None:
    world = running()
    assert world.negotiator.hears(1)
    world.tell(KILLED)
    assert world.negotiator.hears(2)
    again(world, 2)
    world.tell(KILLED)
    assert not world.negotiator.hears(1)
    assert not world.negotiator.hears(2)  # it waits for its third life
    world.fire(RESTART_TIMER, world.now_ms + 60_000)
    assert world.negotiator.hears(3)


def test_what_comes_of_dead_drivers_is_counted_by_driver_and_kind() -> None:
    negotiator = running().negotiator
    came = [
        ev.DriverReady(driver_url="spark://x@h:1", ui_url=None), ev.TargetExecutorsChanged(count=4),
        wr.WriteCommitBeginning(question=1, write=1, files=1, digest="d", made={}), ev.TargetExecutorsChanged(count=5),
    ]  # fmt: skip
    last = [negotiator.refuse(one, 1) for one in came][-1]
    assert last == rec.EpochRefused(epoch=1, refused={"registrations": 1, "messages": 2, "writes": 1})
    assert negotiator.refuse(rec.OutputsDurable(outputs=4), 1) is None  # nobody was refused that
    assert negotiator.refuse(ev.DriverStopping(), 2) == rec.EpochRefused(epoch=2, refused={"messages": 1})


def test_when_all_restarts_are_used_up_the_attempt_is_given_up() -> None:
    world = running()
    for epoch in range(2, 6):
        world.tell(KILLED)
        if epoch > 2:
            world.fire(RESTART_TIMER, world.now_ms + 60_000)
        again(world, epoch)
    said = only(cm.AbandonAttempt, world.tell(KILLED)).reason
    assert "epoch 5 was lost" in said
    assert "started again 4 times" in said


@pytest.mark.parametrize("recovery", [ON, RecoverySettings(enabled=False, driver_restarts=4)])
def test_without_restarts_or_without_recovery_a_crash_gives_up_the_attempt(recovery: RecoverySettings) -> None:
    world = World(recovery=recovery)
    world.start()
    assert names(world.tell(KILLED)) == ["AbandonAttempt"]


def test_a_program_that_ends_by_itself_is_never_started_again() -> None:
    world = running()
    ended = world.tell(ev.DriverFinished(exit_code=1, reason="ValueError: no such input"))
    assert only(cm.FinishApplication, ended).status == "FAILED"
    assert "BeginEpoch" not in names(ended)


def test_two_lives_in_a_row_that_finish_nothing_new_end_the_attempt() -> None:
    world = running()
    world.tell(KILLED)
    again(world, 2, progress=0)
    world.tell(KILLED)
    world.fire(RESTART_TIMER, world.now_ms + 60_000)
    ended = only(cm.AbandonAttempt, again(world, 3, progress=0))
    assert "epochs 1 and 2 ended without a map output" in ended.reason


def test_a_life_knows_nothing_of_the_one_before_but_what_the_journal_says() -> None:
    """A fault, an end of the recording and open questions are of one life only."""
    world = running()
    world.tell(rec.RecordingEnded(why="the disk is full"))
    assert not of(rc.RecordShuffle, world.tell(declared()))
    world.tell(KILLED)
    assert only(rc.RecordProgram, again(world, 2, saved())).reason.startswith("epoch 2")
    answered = world.tell(declared())
    assert only(rc.AnswerShuffle, answered).restore
    assert of(rc.RecordShuffle, answered)


def test_the_hosts_that_hold_what_is_left_get_the_first_containers() -> None:
    world = running()
    world.tell(KILLED)
    answered = again(world, 2, saved(by_host={HOSTS[2]: 2, HOSTS[3]: 1}))
    wanted = only(cm.UpdatePlacement, answered).wanted
    assert [(one.hosts, one.strict) for one in wanted] == [((HOSTS[2],), True), ((HOSTS[3],), True)]


def test_a_driver_that_dies_before_its_journal_was_read_gets_its_next_life_all_the_same() -> None:
    world = running()
    world.tell(KILLED)
    answered = world.tell(ev.DriverLost(exit_code=127, reason="the driver could not be started"))
    assert RESTART_TIMER in {one.name for one in of(cm.SetTimer, answered)}
    began = world.fire(RESTART_TIMER, world.now_ms + 60_000)
    assert only(cm.BeginEpoch, began).epoch == 3
    due = next(one for one in of(cm.SetTimer, began) if one.name == REPLAY_TIMER)
    assert only(cm.StartDriver, world.fire(REPLAY_TIMER, due.at_ms)).epoch == 3


def test_a_death_at_any_moment_leads_to_one_driver_at_a_time() -> None:
    """Whatever of the usual events came before it: one life begins, and one driver is started for it."""
    steps: list[list[ev.Event]] = [
        [],
        [replayed(epochs=(), progress=0)],
        [ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@127.0.0.2:1")],
        [ev.ContainerAllocated(executor_id="1", container_id="c1", host=HOSTS[1], wanted_id="1")],
        [ev.ContainerStarted(executor_id="1", container_id="c1", host=HOSTS[1], cores=1)],
        [ev.TargetExecutorsChanged(count=7)],
        [ev.ExecutorRemoved(executor_id="1", reason="no heartbeat")],
        [ev.DriverStopping()],
    ]
    for count in range(len(steps) + 1):
        world = World(recovery=AGAIN)
        world.start()
        for event in itertools.chain(*steps[:count]):
            world.tell(event)
        world.commands.clear()
        world.tell(KILLED)
        again(world, 2)
        assert [one.epoch for one in of(cm.BeginEpoch, world.commands)] == [2]
        assert [one.epoch for one in of(cm.StartDriver, world.commands)] == [2]
        asked = [one for command in of(cm.RequestContainers, world.commands) for one in command.executor_ids]
        assert len(asked) == (7 if count > 5 else 2)
        assert asked[0] == "100001"
