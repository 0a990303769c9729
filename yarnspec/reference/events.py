"""docs/events.md: every event and command, from the classes in the core."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Sequence

import msgspec

from yarnspec.core.messages.all_messages import COMMANDS, EVENTS
from yarnspec.core.messages.commands import Command
from yarnspec.reference.sources import sentence_of

_HEAD = """\
# Events and commands

`make docs` renders this page from the classes in `yarnspec/core`.

An event says what happened; the negotiator's core answers with commands, which say what is to be done. Both are in the
event log of an application, one JSON object a line, and `yarnspec events` shows them. A field's name ends with its
unit: `_ms` is milliseconds (for a moment, since the Unix epoch), `_mb` is mebibytes. A field in brackets has a
default: older records may be without it.
"""


def page_text() -> str:
    """The page."""
    events, commands = _of_the_core(EVENTS), _of_the_core(COMMANDS)
    lines = [_HEAD, "## Events", "", *_table(events), "", "## Commands", ""]
    lines += ["Every command has a `reason`: the facts and numbers that led to it.", "", *_table(commands)]
    parts = _parts([*events, *commands])
    lines += ["", "## Parts of them", "", *_table(parts)]
    return "\n".join(lines) + "\n"


def _of_the_core(kinds: Iterable[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    return [kind for kind in kinds if kind.__module__.startswith("yarnspec.core.")]


def _table(kinds: Iterable[type[msgspec.Struct]]) -> list[str]:
    rows = ["| name | when, and what its fields say | fields |", "|---|---|---|"]
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        rows.append(f"| {kind.__name__} | {_said(kind)} | {_fields(kind)} |")
    return rows


def _said(kind: type[msgspec.Struct]) -> str:
    """The docstring as one line, with the names of its arguments as code."""
    text, _, arguments = sentence_of(kind).replace("``", "`").partition(" Args: ")
    for name in kind.__struct_fields__:
        arguments = re.sub(rf"(?<!\S){name}: ", f"`{name}`: ", arguments, count=1)
    return " ".join(filter(None, (text, arguments))).replace("|", "\\|")


def _fields(kind: type[msgspec.Struct]) -> str:
    hints = typing.get_type_hints(kind)
    named = [(field, _words(hints[field.name])) for field in msgspec.structs.fields(kind)]
    if issubclass(kind, Command):
        named = [one for one in named if one[0].name != "reason"]
    shown = [f"`{field.encode_name}` {words}" for field, words in named]
    return ", ".join(
        text if field.required else f"[{text}]" for text, (field, _) in zip(shown, named, strict=True)
    ).replace("|", "\\|")


def _words(kind: object) -> str:
    """A type as one says it."""
    arguments = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return " or ".join(f'"{each}"' for each in arguments)
    if origin in (types.UnionType, typing.Union):
        return " or ".join("null" if each is type(None) else _words(each) for each in arguments)
    if origin is tuple:
        return f"list of {_words(arguments[0])}" if arguments[-1] is Ellipsis else f"[{_list(arguments)}]"
    if origin is dict:
        return f"map from {_words(arguments[0])} to {_words(arguments[1])}"
    plain: dict[object, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return plain.get(kind, getattr(kind, "__name__", str(kind)))


def _list(kinds: Sequence[object]) -> str:
    return ", ".join(_words(each) for each in kinds)


def _parts(kinds: Iterable[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    """The structs that fields hold, and those that these hold."""
    found: dict[type[msgspec.Struct], None] = {}
    left: list[object] = [hint for kind in kinds for hint in typing.get_type_hints(kind).values()]
    while left:
        kind = left.pop()
        left += typing.get_args(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in found:
            found[kind] = None
            left += typing.get_type_hints(kind).values()
    return list(found)
