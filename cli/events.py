"""`yarnspec events`: what happened to an application and what was decided, with the reasons."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from yarnspec.cli.groups import did_you_mean
from yarnspec.cli.moments import clock
from yarnspec.cli.printing import Form, as_yaml, output_option, settings_options
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, type_name
from yarnspec.errors import UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.records import Record, encode
from yarnspec.observe.status.progress import visible
from yarnspec.options import Options

_TYPE_WIDTH = 20
_SHOWN_TASKS = 8
# Of a verdict a line shows which task it is about; `explain` and the other forms have its numbers.
_BRIEF = frozenset({"stage", "index", "host", "numbers"})
_IN_REASON = {"JudgeTasks": ("untold",), "Summarize": ("ledger", "stages")}
_KINDS: dict[tuple[str, str], type[Event] | type[Command]] = {
    **{("event", type_name(one)): one for one in Event.__subclasses__()},
    **{("command", type_name(one)): one for one in Command.__subclasses__()},
}

EXAMPLES = """
\b
Examples:
  yarnspec events application_1700000000000_0001
  yarnspec events application_1700000000000_0001 --type BlockHost --type RefuseBlock
  yarnspec events application_1700000000000_0001 -o json --follow | jq -c 'select(.kind == "command")'
"""


@click.command(epilog=EXAMPLES)
@click.argument("application", metavar="APP")
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens until the application ends.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type, like BlockHost; may be repeated.")
@output_option
@settings_options
def command(*, application: str, follow: bool, types: tuple[str, ...], form: Form, settings: Options) -> None:
    """Print every event and decision of an application with its reason, oldest first.

    With -o json each line is one JSON object: schema, seq, time_ms, epoch, kind (event or command), type, reason, and
    the fields of the type. After the end the records come from the history directory.
    """
    _check(types)
    shown = 0
    with Application.from_id(application, settings=settings) as found:
        for record in _with_gaps_told(found.events(follow=follow)):
            if types and record.type not in types:
                continue
            _print(record, form)
            shown += 1
        if not shown:
            click.echo(_why_none(found, types), err=True)


def _why_none(application: Application, types: tuple[str, ...]) -> str:
    what = f"no events{' of this type' if types else ''} of {application.id}"
    if not application.has_ended():
        return f"{what} (yet)"
    if types:
        return what
    last = application.status()
    because = f", {last.final.reason}" if last.final is not None and last.final.reason else ""
    return f"{what}: it ended before the first was written ({last.state}{because})"


def _check(types: tuple[str, ...]) -> None:
    known = [type_name(one) for one in (*Event.__subclasses__(), *Command.__subclasses__())]
    for name in types:
        if name not in known:
            message = f"there is no type of event {name!r}.{did_you_mean(name, known)}"
            raise UsageError(message)


def _with_gaps_told(records: Iterator[Record]) -> Iterator[Record]:
    epoch = seq = 0
    for record in records:
        expected = seq + 1 if record.epoch == epoch else 1
        if record.seq > expected:
            missing = f"{record.seq - expected} records of epoch {record.epoch}"
            click.echo(f"{missing} are not in the negotiator's memory any more; the history has them later", err=True)
        epoch, seq = record.epoch, record.seq
        yield record


def _print(record: Record, form: Form) -> None:
    if form == "json":
        click.echo(encode(record).decode(), nl=False)
    elif form == "yaml":
        click.echo("---\n" + as_yaml(record.as_dict()), nl=False)
    else:
        kind = click.style(f"{record.type:<{_TYPE_WIDTH}}", fg="cyan" if record.kind == "command" else None)
        usual = _usual(record)
        said = _IN_REASON.get(record.type, ())
        told = {
            name: value
            for name, value in record.fields.items()
            if _told(value) and value != usual.get(name) and name not in said
        }
        details = " ".join(f"{name}={_value(value)}" for name, value in told.items())
        reason = f"({record.reason})" if record.reason else ""
        line = " ".join(filter(None, (details, reason)))
        click.echo(f"{clock(record.time_ms)} {record.epoch}.{record.seq:<5} {kind} {visible(line)}")
    if not sys.stdout.isatty():
        sys.stdout.flush()


def _usual(record: Record) -> dict[str, Any]:
    """What the words of a record say when nothing is out of the ordinary: their defaults."""
    message = _KINDS.get((record.kind, record.type))
    if message is None:
        return {}
    return {
        field.name: field.default
        for field in msgspec.structs.fields(message)
        if isinstance(field.default, str) and field.default
    }


def _told(value: Any) -> bool:
    return value is not None and value not in ("", (), [])


def _value(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split()) if len(value.split()) < 2 else repr(" ".join(value.split()))  # noqa: PLR2004
    if isinstance(value, list | tuple) and all(isinstance(one, str | int) for one in value):
        return ",".join(str(one) for one in value)
    if isinstance(value, list | tuple) and all(isinstance(one, dict) and set(one) >= _BRIEF for one in value):
        shown = [f"{one['stage']}.{one['index']}@{one['host']}" for one in value[:_SHOWN_TASKS]]
        return ",".join([*shown, *([f"and {len(value) - _SHOWN_TASKS} more"] if len(value) > _SHOWN_TASKS else [])])
    return msgspec.json.encode(value).decode()
