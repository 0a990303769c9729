"""The event log: it keeps and writes what is appended, and never stands in the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from yarnspec.core.messages.events import DriverStarted, TaskFinished
from yarnspec.observe.forms.records import decode_lines
from yarnspec.observe.log.eventlog import EventLog


class File:
    """A file whose writes can be held up or made to fail."""

    def __init__(self) -> None:
        self.data = b""
        self.synced = b""
        self.closed = False
        self.go_on = threading.Event()
        self.go_on.set()
        self.entered = threading.Event()
        self.failure: Exception | None = None

    def append(self, data: bytes, /) -> None:
        self.entered.set()
        assert self.go_on.wait(10)
        if self.failure is not None:
            raise self.failure
        self.data += data

    def sync(self) -> None:
        self.synced = self.data

    def close(self) -> None:
        self.closed = True


def task_end(index: int) -> TaskFinished:
    return TaskFinished(
        stage=0,
        stage_attempt=0,
        index=index,
        attempt=0,
        task_id=index,
        executor_id="1",
        host="h",
        state="SUCCESS",
        launch_ms=0,
        finish_ms=1,
    )


def opening(file: File) -> Callable[[], File]:
    return lambda: file


def test_everything_is_written_and_synced_at_the_end() -> None:
    file = File()
    log = EventLog(1, opening(file))
    for pid in range(100):
        log.append(DriverStarted(pid=pid), 1000)
    assert log.close(5)
    assert file.closed
    assert file.synced == file.data
    assert [record.seq for record in decode_lines(file.data)] == list(range(1, 101))


def test_a_slow_file_holds_nobody_up() -> None:
    file = File()
    file.go_on.clear()
    log = EventLog(1, opening(file))
    log.append(DriverStarted(pid=1), 1)
    assert file.entered.wait(5)
    for pid in range(1000):
        log.append(DriverStarted(pid=pid), 1)
    assert file.data == b""
    file.go_on.set()
    assert log.close(5)
    assert file.data.count(b"\n") == 1001


def test_a_file_that_fails_ends_the_writing_and_nothing_else() -> None:
    file = File()
    file.failure = OSError("no datanodes")
    log = EventLog(1, opening(file), patience_s=0)
    log.append(DriverStarted(pid=1), 1)
    assert not log.close(5)
    log.append(DriverStarted(pid=2), 1)
    assert log.problem == "the event history is incomplete: OSError: no datanodes"
    assert len(log.after(0).lines) == 2


def test_a_file_that_cannot_be_opened_is_a_problem_too() -> None:
    def opened() -> File:
        raise PermissionError("/history")

    log = EventLog(1, opened, pause_s=0.01)
    log.append(DriverStarted(pid=1), 1)
    assert not log.close(0.1)
    assert log.problem.endswith("within 0.1 s: PermissionError: /history")
    assert log.warning == log.problem


def test_after_an_error_it_goes_on_in_a_further_file() -> None:
    first, second = File(), File()
    first.failure = OSError("the DataNode died")
    files: Iterator[File | Exception] = iter([first, OSError("no DataNode yet"), second])
    tried = threading.Event()

    def opened() -> File:
        found = next(files)
        if isinstance(found, Exception):
            tried.set()
            raise found
        return found

    log = EventLog(1, opened, pause_s=0.05)
    log.append(DriverStarted(pid=1), 1)
    assert tried.wait(5)
    log.append(DriverStarted(pid=2), 1)
    assert log.close(5)
    assert (log.problem, log.warning) == ("", "")
    assert [record.seq for record in decode_lines(second.data)] == [1, 2]
    assert second.closed


def test_while_it_cannot_be_written_that_is_a_warning() -> None:
    file, failed = File(), threading.Event()
    file.failure = OSError("no datanodes")

    def opened() -> File:
        if file.entered.is_set():
            failed.set()
        return file

    log = EventLog(1, opened, pause_s=0.01)
    log.append(DriverStarted(pid=1), 1)
    assert failed.wait(5)
    assert (log.problem, log.warning) == (
        "",
        "the event history is not written at the moment, and tried again: OSError: no datanodes",
    )
    file.failure = None
    assert log.close(5)
    assert log.warning == ""


def test_a_file_that_hangs_does_not_hold_up_the_end() -> None:
    file = File()
    file.go_on.clear()
    log = EventLog(1, opening(file))
    log.append(DriverStarted(pid=1), 1)
    assert not log.close(0.05)
    assert "within 0.05 s" in log.problem
    file.go_on.set()


def test_a_file_that_does_not_keep_up_is_given_up() -> None:
    file = File()
    file.go_on.clear()
    log = EventLog(1, opening(file), unwritten_bytes=1000)
    for pid in range(100):
        log.append(DriverStarted(pid=pid), 1)
    assert "does not keep up" in log.problem
    file.go_on.set()
    assert not log.close(5)


def test_without_a_file_records_are_only_kept() -> None:
    log = EventLog(4)
    log.append(DriverStarted(pid=1), 1)
    assert log.close(1)
    chunk = log.after(0)
    assert (chunk.epoch, [line.seq for line in chunk.lines]) == (4, [1])


def test_many_task_ends_do_not_push_out_a_decision() -> None:
    log = EventLog(1, task_ends_bytes=2000)
    log.append(DriverStarted(pid=1), 1)
    for index in range(1000):
        log.append(task_end(index), 1)
    kept = [line.seq for line in log.after(0).lines]
    assert kept[0] == 1
    assert kept[-1] == 1001
    assert len(kept) < 20


@pytest.mark.parametrize("limit_bytes", [1, 100, 500, 10_000])
def test_reading_in_pieces_gives_all_in_order(limit_bytes: int) -> None:
    log = EventLog(1)
    for index in range(30):
        log.append(task_end(index) if index % 3 else DriverStarted(pid=index), 1)
    seen: list[int] = []
    while lines := log.after(seen[-1] if seen else 0, limit_bytes).lines:
        assert len(lines) == 1 or sum(len(line.data) for line in lines) <= limit_bytes
        seen += [line.seq for line in lines]
    assert seen == list(range(1, 31))
