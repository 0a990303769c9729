"""The code in the tasks of a sink's job: the user's writer, and its file in pieces for the JVM beside it.

The writer's file is on the container's local disk, so the writer may read it again and seek in it. A full disk or an
error of the writer leaves nothing on the output's file system. The JVM of the same task copies the file there
(``AttemptWriter.java``): every executor has Hadoop's client with Spark's configuration and credentials, and not every
host has one for Python.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from yarnspec.window.objects import local_directories

if TYPE_CHECKING:
    import pyarrow as pa

Writer = Callable[[Iterator[Any], BinaryIO], None]

CHUNK = "chunk"
CHUNK_BYTES = 1 << 20
_DESCRIPTORS = Path("/proc/self/fd")
_CLOSED = (
    "the writer has closed the descriptor of its file, as a file object made of file.fileno() does: "
    "nobody can tell what the file itself had kept back. Give it os.dup(file.fileno()), or file.name"
)


class _Raw(io.FileIO):
    """A file that remembers an error: of one in the finalizer of a wrapper around it nobody hears."""

    failed: OSError | None = None
    writes = 0
    astray = False
    """Whether somebody else's file has its descriptor."""

    def write(self, data: Any) -> int:
        """Write ``data``. If that fails, the next call tries it again, so the last error is the one that counts."""
        if self.astray:
            return memoryview(data).nbytes
        try:
            written = super().write(data)
        except OSError as error:
            self.failed = error
            raise
        self.failed = None
        self.writes += 1
        return written

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Not in somebody else's file."""
        return 0 if self.astray else super().seek(offset, whence)


class _PartitionFile(io.BufferedRandom):
    """The file that a writer gets. Closing it (``with file:``) leaves it open for wrappers that write when they go."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.bottom = _Raw(self._descriptor, "r+", closefd=False)
        self.bottom.name = str(path)
        super().__init__(self.bottom)
        self.identity = _identity(os.fstat(self._descriptor))

    def close(self) -> None:
        """Hand on what is there."""
        if not self.closed:
            self.flush()

    def has_descriptor(self) -> bool:
        """Whether its descriptor is open, and still that of this file."""
        with contextlib.suppress(OSError):
            return _identity(os.fstat(self._descriptor)) == self.identity
        return False

    def end(self) -> None:
        """Close it; what has got its descriptor since stays as it is."""
        self.bottom.astray = not self.has_descriptor()
        try:
            super().close()
        finally:
            self.bottom.close()  # also when it was detached: its number may be another file's soon
            if not self.bottom.astray:
                os.close(self._descriptor)


def chunks_of(writer: Writer, records: Iterator[Any]) -> Iterator[bytes]:
    """The pieces that the writer makes of the records; the writer has ended when the first piece comes."""
    directory = tempfile.mkdtemp(prefix="yarnspec-sink-", dir=local_directories()[0])
    try:
        path = Path(directory) / "file"
        file = _PartitionFile(path)
        try:
            _write(writer, records, file)
        except BaseException:
            with contextlib.suppress(OSError, ValueError):  # the writer's error is the one to be seen
                file.end()
            raise
        file.end()
        if file.bottom.astray:
            raise TypeError(_CLOSED)
        if file.bottom.failed is not None:
            raise file.bottom.failed
        # By its name: a library may have put another file in its place.
        with path.open("rb") as written:
            while chunk := written.read(CHUNK_BYTES):
                yield chunk
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _write(writer: Callable[..., Any], records: Iterator[Any], file: _PartitionFile) -> None:
    holders, descriptors, others = _holders(file), _descriptors(file), _others(file)
    result = writer(iter(records), file)
    if hasattr(result, "__next__"):
        raise TypeError(
            "the writer is a generator, which does nothing when it is called: write to the file, do not yield"
        )
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError("the writer is asynchronous, and nobody awaits it: it must have written when it returns")
    del result
    if file.bottom.failed is not None:
        raise file.bottom.failed
    _check_open(file)
    lost = _holders(file) > holders and _holders(file) - _flush_text(file) > holders
    if lost:
        lost = _garbage_writes(file) or _holders(file) - _flush_text(file) > holders
    if file.bottom.failed is not None:
        raise file.bottom.failed
    # Garbage that has a descriptor of its own may have closed it before its buffer was empty.
    if lost or _descriptors(file) > descriptors or len(_others(file)) > len(others):
        raise TypeError(
            "the writer has returned, and something still has its file: what a wrapper around it (GzipFile, ZipFile, "
            "...), or a file opened by its name, has not handed on would be lost. Close them before you return, and "
            "keep the file nowhere"
        )


def _check_open(file: _PartitionFile) -> None:
    """Raise TypeError where what the file itself has kept back can no longer come."""
    if file.bottom.closed:
        raise TypeError("the writer has closed file.raw: nobody can tell what the file itself had kept back")
    try:
        file.fileno()
    except ValueError:
        raise TypeError("the writer has detached file.raw: write to the file, or to a wrapper around it") from None
    if not file.has_descriptor():
        raise TypeError(_CLOSED)


def _others(file: _PartitionFile) -> list[io.FileIO]:
    """Files in Python on the same descriptor, garbage among them: what they keep would not come."""
    number = file.fileno()
    found = [each for each in gc.get_objects() if issubclass(type(each), io.FileIO) and each is not file.bottom]
    return [each for each in found if not each.closed and each.fileno() == number]


def _holders(file: _PartitionFile) -> int:
    """How much has the file; to be asked for from one place only, as callers count."""
    return sys.getrefcount(file) + sys.getrefcount(file.bottom)


def _flush_text(file: _PartitionFile) -> int:
    """Have the text wrappers around the file hand on what they have; returns how many there are."""
    wrappers = [each for each in gc.get_referrers(file) if isinstance(each, io.TextIOWrapper)]
    for each in wrappers:
        each.flush()
    return len(wrappers)


def _garbage_writes(file: _PartitionFile) -> bool:
    """Collect garbage; whether some of it has written to the file as it went.

    Of wrappers around each other Python may end the inner one first, and what the outer one has is lost then.
    """
    file.flush()
    before = file.bottom.writes
    gc.collect()
    file.flush()
    return file.bottom.writes > before


def _descriptors(file: _PartitionFile) -> int:
    """How many there are for the file in this process, or for the one that a library has put in its place."""
    ours = {file.identity}
    with contextlib.suppress(FileNotFoundError):
        ours.add(_identity(Path(file.name).stat()))
    found = 0
    for each in list(_DESCRIPTORS.iterdir()) if _DESCRIPTORS.is_dir() else ():
        with contextlib.suppress(OSError):  # that of the listing; one of a file system that does not answer
            found += _identity(each.stat()) in ours
    return found


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def row_chunks_of(writer: Writer, rows: Iterator[Any]) -> Iterator[tuple[bytes]]:
    """``chunks_of`` for a DataFrame's rows, as rows of one column."""
    return ((chunk,) for chunk in chunks_of(writer, rows))


def arrow_chunks_of(writer: Writer, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``chunks_of`` for a DataFrame's Arrow batches, as batches of one column."""
    import pyarrow as pa

    for chunk in chunks_of(writer, batches):
        yield pa.record_batch({CHUNK: pa.array([chunk], pa.binary())})
