"""The lines of a Spark event log as it lies on disk: one file or a directory of rolled ones, compressed or not.

Names tell everything (Spark's ``EventLogFileWriter``): ``app-1``, ``app-1.zstd``, ``app-1.lz4.inprogress``; rolled:
``eventlog_v2_app-1/events_3_app-1.zstd``, where a file that ends in ``.compact`` stands for those with lower numbers.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

_ROLLED = "events_"
_IN_PROGRESS = ".inprogress"
_COMPACTED = ".compact"
_BUFFER_BYTES = 1 << 20

# One block of lz4-java's stream: magic, token, compressed and plain size, checksum.
_LZ4_HEAD = struct.Struct("<8sBiiI")
_LZ4_MAGIC = b"LZ4Block"
_LZ4_METHODS = 0xF0
_LZ4_RAW = 0x10


class UnreadableLogError(ValueError):
    """A file is not an event log that can be read here."""


def log_lines(path: Path) -> Iterator[bytes]:
    """The lines of the log at ``path``, oldest first. A last line that its writer could not finish is left out.

    Raises:
        UnreadableLogError: a compression that cannot be read, or a directory without a log.
    """
    for file in _files(path):
        with file.open("rb") as raw:
            stream = _opener(file)(raw)
            try:
                for line in stream:
                    if line.endswith(b"\n"):
                        yield line
            except (OSError, EOFError):
                # Broken off within a compressed block: its writer was killed.
                return


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found: dict[int, Path] = {}
    begin = 0
    for file in path.iterdir():
        number = file.name.removeprefix(_ROLLED).partition("_")[0]
        if not file.name.startswith(_ROLLED) or not number.isdigit():
            continue
        compacted = file.name.endswith(_COMPACTED)
        begin = max(begin, int(number)) if compacted else begin
        if compacted or int(number) not in found:
            found[int(number)] = file
    if not found:
        message = f"{path}: there is no event log in this directory"
        raise UnreadableLogError(message)
    return [file for number, file in sorted(found.items()) if number >= begin]


def _opener(file: Path) -> Callable[[BinaryIO], io.BufferedIOBase | BinaryIO]:
    name = file.name.removesuffix(_COMPACTED).removesuffix(_IN_PROGRESS)
    suffix = Path(name).suffix
    if suffix == ".zstd":
        return _zstd
    if suffix == ".lz4":
        return lambda raw: io.BufferedReader(_Lz4Blocks(raw), _BUFFER_BYTES)
    if suffix in {".snappy", ".lzf"}:
        message = f"{file}: event logs compressed by {suffix[1:]} cannot be read; zstd, lz4 and plain ones can"
        raise UnreadableLogError(message)
    return lambda raw: raw


def _zstd(raw: BinaryIO) -> io.BufferedIOBase:
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd"), _BUFFER_BYTES)


class _Lz4Blocks(io.RawIOBase):
    """Decompresses what lz4-java's ``LZ4BlockOutputStream`` wrote, which is not the frame format of lz4 itself."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._codec = pa.Codec("lz4_raw")
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._plain:
            head = self._raw.read(_LZ4_HEAD.size)
            if not head:
                return 0
            if len(head) < _LZ4_HEAD.size:
                raise EOFError
            magic, token, size, plain_size, _ = _LZ4_HEAD.unpack(head)
            if magic != _LZ4_MAGIC:
                message = "not a block of lz4-java"
                raise UnreadableLogError(message)
            block = self._raw.read(size)
            if len(block) < size:
                raise EOFError
            if plain_size == 0:
                continue  # the end of a stream; another one may follow
            compressed = token & _LZ4_METHODS != _LZ4_RAW
            self._plain = memoryview(self._codec.decompress(block, plain_size, asbytes=True) if compressed else block)
        count = min(len(buffer), len(self._plain))
        buffer[:count] = self._plain[:count]
        self._plain = self._plain[count:]
        return count
