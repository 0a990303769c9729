"""The JSON Schema of the event log's lines, from the classes that they are made of."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.core.messages.all_messages import COMMANDS, EVENTS
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, Observed
from yarnspec.observe.forms.records import SCHEMA

_WHOLE = {"type": "integer"}


def events_schema() -> dict[str, Any]:
    """One line is one of the types, each with the envelope."""
    kinds: list[type[Event] | type[Command]] = [
        *(one for one in EVENTS if one is not Observed),
        *COMMANDS,
    ]
    _, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    lines = []
    for one in kinds:
        definitions[one.__name__] = _line(definitions[one.__name__], one)
        lines.append({"$ref": f"#/$defs/{one.__name__}"})
    return {"oneOf": lines, "$defs": definitions}


def _line(found: dict[str, Any], kind: type[Event] | type[Command]) -> dict[str, Any]:
    envelope = {
        "schema": {"const": SCHEMA},
        "seq": _WHOLE,
        "time_ms": _WHOLE,
        "epoch": _WHOLE,
        "kind": {"const": "command" if issubclass(kind, Command) else "event"},
        "type": {"const": kind.__name__},
        "reason": {"type": "string"},
    }
    own = {name: value for name, value in found["properties"].items() if name != "type"}
    # A field that is called like a part of the envelope keeps out of its way, and is left out when both are the same.
    fields = {(f"{name}_" if name in envelope and name != "reason" else name): value for name, value in own.items()}
    required = [name for name in found.get("required", []) if name not in envelope]
    return {**found, "properties": {**fields, **envelope}, "required": [*envelope, *required]}
