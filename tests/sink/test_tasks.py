"""The half of a task that is Python: the user's writer and its file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest

from yarnspec.sink.tasks import CHUNK_BYTES, arrow_chunks_of, chunks_of, row_chunks_of


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing stays on the local disk, however a task ends."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_comes_in_pieces(tmp_path: Path) -> None:
    def write(records: Iterator[int], file: BinaryIO) -> None:
        for record in records:
            file.write(bytes([record]) * CHUNK_BYTES)
        file.seek(0)
        file.write(b"header")
        assert Path(file.name).parent.parent == tmp_path

    pieces = list(chunks_of(write, iter([1, 2])))
    assert [len(piece) for piece in pieces] == [CHUNK_BYTES, CHUNK_BYTES]
    assert b"".join(pieces) == b"header" + b"\1" * (CHUNK_BYTES - 6) + b"\2" * CHUNK_BYTES


def test_the_writer_may_close_its_file_or_put_another_one_in_its_place() -> None:
    def close(_records: Iterator[int], file: BinaryIO) -> None:
        file.write(b"closed")
        file.close()

    def replace(_records: Iterator[int], file: BinaryIO) -> None:
        Path(f"{file.name}.new").write_bytes(b"replaced")
        os.replace(f"{file.name}.new", file.name)  # noqa: PTH105

    assert list(chunks_of(close, iter([]))) == [b"closed"]
    assert list(chunks_of(replace, iter([]))) == [b"replaced"]


def test_an_empty_partition_is_a_call_as_well() -> None:
    def count(records: Iterator[int], file: BinaryIO) -> None:
        file.write(b"%d records" % len(list(records)))

    assert list(chunks_of(count, iter([]))) == [b"0 records"]
    assert list(chunks_of(lambda _records, _file: None, iter([]))) == []


def test_a_generator_is_no_writer() -> None:
    def write(records: Iterator[Any], file: BinaryIO) -> Iterator[Any]:
        file.write(b"never")
        yield from records

    with pytest.raises(TypeError, match="do not yield"):
        list(chunks_of(write, iter([1])))  # type: ignore[arg-type]


def test_a_full_disk_and_an_error_give_no_piece() -> None:
    def fill(_records: Iterator[int], _file: BinaryIO) -> None:
        with Path("/dev/full").open("wb", buffering=0) as full:
            full.write(b"too much")

    for writer, error in ((fill, OSError), (lambda records, _file: 1 / next(records), ZeroDivisionError)):
        pieces = chunks_of(writer, iter([0]))
        with pytest.raises(error) as raised:
            next(pieces)
        assert getattr(raised.value, "errno", None) in (None, errno.ENOSPC)


def test_a_task_that_is_given_up_in_the_middle() -> None:
    pieces = chunks_of(lambda _records, file: file.write(b"x" * 2 * CHUNK_BYTES), iter([]))  # type: ignore[arg-type]
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]


def test_rows_and_batches() -> None:
    def write(records: Iterator[Any], file: BinaryIO) -> None:
        file.write(repr([str(record) for record in records]).encode())

    assert list(row_chunks_of(write, iter(["a"]))) == [(b"['a']",)]
    (batch,) = arrow_chunks_of(write, iter([]))
    assert isinstance(batch, pa.RecordBatch)
    assert batch.to_pydict() == {"chunk": [b"[]"]}
