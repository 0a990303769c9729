"""The half of a task that is Python: the user's writer and its file."""

from __future__ import annotations

import bz2
import csv
import errno
import gc
import gzip
import io
import os
from collections.abc import Callable, Iterator
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


def UNCLOSED(test: Callable[..., None]) -> Callable[..., None]:  # noqa: N802 - a mark
    """Without Python's warnings of files that nobody has closed; what it does with them is tested."""
    for category in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
        test = pytest.mark.filterwarnings(f"ignore::{category}")(test)
    return test


class Keeping:
    """A writer that goes on having a wrapper around its file."""

    def __init__(self, wrap: Callable[[BinaryIO], Any], *, close: bool = False) -> None:
        self.wrap, self.close = wrap, close
        self.kept: Any = None

    def __call__(self, _records: Iterator[Any], file: BinaryIO) -> None:
        self.kept = self.wrap(file)
        self.kept.write("text" if isinstance(self.kept, io.TextIOBase) else b"text")
        if self.close:
            self.kept.close()


@UNCLOSED
@pytest.mark.parametrize(
    "wrap",
    [
        lambda file: gzip.GzipFile(fileobj=file, mode="wb"),
        lambda file: io.TextIOWrapper(gzip.GzipFile(fileobj=file, mode="wb")),
    ],
)
def test_a_wrapper_that_the_writer_keeps(wrap: Callable[[BinaryIO], Any]) -> None:
    """What it has not handed on would be lost without a sign."""
    with pytest.raises(TypeError, match="Close them"):
        list(chunks_of(Keeping(wrap), iter([])))
    written = b"".join(chunks_of(Keeping(wrap, close=True), iter([])))
    assert (gzip.decompress(written) if written[:2] == b"\x1f\x8b" else written) == b"text"


@UNCLOSED
def test_a_wrapper_that_nobody_has_any_more() -> None:
    """Also in a circle, where Python comes to it later."""

    def in_a_circle(_records: Iterator[Any], file: BinaryIO) -> None:
        text = io.TextIOWrapper(file)
        csv.writer(text).writerow(["a", 1])
        circle: list[Any] = [text]
        circle.append(circle)

    assert list(chunks_of(in_a_circle, iter([]))) == [b"a,1\r\n"]


@UNCLOSED
def test_a_full_disk_of_which_a_wrapper_hears_as_it_goes() -> None:
    """Python tells nobody of such errors."""

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        full = os.open("/dev/full", os.O_RDWR)
        os.dup2(full, file.fileno())
        os.close(full)
        io.TextIOWrapper(file).write("text")

    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        list(chunks_of(write, iter([])))


def test_an_asynchronous_writer_is_refused() -> None:
    async def write(_records: Iterator[Any], file: BinaryIO) -> None:
        file.write(b"never")

    with pytest.raises(TypeError, match="nobody awaits it"):
        list(chunks_of(write, iter([])))  # type: ignore[arg-type]


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


def lines(count: int) -> bytes:
    return b"".join(b"%d\r\n" % number for number in range(count))


@UNCLOSED
@pytest.mark.parametrize("count", [10, 10_000])
def test_a_writer_that_closes_the_file_before_its_wrapper(count: int) -> None:
    """What the wrapper still has comes when it goes."""

    def write(records: Iterator[int], file: BinaryIO) -> None:
        with file:
            csv.writer(io.TextIOWrapper(file)).writerows([number] for number in records)

    def write_more(records: Iterator[int], file: BinaryIO) -> None:
        text = io.TextIOWrapper(file)
        csv.writer(text).writerows([number] for number in records)
        file.close()

    for writer in (write, write_more):
        assert b"".join(chunks_of(writer, iter(range(count)))) == lines(count)


@UNCLOSED
@pytest.mark.parametrize(
    "close", [io.TextIOWrapper.close, lambda wrapper: wrapper.buffer.close(), lambda _wrapper: None]
)
def test_a_text_wrapper_that_is_kept(close: Callable[[io.TextIOWrapper], None]) -> None:
    """Closed, around a closed file, or open: what was written to it is there."""
    kept = []

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        kept.append(io.TextIOWrapper(file))
        kept[0].write("text")
        close(kept[0])

    assert list(chunks_of(write, iter([]))) == [b"text"]


OPENED: dict[str, Callable[[Any], Any]] = {
    "by name": lambda file: Path(file.name).open("wb"),  # noqa: SIM115 - what is left open is tested
    "by descriptor": lambda file: os.fdopen(os.dup(file.fileno()), "wb"),
    "on its descriptor": lambda file: open(file.fileno(), "wb", closefd=False),  # noqa: SIM115
    "the raw file": lambda file: io.BufferedWriter(file.raw),
}


@UNCLOSED
@pytest.mark.parametrize("way", OPENED)
def test_a_file_that_is_opened_beside_the_one_that_is_given(way: str) -> None:
    """What it keeps is noticed."""
    kept = []

    def keep(_records: Iterator[Any], file: BinaryIO) -> None:
        kept.append(OPENED[way](file))
        kept[0].write(b"text")

    with pytest.raises(TypeError, match="Close them"):
        list(chunks_of(keep, iter([])))
    kept.clear()

    def close(_records: Iterator[Any], file: BinaryIO) -> None:
        with OPENED[way](file) as beside:
            beside.write(b"text")

    def in_a_circle(_records: Iterator[Any], file: BinaryIO) -> None:
        circle = [OPENED[way](file)]
        circle[0].write(b"text")
        circle.append(circle)

    if way == "the raw file":
        with pytest.raises(TypeError, match=r"closed file\.raw"):
            list(chunks_of(close, iter([])))
        return
    assert list(chunks_of(close, iter([]))) == [b"text"]
    gc.disable()  # collected in time it would be no loss
    try:
        with pytest.raises(TypeError, match="Close them"):
            list(chunks_of(in_a_circle, iter([])))
    finally:
        gc.enable()


@UNCLOSED
def test_who_has_got_the_descriptor_of_the_file_keeps_it(tmp_path: Path) -> None:
    """What the file had kept back does not come into somebody else's file."""
    theirs = tmp_path / "theirs"
    descriptors = []

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        file.write(b"kept back")
        number = file.fileno()
        os.close(number)
        descriptors.append(os.open(theirs, os.O_WRONLY | os.O_CREAT))
        assert descriptors == [number]

    with pytest.raises(TypeError, match="closed the descriptor"):
        list(chunks_of(write, iter([])))
    os.write(descriptors[0], b"theirs")
    os.close(descriptors[0])
    assert theirs.read_bytes() == b"theirs"
    theirs.unlink()


@UNCLOSED
def test_a_file_whose_descriptor_is_closed_or_taken() -> None:
    """It is told what has happened."""

    def close(_records: Iterator[Any], file: BinaryIO) -> None:
        with os.fdopen(file.fileno(), "wb") as beside:
            beside.write(b"text")

    def detach(_records: Iterator[Any], file: BinaryIO) -> None:
        file.detach()  # type: ignore[attr-defined]

    taken = []

    def take(records: Iterator[Any], file: BinaryIO) -> None:
        close(records, file)
        taken.append(os.dup(0))

    for writer, said in ((close, "closed the descriptor"), (take, "closed the descriptor"), (detach, "detached")):
        with pytest.raises(TypeError, match=said):
            list(chunks_of(writer, iter([])))
    assert taken


@UNCLOSED
@pytest.mark.parametrize("inner", [gzip.GzipFile, bz2.BZ2File])
def test_wrappers_around_each_other_that_are_garbage(inner: Callable[..., Any]) -> None:
    """Python may end the inner one before the outer one has handed on what it has."""

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        compressed = inner(file, "wb") if inner is bz2.BZ2File else inner(fileobj=file, mode="wb")
        circle: list[Any] = [io.TextIOWrapper(compressed)]
        circle[0].write("text")
        circle.append(circle)

    with pytest.raises(TypeError, match="Close them"):
        list(chunks_of(write, iter([])))


@UNCLOSED
def test_garbage_that_only_has_the_file() -> None:
    """Beside a text wrapper that is kept."""
    kept = []

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        kept.append(io.TextIOWrapper(file))
        kept[-1].write("text")
        circle: list[Any] = [file]
        circle.append(circle)

    assert list(chunks_of(write, iter([]))) == [b"text"]


def test_the_writers_error_is_the_one_that_is_seen() -> None:
    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        file.write(b"text")
        os.close(file.fileno())
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(chunks_of(write, iter([])))
