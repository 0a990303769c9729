"""What the status says of kept work."""

from __future__ import annotations

from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.observe.forms.document import RecoveryStatus
from yarnspec.observe.forms.records import decode, encode, record_of
from yarnspec.observe.status.status_fold import StatusFold

APP = "application_1700000000000_0001"
SAVED = rec.SavedShuffle(
    shuffle=1_000_000, signature="s", maps=4, reduces=3, determinism="determinate", by_host={"h1": 2, "h2": 1}
)
DECLARED = rec.ShuffleDeclared(
    question=1, shuffle=2_000_000, signature="s", maps=4, reduces=3, determinism="determinate", description="sum by key"
)
ANSWERED = rc.AnswerShuffle(question=1, shuffle=1_000_000, restore=True, record=True, reason="3 of 4")
RECORDED = rc.RecordShuffle(
    shuffle=1_000_000, signature="s", maps=4, reduces=3, determinism="determinate", reason="declared"
)
PROGRAM = rc.RecordProgram(reason="epoch 2")
RESTORED = rec.ShuffleRestored(
    shuffle=1_000_000, wanted=3, restored=2, waited_ms=7, by_host={"h1": 2}, not_restored={"checksum differs": 1}
)
RESUMED = (rec.JournalReplayed(shuffles=(SAVED,)), PROGRAM, DECLARED, RECORDED, ANSWERED, RESTORED)


def folded(*messages: Event | Command) -> StatusFold:
    fold = StatusFold(APP)
    for number, message in enumerate(messages, start=1):
        # As the history has it: through bytes.
        fold.apply(decode(encode(record_of(message, seq=number, time_ms=number, epoch=2))))
    return fold


def status(*messages: Event | Command) -> RecoveryStatus:
    found = folded(*messages).document().recovery
    assert found is not None
    return found


def test_nothing_is_said_where_nothing_is_kept() -> None:
    assert folded(events.DriverStarted(pid=1)).document().recovery is None


def test_what_came_back_and_what_did_not() -> None:
    found = status(*RESUMED)
    assert found.recording
    assert (found.saved_shuffles, found.saved_outputs, found.restored_outputs) == (1, 3, 2)
    assert found.not_restored == {"checksum differs": 1}
    (one,) = found.reused
    assert (one.shuffle, one.description, one.maps, one.restored, one.waited_ms) == (1_000_000, "sum by key", 4, 2, 7)


ANOTHER = rec.SavedShuffle(
    shuffle=1_000_001, signature="t", maps=8, reduces=3, determinism="determinate", by_host={"h1": 8}
)
OFFERED = (
    rec.JournalReplayed(shuffles=(SAVED, ANOTHER)),
    PROGRAM,
    rc.OfferSaved(shuffles=(1_000_000, 1_000_001), reason="11 map outputs"),
)


def test_what_nobody_has_asked_for_yet_is_said() -> None:
    found = status(*OFFERED)
    assert (found.saved_outputs, found.restored_outputs) == (11, 0)
    assert found.not_restored == {"not asked for so far": 11}


def test_what_is_asked_for_and_not_used_has_a_reason() -> None:
    above = rec.ShuffleDeclared(
        question=2, shuffle=2_000_001, signature="t", maps=8, reduces=3, determinism="determinate"
    )
    why = "what it was computed from may be other rows today"
    refused = rc.AnswerShuffle(question=2, shuffle=None, record=True, unused=((1_000_001, why),), reason="none")
    found = status(*OFFERED, DECLARED, RECORDED, ANSWERED, RESTORED, above, refused)
    assert found.not_restored == {"checksum differs": 1, why: 8}
    taken = rc.AnswerShuffle(question=2, shuffle=1_000_001, restore=True, record=True, reason="8 of 8")
    assert why not in status(*OFFERED, above, refused, above, taken).not_restored


def test_what_is_above_something_that_did_not_come_back_has_a_reason() -> None:
    none = rec.ShuffleRestored(
        shuffle=1_000_000, wanted=3, restored=0, waited_ms=7, by_host={}, not_restored={"its host is gone": 3}
    )
    gone = [rc.ForgetShuffle(shuffle=each, reason="nothing below") for each in (1_000_001, 1_000_000)]
    found = status(*OFFERED, DECLARED, RECORDED, ANSWERED, none, *gone)
    assert found.not_restored == {"its host is gone": 3, "nothing below": 8}


def test_nothing_is_asked_for_where_nothing_is_offered() -> None:
    changed = "nothing of 1 shuffles of earlier epochs is used again: the program is not the same"
    refused = rc.RefuseShuffles(shuffles=(1_000_000,), reason=changed)
    assert status(rec.JournalReplayed(shuffles=(SAVED,)), refused, PROGRAM).not_restored == {changed: 3}
    assert status(rec.JournalReplayed(shuffles=(SAVED,)), PROGRAM).not_restored == {}


def test_what_is_recorded_grows_and_shrinks() -> None:
    assert status(*RESUMED).recorded_shuffles == 1
    assert status(*RESUMED, rc.ForgetShuffle(shuffle=1_000_000, reason="x")).recorded_shuffles == 0
    assert status(*RESUMED, rc.RefuseShuffles(shuffles=(1_000_000,), reason="x")).recorded_shuffles == 0


def test_what_is_on_disk_of_this_epoch_is_what_was_told_last() -> None:
    assert status(*RESUMED).durable_outputs == 0
    assert status(*RESUMED, rec.OutputsDurable(outputs=2), rec.OutputsDurable(outputs=5)).durable_outputs == 5


def declared(question: int, why_not: str) -> tuple[Event, Command]:
    """A shuffle that is not recorded, and the answer to it."""
    shuffle = rec.ShuffleDeclared(
        question=question,
        shuffle=2_000_000 + question,
        signature="",
        maps=4,
        reduces=3,
        determinism="determinate",
        reusable=False,
        why_not=why_not,
    )
    return shuffle, rc.AnswerShuffle(question=question, shuffle=None, reason=why_not)


def test_why_shuffles_are_not_recorded_is_counted() -> None:
    assert status(*RESUMED).not_recorded == {}
    cached, stream = "it reads a cached RDD", "it belongs to a stream"
    found = status(*RESUMED, *declared(2, cached), *declared(3, stream), *declared(4, f"below it: {cached}"))
    assert found.not_recorded == {cached: 2, stream: 1}
    assert found.recorded_shuffles == 1


def test_a_shuffle_that_is_refused_later_or_declared_too_early_has_a_reason_too() -> None:
    early = rec.ShuffleDeclared(
        question=2, shuffle=2_000_001, signature="t", maps=4, reduces=3, determinism="determinate"
    )
    answer = rc.AnswerShuffle(
        question=2, shuffle=None, reason="nothing is saved of it; it is not recorded: the journal is not open yet"
    )
    stopped = rec.RecordingStopped(shuffle=1_000_000, why="a map counts in an accumulator of the kind X")
    refused = rc.RefuseShuffles(shuffles=(1_000_000,), reason="x")
    found = status(*RESUMED, early, answer, stopped, refused, stopped)
    assert found.not_recorded == {"the journal is not open yet": 1, stopped.why: 1}
    assert found.recorded_shuffles == 0


def test_reasons_beyond_the_first_ones_are_counted_together() -> None:
    asked = [one for number in range(2, 32) for one in declared(number, f"reason {number}")]
    found = status(*RESUMED, *asked, *declared(32, "reason 2")).not_recorded
    assert (len(found), found["reason 2"], found["other reasons"], sum(found.values())) == (21, 2, 10, 31)


def test_a_limit_is_a_warning_and_ends_the_recording_if_it_says_so() -> None:
    used = rc.ReportRecoveryLimit(recording=True, reason="the program is not the same")
    ended = rc.ReportRecoveryLimit(recording=False, reason="the disk is full")
    assert status(PROGRAM, used).recording
    found = status(PROGRAM, used, ended)
    assert (found.recording, found.why_not) == (False, "the disk is full")
    assert folded(PROGRAM, used, ended).document().warnings == (used.reason, ended.reason)


def test_what_ended_the_recording_stays_the_reason() -> None:
    """It is told at the driver's start, by a program that encrypts, and the journal may be read later."""
    ended = rc.ReportRecoveryLimit(recording=False, reason="spark.io.encryption.enabled is on")
    later = rc.ReportRecoveryLimit(recording=False, reason="nothing of 3 shuffles of earlier epochs is used again")
    found = folded(ended, later).document()
    assert found.recovery is not None
    assert (found.recovery.recording, found.recovery.why_not) == (False, ended.reason)
    assert later.reason in found.warnings


def test_why_nothing_of_the_past_is_used_is_not_hidden_by_what_is_not_recorded() -> None:
    past = rc.ReportRecoveryLimit(recording=True, about="past", reason="their journal was read too late")
    part = rc.ReportRecoveryLimit(recording=True, reason="not all shuffles are recorded")
    found = status(rec.JournalReplayed(shuffles=(SAVED,)), PROGRAM, past, part)
    assert (found.recording, found.why_not) == (True, f"{past.reason}; {part.reason}")
    assert found.not_restored == {past.reason: SAVED.outputs}


def test_what_would_be_done_again_is_told_beside_what_is_recorded() -> None:
    in_turn: tuple[rec.Unrecoverable, ...] = ("writes", "cached", "writes", "stream")
    said = [
        rc.ReportRecoveryLimit(recording=True, about=about, reason=f"{about} at {line}")
        for line, about in enumerate(in_turn, start=1)
    ]
    found = folded(PROGRAM, *said).document()
    assert found.recovery is not None
    assert (found.recovery.recording, found.recovery.why_not) == (True, "")
    assert found.recovery.done_again == ("stream at 4", "cached at 2", "writes at 1", "writes at 3")
    assert found.warnings == ("writes at 1", "writes at 3")


def test_the_next_driver_has_not_begun_what_the_last_one_did() -> None:
    cached = rc.ReportRecoveryLimit(recording=True, about="cached", reason="cached")
    begun = commands.BeginEpoch(epoch=3, restart=1, reason="the driver has died")
    assert status(PROGRAM, cached, begun, PROGRAM).done_again == ()


def test_hosts_that_are_given_up_and_what_lies_on_others() -> None:
    kept = rec.OutputsKept(executor_id="1", host="h3", outputs=5, bytes=50, dropped=1)
    found = status(
        *RESUMED, rc.GiveUpHost(host="h2", reason="blocked"), kept, rec.OutputsKept(executor_id="2", host="h4")
    )
    assert found.lost_hosts == {"h2": "blocked"}
    assert [(one.host, one.outputs, one.bytes, one.dropped) for one in found.kept] == [("h3", 5, 50, 1)]


def test_a_host_that_is_given_up_is_not_lost_while_its_shuffle_service_has_everything() -> None:
    lost = (*RESUMED, rc.GiveUpHost(host="h2", reason="blocked"))
    some = rec.OutputsReported(executor_id="", host="h2", found=3, served=2, refused={})
    every = rec.OutputsReported(executor_id="", host="h2", found=3, served=3, refused={})
    assert status(*lost, some).lost_hosts == {"h2": "blocked"}
    assert status(*lost, every).lost_hosts == {}


def test_outputs_of_executors_that_died_while_the_driver_lives() -> None:
    began = [rec.LiveAdoptionBegan(executor_id=executor, host="h1", outputs=4) for executor in ("1", "2")]
    ended = rec.LiveAdoptionEnded(
        executor_id="1", host="h1", outputs=4, adopted=3, lost=1, waited_ms=900, why="executor 3 has them"
    )
    over, waiting = status(PROGRAM, *began, ended).live
    assert (over.executor_id, over.adopted, over.lost, over.waited_ms, over.why) == ("1", 3, 1, 900, ended.why)
    assert (waiting.executor_id, waiting.host, waiting.outputs, waiting.why) == ("2", "h1", 4, "")


def test_what_is_carried_over_is_said_and_what_is_not_is_a_warning() -> None:
    unread = rc.CarryOver(failed=True, reason="a record cannot be read: hosts")
    taken = rc.CarryOver(reason="carried over from epoch 1: 2 blocks")
    assert status(*RESUMED, unread, taken).carried_over == f"{unread.reason}; {taken.reason}"
    assert folded(*RESUMED, unread, taken).document().warnings == (unread.reason,)


def test_what_was_written_and_what_was_not_written_again() -> None:
    begun = rc.RecordWrite(
        ordinal=3, signature="s", path="/x", mode="add", job="j", epoch=2, existed=True, reason="begins"
    )
    earlier = rc.RecordCommit(ordinal=1, signature="s", path="/x", reason="all files are there")
    skip = rc.AnswerWrite(question=1, action="skip", reason="committed")
    missing = wr.WriteMissing(question=2, write=1)
    own = rc.RecordCommit(ordinal=3, signature="s", path="/x", reason="committed")
    found = status(*RESUMED, earlier, skip, skip, missing, begun, own)
    assert (found.committed_writes, found.skipped_writes) == (1, 1)
