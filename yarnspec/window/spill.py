"""Sorted runs on disk: one file without a name, blocks of records in it.

The file is ours alone (0600) and has no name from the start. Where the file system knows no nameless files, it loses
its name at once. So nothing stays, whatever ends the process. Nobody else can have written it, so pickles in it are
safe.
"""

from __future__ import annotations

import math
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple, cast

_PLAIN = frozenset({bool, int, float, str, bytes})


class SpilledBlock(NamedTuple):
    """Where records stand in the file, and how to read them."""

    offset: int
    length: int
    decode: Callable[[bytes], list[Any]]


Run = list[SpilledBlock]


class SpillFile:
    """The runs of one sort, in the first of the directories that takes a file.

    >>> with SpillFile(["/tmp"]) as spill:
    ...     run = spill.write([[1, 2], [3]])
    ...     list(spill.read(run))
    [[1, 2], [3]]
    """

    def __init__(self, directories: Sequence[str]) -> None:
        self._file = _nameless_file(directories)
        self.size_bytes = 0

    def __enter__(self) -> SpillFile:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the space back."""
        self._file.close()

    def write(self, blocks: Iterable[list[Any]], most_bytes: float = math.inf) -> Run:
        """Append a run of blocks, none of them empty. Raises OSError when the disk is full.

        A block that takes more than ``most_bytes`` is divided, down to single records.
        """
        run = []
        self._file.seek(self.size_bytes)
        for whole in blocks:
            waiting = [whole]
            while waiting:
                records = waiting.pop()
                data, decode = encode(records)
                if len(data) > most_bytes and len(records) > 1:
                    half = len(records) // 2
                    waiting += (records[half:], records[:half])
                    continue
                self._file.write(data)
                run.append(SpilledBlock(self.size_bytes, len(data), decode))
                self.size_bytes += len(data)
        self._file.flush()
        return run

    def read(self, run: Run) -> Iterator[list[Any]]:
        """The blocks of a run, read as they are asked for."""
        for block in run:
            self._file.seek(block.offset)
            yield block.decode(self._file.read(block.length))


def encode(records: list[Any]) -> tuple[Any, Callable[[bytes], list[Any]]]:
    """The records as bytes, and what reads them back: Arrow for plain values and tuples of them, else a pickle."""
    if type(records[0]) is tuple:
        width = len(records[0])
        if width and set(map(type, records)) == {tuple} and set(map(len, records)) == {width}:
            columns = [list(map(itemgetter(each), records)) for each in range(width)]
            data = _arrow_bytes(columns)
            if data is not None:
                return data, _arrow_tuples
    else:
        data = _arrow_bytes([records])
        if data is not None:
            return data, _arrow_values
    return _pickled(records), _unpickled


def _pickled(records: list[Any]) -> bytes:
    try:
        return pickle.dumps(records, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Of a class that only the program itself has: by value, as Spark brought it here.
        from pyspark import cloudpickle

        return cast("bytes", cloudpickle.dumps(records, pickle.HIGHEST_PROTOCOL))


def _arrow_bytes(columns: list[list[Any]]) -> Any:
    """Arrow's IPC stream; None without Arrow, and when anything in a column would not come back as it was."""
    kinds = [set(map(type, column)) - {type(None)} for column in columns]
    if not all(len(each) == 1 and each <= _PLAIN for each in kinds):
        return None
    try:
        import pyarrow as pa
    except ImportError:
        return None

    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.large_utf8(), bytes: pa.large_binary()}
    try:
        arrays = [pa.array(column, types[kind]) for column, (kind,) in zip(columns, kinds, strict=True)]
    except (pa.ArrowException, OverflowError, UnicodeError):
        # An integer beyond 64 bits, half of a surrogate pair.
        return None
    batch = pa.record_batch(arrays, names=[str(number) for number in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _arrow_columns(data: bytes) -> list[list[Any]]:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return [column.to_pylist() for column in reader.read_next_batch().columns]


def _arrow_values(data: bytes) -> list[Any]:
    return _arrow_columns(data)[0]


def _arrow_tuples(data: bytes) -> list[Any]:
    return list(zip(*_arrow_columns(data), strict=True))


def _unpickled(data: bytes) -> list[Any]:
    return cast("list[Any]", pickle.loads(data))  # noqa: S301 - our own, from a file that nobody else can open


def _nameless_file(directories: Sequence[str]) -> BinaryIO:
    failed: OSError | None = None
    for directory in directories:
        try:
            return cast("BinaryIO", tempfile.TemporaryFile(dir=directory, prefix="yarnspec-sort-"))
        except OSError as error:
            failed = error
    raise failed or FileNotFoundError("there is no local directory to sort in")
