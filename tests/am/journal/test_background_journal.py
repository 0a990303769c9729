"""The journal of an epoch as the shell and the driver use it, over files of this machine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from yarnspec.am.journal import background_journal
from yarnspec.am.journal.background_journal import BackgroundJournal
from yarnspec.core.journal.journalrecords import ApplicationRegistered, Carried, Determinism, EpochBegan, InputsRead
from yarnspec.core.journal.overdue import Wait
from yarnspec.core.messages import commands
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.carried import CarriedBlock, CarriedBlocks, CarriedHost, CarriedHosts
from yarnspec.core.messages.events import Event
from yarnspec.core.recovery.savedwork import changed
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.frames import read_frames
from yarnspec.journal.layout import Layout
from yarnspec.journal.replay import Past
from yarnspec.journal.stores import AppendStore, JournalFiles, LogWriter, Store
from yarnspec.journal.writer import Journal, JournalOptions, Stopped
from yarnspec.yarn.files.local_files import LocalFiles

PROGRAM = ApplicationRegistered(
    application_id="application_1_0001",
    program_digest="p",
    arguments_digest="a",
    spark_version="4.3.0",
    python_version="3.11",
    yarnspec_version="1",
)
DEADLINE_S = 20.0


class Bridge:
    def __init__(self) -> None:
        self.answers: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self.refusals = 0

    def answer_shuffle(self, question: int, **answer: Any) -> None:
        if self.refusals:
            self.refusals -= 1
            raise ConnectionResetError("the JVM collects garbage")
        self.answers.put((question, answer))

    def answer_write(self, question: int, answer: rc.AnswerWrite) -> None:
        self.answers.put((question, {"action": answer.action, "reason": answer.reason}))


class Epoch:
    """One epoch's recording, and what it told."""

    def __init__(
        self,
        directory: Path,
        number: int,
        program: Callable[[], ApplicationRegistered] = lambda: PROGRAM,
        store: Store | None = None,
        *,
        began_ms: int = 1,
        previous_ended_ms: int = 0,
    ) -> None:
        self.journal: Journal | None = None
        self.files = JournalDirectory(LocalFiles(), f"{directory}/journal", store)
        self.began = EpochBegan(
            epoch=number, attempt=number, host="h", time_ms=began_ms, previous_ended_ms=previous_ended_ms
        )
        self.told: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.durable: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.words: queue.SimpleQueue[dict[str, int]] = queue.SimpleQueue()
        self.bridge = Bridge()
        self.recording = BackgroundJournal(
            self.began,
            begin=self._begin,
            look=lambda: self.files.check(number),
            leave_word=lambda why: self.files.say_stopped(number, why),
            leave_refused=self._say_refused,
            identify=program,
            saved_file=directory / f"saved-{number}",
        )
        self.recording.start(self._post)
        self.recording.connected(self.bridge)

    def _post(self, event: Event) -> None:
        if isinstance(event, rec.OutputsDurable):
            self.durable.put(event.outputs)
        else:
            self.told.put(event)

    def _say_refused(self, refused: dict[str, int]) -> None:
        self.files.say_refused(self.began.epoch, refused)
        self.words.put(refused)

    def _begin(self, on_stopped: Callable[[Stopped], None], on_written: Callable[[int], None]) -> tuple[Journal, Past]:
        options = JournalOptions(flush_interval_s=0.01)
        opened = self.files.begin(self.began, options=options, on_stopped=on_stopped, on_written=on_written)
        self.journal = opened[0]
        return opened

    def replayed(self) -> rec.JournalReplayed:
        event = self.told.get(timeout=DEADLINE_S)
        assert isinstance(event, rec.JournalReplayed)
        return event

    def declare(self, shuffle: int, determinism: Determinism = "determinate") -> dict[str, Any]:
        """Record a shuffle and give what the driver is answered."""
        self.recording.perform(
            rc.RecordShuffle(
                shuffle=shuffle, signature=f"s{shuffle}", maps=3, reduces=2, determinism=determinism, reason="declared"
            )
        )
        self.recording.perform(rc.AnswerShuffle(question=shuffle, shuffle=None, record=True, reason="new"))
        question, answer = self.bridge.answers.get(timeout=DEADLINE_S)
        assert question == shuffle
        return answer

    def finish(self, shuffle: int, index: int, map_id: int, host: str = "h1") -> None:
        self.recording.take(
            {
                "kind": "map_finished",
                "shuffle": shuffle,
                "index": index,
                "map_id": map_id,
                "executor_id": "1",
                "host": host,
                "bytes": 10,
            },
            f"blob {map_id}".encode(),
        )

    def end(self) -> None:
        assert self.recording.close(DEADLINE_S)


def test_what_one_epoch_records_the_next_one_offers_to_its_driver(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    assert first.replayed() == rec.JournalReplayed()
    first.recording.perform(rc.RecordProgram(reason="begins"))
    assert first.declare(7)["record"]
    assert not first.declare(8)["restore"]
    first.finish(7, 0, 100)
    first.finish(7, 1, 101, "h2")
    first.finish(7, 0, 102)  # its output was lost
    first.finish(99, 0, 103)  # nobody declared it
    first.recording.take({"kind": "shuffle_facts", "shuffle": 7}, b"bounds")
    first.recording.perform(rc.RecordProgress(epoch=1, jobs=2, reason="first"))
    assert isinstance(first.told.get(timeout=DEADLINE_S), rec.MapOutputsRecorded)
    assert first.recording.saved_file is None
    first.end()
    assert first.told.empty()

    second = Epoch(tmp_path, 2)
    past = second.replayed()
    assert (past.epochs, past.progress, past.jobs) == ((1,), 1, 2)
    assert (past.changed, past.problem, past.off) == ((), "", "")
    assert [(one.shuffle, one.signature, one.by_host) for one in past.shuffles] == [
        (7, "s7", {"h1": 1, "h2": 1}),
        (8, "s8", {}),
    ]
    assert [(one.bounded, one.oldest, one.newest) for one in past.shuffles] == [(True, 101, 102), (False, 0, 0)]
    second.recording.perform(rc.OfferSaved(shuffles=(7,), reason="saved"))
    path = second.recording.saved_file
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("rb") as stream:
        frames = list(read_frames(stream.read))
    assert [frame.blob for frame in frames] == [b"bounds", b"blob 102", b"blob 101"]
    assert frames[0].header == {
        **{"kind": "shuffle", "shuffle": 7, "signature": "s7"},
        **{"maps": 3, "reduces": 2, "determinism": "determinate"},
    }
    assert frames[2].header == {
        **{"kind": "map", "shuffle": 7, "index": 1, "map_id": 101, "executor_id": "1"},
        **{"host": "h2", "epoch": 1, "bytes": 10},
    }
    second.end()


def test_how_long_each_epoch_was_waited_for_is_known_to_all_later_ones(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    assert first.replayed().waits == ()
    first.end()
    second = Epoch(tmp_path, 2, began_ms=5_000, previous_ended_ms=2_000)
    assert second.replayed().waits == (Wait(epoch=2, waited_ms=3_000),)
    second.declare(7)
    second.finish(7, 0, 100)
    second.end()
    third = Epoch(tmp_path, 3, began_ms=9_000)  # nobody knows when the second one ended
    assert third.replayed().waits == (Wait(epoch=2, waited_ms=3_000),)
    third.end()
    fourth = Epoch(tmp_path, 4, began_ms=9_000, previous_ended_ms=8_999)
    past = fourth.replayed()  # from the third one's snapshot
    assert past.waits == (Wait(epoch=2, waited_ms=3_000), Wait(epoch=4, waited_ms=1))
    assert [(one.shuffle, one.epoch) for one in past.shuffles] == [(7, 2)]
    fourth.end()


def test_a_driver_for_which_nothing_is_of_use_gets_an_empty_file_and_no_later_one_gets_it(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    first.replayed()
    first.declare(7)
    first.finish(7, 0, 100)
    first.end()
    second = Epoch(tmp_path, 2)
    assert [one.outputs for one in second.replayed().shuffles] == [1]
    second.recording.perform(rc.ForgetShuffle(shuffle=7, reason="it waited too long"))
    second.recording.perform(rc.OfferSaved(shuffles=(), reason="nothing is of use"))
    path = second.recording.saved_file
    assert path is not None
    assert path.read_bytes() == b""
    second.end()
    third = Epoch(tmp_path, 3)
    assert third.replayed().shuffles == ()
    third.end()


def test_what_the_negotiator_knows_is_handed_to_the_next_one_the_newest_of_each_kind(tmp_path: Path) -> None:
    blocks = [
        CarriedBlocks(epoch=1, time_ms=at, blocks=(CarriedBlock(host=f"h{at}", reason="r", by="ann", since_ms=at),))
        for at in (1, 2)
    ]
    hosts = CarriedHosts(epoch=1, time_ms=2, hosts=(CarriedHost(host="h1", faults=2),))
    first = Epoch(tmp_path, 1)
    first.replayed()
    first.recording.perform(rc.RecordState(parts=(blocks[0], hosts), reason="changed"))
    first.recording.perform(rc.RecordState(parts=(blocks[1],), reason="changed"))
    first.end()
    second = Epoch(tmp_path, 2)
    assert second.replayed().carried == (blocks[1], hosts)
    assert second.journal is not None
    second.journal.append(Carried(kind="hosts", payload=b"\xc1"))
    second.end()
    third = Epoch(tmp_path, 3)  # it has the second one's snapshot of the first
    past = third.replayed()
    assert past.carried == (blocks[1],)
    assert past.carried_problem.startswith("hosts: ")
    third.end()


def test_a_file_that_cannot_be_written_costs_only_what_is_saved(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    first.replayed()
    first.declare(7)
    first.finish(7, 0, 100)
    first.end()
    (tmp_path / "saved-2").mkdir()
    second = Epoch(tmp_path, 2)
    second.replayed()
    second.recording.perform(rc.OfferSaved(shuffles=(7,), reason="saved"))
    assert second.recording.saved_file is None
    told = second.told.get(timeout=DEADLINE_S)
    assert isinstance(told, rec.SavedUnreadable)
    assert "saved-2" in told.why
    second.end()


def test_what_is_saved_is_in_the_drivers_file_before_the_core_hears_of_it(tmp_path: Path) -> None:
    """Reading and writing it takes a while, and must not hold up decisions; another program's is not of use."""
    first = Epoch(tmp_path, 1)
    first.replayed()
    first.recording.perform(rc.RecordProgram(reason="begins"))
    first.declare(7)
    first.finish(7, 0, 100)
    first.end()
    second = Epoch(tmp_path, 2)
    assert second.replayed().shuffles[0].outputs == 1
    with (tmp_path / "saved-2").open("rb") as stream:
        assert [frame.blob for frame in read_frames(stream.read)] == [b"", b"blob 100"]
    assert second.recording.saved_file is None  # nobody has said that it is of use
    second.end()
    other = Epoch(tmp_path, 3, lambda: msgspec.structs.replace(PROGRAM, arguments_digest="other"))
    assert other.replayed().changed
    assert not (tmp_path / "saved-3").exists()
    other.end()


def test_what_was_put_aside_and_cannot_be_read_costs_the_recovery_of_that_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Epoch(tmp_path, 1)
    first.replayed()
    first.declare(7)
    first.finish(7, 0, 100)
    first.end()

    def unreadable(_recorded: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("yarnspec.am.journal.background_journal.saved_shuffles", unreadable)
        second = Epoch(tmp_path, 2)
        told = [second.told.get(timeout=DEADLINE_S) for _ in range(2)]
    (replayed,) = [one for one in told if isinstance(one, rec.JournalReplayed)]
    assert "Input/output error" in replayed.off
    assert replayed.shuffles == ()
    assert any(isinstance(one, rec.RecordingEnded) for one in told)
    assert not second.recording.close(DEADLINE_S)
    third = Epoch(tmp_path, 3)
    later = third.replayed()
    assert "Input/output error" in later.writes_lost
    assert [(one.shuffle, one.by_host) for one in later.shuffles] == [(7, {"h1": 1})]
    third.end()


def test_what_is_refused_or_forgotten_is_not_offered_again(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    first.replayed()
    for shuffle in (7, 8):
        first.declare(shuffle)
        first.finish(shuffle, 0, shuffle)
    first.recording.perform(rc.RefuseShuffles(shuffles=(7,), reason="the queue was full"))
    first.recording.perform(rc.ForgetShuffle(shuffle=8, reason="Spark has"))
    first.finish(7, 1, 70)
    first.finish(8, 1, 80)
    first.end()
    second = Epoch(tmp_path, 2)
    assert [(one.shuffle, one.outputs, one.not_reusable) for one in second.replayed().shuffles] == [
        (7, 0, "the queue was full")
    ]
    second.end()


def test_how_many_outputs_are_on_disk_is_told_as_soon_as_they_are(tmp_path: Path) -> None:
    epoch = Epoch(tmp_path, 1)
    epoch.replayed()
    epoch.declare(7, "indeterminate")
    epoch.finish(7, 0, 100)
    assert epoch.durable.get(timeout=DEADLINE_S) == 1
    epoch.finish(99, 0, 101)  # nobody declared it
    epoch.finish(7, 1, 102)
    epoch.finish(7, 0, 103)  # ran again, which is the end of that
    epoch.recording.perform(rc.RecordProgress(epoch=1, jobs=2, reason="a record that is no output"))
    assert epoch.durable.get(timeout=DEADLINE_S) == 2
    epoch.end()
    assert epoch.durable.empty()


def test_a_map_that_runs_again_ends_the_recording_of_an_indeterminate_shuffle(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    first.replayed()
    first.declare(7, "indeterminate")
    for index in range(3):
        first.finish(7, index, 100 + index)
    assert isinstance(first.told.get(timeout=DEADLINE_S), rec.MapOutputsRecorded)
    first.end()

    second = Epoch(tmp_path, 2)
    assert second.replayed().shuffles[0].outputs == 3
    second.declare(7, "indeterminate")
    second.finish(7, 0, 200)
    stopped = second.told.get(timeout=DEADLINE_S)
    assert isinstance(stopped, rec.RecordingStopped)
    assert stopped.shuffle == 7
    second.finish(7, 1, 201)
    second.end()
    third = Epoch(tmp_path, 3)
    assert third.replayed().shuffles[0].outputs == 3  # and none of the new ones among them
    third.end()


def test_a_driver_that_does_not_listen_at_once_is_told_again(tmp_path: Path) -> None:
    epoch = Epoch(tmp_path, 1)
    epoch.replayed()
    epoch.bridge.refusals = 2
    assert epoch.declare(7)["record"]
    epoch.end()


def test_without_a_journal_the_job_goes_on(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file where a directory should be")
    epoch = Epoch(tmp_path, 1)
    assert "could not be opened" in epoch.replayed().off
    epoch.recording.perform(rc.RecordProgram(reason="begins"))
    epoch.finish(7, 0, 1)
    epoch.end()


def test_a_journal_that_is_closed_records_no_shuffle_and_the_answer_says_so(tmp_path: Path) -> None:
    epoch = Epoch(tmp_path, 1)
    epoch.replayed()
    epoch.recording.begin_close()
    assert epoch.declare(7)["record"] is False
    epoch.end()


BEGUN = rc.RecordWrite(ordinal=1, signature="s", path="/x", mode="add", job="j", epoch=1, existed=True, reason="begins")
COMMITTING = rc.RecordCommitting(
    ordinal=1, files=2, digest="d", epoch=1, earliest=1, read=("/y",), made={"x": 2}, done_before=3, reason="commits"
)
COMMITTED = rc.RecordCommit(ordinal=1, signature="s", path="/x", reason="is there")


def go_on(epoch: Epoch, *records: commands.Command) -> dict[str, Any]:
    """What the driver is answered when these are recorded first."""
    for record in records:
        epoch.recording.perform(record)
    epoch.recording.perform(rc.AnswerWrite(question=5, fenced=True, reason="go on"))
    question, answer = epoch.bridge.answers.get(timeout=DEADLINE_S)
    assert question == 5
    return answer


def test_what_was_written_is_told_to_the_next_epoch(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    assert first.replayed().writes == ()
    steps: list[commands.Command] = [BEGUN, COMMITTING, COMMITTED]
    for number in (1, 2, 3):
        records = [msgspec.structs.replace(record, ordinal=number) for record in steps[:number]]
        assert go_on(first, *records)["action"] == "run"
    go_on(first, msgspec.structs.replace(BEGUN, ordinal=4), rc.ForgetWrites(ordinals=(4,), reason="undone"))
    moved = [msgspec.structs.replace(record, ordinal=5) for record in (BEGUN, COMMITTING, COMMITTED)]
    go_on(first, *moved, rc.ForgetWrites(ordinals=(5,), moved=(5,), reason="overwritten"))
    first.end()
    second = Epoch(tmp_path, 2)
    known: dict[str, Any] = {"signature": "s", "path": "/x", "mode": "add", "job": "j", "epoch": 1}
    digest: dict[str, Any] = {"files": 2, "digest": "d", "made": {"x": 2}, "done_before": 3}
    replayed = second.replayed()
    assert replayed.writes == (
        wr.SavedWrite(ordinal=1, state="begun", **known),
        wr.SavedWrite(ordinal=2, state="committing", **known, **digest),
        wr.SavedWrite(ordinal=3, state="committed", **known, **digest),
    )
    assert replayed.reads == (InputsRead(epoch=1, ordinal=1, places=("/y",)),) * 3
    assert replayed.moved_writes == (wr.SavedWrite(ordinal=5, state="committed", **known, **digest),)
    second.end()


def test_that_not_all_writes_are_known_is_told_to_all_later_epochs(tmp_path: Path) -> None:
    first = Epoch(tmp_path, 1)
    first.replayed()
    go_on(first, rc.RecordLost(reason="the disk was full"))
    first.end()
    for number in (2, 3):
        later = Epoch(tmp_path, number)
        assert later.replayed().writes_lost == "the disk was full"
        later.end()


def test_a_driver_that_was_replaced_must_not_commit(tmp_path: Path) -> None:
    zombie = Epoch(tmp_path, 1)
    zombie.replayed()
    assert go_on(zombie, BEGUN)["action"] == "run"
    second = Epoch(tmp_path, 2)
    assert [one.state for one in second.replayed().writes] == ["begun"]
    refused = go_on(zombie, COMMITTING)
    assert refused["action"] == "stop"
    told = {type(event): event for event in (zombie.told.get(timeout=DEADLINE_S) for _ in range(2))}
    assert set(told) == {wr.WriteRefused, rec.RecordingEnded}
    assert go_on(zombie)["action"] == "stop"
    # As soon as it is so, whether the zombie comes to its end or not.
    while zombie.words.get(timeout=DEADLINE_S).get("commits") != 2:
        pass
    assert not zombie.recording.close(DEADLINE_S)
    left = second.files.refused(before=2)
    assert left[1]["records"] > 0
    assert left == {1: {"records": left[1]["records"], "commits": 2}}
    second.end()
    assert second.files.refused(before=3) == left


def test_a_journal_that_cannot_be_written_keeps_no_write_from_its_end(tmp_path: Path) -> None:
    epoch = Epoch(tmp_path, 1)
    epoch.replayed()
    assert epoch.journal is not None
    epoch.journal.stop("the disk is full")
    for record in (COMMITTING, COMMITTED):
        assert go_on(epoch, record)["action"] == "run"


def test_a_journal_that_hangs_and_takes_no_more_keeps_no_write_from_its_end_either(tmp_path: Path) -> None:
    hangs, go = threading.Event(), threading.Event()

    def hang() -> None:
        if opened.is_set():
            hangs.set()
            assert go.wait(2 * DEADLINE_S)

    opened = threading.Event()
    epoch = Epoch(tmp_path, 1, store=Interrupted(hang))
    epoch.replayed()
    opened.set()
    epoch.recording.perform(BEGUN)
    assert hangs.wait(DEADLINE_S)
    epoch.recording.perform(COMMITTING)
    epoch.recording.missed(2)  # as where too much waits
    assert isinstance(epoch.told.get(timeout=DEADLINE_S), rec.RecordingEnded)
    assert go_on(epoch)["action"] == "run"
    assert "messages about map outputs were lost" in epoch.files.verify()[0].stopped
    go.set()
    assert not epoch.recording.close(DEADLINE_S)


def test_a_driver_that_was_replaced_must_not_commit_either_when_nothing_is_recorded_any_more(tmp_path: Path) -> None:
    zombie = Epoch(tmp_path, 1)
    zombie.replayed()
    assert go_on(zombie, BEGUN)["action"] == "run"
    assert zombie.journal is not None
    zombie.journal.stop("the disk is full")
    assert isinstance(zombie.told.get(timeout=DEADLINE_S), rec.RecordingEnded)
    assert go_on(zombie)["action"] == "run"
    second = Epoch(tmp_path, 2)
    second.replayed()
    assert go_on(zombie)["action"] == "stop"
    second.end()


def test_a_driver_that_was_replaced_before_its_journal_was_open_ends(tmp_path: Path) -> None:
    second = Epoch(tmp_path, 2)
    second.replayed()
    late = Epoch(tmp_path, 1)
    ended = late.told.get(timeout=DEADLINE_S)
    assert isinstance(ended, rec.RecordingEnded)
    assert ended.fenced
    second.end()


class Interrupted(AppendStore):
    """Something happens before the first records are on the disk, and may fail them."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile

    def create(self, files: JournalFiles, directory: str) -> LogWriter:
        log = super().create(files, directory)
        sync = log.sync

        def sync_afterwards() -> None:
            self.meanwhile()
            sync()

        log.sync = sync_afterwards  # type: ignore[method-assign]
        return log


def test_an_epoch_whose_journal_could_not_be_opened_leaves_word_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([OSError(5, "Input/output error")])
    left = threading.Event()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    def say_stopped(layout: Layout, epoch: int, why: str) -> None:
        for failure in failures:
            raise failure  # the first word cannot be written either
        said(layout, epoch, why)
        left.set()

    said = Layout.say_stopped
    monkeypatch.setattr(Layout, "say_stopped", say_stopped)
    monkeypatch.setattr(background_journal, "_AGAIN_S", 0.01)
    first = Epoch(tmp_path, 1, store=Interrupted(fail))
    assert "Input/output error" in first.replayed().off
    assert go_on(first)["action"] == "run"
    assert left.is_set()  # before the answer
    first.end()
    second = Epoch(tmp_path, 2)
    assert "Input/output error" in second.replayed().writes_lost
    second.end()


def test_a_driver_that_is_replaced_while_its_journal_opens_ends_whatever_the_file_system_says(tmp_path: Path) -> None:
    """HDFS says of a lease that the next epoch has taken that the file is closed, and the like."""
    later: list[Epoch] = []

    def begin_second() -> None:
        later.append(Epoch(tmp_path, 2))
        later[0].replayed()
        raise OSError("the lease has expired")

    ended = Epoch(tmp_path, 1, store=Interrupted(begin_second)).told.get(timeout=DEADLINE_S)
    assert isinstance(ended, rec.RecordingEnded)
    assert ended.fenced
    later[0].end()


def test_a_driver_that_was_replaced_must_not_commit_while_its_journal_opens(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go.wait(DEADLINE_S)

    zombie = Epoch(tmp_path, 1, store=Interrupted(wait))
    assert begun.wait(DEADLINE_S)
    assert go_on(zombie)["action"] == "run"
    second = Epoch(tmp_path, 2)
    second.replayed()
    assert go_on(zombie)["action"] == "stop"
    go.set()
    second.end()


def test_a_record_of_long_ago_does_not_show_that_a_driver_may_commit(tmp_path: Path) -> None:
    """Of some questions nothing is recorded: of a write that began before the journal was open, for one."""
    zombie = Epoch(tmp_path, 1)
    zombie.replayed()
    assert go_on(zombie, BEGUN)["action"] == "run"
    second = Epoch(tmp_path, 2)
    second.replayed()
    assert go_on(zombie)["action"] == "stop"
    second.end()
    zombie.recording.close(DEADLINE_S)


def test_a_driver_that_was_replaced_must_not_commit_where_what_was_recorded_could_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(background_journal, "progress_of", lambda _: 1 // 0)
        zombie = Epoch(tmp_path, 1)
        assert zombie.replayed().off
    assert go_on(zombie)["action"] == "run"
    second = Epoch(tmp_path, 2)
    second.replayed()
    assert go_on(zombie)["action"] == "stop"
    second.end()
    zombie.recording.close(DEADLINE_S)


def test_a_record_that_cannot_be_made_ends_the_recording_before_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next driver must not take the write that follows for one that never was."""
    epoch = Epoch(tmp_path, 1)
    epoch.replayed()
    assert go_on(epoch, BEGUN)["action"] == "run"
    with monkeypatch.context() as patched:
        patched.setattr(rc.RecordCommitting, "records", lambda _: 1 // 0)
        assert go_on(epoch, COMMITTING)["action"] == "run"
    ended = epoch.told.get(timeout=DEADLINE_S)
    assert isinstance(ended, rec.RecordingEnded)
    assert "RecordCommitting cannot be recorded" in ended.why
    # That is on disk by now, whatever becomes of this process.
    second = Epoch(tmp_path, 2)
    assert "RecordCommitting cannot be recorded" in second.replayed().writes_lost
    second.end()


def test_a_program_that_cannot_be_told_from_another_is_not_recorded(tmp_path: Path) -> None:
    def unknown() -> ApplicationRegistered:
        raise OSError("it is on the web")

    epoch = Epoch(tmp_path, 1, unknown)
    assert "on the web" in epoch.replayed().off
    # Nor does anybody take what it wrote for nothing, or is it left alone beside a later one.
    second = Epoch(tmp_path, 2, unknown)
    assert "on the web" in second.replayed().off
    assert go_on(epoch)["action"] == "stop"
    assert go_on(second)["action"] == "run"
    third = Epoch(tmp_path, 3)
    assert "on the web" in third.replayed().writes_lost
    third.end()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("application_id", "the application"),
        ("program_digest", "its files"),
        ("arguments_digest", "its arguments"),
        ("spark_version", "Spark"),
        ("python_version", "Python"),
        ("yarnspec_version", "yarnspec"),
    ],
)
def test_what_has_changed_is_named(name: str, told: str) -> None:
    (found,) = changed(PROGRAM, msgspec.structs.replace(PROGRAM, **{name: "x"}))
    assert told in found
    assert changed(PROGRAM, PROGRAM) == changed(None, PROGRAM) == ()


def test_when_what_the_driver_told_is_lost_on_its_way_recording_ends(tmp_path: Path) -> None:
    """Outputs that come later may be from a run of a map that nobody heard of."""
    first = Epoch(tmp_path, 1)
    first.replayed()
    assert first.declare(7)["record"]
    first.recording.missed(2)
    ended = first.told.get(timeout=DEADLINE_S)
    assert isinstance(ended, rec.RecordingEnded)
    assert "2 of the driver's messages" in ended.why
    first.finish(7, 0, 100)
    assert not first.recording.close(DEADLINE_S)

    second = Epoch(tmp_path, 2)
    (saved,) = second.replayed().shuffles
    assert not saved.by_host
    second.end()
