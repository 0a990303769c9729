"""The event log's record: one event or command of the core as one line of JSON, and back.

A record opens with the envelope, the same for every type::

    {"schema":1,"seq":7,"time_ms":1750000000000,"epoch":1,"kind":"command","type":"BlockHost","reason":"...", ...}

and goes on with the fields of the class that ``type`` names (in ``yarnspec/core/messages``).

* ``seq`` counts from 1 within an epoch, without gaps.
* ``reason`` is the class's own field of that name, or empty for events that carry none.
* A field of a class may be called like another key of the envelope. Then it gets a trailing underscore
  (``RefuseBlock.kind`` is ``kind_``). It is left out when both have the same value (``AttemptStarted.epoch``).
* ``schema`` grows when a reader of the old one would misread the new one; a new type or a new field does not change it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from yarnspec.core.messages.all_messages import COMMANDS, EVENTS
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event

SCHEMA = 1
_ENVELOPE = ("schema", "seq", "time_ms", "epoch", "kind", "type")
_ENCODER = msgspec.json.Encoder()


class UnreadableRecordError(ValueError):
    """A line is not a record that this version can read."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the event log. ``fields`` are those of the type, under their own names."""

    seq: int
    time_ms: int
    epoch: int
    kind: Literal["event", "command"]
    type: str
    reason: str
    fields: dict[str, Any]

    def message(self) -> Event | Command | None:
        """The event or command itself; None when this version does not know its type."""
        found = _CLASSES.get((self.kind, self.type))
        if found is None:
            return None
        values = {"reason": self.reason, **self.fields} if "reason" in found.__struct_fields__ else self.fields
        known = {name: values[name] for name in found.__struct_fields__ if name in values}
        try:
            # In JSON the keys of every object are text.
            return msgspec.convert({"type": self.type, **known}, found, str_keys=True)
        except msgspec.ValidationError as error:
            message = f"{self.type} number {self.seq}: {error}"
            raise UnreadableRecordError(message) from error

    def as_dict(self) -> dict[str, Any]:
        """The record with its keys in the order in which they are written."""
        written: dict[str, Any] = {
            "schema": SCHEMA,
            "seq": self.seq,
            "time_ms": self.time_ms,
            "epoch": self.epoch,
            "kind": self.kind,
            "type": self.type,
            "reason": self.reason,
        }
        for name, value in self.fields.items():
            if name not in written:
                written[name] = value
            elif written[name] != value:
                written[f"{name}_"] = value
        return written


def record_of(message: Event | Command, *, seq: int, time_ms: int, epoch: int) -> Record:
    """The record that describes an event or a command."""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return Record(
        seq=seq,
        time_ms=time_ms,
        epoch=epoch,
        kind="command" if isinstance(message, Command) else "event",
        type=type(message).__name__,
        reason=fields.pop("reason", ""),
        fields=fields,
    )


def encode(record: Record) -> bytes:
    """One line of JSON, its line end included."""
    return _ENCODER.encode(record.as_dict()) + b"\n"


def decode(line: bytes) -> Record:
    """The record of one line; ``UnreadableRecordError`` for a torn line or a later schema."""
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"not a line of an event log: {error}"
        raise UnreadableRecordError(message) from error
    if not isinstance(raw, dict) or "schema" not in raw:
        message = "not a line of an event log: it has no schema"
        raise UnreadableRecordError(message)
    if raw["schema"] != SCHEMA:
        message = f"the event log has schema {raw['schema']!r}; this yarnspec reads {SCHEMA}"
        raise UnreadableRecordError(message)
    fields = {name: value for name, value in raw.items() if name not in _ENVELOPE and name != "reason"}
    for name in _ENVELOPE:
        if f"{name}_" in fields:
            fields[name] = fields.pop(f"{name}_")
        elif name in _fields_of(raw.get("kind"), raw.get("type")):
            fields[name] = raw[name]
    try:
        return msgspec.convert({**raw, "reason": raw.get("reason", ""), "fields": fields}, Record)
    except msgspec.ValidationError as error:
        message = f"not a record: {error}"
        raise UnreadableRecordError(message) from error


def decode_lines(data: bytes) -> Iterator[Record]:
    """The records of a whole file. A torn last line, which a killed writer leaves, is passed over."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            yield decode(line)
        except UnreadableRecordError:
            if number == len(lines):
                return
            raise


def _classes() -> dict[tuple[str, str], type[Event] | type[Command]]:
    found: dict[tuple[str, str], type[Event] | type[Command]] = {}
    for event in EVENTS:
        found["event", event.__name__] = event
    for command in COMMANDS:
        found["command", command.__name__] = command
    return found


def _fields_of(kind: object, type_name: object) -> tuple[str, ...]:
    found = _CLASSES.get((kind, type_name)) if isinstance(kind, str) and isinstance(type_name, str) else None
    return found.__struct_fields__ if found is not None else ()


_CLASSES = _classes()
