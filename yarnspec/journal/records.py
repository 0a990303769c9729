"""Records as bytes: a head of 28 bytes with a checksum of its own, and a payload of MessagePack (a map by field names).

    u32 size of the payload | u32 epoch | u64 sequence number | u32 type | u32 crc32c of the payload
    | u32 crc32c of these 24 bytes | payload

All integers are big-endian. The head's own checksum tells a damaged size from a record that was cut off by the
writer's end.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import google_crc32c
import msgspec

from yarnspec.core.journal.journalrecords import TYPES, JournalRecord, UnknownRecord

MAGIC = b"YSJRNL\x00\x01"
"""The first bytes of every epoch; the last of them is the version of the format."""
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
HEAD = struct.Struct(">IIQIII")
CHECKED_BYTES = HEAD.size - 4

_encode = msgspec.msgpack.Encoder().encode
_decoders = {number: msgspec.msgpack.Decoder(kind).decode for number, kind in TYPES.items()}


class RecordTooLargeError(ValueError):
    """A payload is larger than a reader takes."""


class NotOfItsTypeError(ValueError):
    """A payload with a right checksum is none of its record's type."""


class JournalEntry(NamedTuple):
    """One record as it lies in its epoch; ``offset`` is that of its head."""

    epoch: int
    seq: int
    type: int
    payload: bytes
    offset: int


def type_name(number: int) -> str:
    """The name of a type of record, for people."""
    kind = TYPES.get(number)
    return f"type {number}" if kind is None else kind.__name__


def payload_of(record: JournalRecord) -> tuple[int, bytes]:
    """The number of a record's type, and its payload; or RecordTooLargeError."""
    if isinstance(record, UnknownRecord):
        number, payload = record.type, record.payload
    else:
        number, payload = record.NUMBER, _encode(record)
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise RecordTooLargeError(f"a {type_name(number)} of {len(payload)} bytes is larger than {MAX_PAYLOAD_BYTES}")
    return number, payload


def encode(epoch: int, seq: int, number: int, payload: bytes) -> bytes:
    """The bytes of one record."""
    # Packed twice, as the head's checksum is over its own first fields.
    checksum = google_crc32c.value(payload)
    head = HEAD.pack(len(payload), epoch, seq, number, checksum, 0)
    return HEAD.pack(len(payload), epoch, seq, number, checksum, google_crc32c.value(head[:CHECKED_BYTES])) + payload


def decode(entry: JournalEntry) -> JournalRecord:
    """The record of an entry; or NotOfItsTypeError."""
    decoder = _decoders.get(entry.type)
    if decoder is None:
        return UnknownRecord(type=entry.type, payload=entry.payload)
    try:
        return decoder(entry.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotOfItsTypeError(f"a payload that fits its checksum is no {type_name(entry.type)}: {error}") from error
