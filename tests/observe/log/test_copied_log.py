"""The local copy of an event log: read from any record on, and what memory has forgotten comes out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.observe.page.records_to_draw import task
from yarnspec.core.messages.commands import Warn
from yarnspec.observe.log.copied_log import lines_after
from yarnspec.observe.log.eventlog import EventLog


def line(seq: int, filling: int = 0) -> bytes:
    return b'{"schema":1,"seq":%d,"reason":"%s"}\n' % (seq, b"x" * filling)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=40), st.integers(0, 41), st.integers(0, 2_000))
def test_what_follows_any_record_is_found(
    tmp_path_factory: pytest.TempPathFactory, fillings: list[int], after: int, limit: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "copy.jsonl"
    lines = [line(seq, filling) for seq, filling in enumerate(fillings, start=1)]
    path.write_bytes(b"".join(lines) + b'{"schema":1,"seq":')
    found = lines_after(path, after, limit)
    assert [one.seq for one in found] == list(range(after + 1, after + 1 + len(found)))
    assert [one.data for one in found] == lines[after : after + len(found)]
    assert bool(found) == (after < len(lines))
    assert len(found) == 1 or sum(len(one.data) for one in found) <= limit or not found


@pytest.mark.parametrize("after", range(7))
def test_a_batch_that_stands_there_twice_is_read_once(tmp_path: Path, after: int) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(b"".join(map(line, (1, 2, 3, 4, 2, 3, 4, 5, 6))))
    assert [one.seq for one in lines_after(path, after, 10_000)] == list(range(after + 1, 7))


def test_a_copy_that_is_not_there_or_does_not_go_on_gives_nothing(tmp_path: Path) -> None:
    assert lines_after(tmp_path / "none", 0, 100) == []
    (tmp_path / "late").write_bytes(line(5))
    assert lines_after(tmp_path / "late", 2, 100) == []


class Copied:
    """A history file that is only a local one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, data: bytes, /) -> None:
        with self._path.open("ab") as file:
            file.write(data)

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("whole", [True, False], ids=["with its copy", "without a copy"])
def test_what_memory_has_forgotten_comes_out_of_the_copy(tmp_path: Path, whole: bool) -> None:
    path = tmp_path / "copy.jsonl"
    log = EventLog(1, lambda: Copied(path), copy=path if whole else None, task_ends_bytes=2_000, others_bytes=2_000)
    for number in range(300):
        log.append(task(number) if number % 3 else Warn(reason="decided"), 1)
    assert log.close(5)
    read: list[int] = []
    while chunk := log.after(read[-1] if read else 0, 4_000).lines:
        read += [one.seq for one in chunk]
    if whole:
        assert read == list(range(1, 301))
    else:
        assert len(read) < 30
