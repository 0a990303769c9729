"""One record in words: its fields without those that say nothing, and its reason. For the terminal and the page."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.observe.forms.moments import clock
from yarnspec.observe.forms.records import Record

_SHOWN_TASKS = 8
_FIRST_TIME_MS = 10**12
"""From here on a number of milliseconds is a time (of the year 2001 or later), and not a span."""
# Of a verdict or an attempt a line shows which task it is about, and of one alone why. `explain` and the other forms
# have the numbers.
_BRIEF = (frozenset({"stage", "index", "host", "numbers"}), frozenset({"stage", "index", "host", "launch_ms"}))
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_EXCEPTION = "PythonException: "
_IN_REASON = {"JudgeTasks": ("untold",), "Summarize": ("ledger", "stages")}
_KINDS: dict[tuple[str, str], type[Event] | type[Command]] = {
    **{("event", one.__name__): one for one in Event.__subclasses__()},
    **{("command", one.__name__): one for one in Command.__subclasses__()},
}


def told(record: Record) -> str:
    """The fields of a record in words, on one line."""
    usual = _usual(record)
    said = _IN_REASON.get(record.type, ())
    fields = {
        name: value
        for name, value in msgspec.to_builtins(record.fields).items()
        if _telling(value) and value != usual.get(name) and name not in said
    }
    details = " ".join(_field(name, value) for name, value in fields.items())
    reason = f"({record.reason})" if record.reason else ""
    return visible(" ".join(filter(None, (details, reason))))


def clipped(text: str, most: int) -> str:
    """The beginning of a text that is longer than so many characters, with a sign that it goes on.

    The text is cut between two words, unless they are very long.
    """
    if len(text) <= most:
        return text
    begins = text[: most - 1]
    words = begins[: begins.rfind(" ")].rstrip() if not text[most - 1].isspace() else begins
    return f"{(words if len(words) * 2 > most else begins).rstrip(' ,;:')}…"


def why_failed(failure: str) -> str:
    """Why a task or a stage failed, on one line: the first line, or the one that names an error of Python's.

    Of several errors in a row the last one counts. A long text may be cut before that one is named, and then the one
    before it counts.
    """
    lines = failure.strip().splitlines() or [""]
    for number in range(len(lines) - 1, -1, -1):
        begins, is_traceback, _ = lines[number].partition(_TRACEBACK)
        named = next((line for line in lines[number + 1 :] if line[:1].strip()), "") if is_traceback else ""
        if named:
            before, is_exception, _ = begins.partition(_PYTHON_EXCEPTION)
            words = before[: before.rfind(" ") + 1] if is_exception else begins
            return words.removesuffix("Caused by: ") + named.rstrip()
    return lines[0].rstrip()


def in_two(reason: str) -> tuple[str, str]:
    """A reason before its first semicolon outside parentheses, and the rest."""
    depth = 0
    for place, letter in enumerate(reason):
        depth += (letter == "(") - (letter == ")")
        if letter == ";" and depth <= 0:
            return reason[:place], reason[place + 1 :].strip()
    return reason, ""


def visible(text: str) -> str:
    """Text on one line, without control characters that a terminal would obey."""
    return "".join(one if one.isprintable() else "�" for one in " ".join(text.split()))


def _usual(record: Record) -> dict[str, Any]:
    """The defaults of a record's fields: a field with its default is nothing to tell."""
    message = _KINDS.get((record.kind, record.type))
    if message is None:
        return {}
    return {
        field.name: field.default
        for field in msgspec.structs.fields(message)
        if isinstance(field.default, str) and field.default
    }


def _telling(value: Any) -> bool:
    return value is not None and value not in ("", (), [])


def _field(name: str, value: Any) -> str:
    if name.endswith("_ms") and isinstance(value, int) and value >= _FIRST_TIME_MS:
        return f"{name.removesuffix('_ms')}={clock(value)}"
    return f"{name}={_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split()) if len(value.split()) < 2 else repr(" ".join(value.split()))  # noqa: PLR2004
    if isinstance(value, list | tuple) and all(isinstance(one, str | int) for one in value):
        return ",".join(str(one) for one in value)
    if isinstance(value, list | tuple) and all(map(_is_brief, value)):
        shown = [f"{one['stage']}.{one['index']}@{one['host']}" for one in value[:_SHOWN_TASKS]]
        if len(value) == 1 and value[0].get("reason"):
            return f"{shown[0]}, {value[0]['reason']}"
        return ",".join([*shown, *([f"and {len(value) - _SHOWN_TASKS} more"] if len(value) > _SHOWN_TASKS else [])])
    return msgspec.json.encode(value).decode()


def _is_brief(value: Any) -> bool:
    return isinstance(value, dict) and any(set(value) >= names for names in _BRIEF)
