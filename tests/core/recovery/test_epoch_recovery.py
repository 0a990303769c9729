"""What is recorded of finished work, what a next driver uses again, and for whom it waits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.core.world import HOSTS, World, hosts, names, of, only
from yarnspec.core.journal.overdue import Wait
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.settings import RecoverySettings
from yarnspec.core.recovery.epoch_recovery import QUESTION_TIMER, REPLAY_TIMER
from yarnspec.core.recovery.saved_output_hosts import WINDOW_TIMER
from yarnspec.core.recovery.shuffles import Match, Shuffles

OLD = 1_000_000
NEW = 2_000_000
ON = RecoverySettings(enabled=True)


def saved(shuffle: int = OLD, **fields: Any) -> rec.SavedShuffle:
    known = {"signature": f"s{shuffle % 100}", "maps": 4, "reduces": 3, "determinism": "determinate"}
    return rec.SavedShuffle(shuffle=shuffle, **{**known, "by_host": {HOSTS[1]: 2, HOSTS[2]: 2}, **fields})


def replayed(*shuffles: rec.SavedShuffle, **fields: Any) -> rec.JournalReplayed:
    return rec.JournalReplayed(**{"shuffles": shuffles, "epochs": (1,), "progress": 1, **fields})


def declared(number: int = 0, **fields: Any) -> rec.ShuffleDeclared:
    known = {"question": number + 1, "signature": f"s{number}", "maps": 4, "reduces": 3, "determinism": "determinate"}
    return rec.ShuffleDeclared(shuffle=NEW + number, **{**known, **fields})


def restored(shuffle: int = OLD, wanted: int = 4, count: int = 4) -> rec.ShuffleRestored:
    return rec.ShuffleRestored(shuffle=shuffle, wanted=wanted, restored=count, waited_ms=5, by_host={}, not_restored={})


def reported(host: str) -> rec.OutputsReported:
    return rec.OutputsReported(executor_id="100001", host=host, found=2, adopted=2, refused={})


def second_epoch(*shuffles: rec.SavedShuffle, **fields: Any) -> World:
    """A world in which the second epoch knows what the first one left."""
    world = World(**{"recovery": ON, **fields})
    world.start(2)
    world.tell(replayed(*shuffles))
    return world


def answer(world: World, event: rec.ShuffleDeclared) -> rc.AnswerShuffle:
    return only(rc.AnswerShuffle, world.tell(event))


# the start of an epoch


def test_the_first_epoch_begins_at_once_and_records_which_program_it_runs() -> None:
    world = World(recovery=ON)
    assert names(world.start())[:1] == ["StartDriver"]
    assert names(world.tell(replayed(epochs=(), progress=0))) == ["RecordProgram"]


def test_a_later_epoch_waits_for_the_journal_with_its_driver_and_its_containers() -> None:
    world = World(recovery=ON)
    assert not {"StartDriver", "RequestContainers"} & set(names(world.start(2)))
    answered = world.tell(replayed(saved()))
    assert names(answered)[:3] == ["RecordProgram", "OfferSaved", "StartDriver"]
    assert only(rc.OfferSaved, answered).shuffles == (OLD,)
    assert "RequestContainers" in names(answered)


def test_a_journal_that_does_not_come_keeps_nobody_waiting_for_ever() -> None:
    world = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, world.start(2)) if one.name == REPLAY_TIMER)
    answered = world.fire(REPLAY_TIMER, due.at_ms)
    assert "StartDriver" in names(answered)
    assert "was not read within" in only(rc.ReportRecoveryLimit, answered).reason
    early = answer(world, declared())
    assert (early.restore, early.record) == (False, False)
    late = world.tell(replayed(saved()))
    told = {one.about: one.reason for one in of(rc.ReportRecoveryLimit, late)}
    assert "after the driver had started" in told["past"]
    assert "not open yet" in told[""]
    assert not of(rc.OfferSaved, late)
    found = answer(world, declared())
    assert not found.restore
    assert "read too late" in found.reason
    # The next epoch, if it reads it in time, uses what has not begun before.
    assert [one.shuffles for one in of(rc.RefuseShuffles, late)] == [(NEW,)]
    assert not of(rc.ForgetShuffle, late)


def test_what_comes_back_in_part_does_not_end_what_is_saved_of_it() -> None:
    world = second_epoch(saved(determinism="unordered", by_host={HOSTS[1]: 2}))
    assert not of(rc.ForgetShuffle, world.tell(declared(determinism="unordered")))
    assert not of(rc.ForgetShuffle, world.tell(restored(wanted=2, count=1)))


def test_what_stands_above_what_runs_anew_is_of_no_use_either() -> None:
    below, above = saved(determinism="unordered", reduces=9), saved(OLD + 1, parents=(OLD,))
    answered = second_epoch(below, above).tell(declared(determinism="unordered"))
    assert [one.shuffle for one in of(rc.ForgetShuffle, answered)] == [OLD + 1, OLD]


@pytest.mark.parametrize("determinism", ["determinate", "unordered"])
def test_what_may_give_other_rows_and_runs_anew_ends_what_is_saved_of_it(determinism: str) -> None:
    """Else a write of the new run could pass for one of the old, when only that is found again."""
    forgotten = [OLD] if determinism == "unordered" else []
    too_late = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, too_late.start(2)) if one.name == REPLAY_TIMER)
    too_late.fire(REPLAY_TIMER, due.at_ms)
    too_late.tell(replayed(saved(determinism=determinism)))
    other_bounds = second_epoch(saved(determinism=determinism, reduces=9))
    for world in (too_late, other_bounds):
        answered = world.tell(declared(determinism=determinism))
        assert only(rc.AnswerShuffle, answered).record
        assert [one.shuffle for one in of(rc.ForgetShuffle, answered)] == forgotten
        assert not of(rc.ForgetShuffle, world.tell(declared(1, determinism=determinism, signature="s0")))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"changed": ("its arguments",)}, "not the same: its arguments"),
        ({"problem": "the journal is damaged: j, byte 7: bits"}, "byte 7"),
    ],
)
def test_another_program_or_a_damaged_journal_is_told_and_nothing_of_it_used(fields: dict[str, Any], why: str) -> None:
    world = World(recovery=ON)
    world.start(2)
    answered = world.tell(replayed(saved(), **fields))
    assert why in only(rc.ReportRecoveryLimit, answered).reason
    assert only(rc.ReportRecoveryLimit, answered).recording
    assert only(rc.RefuseShuffles, answered).shuffles == (OLD,)
    assert names(answered).index("RefuseShuffles") < names(answered).index("RecordProgram")
    found = answer(world, declared())
    assert (found.shuffle, found.restore, found.record) == (None, False, True)


# what waited too long

LATE = RecoverySettings(enabled=True, keep_for_ms=300_000)


def third_epoch(
    *shuffles: rec.SavedShuffle, waits: dict[int, int], recovery: RecoverySettings = LATE
) -> tuple[World, list[cm.Command]]:
    """With how many ms each epoch was waited for."""
    world = World(recovery=recovery)
    world.start(3)
    waited = tuple(Wait(epoch=epoch, waited_ms=ms) for epoch, ms in waits.items())
    return world, world.tell(replayed(*shuffles, epochs=(1, 2), progress=2, waits=waited))


@pytest.mark.parametrize(
    ("waits", "keep_for_ms"),
    [
        ({3: 300_000}, 300_000),
        ({3: -2_000}, 300_000),  # of two clocks
        ({}, 300_000),  # nobody knows when the epoch before ended
        ({2: 300_001, 3: 1_000}, 300_000),  # the epoch that was too late has written it itself
        ({3: 86_400_000}, 0),
    ],
)
def test_what_has_not_waited_too_long_is_used(waits: dict[int, int], keep_for_ms: int) -> None:
    recovery = msgspec.structs.replace(LATE, keep_for_ms=keep_for_ms)
    world, answered = third_epoch(saved(epoch=2), waits=waits, recovery=recovery)
    assert only(rc.OfferSaved, answered).shuffles == (OLD,)
    assert not of(rc.ReportRecoveryLimit, answered)
    assert answer(world, declared()).restore


@pytest.mark.parametrize(
    ("waits", "why"),
    [
        ({2: 1_000, 3: 420_000}, "saved outputs waited 420.0 s for this driver, longer than recovery.keep_for (300 s)"),
        ({2: 420_000, 3: 1_000}, "saved outputs waited 420.0 s for the driver of epoch 2, longer"),
        ({2: 600_000, 3: 420_000}, "420.0 s for this driver"),
    ],
)
def test_what_has_waited_too_long_is_not_used_and_nobody_waits_for_its_hosts(waits: dict[int, int], why: str) -> None:
    world, answered = third_epoch(saved(epoch=1), saved(OLD + 1, epoch=1), waits=waits)
    assert why in only(rc.ReportRecoveryLimit, answered).reason
    assert only(rc.ReportRecoveryLimit, answered).recording
    assert [one.shuffle for one in of(rc.ForgetShuffle, answered)] == [OLD, OLD + 1]
    # Executors are to delete it, and the journal has lost it before it gets anything new.
    assert only(rc.OfferSaved, answered).shuffles == ()
    assert names(answered).index("ForgetShuffle") < names(answered).index("RecordProgram")
    assert names(answered).index("OfferSaved") < names(answered).index("StartDriver")
    assert of(cm.RequestContainers, answered)
    assert not any(placements(world).values())
    ready = world.tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@h:1"))
    assert WINDOW_TIMER not in {one.name for one in of(cm.SetTimer, ready)}
    found = answer(world, declared())
    assert (found.shuffle, found.restore, found.record) == (None, False, True)
    # What is recorded now is worth another epoch.
    assert of(rc.RecordProgress, world.tell(rec.MapOutputsRecorded()))


def test_where_all_that_waited_too_long_is_forgotten_already_executors_still_delete_it() -> None:
    _, answered = third_epoch(waits={2: 420_000, 3: 1_000})
    assert only(rc.OfferSaved, answered).shuffles == ()
    assert not of(rc.ReportRecoveryLimit, answered)


def test_two_epochs_in_a_row_without_progress_end_the_application() -> None:
    world = World(recovery=ON)
    world.start(4)
    answered = world.tell(replayed(epochs=(1, 2, 3), progress=1))
    finish = only(cm.FinishApplication, answered)
    assert finish.status == "FAILED"
    assert "epochs 2 and 3 ended without" in finish.reason
    assert not of(cm.StartDriver, world.commands)


def test_epochs_of_one_attempt_without_progress_end_that_attempt_only() -> None:
    """Its host may be to blame: the next attempt tries once."""
    several = msgspec.structs.replace(ON, epochs_per_attempt=5)
    for epoch, before, ends in (
        (3, (1, 2), cm.AbandonAttempt),
        (6, (1, 2), None),
        (7, (1, 2, 6), cm.FinishApplication),
        (8, (1, 6, 7), cm.AbandonAttempt),
    ):
        world = World(recovery=several)
        world.start(epoch)
        answered = world.tell(replayed(epochs=before, progress=0))
        found = [type(one) for one in answered if isinstance(one, cm.AbandonAttempt | cm.FinishApplication)]
        assert found == ([ends] if ends else []), epoch
        assert ("StartDriver" in names(answered)) == (ends is None)


def test_one_epoch_without_progress_is_followed_by_another() -> None:
    world = World(recovery=ON)
    world.start(3)
    assert "StartDriver" in names(world.tell(replayed(epochs=(1, 2), progress=1)))


def test_epochs_that_yarn_took_away_are_not_held_against_the_program() -> None:
    for spared, begins in (((2, 3), True), ((3,), True), ((), False)):
        world = World(recovery=msgspec.structs.replace(ON, taken_away=spared))
        world.start(4)
        assert ("StartDriver" in names(world.tell(replayed(epochs=(1, 2, 3), progress=1)))) == begins


@pytest.mark.parametrize(("killed", "last"), [(True, False), (True, True), (False, False)])
def test_a_life_that_somebody_outside_ended_is_not_fruitless(killed: bool, last: bool) -> None:
    """The journal of that life says so, before the next one begins or the attempt is given up."""
    world = World(recovery=msgspec.structs.replace(ON, driver_restarts=0 if last else 4))
    world.start(2)
    world.tell(replayed(jobs=3))
    told = world.tell(ev.DriverLost(exit_code=-9, reason="signal 9", killed=killed))
    assert [(one.epoch, one.jobs) for one in of(rc.RecordProgress, told)] == ([(2, 3)] if killed else [])
    told_names = names(told)
    assert told_names[0] == "RecordProgress" or not killed
    assert ("AbandonAttempt" if last else "BeginEpoch") in told_names


def test_each_life_of_a_stream_does_something_new() -> None:
    world = World(recovery=ON)
    world.start(2)
    world.tell(replayed(jobs=9))
    assert not of(rc.RecordProgress, world.tell(ev.JobEnded(job=0, stream=True, failure="cancelled")))
    assert only(rc.RecordProgress, world.tell(ev.JobEnded(job=1, stream=True))).jobs == 9
    assert not of(rc.RecordProgress, world.tell(ev.JobEnded(job=2, stream=True)))


def test_a_map_output_is_progress_and_so_is_a_job_that_no_epoch_ended_before() -> None:
    world = World(recovery=ON)
    world.start(2)
    world.tell(replayed(jobs=2))
    for job in (0, 1):
        assert not of(rc.RecordProgress, world.tell(ev.JobEnded(job=job)))
    assert not of(rc.RecordProgress, world.tell(ev.JobEnded(job=2, failure="cancelled")))
    first = only(rc.RecordProgress, world.tell(rec.MapOutputsRecorded()))
    assert (first.epoch, first.jobs) == (2, 2)
    assert not of(rc.RecordProgress, world.tell(rec.MapOutputsRecorded()))
    assert only(rc.RecordProgress, world.tell(ev.JobEnded(job=2))).jobs == 3


def test_outputs_are_no_progress_where_none_of_those_before_could_be_used() -> None:
    """A program whose shuffles are others in each driver epoch would run as often as it may, for nothing."""
    world = World(recovery=ON)
    world.start(2)
    world.tell(replayed(saved()))
    assert not answer(world, declared(1, signature="another one")).restore
    assert not of(rc.RecordProgress, world.tell(rec.MapOutputsRecorded()))
    assert only(rc.RecordProgress, world.tell(ev.JobEnded(job=0))).jobs == 1


def test_they_are_progress_where_what_was_saved_belongs_to_writes_that_are_skipped() -> None:
    world = World(recovery=ON)
    world.start(2)
    done = wr.SavedWrite(
        ordinal=1, path="/x", mode="replace", state="committed", signature="w", files=1, digest="d", epoch=1, job="j"
    )
    world.tell(replayed(saved(), writes=(done,)))
    told = world.tell(wr.WriteDeclared(question=1, write=1, path="/x", mode="replace", existed=True, signature="w"))
    assert only(rc.AnswerWrite, told).action == "skip"
    assert not answer(world, declared(1, signature="another one")).restore
    assert only(rc.RecordProgress, world.tell(rec.MapOutputsRecorded())).epoch == 2


def test_they_are_as_soon_as_one_is_used() -> None:
    world = World(recovery=ON)
    world.start(2)
    world.tell(replayed(saved()))
    world.tell(rec.MapOutputsRecorded())
    told = world.tell(declared())
    assert only(rc.AnswerShuffle, told).restore
    assert only(rc.RecordProgress, told).epoch == 2


# what ends the recording


def test_a_question_before_the_journal_was_read_is_answered_afterwards() -> None:
    world = World(recovery=ON)
    world.start()
    assert not of(rc.AnswerShuffle, world.tell(declared()))
    answered = world.tell(replayed(epochs=(), progress=0))
    assert names(answered) == ["RecordProgram", "RecordShuffle", "AnswerShuffle"]


@pytest.mark.parametrize("epoch", [1, 2])
def test_when_the_journal_does_not_come_each_question_is_answered_at_once(epoch: int) -> None:
    world = World(recovery=ON)
    due = next(one for one in of(cm.SetTimer, world.start(epoch)) if one.name == REPLAY_TIMER)
    assert not of(rc.AnswerShuffle, world.tell(declared()))
    overdue = world.fire(REPLAY_TIMER, due.at_ms)
    assert only(rc.AnswerShuffle, overdue).question == 1
    assert only(rc.ReportRecoveryLimit, overdue).reason
    found = answer(world, declared(1))
    assert (found.restore, found.record) == (False, False)
    assert "not open yet" in found.reason
    world.tell(replayed(epochs=(), progress=0))
    assert answer(world, declared(2)).record


def test_a_question_is_answered_in_time_when_the_journal_is_not_open() -> None:
    """What may have run unrecorded is refused when it is: accumulators of its maps would be missing."""
    world = World(recovery=ON)
    world.start()
    timer = only(cm.SetTimer, world.tell(declared()))
    assert (timer.name, timer.at_ms) == (QUESTION_TIMER, world.now_ms + ON.question_wait_ms)
    assert world.tell(declared(1), after_ms=10_000) == []
    answers = of(rc.AnswerShuffle, world.fire(QUESTION_TIMER, timer.at_ms))
    assert [(one.question, one.record, one.waited_ms) for one in answers] == [(1, False, 25_000), (2, False, 15_000)]
    answered = world.tell(replayed(epochs=(), progress=0))
    assert [one.shuffles for one in of(rc.RefuseShuffles, answered)] == [(NEW,), (NEW + 1,)]
    assert names(answered).index("RecordShuffle") < names(answered).index("RefuseShuffles")
    assert only(rc.ReportRecoveryLimit, answered).recording
    found = answer(world, declared(2))
    assert (found.record, found.waited_ms) == (True, 0)


ROOM_FOR_TWO = RecoverySettings(enabled=True, recorded_maps=8)


def test_what_the_journal_has_no_room_for_is_not_recorded_nor_of_use_to_what_is_above_it() -> None:
    world = World(recovery=ROOM_FOR_TWO)
    world.start()
    world.tell(replayed(epochs=(), progress=0))
    assert all(answer(world, declared(number)).record for number in (0, 1))
    answered = world.tell(declared(2))
    assert names(answered) == ["ReportRecoveryLimit", "RecordShuffle", "RefuseShuffles", "AnswerShuffle"]
    assert not only(rc.AnswerShuffle, answered).record
    assert only(rc.RefuseShuffles, answered).shuffles == (NEW + 2,)
    admitted = only(rc.ReportRecoveryLimit, answered)
    assert admitted.recording
    assert "room for the outputs of 8 maps" in admitted.reason
    assert "ReportRecoveryLimit" not in names(world.tell(declared(3)))
    world.tell(rec.ShuffleForgotten(shuffle=NEW))
    assert answer(world, declared(4)).record


def test_what_is_saved_takes_room_and_is_recorded_again() -> None:
    world = World(recovery=ROOM_FOR_TWO)
    world.start(2)
    world.tell(replayed(saved(), saved(OLD + 1)))
    assert not answer(world, declared(2)).record
    for number in (0, 1):
        found = answer(world, declared(number))
        assert (found.restore, found.record) == (True, True)


def test_a_journal_that_cannot_be_opened_only_costs_the_recording() -> None:
    world = World(recovery=ON)
    world.start()
    world.tell(declared())
    answered = world.tell(rec.JournalReplayed(off="the disk is full"))
    assert not only(rc.ReportRecoveryLimit, answered).recording
    assert "the disk is full" in only(rc.ReportRecoveryLimit, answered).reason
    found = only(rc.AnswerShuffle, answered)
    assert (found.restore, found.record) == (False, False)
    assert not {"RecordShuffle", "RecordProgram"} & set(names(world.commands))


def test_a_journal_that_ends_leaves_what_is_saved_usable() -> None:
    world = second_epoch(saved())
    assert not only(rc.ReportRecoveryLimit, world.tell(rec.RecordingEnded(why="the disk is full"))).recording
    found = answer(world, declared())
    assert (found.restore, found.record) == (True, False)
    assert not world.tell(rec.ShuffleForgotten(shuffle=OLD))


def test_an_attempt_that_another_has_taken_over_from_ends() -> None:
    world = second_epoch()
    told = world.tell(rec.RecordingEnded(why="driver epoch 3 has begun", fenced=True))
    assert names(told) == ["StopDriver", "AbandonAttempt"]
    assert told[1].reason == (
        "driver epoch 3 has begun. Only the newest driver of an application may write, "
        "so yarnspec stopped driver epoch 2"
    )


def test_a_shuffle_that_cannot_be_told_of_any_more_is_refused_for_good() -> None:
    world = second_epoch()
    world.tell(declared())
    answered = world.tell(rec.RecordingStopped(shuffle=NEW, why="the queue was full"))
    assert only(rc.RefuseShuffles, answered).shuffles == (NEW,)
    assert not only(
        rc.ReportRecoveryLimit, world.tell(rec.RecordingStopped(shuffle=rec.ALL_SHUFFLES, why="x"))
    ).recording
    assert not answer(world, declared(1)).record


def test_a_shuffle_is_refused_also_when_nothing_new_is_recorded_any_more() -> None:
    world = second_epoch()
    world.tell(declared())
    world.tell(rec.RecordingStopped(shuffle=rec.ALL_SHUFFLES, why="no answer in time"))
    told = world.tell(rec.RecordingStopped(shuffle=NEW, why="an output was lost, and its records are others each time"))
    assert only(rc.RefuseShuffles, told).shuffles == (NEW,)
    world.tell(rec.RecordingEnded(why="the disk is full"))
    assert not world.tell(rec.RecordingStopped(shuffle=NEW, why="once more"))


def test_one_executor_that_keeps_nothing_is_told_and_where_none_does_nothing_is_recorded() -> None:
    world = second_epoch()
    one = only(rc.ReportRecoveryLimit, world.tell(rec.AdoptionOff(executor_id="1", host="h1", why="no room")))
    assert one.recording
    assert "executor 1 on h1" in one.reason
    none = only(rc.ReportRecoveryLimit, world.tell(rec.AdoptionOff(executor_id="", host="", why="encrypted")))
    assert not none.recording
    assert none.reason.endswith("encrypted")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("writes", "count at a.py:3: yarnspec does not record that, and a driver after a crash would do it again"),
        ("cached", "the next driver computes them again (count at a.py:3)"),
        ("stream", "the next driver begins them again from their own checkpoints (count at a.py:3)"),
    ],
)
def test_what_the_program_begins_to_do_and_no_next_driver_can_go_on_with_is_told(
    kind: rec.Unrecoverable, said: str
) -> None:
    world = second_epoch()
    told = only(rc.ReportRecoveryLimit, world.tell(rec.Unrecorded(kind=kind, why="count at a.py:3")))
    assert (told.about, told.recording) == (kind, True)
    assert told.reason.endswith(said)
    world.tell(rec.AdoptionOff(executor_id="", host="", why="encrypted"))
    assert not only(rc.ReportRecoveryLimit, world.tell(rec.Unrecorded(kind=kind, why="x"))).recording


def test_that_the_program_is_not_the_same_is_told_also_where_no_shuffle_is_saved() -> None:
    world = World(recovery=ON)
    world.start(2)
    told = only(rc.ReportRecoveryLimit, world.tell(replayed(changed=("its files", "Spark's version"))))
    said = "nothing of earlier epochs is used again: the program is not the same: its files, Spark's version"
    assert told.reason == said


def test_where_nothing_is_kept_it_is_still_recorded_that_something_was_done() -> None:
    """Else two lives that did much would seem to be in vain."""
    world = second_epoch()
    world.tell(rec.AdoptionOff(executor_id="", host="", why="encrypted"))
    assert only(rc.RecordProgress, world.tell(ev.JobEnded(job=7))).jobs == 8
    world.tell(rec.RecordingEnded(why="the disk is full"))
    assert not of(rc.RecordProgress, world.tell(ev.JobEnded(job=8)))


def test_what_spark_forgets_is_forgotten() -> None:
    world = second_epoch()
    world.tell(declared())
    assert only(rc.ForgetShuffle, world.tell(rec.ShuffleForgotten(shuffle=NEW))).shuffle == NEW
    assert not of(rc.ForgetShuffle, world.tell(rec.ShuffleForgotten(shuffle=NEW)))


def test_the_shuffles_of_a_second_context_are_not_recorded() -> None:
    world = second_epoch()
    world.driver_ready()
    assert answer(world, declared()).record
    assert not only(rc.ReportRecoveryLimit, world.driver_ready()).recording
    assert not answer(world, declared(1)).record


# the hosts that hold something


def placements(world: World) -> dict[str, tuple[str, ...]]:
    newest = of(cm.UpdatePlacement, world.commands)[-1]
    return {one.id: one.hosts if one.strict else () for one in newest.wanted}


def test_each_host_that_holds_something_gets_a_container_of_its_own() -> None:
    world = second_epoch(saved(by_host={HOSTS[1]: 1, HOSTS[2]: 3}), initial_executors=3)
    assert list(placements(world).values()) == [(HOSTS[2],), (HOSTS[1],), ()]


def test_there_are_as_many_containers_as_hosts_that_hold_something() -> None:
    world = second_epoch(saved(by_host=dict.fromkeys(HOSTS[1:], 1)), initial_executors=1)
    assert len(placements(world)) == 3


def test_after_the_window_containers_may_go_anywhere_and_the_rest_counts_as_lost() -> None:
    world = second_epoch(saved())
    ready = world.driver_ready()
    timer = next(one for one in of(cm.SetTimer, ready) if one.name == WINDOW_TIMER)
    assert timer.at_ms == world.now_ms + ON.window_ms
    world.tell(reported(HOSTS[1]))
    answered = world.fire(WINDOW_TIMER, timer.at_ms)
    given_up = only(rc.GiveUpHost, answered)
    assert given_up.host == HOSTS[2]
    assert "2 saved map outputs" in given_up.reason
    assert set(placements(world).values()) == {()}


def test_after_the_window_an_executor_that_runs_may_go_on_reading_what_is_there() -> None:
    world = second_epoch(saved())
    timer = next(one for one in of(cm.SetTimer, world.driver_ready()) if one.name == WINDOW_TIMER)
    world.run(world.wanted()[0], host=HOSTS[1])
    answered = world.fire(WINDOW_TIMER, timer.at_ms)
    assert [one.host for one in of(rc.GiveUpHost, answered)] == [HOSTS[2]]
    found = world.negotiator.explain_host(HOSTS[1], world.now_ms)
    assert found is not None
    assert any("an executor there reads them" in line for line in found.lines)
    assert set(placements(world).values()) == {()}


def test_when_every_host_has_reported_nobody_waits_any_more() -> None:
    world = second_epoch(saved())
    timer = next(one for one in of(cm.SetTimer, world.driver_ready()) if one.name == WINDOW_TIMER)
    for host in HOSTS[1:3]:
        world.tell(reported(host))
    assert set(placements(world).values()) == {()}
    assert set(names(world.fire(WINDOW_TIMER, timer.at_ms))) <= {"DeclareReady", "EnterPhase"}


def test_outputs_in_an_executor_that_is_about_to_end_are_waited_for_on() -> None:
    world = second_epoch(saved())
    world.run("100001", host=HOSTS[1])
    world.tell(ev.ExecutorsUnwanted(executor_ids=("100001",)))
    world.tell(reported(HOSTS[1]))
    assert (HOSTS[1],) in placements(world).values()


def test_a_host_whose_shuffle_service_has_everything_needs_no_container() -> None:
    world = second_epoch(saved())
    timer = next(one for one in of(cm.SetTimer, world.driver_ready()) if one.name == WINDOW_TIMER)
    some = rec.OutputsReported(executor_id="", host=HOSTS[1], found=2, served=1, refused={})
    world.tell(some)
    assert (HOSTS[1],) in placements(world).values()
    for host in HOSTS[1:3]:
        world.tell(rec.OutputsReported(executor_id="", host=host, found=2, served=2, refused={}))
    assert set(placements(world).values()) == {()}
    assert set(names(world.fire(WINDOW_TIMER, timer.at_ms))) <= {"DeclareReady", "EnterPhase"}
    found = world.negotiator.explain_host(HOSTS[1], world.now_ms)
    assert found is not None
    assert any("its shuffle service gives them out" in line for line in found.lines)


def test_no_container_is_asked_for_on_a_blocked_or_lost_host() -> None:
    world = second_epoch(saved(by_host=dict.fromkeys(HOSTS[1:4], 1)), initial_executors=3, excluded_hosts=(HOSTS[1],))
    assert only(rc.GiveUpHost, world.commands).host == HOSTS[1]
    assert sorted(placements(world).values()) == [(), (HOSTS[2],), (HOSTS[3],)]
    lost = world.tell(hosts(h4="LOST"))
    assert "calls it LOST" in next(one for one in of(rc.GiveUpHost, lost) if one.host == HOSTS[2]).reason
    assert (HOSTS[2],) not in placements(world).values()


def test_a_block_does_not_give_up_a_host_on_which_an_executor_looks_for_outputs() -> None:
    world = second_epoch(saved(by_host={HOSTS[1]: 1, HOSTS[2]: 1}))
    world.driver_ready()
    world.run("100001", host=HOSTS[1])
    assert not of(rc.GiveUpHost, world.block(HOSTS[1], force=True))
    assert only(rc.GiveUpHost, world.block(HOSTS[2], force=True)).host == HOSTS[2]


def test_what_became_of_what_was_saved_on_a_host_is_explained() -> None:
    world = second_epoch(saved(by_host=dict.fromkeys(HOSTS[1:4], 1)), excluded_hosts=(HOSTS[1],))
    world.tell(reported(HOSTS[2]))

    def said(host: str) -> str:
        found = world.negotiator.explain_host(host, world.now_ms)
        assert found is not None
        return "\n".join(found.lines)

    assert "count as lost: the host is blocked" in said(HOSTS[1])
    assert "has looked for them" in said(HOSTS[2])
    assert "are waited for" in said(HOSTS[3])
    assert "map output" not in said(HOSTS[0])


def test_a_host_whose_container_died_gets_another_one() -> None:
    world = second_epoch(saved(by_host={HOSTS[1]: 1}), initial_executors=1)
    world.driver_ready()
    world.run("100001", host=HOSTS[1])
    answered = world.lose("100001", -102, host=HOSTS[1])
    assert only(cm.RequestContainers, answered).executor_ids == ("100002",)
    assert placements(world) == {"100002": (HOSTS[1],)}


# faults


class Broken(Shuffles):
    """Something nobody thought of."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    def offer(self, saved: tuple[rec.SavedShuffle, ...]) -> None:
        if self.method == "offer":
            raise ZeroDivisionError("nobody thought of this")
        super().offer(saved)

    def declare(self, declared: rec.ShuffleDeclared) -> Match:
        if self.method == "declare":
            raise ZeroDivisionError("nobody thought of this")
        return super().declare(declared)


@pytest.mark.parametrize("method", ["offer", "declare"])
def test_a_fault_of_ours_costs_the_recovery_and_not_the_job(method: str) -> None:
    world = World(recovery=ON)
    world.start(2)
    world.negotiator._recovery._shuffles = Broken(method)
    world.tell(declared())
    answered = world.tell(replayed(saved()))
    found = only(rc.AnswerShuffle, answered)
    assert (found.question, found.restore, found.record) == (1, False, False)
    assert only(cm.StartDriver, answered).epoch == 2
    assert not only(rc.ReportRecoveryLimit, answered).recording
    assert "nobody thought of this" in only(rc.ReportRecoveryLimit, answered).reason
    assert not answer(world, declared(1)).restore
    assert set(placements(world).values()) == {()}
    assert not world.tell(rec.ShuffleForgotten(shuffle=NEW))


def test_what_must_not_be_used_is_refused_after_a_fault_of_ours_too() -> None:
    """What was recorded before is used again by the next driver."""
    world = World(recovery=ON)
    world.start(1)
    world.tell(rec.JournalReplayed())
    assert answer(world, declared(1)).record
    world.negotiator._recovery._shuffles = Broken("declare")
    assert not answer(world, declared(2)).record
    told = world.tell(rec.RecordingStopped(shuffle=NEW + 1, why="a map that ran again gave other records"))
    assert only(rc.RefuseShuffles, told).shuffles == (NEW + 1,)


# off


def test_without_recovery_nothing_of_it_happens() -> None:
    world = World()
    world.start(2)
    answered = answer(world, declared())
    assert (answered.shuffle, answered.restore, answered.record) == (None, False, False)
    world.tell(replayed(saved()))
    kinds = {type(one) for one in world.commands}
    assert not kinds & {rc.RecordShuffle, rc.RecordProgram, rc.OfferSaved, rc.ReportRecoveryLimit, rc.GiveUpHost}
    assert cm.StartDriver in kinds


def test_why_it_is_off_is_told() -> None:
    world = World(recovery=RecoverySettings(off="spark.io.encryption.enabled=true: another key"))
    assert "another key" in only(rc.ReportRecoveryLimit, world.start()).reason
