"""The history directory, on local files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from yarnspec.core.messages.events import DriverStarted
from yarnspec.errors import HistoryDamaged, NotAllowed
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import Record, encode, record_of
from yarnspec.observe.log.history import ApplicationRecord, History, Result
from yarnspec.yarn.files.local_files import LocalFiles

APP = "application_1700000000000_0001"
DAY_MS = 24 * 3600 * 1000
ENTRY = ApplicationRecord(application_id=APP, name="etl", user="me", queue="default", started_ms=1)
RESULT = Result(status="FAILED", exit_code=1, reason="ValueError", finished_ms=5)
STATUS = StatusDocument(application_id=APP, state="FAILED")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(LocalFiles(home=tmp_path), f"{tmp_path}/history/")


def line(pid: int) -> bytes:
    return encode(record_of(DriverStarted(pid=pid), seq=pid, time_ms=1, epoch=1))


def write_events(history: History, *lines: bytes, epoch: int = 1, application_id: str = APP) -> None:
    log = history.open_events(application_id, epoch)
    for one in lines:
        log.append(one)
    log.sync()
    log.close()


def owner_of(tmp_path: Path) -> str:
    return LocalFiles().info(str(tmp_path)).owner


def test_what_was_written_is_read(history: History) -> None:
    history.begin(ENTRY)
    write_events(history, line(1), line(2))
    history.finish(APP, RESULT, STATUS)
    assert history.application(APP) == ENTRY
    assert history.result(APP) == RESULT
    assert history.status(APP) == STATUS
    assert [record.seq for record in history.events(APP, 1, writer_gone=True)] == [1, 2]


def test_the_first_attempt_says_who_it_is(history: History) -> None:
    history.begin(ENTRY)
    history.begin(ApplicationRecord(application_id=APP, name="etl", user="me", queue="default", started_ms=99))
    found = history.application(APP)
    assert found is not None
    assert found.started_ms == 1


def test_an_application_without_history_has_nothing(history: History) -> None:
    assert history.application(APP) is None
    assert history.result(APP) is None
    assert history.status(APP) is None
    assert history.epochs(APP) == []
    assert list(history.events(APP, 1, writer_gone=True)) == []


def test_epochs_come_in_their_order(history: History, tmp_path: Path) -> None:
    for epoch in (10, 2, 1):
        write_events(history, epoch=epoch)
    (tmp_path / "history" / APP / "epoch-x").mkdir()
    assert history.epochs(APP) == [1, 2, 10]


def test_a_torn_last_record_is_passed_over(history: History) -> None:
    write_events(history, line(1), line(2)[:-20])
    assert [record.seq for record in history.events(APP, 1, writer_gone=True)] == [1]


def test_damaged_records_are_passed_over_and_told_after_the_others(history: History) -> None:
    write_events(history, line(1), b'{"schema": 1, "seq": 2, torn\n', line(3))
    write_events(history, line(1), epoch=2)
    found = list(history.all_events(APP))
    assert [(one.epoch, one.seq) for one in found if isinstance(one, Record)] == [(1, 1), (1, 3), (1, 1)]
    (damage,) = [one for one in found if isinstance(one, HistoryDamaged)]
    assert found.index(damage) == 2
    assert "1 record of driver epoch 1 cannot be read" in damage.message


def test_records_that_go_on_in_a_further_file_are_read_once_each(history: History, tmp_path: Path) -> None:
    write_events(history, line(1), line(2), line(3)[:-20])
    write_events(history, line(2), line(3))  # nobody knew that 2 was written
    write_events(history, line(4), line(5)[:-20])
    assert sorted(path.name for path in (tmp_path / "history" / APP / "epoch-1").iterdir()) == [
        "events-2.jsonl",
        "events-3.jsonl",
        "events.jsonl",
    ]
    assert [record.seq for record in history.events(APP, 1, writer_gone=True)] == [1, 2, 3, 4]
    assert b"".join(history.event_lines(APP, 1, writer_gone=False)) == b"".join(map(line, range(1, 5))) + line(5)[:-20]


def test_a_writer_that_failed_is_shut_out_before_the_next_file_begins(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovered: list[str] = []
    monkeypatch.setattr(LocalFiles, "recover_log", lambda _self, path: recovered.append(path.rpartition("/")[2]))
    for _ in range(3):
        history.open_events(APP, 1)
    assert recovered == ["events.jsonl", "events-2.jsonl"]


def test_many_records_are_read_piece_by_piece(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yarnspec.observe.log.history._PIECE_BYTES", 7)
    write_events(history, *(line(pid) for pid in range(1, 20)))
    assert [record.seq for record in history.events(APP, 1, writer_gone=False)] == list(range(1, 20))


def test_a_damaged_document_counts_as_none(history: History, tmp_path: Path) -> None:
    history.begin(ENTRY)
    (tmp_path / "history" / APP / "result.json").write_text('{"status": 5}')
    assert history.result(APP) is None


@pytest.mark.parametrize("name", ["..", "application_1_1/../..", "", "application_1_0001\n"])
def test_other_names_reach_no_path(history: History, name: str) -> None:
    with pytest.raises(ValueError, match="no application id"):
        history.path(name)


class TestSweep:
    def test_old_entries_go_and_young_ones_stay(self, history: History, tmp_path: Path) -> None:
        old, young = APP, APP.replace("_0001", "_0002")
        now_ms = LocalFiles().info(str(tmp_path)).modified_ms + 10 * DAY_MS
        for application_id, finished_ms in ((old, now_ms - 8 * DAY_MS), (young, now_ms - DAY_MS)):
            result = Result(status="SUCCEEDED", exit_code=0, reason="", finished_ms=finished_ms)
            history.finish(application_id, result, STATUS)
        assert self.swept(history, tmp_path, now_ms) == [old]
        assert history.epochs(old) == []
        assert history.result(young) is not None

    def test_one_that_may_still_run_stays(self, history: History, tmp_path: Path) -> None:
        history.begin(ENTRY)
        now_ms = LocalFiles().info(str(tmp_path)).modified_ms + 10 * DAY_MS
        assert self.swept(history, tmp_path, now_ms, alive=True) == []
        assert self.swept(history, tmp_path, now_ms, alive=False) == [APP]

    def test_what_is_others_or_no_application_stays(self, history: History, tmp_path: Path) -> None:
        history.begin(ENTRY)
        (tmp_path / "history" / "notes").mkdir()
        (tmp_path / "history" / APP.replace("_0001", "_0003")).write_text("a file")
        now_ms = LocalFiles().info(str(tmp_path)).modified_ms + 10 * DAY_MS
        swept = history.sweep(
            user="somebody-else", now_ms=now_ms, retention_ms=7 * DAY_MS, may_be_alive=lambda _: False
        )
        assert swept == []
        assert self.swept(history, tmp_path, now_ms) == [APP]
        assert sorted(path.name for path in (tmp_path / "history").iterdir()) == [
            "application_1700000000000_0003",
            "notes",
        ]

    def test_an_entry_that_cannot_be_judged_does_not_keep_the_others(self, history: History, tmp_path: Path) -> None:
        unknown, old = APP, APP.replace("_0001", "_0002")
        for application_id in (unknown, old):
            history.begin(msgspec.structs.replace(ENTRY, application_id=application_id))

        def may_be_alive(application_id: str) -> bool:
            if application_id == unknown:
                raise NotAllowed("not yours")
            return False

        now_ms = LocalFiles().info(str(tmp_path)).modified_ms + 10 * DAY_MS
        user = owner_of(tmp_path)
        with pytest.raises(NotAllowed, match="not yours"):
            history.sweep(user=user, now_ms=now_ms, retention_ms=7 * DAY_MS, may_be_alive=may_be_alive)
        assert (history.application(unknown) is None, history.application(old) is None) == (False, True)

    def test_without_a_directory_there_is_nothing_to_do(self, history: History, tmp_path: Path) -> None:
        assert self.swept(history, tmp_path, 10**13) == []

    @staticmethod
    def swept(history: History, tmp_path: Path, now_ms: int, *, alive: bool = False) -> list[str]:
        user = owner_of(tmp_path)
        return history.sweep(user=user, now_ms=now_ms, retention_ms=7 * DAY_MS, may_be_alive=lambda _: alive)
