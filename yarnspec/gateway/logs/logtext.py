"""Reads the text in which YARN wraps container logs: NodeManagers' REST and ``yarn logs`` print the same.

::

    Container: container_1_0001_01_000002 on 127.0.0.2_8041
    LogAggregationType: AGGREGATED
    =======================================================
    LogType:stdout
    LogLastModifiedTime:...
    LogLength:12
    LogContents:
    hello world
    End of LogType:stdout

``LogLength`` is the length of the whole file also when only a part of it was asked for. Contents are counted, not
searched for an end: a log may well contain these very lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_CONTAINER = re.compile(rb"Container: (container_\S+) on (\S+)")
_LONGEST_HEADER_BYTES = 64 * 1024


class WrappedLog(NamedTuple):
    """The log that the following contents belong to. ``host`` is empty if the text does not say it."""

    container_id: str
    host: str
    name: str
    length_bytes: int


def unwrap(pieces: Iterable[bytes], limit_bytes: int | None = None) -> Iterator[tuple[WrappedLog, bytes]]:
    """The contents, piece by piece, each with its log; an empty log comes once, with no bytes.

    ``limit_bytes``: what was asked for of each file, when that was less than all.
    """
    buffer = _Buffer(pieces)
    container_id = host = name = ""
    length = 0
    while (line := buffer.line()) is not None:
        found = _CONTAINER.match(line)
        if found:
            container_id = found[1].decode()
            host = found[2].decode(errors="replace").rpartition("_")[0]
        elif line.startswith(b"LogType:"):
            name = line.removeprefix(b"LogType:").decode(errors="replace").strip()
        elif line.startswith(b"LogLength:"):
            text = line.removeprefix(b"LogLength:").strip()
            length = int(text) if text.isdigit() else 0
        elif line.startswith(b"LogContents:"):
            log = WrappedLog(container_id, host, name, length)
            left = length if limit_bytes is None else min(length, limit_bytes)
            if left == 0:
                yield log, b""
            while left and (piece := buffer.take(left)):
                left -= len(piece)
                yield log, piece


class _Buffer:
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._data = b""

    def line(self) -> bytes | None:
        """The next line without its end; None at the end."""
        while b"\n" not in self._data and len(self._data) < _LONGEST_HEADER_BYTES:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._data += piece
        if not self._data:
            return None
        line, _, self._data = self._data.partition(b"\n")
        return line

    def take(self, most: int) -> bytes:
        """Up to ``most`` bytes; empty at the end."""
        while not self._data:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._data = piece
        taken, self._data = self._data[:most], self._data[most:]
        return taken
