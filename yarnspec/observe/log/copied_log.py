"""Reads the local copy of an epoch's event log from any record on, without reading what stands before it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, NamedTuple

_SEQ = re.compile(rb'"seq":(\d+)')
ENVELOPE_BYTES = 160
"""The keys that open each record are within so many bytes."""


class Line(NamedTuple):
    """One encoded record, with its line end."""

    seq: int
    data: bytes


def seq_of(line: bytes) -> int:
    """The number of the record in a line; 0 if it has none."""
    found = _SEQ.search(line, 0, ENVELOPE_BYTES)
    return int(found[1]) if found else 0


def lines_after(path: Path, seq: int, limit_bytes: int) -> list[Line]:
    """The records that follow one, at least one when there is any; none where the copy does not have the next one.

    The copy is in the order of the numbers. A batch that could not be written to the history at once stands there
    twice, one after the other.
    """
    try:
        with path.open("rb") as file:
            return _read(file, _offset_after(file, seq), seq, limit_bytes)
    except OSError:
        return []


def _offset_after(file: BinaryIO, seq: int) -> int:
    """Where the first line with a higher number begins, by halving the file; its end if there is none."""
    low, high = 0, file.seek(0, 2)
    while low < high:
        middle = (low + high) // 2
        begin, line = _line_from(file, middle)
        if not line or seq_of(line) > seq:
            high = middle
        else:
            low = begin + len(line)
    return _line_from(file, low)[0]


def _line_from(file: BinaryIO, offset: int) -> tuple[int, bytes]:
    """The first whole line that begins at this offset or later; an empty one if there is none."""
    begin = offset
    if offset:
        file.seek(offset - 1)
        begin += len(file.readline()) - 1
    file.seek(begin)
    line = file.readline()
    return begin, line if line.endswith(b"\n") else b""


def _read(file: BinaryIO, offset: int, seq: int, limit_bytes: int) -> list[Line]:
    found: list[Line] = []
    size_bytes = 0
    file.seek(offset)
    while size_bytes <= limit_bytes and (data := file.readline()).endswith(b"\n"):
        number = seq_of(data)
        if number <= seq:
            continue
        if number > seq + 1:
            break
        if found and size_bytes + len(data) > limit_bytes:
            break
        found.append(Line(number, data))
        size_bytes += len(data)
        seq = number
    return found
