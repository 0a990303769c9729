"""The table of records in docs/journal-format.md, from ``core/journal/journalrecords.py``."""

from __future__ import annotations

import typing

import msgspec

from yarnspec.core.journal.journalrecords import TYPES, JournalRecord
from yarnspec.reference.sources import sentence_of
from yarnspec.reference.tables import filled, table


def page_text() -> str:
    """The page with its table as the code has it; the rest of it is written by hand."""
    head = ("type", "name", "fields (default)", "what it says")
    rows = table(head, (_row(number, kind) for number, kind in TYPES.items()))
    return filled("docs/journal-format.md", {"records": rows})


def _row(number: int, kind: type[JournalRecord]) -> tuple[str, ...]:
    types = typing.get_type_hints(kind)
    fields = ", ".join(_field(field, types[field.name]) for field in msgspec.structs.fields(kind))
    return str(number), kind.__name__, fields, sentence_of(kind).replace("``", "`")


def _field(field: msgspec.structs.FieldInfo, kind: object) -> str:
    notes = [msgspec.json.encode(each).decode() for each in _choices(kind)]
    if not field.required:
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        shown = msgspec.json.encode(default).decode()
        notes = [shown, *(each for each in notes if each != shown)]
    return f"{field.name} ({', '.join(notes)})" if notes else field.name


def _choices(kind: object) -> tuple[object, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
