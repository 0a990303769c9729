"""What is written and when, what a reader gets of it, and what happens when it cannot be written."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.journal import stranger
from tests.journal.memory import MemoryFiles
from tests.journal.world import (
    AT_ONCE,
    NEVER,
    PATIENCE_S,
    Told,
    began,
    begin,
    directory_in,
    finished,
    fold,
    registered,
    story,
    write,
)
from yarnspec.core.journal.carriedtexts import lost_of, progress_of
from yarnspec.core.journal.journalrecords import Carried, UnknownRecord
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.errors import JournalStopped
from yarnspec.journal.records import MAX_PAYLOAD_BYTES, decode
from yarnspec.journal.stores import AppendStore, PerFlushStore, Store
from yarnspec.journal.writer import JournalOptions, Stopped

STORES = [AppendStore(), PerFlushStore()]
LOG = "/journal/epoch-1/log"


class Gate(MemoryFiles):
    """A file system whose syncs wait."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.waiting = threading.Event()
        self.before = self._wait

    def _wait(self, operation: str, _path: str) -> None:
        if operation == "sync" and not self.open.is_set():
            self.waiting.set()
            assert self.open.wait(PATIENCE_S)


@pytest.mark.parametrize("store", STORES)
def test_what_is_read_is_what_was_written(tmp_path: Path, store: Store) -> None:
    directory = directory_in(tmp_path, store)
    records = story(300)
    journal = begin(directory, 1, JournalOptions(buffer_bytes=2_000))
    for record in records:
        assert journal.append(record)
    assert journal.close(PATIENCE_S)
    assert journal.problem == ""
    assert [decode(entry) for entry in directory.entries(1)] == [began(1), *records]
    assert [entry.seq for entry in directory.entries(1)] == list(range(1, 302))
    past = directory.replay()
    assert list(past.recorded.live()) == fold([began(1), *records])
    (report,) = directory.verify()
    assert (report.sealed_by, report.records, report.damage, report.ignored_bytes) == (1, 301, None, 0)
    assert journal.written == (report.records, report.size_bytes)
    # A reader that was written from the document alone agrees.
    read = stranger.records(tmp_path / "journal" / "epoch-1")
    assert [kind for kind, _ in read] == [entry.type for entry in directory.entries(1)]
    told = [fields for kind, fields in read if kind == 32]
    assert [(each["shuffle"], each["index"], each["blob"], each["host"]) for each in told] == [
        (each.shuffle, each.index, each.blob, each.host) for each in records if isinstance(each, type(finished(0, 0)))
    ]


def test_a_summary_is_on_disk_when_its_future_is_done_and_what_came_before_it_too(tmp_path: Path) -> None:
    directory = directory_in(tmp_path)
    journal = begin(directory, 1, NEVER)
    assert journal.append(registered(1))
    assert journal.append(finished(1, 3))
    assert journal.append_durable(registered(2)).result(PATIENCE_S) == 4
    log = (tmp_path / "journal" / "epoch-1" / "log").read_bytes()
    assert len(log) == journal.written.size_bytes
    assert [decode(entry) for entry in directory.entries(1)] == [began(1), registered(1), finished(1, 3), registered(2)]
    assert journal.close(PATIENCE_S)


def test_how_far_the_records_are_on_disk_is_told(tmp_path: Path) -> None:
    told: list[int] = []
    journal, _ = directory_in(tmp_path).begin(began(1), options=NEVER, on_written=told.append)
    assert [journal.append(finished(1, index)) for index in range(3)] == [2, 3, 4]
    assert not told
    journal.append_durable(registered(2)).result(PATIENCE_S)
    journal.append(finished(1, 4))
    assert journal.close(PATIENCE_S)
    assert told == [5, 6]
    assert journal.append(finished(1, 5)) == 0


def test_details_wait_for_the_buffer_or_the_interval() -> None:
    files = MemoryFiles()
    synced = threading.Event()
    files.before = lambda operation, _path: synced.set() if operation == "sync" else None
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1, NEVER._replace(buffer_bytes=10_000))
    written = journal.written
    synced.clear()
    for index in range(20):
        journal.append(finished(1, index))
    assert journal.written == written
    assert not synced.is_set()
    for index in range(100):
        journal.append(finished(1, index))
    assert synced.wait(PATIENCE_S)
    assert journal.close(PATIENCE_S)
    soon = begin(directory, 2, AT_ONCE)
    synced.clear()
    soon.append(finished(1, 1))
    assert synced.wait(PATIENCE_S)
    assert soon.close(PATIENCE_S)


def test_a_slow_file_system_holds_nobody_up_and_a_close_that_takes_too_long_ends() -> None:
    files = Gate()
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1, AT_ONCE._replace(queue_bytes=10_000))
    files.open.clear()
    first = journal.append_durable(registered(1))
    assert files.waiting.wait(PATIENCE_S)
    assert journal.append(finished(1, 1))
    summary = journal.append_durable(registered(2))
    assert not first.done()
    assert not journal.close(0.0)
    files.open.set()
    assert isinstance(summary.exception(PATIENCE_S), JournalStopped)
    assert "within 0 s" in journal.problem
    assert first.result(PATIENCE_S) == 2
    # For the next epoch it is as if this one had died then: no word that something is missing.
    assert not journal.close(PATIENCE_S)
    _, past = directory.begin(began(2))
    assert lost_of(past.recorded) == ""
    assert set(past.recorded.shuffles) == {1}


def test_what_does_not_fit_is_the_end_of_recording_and_nothing_later_is_found_without_it() -> None:
    """A summary that waits is told, the next epoch as well, and room that comes back changes nothing."""
    files = Gate()
    directory = JournalDirectory(files, "/journal")
    told = Told()
    journal, _ = directory.begin(
        began(1), options=AT_ONCE._replace(buffer_bytes=0, queue_bytes=10_000), on_stopped=told
    )
    files.open.clear()
    first = journal.append_durable(registered(1))
    assert files.waiting.wait(PATIENCE_S)
    kept = 0
    while journal.append(finished(1, kept, blob=bytes(1000))):
        kept += 1
    assert 5 < kept < 10
    assert "wait to be written" in told.wait().why  # whoever waits must hear of it while the file system still hangs
    assert isinstance(journal.append_durable(registered(2)).exception(0), JournalStopped)
    files.open.set()
    assert first.result(PATIENCE_S) == 2
    assert not journal.append(finished(1, 99))
    assert not journal.close(PATIENCE_S)
    later, past = directory.begin(began(2), on_stopped=Told())
    assert "wait to be written" in lost_of(past.recorded)
    assert not past.recorded.shuffles[1].outputs
    assert later.close(PATIENCE_S)


def test_a_later_epoch_that_begins_while_the_file_system_hangs_is_told_as_well() -> None:
    files = Gate()
    directory = JournalDirectory(files, "/journal")
    told: queue.SimpleQueue[Stopped] = queue.SimpleQueue()
    zombie, _ = directory.begin(began(1), options=AT_ONCE, on_stopped=told.put)
    files.open.clear()
    first = zombie.append_durable(registered(1))
    assert files.waiting.wait(PATIENCE_S)
    zombie.stop("too much waits")
    assert told.get(timeout=PATIENCE_S) == Stopped("too much waits", fenced=False)
    files.before = lambda *_: None
    assert begin(directory, 2).close(PATIENCE_S)
    files.open.set()
    assert isinstance(first.exception(PATIENCE_S), JournalStopped)
    assert told.get(timeout=PATIENCE_S).fenced
    assert not zombie.close(PATIENCE_S)
    assert told.empty()


@pytest.mark.parametrize("operation", ["append", "sync"])
def test_after_a_write_error_recording_stops_and_the_next_epoch_knows(operation: str) -> None:
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    told = Told()
    journal, _ = directory.begin(began(1), on_stopped=told)
    assert journal.append_durable(registered(1)).result(PATIENCE_S) == 2
    files.fail(operation)
    failed = journal.append_durable(registered(2))
    assert isinstance(failed.exception(PATIENCE_S), JournalStopped)
    assert told.wait() == Stopped("OSError: [Errno 28] No space left on device", fenced=False)
    assert journal.problem == told.wait().why
    files.fail("nothing")
    assert not journal.append(finished(1, 1))
    assert isinstance(journal.append_durable(registered(3)).exception(0), JournalStopped)
    assert journal.refused == 3
    assert not journal.close(PATIENCE_S)
    _, past = directory.begin(began(2))
    assert past.problem == ""
    assert lost_of(past.recorded) == f"the recording of epoch 1 stopped: {told.wait().why}"
    assert 1 in past.recorded.shuffles
    assert progress_of(past.recorded).epoch == 1


def test_that_the_recording_stopped_is_told_where_there_is_no_room_to_say_why() -> None:
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1)

    def full(operation: str, _path: str) -> None:
        if operation in {"append", "write"}:
            raise OSError(28, "No space left on device")

    files.before = full
    assert journal.append_durable(registered(1)).exception(PATIENCE_S) is not None
    assert not journal.close(PATIENCE_S)
    files.fail("nothing")
    assert lost_of(directory.replay().recorded) == "the recording of epoch 1 stopped: nothing could be written"
    assert directory.verify()[0].stopped == "nothing could be written"


def test_that_the_recording_stopped_is_said_as_soon_as_the_file_system_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("yarnspec.journal.writer._AGAIN_S", 0.01)
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1)
    tries = threading.Semaphore(0)
    said = threading.Event()

    def away(_operation: str, path: str) -> None:
        tries.release()
        raise ConnectionError(path)

    def back(operation: str, path: str) -> None:
        if operation == "write" and path.endswith("stopped"):
            said.set()

    files.before = away
    monkeypatch.setattr(files, "make_directories", lambda path: away("make", path))
    refused = journal.append_durable(registered(1))
    for _ in range(6):
        assert tries.acquire(timeout=PATIENCE_S)
    assert isinstance(refused.exception(PATIENCE_S), JournalStopped)
    files.before = back
    assert said.wait(PATIENCE_S)
    assert not journal.close(PATIENCE_S)
    assert "ConnectionError" in lost_of(directory.replay().recorded)


def test_bytes_on_disk_wait_for_a_file_system_that_is_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yarnspec.journal.writer._AGAIN_S", 0.01)
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1)
    looks = threading.Semaphore(0)

    def away(operation: str, path: str) -> None:
        if operation == "list":
            looks.release()
            raise ConnectionError(path)

    files.before = away
    future = journal.append_durable(registered(1))
    for _ in range(5):
        assert looks.acquire(timeout=PATIENCE_S)
    assert not future.done()
    files.fail("nothing")
    assert future.result(PATIENCE_S) == 2
    assert journal.close(PATIENCE_S)
    assert journal.problem == ""


def test_patience_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yarnspec.journal.writer._AGAIN_S", 0.01)
    files = MemoryFiles()
    journal = begin(JournalDirectory(files, "/journal"), 1, JournalOptions(patience_s=0.05))
    files.fail("list")
    assert isinstance(journal.append_durable(registered(1)).exception(PATIENCE_S), JournalStopped)
    assert "No space" in journal.problem


def test_a_seal_that_cannot_be_written_is_a_problem_but_loses_nothing() -> None:
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1)
    journal.append(registered(1))
    files.fail("rename", "sealed")
    assert not journal.close(PATIENCE_S)
    assert "No space" in journal.problem
    files.fail("nothing")
    assert list(directory.replay().recorded.shuffles) == [1]


def test_a_record_too_large_is_refused_or_the_end_of_recording(tmp_path: Path) -> None:
    directory = directory_in(tmp_path)
    journal = begin(directory, 1)
    with pytest.raises(ValueError, match="larger than"):
        journal.append_durable(Carried(kind="k", payload=bytes(MAX_PAYLOAD_BYTES)))
    assert journal.append_durable(registered(1)).result(PATIENCE_S) == 2
    assert not journal.append(finished(1, 1, blob=bytes(MAX_PAYLOAD_BYTES)))
    assert "larger than" in journal.problem
    assert not journal.append(finished(1, 2))
    assert not journal.close(PATIENCE_S)
    assert "larger than" in lost_of(directory.replay().recorded)


def test_after_closing_nothing_is_recorded(tmp_path: Path) -> None:
    directory = write(tmp_path, story(5))
    journal = begin(directory, 2)
    journal.begin_close()
    assert not journal.append(registered(9))
    refused: Future[int] = journal.append_durable(registered(9))
    assert isinstance(refused.exception(0), JournalStopped)
    assert journal.close(PATIENCE_S)
    assert journal.problem == ""


def test_records_that_are_not_known_go_on_to_the_next_epoch(tmp_path: Path) -> None:
    unknown = UnknownRecord(type=500, payload=b"\x81\xa1a\x01")
    directory = write(tmp_path, [registered(1), unknown])
    assert begin(directory, 2).close(PATIENCE_S)
    assert directory.replay().recorded.unknown == [unknown]
    assert stranger.records(tmp_path / "journal" / "epoch-2")[4] == (500, {"a": 1})
