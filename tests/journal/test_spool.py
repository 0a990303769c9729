"""Records of map outputs that are put aside on the disk while a journal is read, and what that takes of memory."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journal.world import PATIENCE_S, began, begin, directory_in, finished, registered
from yarnspec.am.journal.saved_shuffles import write_saved
from yarnspec.core.journal.journalrecords import MapFinished
from yarnspec.core.recovery.savedwork import saved_shuffles
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.frames import read_frames
from yarnspec.journal.spool import Spool
from yarnspec.yarn.files.local_files import LocalFiles

SIZES = (0, 1, 4000, 4096, 70_000, 3_000_000, 5)


def of_size(index: int, size_bytes: int) -> MapFinished:
    return finished(1, index, blob=bytes([index % 256]) * size_bytes or b"-")


def test_what_was_put_aside_comes_back_in_any_order_and_leaves_no_file(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    records = [of_size(index, size) for index, size in enumerate(SIZES)]
    places = [spool.put(record) for record in records[:-1]]
    assert [spool.get(place) for place in reversed(places)] == records[-2::-1]
    places.append(spool.put(records[-1]))
    assert [spool.get(place) for place in places] == records
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("at", [0, 3, 5, 20])
def test_what_has_changed_on_the_disk_is_an_error(tmp_path: Path, at: int) -> None:
    spool = Spool(tmp_path)
    spool.put(of_size(0, 10))
    place = spool.put(of_size(1, 100))
    spool.get(place)
    assert spool._file is not None
    before = os.pread(spool._file.fileno(), 1, place + at)
    os.pwrite(spool._file.fileno(), bytes([before[0] ^ 64]), place + at)
    with pytest.raises(OSError, match=f"damaged at byte {place}"):
        spool.get(place)


def test_without_a_place_for_it_nothing_begins(tmp_path: Path) -> None:
    first = begin(directory_in(tmp_path), 1)
    first.append(registered(1))
    first.append(finished(1, 1))
    assert first.close(PATIENCE_S)
    nowhere = JournalDirectory(LocalFiles(), directory_in(tmp_path).path, scratch=tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        nowhere.begin(began(2))


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def write_outputs(path: Path, count: int, blob: bytes) -> None:
    journal = begin(directory_in(path), 1)
    journal.append_durable(registered(1, maps=count)).result(PATIENCE_S)
    for index in range(count):
        while not journal.append(finished(1, index, blob=blob)):
            assert not journal.problem
    assert journal.close(PATIENCE_S)


@pytest.mark.usefixtures("traced")
def test_memory_does_not_grow_with_what_is_saved_of_each_map(tmp_path: Path) -> None:
    """Neither for reading it, nor for the next epoch's snapshot, nor for the driver's file."""
    count, size_bytes = 150, 200_000
    write_outputs(tmp_path, count, bytes(size_bytes))
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    journal, past = directory_in(tmp_path).begin(began(2))
    (saved,) = saved_shuffles(past.recorded)
    assert saved.outputs == write_saved(tmp_path / "saved", past.recorded, [1]) == count
    _, peak = tracemalloc.get_traced_memory()
    assert peak - before < count * size_bytes / 4
    assert journal.close(PATIENCE_S)
    with (tmp_path / "saved").open("rb") as stream:
        assert sum(len(frame.blob) for frame in read_frames(stream.read)) == count * size_bytes
    assert len(directory_in(tmp_path).replay().recorded.shuffles[1].outputs) == count


@pytest.mark.usefixtures("traced")
def test_a_map_output_takes_a_few_bytes_of_memory(tmp_path: Path) -> None:
    count = 10_000
    write_outputs(tmp_path, count, b"blob")
    before, _ = tracemalloc.get_traced_memory()
    past = directory_in(tmp_path).replay()
    after, _ = tracemalloc.get_traced_memory()
    assert len(past.recorded.shuffles[1].outputs) == count
    # The buffer before the disk has its own size.
    assert after - before < 2 * 1024 * 1024
