"""What runs in the tasks of a sink's job: the user's writer, and its file in pieces for the JVM beside it.

The writer's file is on the container's local disk, so it may be read again and sought in, and a full disk or an error
of the writer leaves nothing on the output's file system. The JVM of the same task copies it there
(``AttemptWriter.java``): every executor has Hadoop's client with Spark's configuration and credentials, and not every
host has one for Python.
"""

from __future__ import annotations

import shutil
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


def chunks_of(writer: Writer, records: Iterator[Any]) -> Iterator[bytes]:
    """What the writer makes of the records; it has ended when the first piece comes."""
    run: Callable[..., Any] = writer
    directory = tempfile.mkdtemp(prefix="yarnspec-sink-", dir=local_directories()[0])
    try:
        path = Path(directory) / "file"
        with path.open("w+b") as file:
            result = run(iter(records), file)
            if hasattr(result, "__next__"):
                raise TypeError(
                    "the writer is a generator, which does nothing when it is called: write to the file, do not yield"
                )
        # By its name: a library may have put another file in its place.
        with path.open("rb") as written:
            while chunk := written.read(CHUNK_BYTES):
                yield chunk
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def row_chunks_of(writer: Writer, rows: Iterator[Any]) -> Iterator[tuple[bytes]]:
    """The same of a DataFrame's rows, as rows of one column."""
    return ((chunk,) for chunk in chunks_of(writer, rows))


def arrow_chunks_of(writer: Writer, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same of a DataFrame's Arrow batches, as batches of one column."""
    import pyarrow as pa

    for chunk in chunks_of(writer, batches):
        yield pa.record_batch({CHUNK: pa.array([chunk], pa.binary())})
