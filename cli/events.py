"""`yarnspec events`: what happened to an application and what was decided, with the reasons."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from yarnspec.cli.groups import did_you_mean
from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import Form, as_yaml, output_option, settings_options
from yarnspec.core.messages.all_messages import COMMANDS, EVENTS
from yarnspec.errors import UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.moments import clock
from yarnspec.observe.forms.records import Record, encode
from yarnspec.observe.forms.told import told
from yarnspec.options import Options

_TYPE_WIDTH = 20

EXAMPLES = """
\b
Examples:
  yarnspec events application_1700000000000_0001
  yarnspec events application_1700000000000_0001 --type BlockHost --type RefuseBlock
  yarnspec events application_1700000000000_0001 -o json --follow | jq -c 'select(.kind == "command")'
"""


@click.command(epilog=EXAMPLES)
@application_argument
@click.option("--follow", "-f", is_flag=True, help="Print new events, too, until the application ends.")
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Print only this type, like BlockHost; may be repeated."
)
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
    known = [one.__name__ for one in (*EVENTS, *COMMANDS)]
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
        click.echo(f"{clock(record.time_ms)} {record.epoch}.{record.seq:<5} {kind} {told(record)}")
    if not sys.stdout.isatty():
        sys.stdout.flush()
