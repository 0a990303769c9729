"""Frames: how a JSON header and bytes that are nobody else's business travel together, in files and over sockets.

    frame  = u32 length of the rest | u32 crc32c of the body | body
    body   = u32 length of the header | header (UTF-8, one JSON object) | blob

All integers are big-endian. The rest is the checksum and the body: its length is that of the body plus 4, and at most
``MAX_FRAME_BYTES``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import google_crc32c
import msgspec

MAX_FRAME_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 256 * 1024
_U32 = struct.Struct(">I")
_HEAD = struct.Struct(">II")


class Frame(NamedTuple):
    """One frame's contents."""

    header: dict[str, Any]
    blob: bytes


class DamagedFrameError(ValueError):
    """Bytes that are no frame. Nothing after them can be trusted, nor found."""


def encode_frame(header: Mapping[str, Any], blob: bytes = b"") -> bytes:
    """The bytes of one frame; ValueError when they are more than a reader takes."""
    encoded = msgspec.json.encode(header)
    body = b"".join((_U32.pack(len(encoded)), encoded, blob))
    length = len(body) + _U32.size
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {length} bytes is larger than {MAX_FRAME_BYTES}")
    return _HEAD.pack(length, google_crc32c.value(body)) + body


def read_frames(read: Callable[[int], bytes]) -> Iterator[Frame]:
    """The frames of a stream to its end, where ``read(n)`` gives at most n bytes, and none at the end.

    Memory grows with what arrives, not with what a length promises. A stream that ends within a frame is EOFError.
    """
    while head := _exactly(read, _HEAD.size):
        yield _read_frame(read, *_whole(head, _HEAD.size, _HEAD))


def _read_frame(read: Callable[[int], bytes], length: int, checksum: int) -> Frame:
    if not 2 * _U32.size <= length <= MAX_FRAME_BYTES:
        raise DamagedFrameError(f"a frame cannot be {length} bytes long")
    size = length - _U32.size
    body = _exactly(read, size)
    if len(body) < size:
        raise EOFError(f"the stream ends within a frame: {size - len(body)} of {size} bytes are missing")
    if google_crc32c.value(body) != checksum:
        raise DamagedFrameError("a frame does not fit its checksum")
    (header_size,) = _U32.unpack_from(body)
    blob_at = _U32.size + header_size
    if blob_at > size:
        raise DamagedFrameError(f"a header of {header_size} bytes does not fit into its frame")
    try:
        header = msgspec.json.decode(memoryview(body)[_U32.size : blob_at], type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise DamagedFrameError(f"a frame's header is no JSON object: {error}") from error
    return Frame(header, body[blob_at:])


def _whole(head: bytes, size: int, layout: struct.Struct) -> tuple[int, int]:
    if len(head) < size:
        raise EOFError("the stream ends within a frame's head")
    length, checksum = layout.unpack(head)
    return length, checksum


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes, or as many as there are."""
    pieces = []
    missing = size
    while missing and (piece := read(min(missing, _PIECE_BYTES))):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
