"""Several epochs in one application master: each record is read once, in order, from memory or from its file."""

from __future__ import annotations

import threading

import msgspec

from yarnspec.core.messages.events import DriverStarted
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.log.eventlog import EventChunk


class File:
    """A file whose close waits until a test lets it."""

    def __init__(self) -> None:
        self.data = b""
        self.may_close = threading.Event()

    def append(self, data: bytes, /) -> None:
        self.data += data

    def sync(self) -> None:
        pass

    def close(self) -> None:
        assert self.may_close.wait(10)


class Files:
    def __init__(self) -> None:
        self.files: dict[int, File] = {}

    def open(self, epoch: int) -> File:
        return self.files.setdefault(epoch, File())


def pids(chunk: EventChunk) -> list[int]:
    return [msgspec.json.decode(line.data)["pid"] for line in chunk.lines]


def logs_of_two_epochs(files: Files | None = None) -> EventLogs:
    logs = EventLogs(1, None if files is None else files.open)
    for pid in (11, 12):
        logs.append(DriverStarted(pid=pid), 1)
    logs.begin_epoch(2)
    for pid in (21, 22):
        logs.append(DriverStarted(pid=pid), 2)
    return logs


def test_who_has_read_a_part_gets_the_rest_of_that_epoch_and_then_the_next() -> None:
    logs = logs_of_two_epochs()
    rest = logs.after(1, 1)
    assert (rest.epoch, pids(rest)) == (1, [12])
    following = logs.after(1, 2)
    assert (following.epoch, pids(following)) == (2, [21, 22])
    assert pids(logs.after(2, 1)) == [22]
    assert logs.after(2, 2) == EventChunk(2, [])


def test_nobody_is_sent_to_a_file_that_is_still_written() -> None:
    files = Files()
    logs = logs_of_two_epochs(files)
    assert (logs.after(0, 0).epoch, pids(logs.after(0, 0))) == (1, [11, 12])
    assert logs.after(1, 2) == EventChunk(1, [])
    assert logs.after(7, 3).epoch == 1
    files.open(1).may_close.set()
    files.open(2).may_close.set()
    assert logs.close(10)
    assert pids(logs.after(1, 2)) == [21, 22]
    assert pids(logs.after(0, 0)) == [21, 22]
    assert [files.open(epoch).data.count(b"DriverStarted") for epoch in (1, 2)] == [2, 2]


def test_records_say_their_epoch_and_are_counted_in_it() -> None:
    logs = EventLogs(6)
    logs.append(DriverStarted(pid=1), 1)
    logs.begin_epoch(7)
    record = logs.append(DriverStarted(pid=2), 1)
    assert (record.epoch, record.seq) == (7, 1)


def test_an_epoch_before_the_last_is_in_its_file_only() -> None:
    logs = logs_of_two_epochs()
    logs.begin_epoch(3)
    logs.append(DriverStarted(pid=31), 3)
    assert pids(logs.after(1, 0)) == [31]
    assert pids(logs.after(2, 1)) == [22]
