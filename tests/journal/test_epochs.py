"""Epochs take over from each other: one writer each, zombies change nothing, a snapshot replaces the past."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
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
from yarnspec.core.journal.carriedtexts import lost_of
from yarnspec.core.journal.journalrecords import (
    EpochSealed,
    JournalRecord,
    ShuffleDropped,
    SnapshotBegan,
    SnapshotEnded,
)
from yarnspec.errors import ClusterUnreachable
from yarnspec.journal import directory as journal_directory
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.errors import EpochTaken, Fenced, JournalStopped
from yarnspec.journal.records import decode
from yarnspec.journal.stores import AppendStore, JournalFiles, LogWriter, PerFlushStore, Store
from yarnspec.journal.writer import JournalOptions

STORES = [AppendStore(), PerFlushStore()]


@pytest.mark.parametrize("store", STORES)
def test_a_zombie_is_told_and_changes_nothing(tmp_path: Path, store: Store) -> None:
    directory = directory_in(tmp_path, store)
    told = Told()
    zombie, _ = directory.begin(began(1), on_stopped=told)
    zombie.append_durable(registered(1)).result(PATIENCE_S)
    journal, past = directory.begin(began(2))
    before = list(past.recorded.live())
    assert [record for record in before if record == registered(1)]
    refused = zombie.append_durable(finished(1, 7))
    assert isinstance(refused.exception(PATIENCE_S), JournalStopped)
    assert told.wait().fenced
    assert zombie.fenced
    assert "epoch 2 has begun" in zombie.problem
    assert not zombie.append(finished(1, 8))
    assert zombie.refused == 2
    assert not zombie.close(PATIENCE_S)
    # Its record is on the disk, where this file system cannot refuse it, and no reader takes it.
    first, second = directory.verify()
    assert (first.sealed_by, first.records, first.ignored_records, first.damage) == (2, 2, 1, None)
    assert len(list(directory.entries(1))) == 2
    assert len(stranger.records(tmp_path / "journal" / "epoch-1")) == 2
    assert second.damage is None
    assert journal.close(PATIENCE_S)
    assert not directory.replay().recorded.shuffles[1].outputs
    assert directory.replay().problem == ""  # a fenced epoch was not left half recorded: it was over


def test_what_a_zombie_adds_between_two_looks_of_the_next_epoch_does_not_count() -> None:
    """The next epoch has measured and not sealed yet."""
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    zombie = begin(directory, 1)
    zombie.append_durable(registered(1)).result(PATIENCE_S)
    late: list[BaseException | None] = []

    def before(operation: str, path: str) -> None:
        if operation == "rename" and path.endswith("epoch-1/sealed") and not late:
            late.append(None)
            late[0] = zombie.append_durable(registered(2)).exception(PATIENCE_S)

    files.before = before
    journal, past = directory.begin(began(2))
    assert isinstance(late[0], JournalStopped)
    assert list(past.recorded.shuffles) == [1]
    assert journal.close(PATIENCE_S)


def test_of_two_that_begin_the_same_epoch_one_does() -> None:
    for round_ in range(20):
        files = MemoryFiles()
        directory = JournalDirectory(files, "/journal")
        both = threading.Barrier(2)
        files.before = lambda operation, _path, both=both: both.wait(PATIENCE_S) if operation == "open" else None  # type: ignore[misc]
        outcomes: list[str] = []

        def one(directory: JournalDirectory = directory, outcomes: list[str] = outcomes) -> None:
            try:
                begin(directory, 3)
                outcomes.append("began")
            except EpochTaken:
                outcomes.append("taken")

        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert sorted(outcomes) == ["began", "taken"], round_


def test_of_two_epochs_that_begin_at_once_the_later_one_holds(tmp_path: Path) -> None:
    directory = write(tmp_path, story(30))
    both = threading.Barrier(2)
    outcomes: dict[int, str] = {}

    def one(epoch: int) -> None:
        both.wait(PATIENCE_S)
        try:
            journal = begin(directory, epoch)
            outcomes[epoch] = "began" if journal.append_durable(registered(50 + epoch)).exception(PATIENCE_S) is None \
                else "fenced"  # fmt: skip
        except Fenced:
            outcomes[epoch] = "fenced"

    threads = [threading.Thread(target=one, args=(epoch,)) for epoch in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert outcomes[3] == "began"
    shuffles = directory.replay().recorded.shuffles
    assert 53 in shuffles
    # What the earlier one was told to be durable before the later one began is not lost.
    assert (52 in shuffles) or outcomes[2] == "fenced"


@pytest.mark.parametrize("operation", ["list", "open", "recover", "read"])
def test_what_hdfs_does_not_do_at_once_is_tried_again(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_directory, "_AGAIN_S", 0.0)
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    first = begin(directory, 1)
    first.append_durable(registered(1)).result(PATIENCE_S)
    failures = iter([ClusterUnreachable("the NameNode is in safe mode")] * 2)

    def before(called: str, _path: str) -> None:
        if called == operation:
            for failure in failures:
                raise failure

    files.before = before
    journal, past = directory.begin(began(2), options=JournalOptions(patience_s=PATIENCE_S))
    assert next(failures, None) is None
    assert list(past.recorded.shuffles) == [1]
    assert journal.close(PATIENCE_S)
    assert isinstance(decode(list(directory.entries(2))[1]), EpochSealed)


def test_an_epoch_whose_creation_was_answered_too_late_is_this_writer_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """HDFS has made the file; the one that asked for it hears of a timeout, and then that there is such a file."""
    monkeypatch.setattr(journal_directory, "_AGAIN_S", 0.0)
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    assert begin(directory, 1).close(PATIENCE_S)

    class Late(AppendStore):
        def create(self, files: JournalFiles, directory: str) -> LogWriter:
            super().create(files, directory)
            raise ClusterUnreachable("no answer within 25 s")

    late = JournalDirectory(files, "/journal", Late())
    journal, _ = late.begin(began(2), options=AT_ONCE._replace(patience_s=PATIENCE_S))
    assert journal.append_durable(registered(1)).exception(PATIENCE_S) is None
    assert journal.close(PATIENCE_S)
    assert "/journal/epoch-2/log" in files.recovered
    assert list(directory.replay().recorded.shuffles) == [1]
    with pytest.raises(EpochTaken):
        begin(directory, 2)


def test_nothing_is_durable_in_a_directory_that_was_deleted(tmp_path: Path) -> None:
    """Somebody has cleaned up the history. The next epoch must not take what it finds for all that was written."""
    directory = directory_in(tmp_path)
    told = Told()
    journal, _ = directory.begin(began(1), on_stopped=told)
    assert journal.append_durable(registered(1)).exception(PATIENCE_S) is None
    shutil.rmtree(tmp_path / "journal")
    assert isinstance(journal.append_durable(registered(2)).exception(PATIENCE_S), JournalStopped)
    assert "deleted" in told.wait().why
    assert not journal.close(PATIENCE_S)
    later, past = directory.begin(began(2))
    assert lost_of(past.recorded)
    assert later.close(PATIENCE_S)


def test_an_epoch_cannot_begin_after_a_later_one(tmp_path: Path) -> None:
    directory = directory_in(tmp_path)
    later = begin(directory, 5)
    with pytest.raises(Fenced, match="epoch 5 has begun"):
        begin(directory, 4)
    with pytest.raises(EpochTaken):
        begin(directory, 5)
    assert later.append_durable(registered(1)).result(PATIENCE_S) == 2
    assert later.close(PATIENCE_S)


def test_two_epochs_that_seal_the_same_one_agree_on_its_length() -> None:
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    zombie = begin(directory, 1, NEVER)
    inside: list[int] = []

    def before(operation: str, path: str) -> None:
        if operation == "rename" and path.endswith("epoch-1/sealed") and not inside:
            inside.append(1)
            files.contents["/journal/epoch-1/log"] += b"\x00"  # the two do not even measure the same
            journal, _ = directory.begin(began(3))
            inside.append(len(list(journal_entries(3))))
            assert journal.close(PATIENCE_S)

    def journal_entries(epoch: int) -> list[object]:
        return list(directory.entries(epoch))

    files.before = before
    with pytest.raises(Fenced):
        directory.begin(began(2))
    seal = [report.sealed_by for report in directory.verify()]
    assert seal[0] == 3
    assert not zombie.close(PATIENCE_S)
    assert directory.replay().problem == ""


def test_a_writer_that_died_is_recovered_before_its_log_is_measured() -> None:
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    begin(directory, 1).append_durable(registered(1)).result(PATIENCE_S)
    order: list[tuple[str, str]] = []
    files.before = lambda operation, path: order.append((operation, path))
    begin(directory, 2)
    recovered = order.index(("recover", "/journal/epoch-1/log"))
    assert order.index(("open", "/journal/epoch-2/log")) < recovered < order.index(("read", "/journal/epoch-1/log"))
    assert files.recovered == ["/journal/epoch-1/log"]
    begin(directory, 3)
    assert files.recovered == ["/journal/epoch-1/log", "/journal/epoch-2/log"]


@pytest.mark.parametrize("store", STORES)
def test_a_new_epoch_begins_with_all_that_still_holds(tmp_path: Path, store: Store) -> None:
    directory = directory_in(tmp_path, store)
    records = story(400)
    for epoch, part in enumerate((records[:150], records[150:151], [], records[151:]), 1):
        journal = begin(directory, epoch, AT_ONCE)
        for record in part:
            assert journal.append(record)
        if epoch % 2:
            assert journal.close(PATIENCE_S)
        elif part:
            journal.append_durable(part[-1]).result(PATIENCE_S)
    last = [decode(entry) for entry in directory.entries(4)]
    assert last[0] == began(4)
    assert last[1] == SnapshotBegan(through_epoch=3)
    recorded = fold([began(1), *records])
    assert list(directory.replay().recorded.live())[4:] == recorded[1:]
    assert directory.replay().recorded.epochs == {epoch: began(epoch) for epoch in (1, 2, 3, 4)}
    # The earlier ones are not needed any more.
    for epoch in (1, 2, 3):
        for path in (tmp_path / "journal" / f"epoch-{epoch}").glob("log*"):
            path.write_bytes(b"nothing of a journal")
    assert list(directory.replay().recorded.live())[4:] == recorded[1:]


def test_a_crash_anywhere_in_a_snapshot_leaves_the_earlier_epochs_valid() -> None:
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    journal = begin(directory, 1)
    for record in story(60):
        journal.append(record)
    assert journal.close(PATIENCE_S)
    expected = list(directory.replay().recorded.live())
    assert begin(directory, 2).close(PATIENCE_S)
    log = files.contents["/journal/epoch-2/log"]
    offsets = [entry.offset for entry in directory.entries(2)]
    del files.contents["/journal/epoch-2/sealed"]
    for end in range(len(log) + 1):
        files.contents["/journal/epoch-2/log"] = log[:end]
        past = directory.replay()
        assert past.problem == ""
        got = list(past.recorded.live())
        assert [each for each in got if each != began(2)] == expected, end
        assert (began(2) in got) == (end >= offsets[1])
    files.contents["/journal/epoch-2/log"] = log[: offsets[-1] - 1]
    later, past = directory.begin(began(3))
    assert [each for each in past.recorded.live() if each != began(2)] == expected
    assert later.close(PATIENCE_S)


def test_a_snapshot_that_says_a_wrong_number_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write(tmp_path, [registered(1), registered(2)])

    def short(*_: object) -> Iterator[JournalRecord]:
        yield from (SnapshotBegan(through_epoch=1), registered(3), SnapshotEnded(records=2))

    monkeypatch.setattr(journal_directory, "_snapshot", short)
    assert begin(directory, 2).close(PATIENCE_S)
    assert sorted(directory.replay().recorded.shuffles) == [1, 2]


def test_what_a_snapshot_took_back_stays_taken_back(tmp_path: Path) -> None:
    dropped = ShuffleDropped(shuffle=1)
    told: list[JournalRecord] = [registered(1), finished(1, 1), dropped, registered(1), finished(1, 2)]
    directory = write(tmp_path, told)
    assert begin(directory, 2).close(PATIENCE_S)
    third = begin(directory, 3)
    third.append(finished(1, 3))
    assert third.close(PATIENCE_S)
    assert list(directory.replay().recorded.shuffles[1].outputs) == [2, 3]


def test_who_sealed_whom_is_recorded(tmp_path: Path) -> None:
    directory = directory_in(tmp_path)
    first = begin(directory, 1)
    size_bytes = first.written.size_bytes
    assert begin(directory, 2).close(PATIENCE_S)
    records = [decode(entry) for entry in directory.entries(2)]
    assert records == [
        began(2),
        EpochSealed(sealed=1, by=2, size_bytes=size_bytes),
        SnapshotBegan(through_epoch=1),
        began(1),
        SnapshotEnded(records=1),
    ]
    assert not first.close(PATIENCE_S)
    assert first.fenced


def test_a_part_that_is_missing_is_damage(tmp_path: Path) -> None:
    directory = directory_in(tmp_path, PerFlushStore())
    journal = begin(directory, 1)
    for shuffle in range(11):
        journal.append_durable(registered(shuffle)).result(PATIENCE_S)
    assert journal.close(PATIENCE_S)
    names = {path.name for path in (tmp_path / "journal" / "epoch-1").iterdir()}
    assert names == {"log", *(f"log.{number}" for number in range(1, 13)), "sealed"}
    assert list(directory.replay().recorded.shuffles) == list(range(11))
    (tmp_path / "journal" / "epoch-1" / "log.3").unlink()
    (report,) = directory.verify()
    assert report.damage is not None
    assert report.damage.path.endswith("log.4")
    assert report.damage.offset == 0
    assert report.records == 2
