"""Where the records of map outputs are while earlier epochs are read: on the local disk, as memory may be too small."""

from __future__ import annotations

import errno
import os
import struct
import tempfile
import weakref
from pathlib import Path
from typing import IO

import google_crc32c
import msgspec

from yarnspec.core.journal.journalrecords import MapFinished
from yarnspec.journal.records import MAX_PAYLOAD_BYTES

_HEAD = struct.Struct(">II")
_BUFFER_BYTES = 1024 * 1024
_GLANCE_BYTES = 4096

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(MapFinished).decode


class Spool:
    """A file without a name in a directory (None: that for temporary files), which goes when this object does.

    It holds records one after the other: size and checksum (CRC-32C) of a payload, the payload. Raises OSError when
    there is no room, and when what is read is not what was put there.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._file: IO[bytes] | None = None
        self._size_bytes = 0

    def put(self, record: MapFinished) -> int:
        """Keep a record; returns its place."""
        payload = _encode(record)
        place = self._size_bytes
        self._size_bytes += self._opened().write(_HEAD.pack(len(payload), google_crc32c.value(payload)) + payload)
        return place

    def get(self, place: int) -> MapFinished:
        """The record at a place."""
        file = self._opened()
        file.flush()
        data = os.pread(file.fileno(), _GLANCE_BYTES, place)
        size, checksum = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (0, 0)
        end = _HEAD.size + size
        if len(data) < end <= _HEAD.size + MAX_PAYLOAD_BYTES:
            data = os.pread(file.fileno(), end, place)
        payload = data[_HEAD.size : end]
        if 0 < size == len(payload) and google_crc32c.value(payload) == checksum:
            return _decode(payload)
        raise OSError(errno.EIO, f"what was put aside of the journal is damaged at byte {place}")

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            file = tempfile.TemporaryFile(buffering=_BUFFER_BYTES, dir=self._directory)  # noqa: SIM115 - ends with self
            weakref.finalize(self, file.close)
            self._file = file
        return self._file
