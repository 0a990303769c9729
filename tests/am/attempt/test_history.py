"""Whether the attempt before this one has ended the application."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from tests.am.journal.test_epoch_journal import place
from tests.spark.plain_plan import plan
from yarnspec.am.attempt import history
from yarnspec.am.attempt.history import ApplicationHistory, CopiedEvents
from yarnspec.core.messages.commands import BlockHost, FinishApplication
from yarnspec.errors import ClusterUnreachable
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http.page_order import is_stopped
from yarnspec.observe.http.rest import ENDPOINT_FILE, Endpoint
from yarnspec.observe.log.eventlog import EventLog
from yarnspec.observe.log.history import Result
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.skein.staging_directory import staging_directory

SUCCEEDED = FinishApplication(reason="done", status="SUCCEEDED", exit_code=0)
DOCUMENT = StatusDocument(application_id="application_1_0001", state="SUCCEEDED")

Of = Callable[[int], ApplicationHistory]


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Of:
    """The history as an attempt of that number sees it."""
    monkeypatch.setattr(history, "open_files", lambda _conf: LocalFiles(home=tmp_path))
    made = plan(history_directory=f"file://{tmp_path}/history")

    def of(number: int) -> ApplicationHistory:
        own = msgspec.structs.replace(place(tmp_path), attempt=number)
        return ApplicationHistory(cast(HadoopConf, None), made, own)

    return of


def ended_before(attempt: ApplicationHistory) -> Result | None:
    """What it knows, where each attempt has two epochs."""
    return attempt.ended_before(lambda number: 2 * number - 1)


def test_the_next_attempt_knows_how_it_ended_and_so_does_the_one_after(attempt: Of) -> None:
    assert ended_before(attempt(2)) is None
    attempt(1).finish(SUCCEEDED, DOCUMENT)
    for number in (2, 3):
        ended = ended_before(attempt(number))
        assert ended is not None
        assert ended.status == "SUCCEEDED"


def test_what_an_attempt_says_that_another_has_followed_does_not_count(attempt: Of) -> None:
    """It was only stopped, and went on when the next one was at work."""
    attempt(1).finish(SUCCEEDED, DOCUMENT)
    attempt(2).open_events(3).close()
    assert ended_before(attempt(3)) is None


def test_an_attempt_that_never_began_changes_nothing(attempt: Of) -> None:
    """The second one was taken back before it could say anything; the first one's last life was its second."""
    attempt(1).open_events(2).close()
    attempt(1).finish(SUCCEEDED, DOCUMENT)
    ended = ended_before(attempt(3))
    assert ended is not None
    assert ended.status == "SUCCEEDED"


def test_what_a_later_attempt_has_told_of_its_address_stays(attempt: Of, tmp_path: Path) -> None:
    """The earlier one could not reach the file system until then."""
    Path(staging_directory(str(tmp_path), "application_1_0001")).mkdir(parents=True)
    for number in (1, 3, 2):
        endpoint = Endpoint(url=f"https://h{number}:1", token="t", epoch=number, attempt=number)
        attempt(number).announce(endpoint)
    assert attempt(1).announced_attempt() == 3
    attempt(4).announce(Endpoint(url="https://h4:1", token="t", epoch=9, attempt=4))
    assert attempt(1).announced_attempt() == 4
    (tmp_path / ".skein" / "application_1_0001" / ENDPOINT_FILE).write_text("{")
    attempt(5).announce(Endpoint(url="https://h5:1", token="t", epoch=11, attempt=5))
    assert attempt(1).announced_attempt() == 5


@pytest.mark.parametrize(
    "problem", [ClusterUnreachable("its last block is nowhere"), OSError("its last block is nowhere")]
)
def test_an_application_goes_on_where_events_of_its_earlier_attempts_cannot_be_read(
    attempt: Of, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    blocked = BlockHost(host="h1", until_ms=None, by="ann", reason="slow disk")
    log = EventLog(1, lambda: attempt(1).open_events(1))
    log.append(blocked, 1)
    assert log.close(10)
    assert [one.host for one in attempt(2).earlier(2).wishes] == ["h1"]
    attempt(2).open_events(2).close()

    def recover_log(_files: LocalFiles, path: str) -> None:
        if "epoch-2" in path:
            raise problem

    monkeypatch.setattr(LocalFiles, "recover_log", recover_log)
    earlier = attempt(3).earlier(3)
    assert (earlier.wishes, earlier.problem) == ((), "its last block is nowhere")


class Nowhere:
    """A file on the cluster's file system."""

    def __init__(self) -> None:
        self.data = b""

    def append(self, data: bytes, /) -> None:
        self.data += data

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_copy_that_is_full_stops_and_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_COPY_BYTES_MAX", 10)
    copy, written = tmp_path / "copy", Nowhere()
    events = CopiedEvents(written, copy)
    events.append(b"12345678\n")
    assert not is_stopped(copy)
    events.append(b"12345678\n")
    assert is_stopped(copy)
    events.append(b"more\n")
    CopiedEvents(written, copy).append(b"a further file\n")
    assert copy.read_bytes() == b"12345678\n" * 2
    assert written.data.endswith(b"more\na further file\n")


def test_a_copy_that_cannot_be_written_stops(tmp_path: Path) -> None:
    copy, written = tmp_path / "copy", Nowhere()
    events = CopiedEvents(written, copy)
    assert events._copy is not None
    os.close(events._copy.fileno())
    events.append(b"1\n")
    assert is_stopped(copy)
    assert written.data == b"1\n"
