"""`yarnspec journal`: the work that an application has recorded for its next driver, and whether it is sound."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from yarnspec.cli.groups import SuggestingGroup, did_you_mean
from yarnspec.cli.names import APPLICATION_OR_FILE
from yarnspec.cli.printing import (
    Form,
    as_yaml,
    columns,
    output_option,
    plain,
    print_document,
    settings_options,
    stdout_console,
)
from yarnspec.core.journal.journalrecords import TYPES, UnknownRecord
from yarnspec.errors import UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.application.journal_access import journal_at, journal_of
from yarnspec.gateway.cluster.application_list import LAST
from yarnspec.ids import is_application_id
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.errors import JournalDamaged
from yarnspec.journal.records import JournalEntry, NotOfItsTypeError, decode, type_name
from yarnspec.journal.verify import EpochReport
from yarnspec.observe.forms.told import visible
from yarnspec.options import Options

_NAMES = [kind.__name__ for kind in TYPES.values()]
_TYPE_WIDTH = 21
_DAMAGED = (
    "A driver that has to read this uses nothing of the journal again and runs the whole program. A write that could "
    "double existing rows ends the application. Look at the outputs before you submit it again (docs/recovery.md)"
)

EXAMPLES = """
\b
Examples:
  yarnspec journal show application_1700000000000_0001 --type ShuffleRegistered --type JobCommitted
  yarnspec journal show application_1700000000000_0001 --epoch 2 -o json | jq -c .
  yarnspec journal verify hdfs:///user/me/.yarnspec/history/application_1700000000000_0001
"""


@click.group(cls=SuggestingGroup, epilog=EXAMPLES)
def command() -> None:
    """Show, or check, the work that an application has recorded for its next driver.

    The journal is in the application's directory of the history. Name the application, or a directory (also hdfs://…).
    On HDFS the records of a running application can be read when the driver epoch, one run of the driver, is over. With
    recovery.journal_appends=false they can be read at once.
    """


@command.command()
@click.argument("place", metavar="APP|DIR", type=APPLICATION_OR_FILE)
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Print only this type, like JobCommitted; may be repeated."
)
@click.option(
    "--epoch", "epochs", multiple=True, type=click.IntRange(min=1), help="Print only this epoch; may be repeated."
)
@output_option
@settings_options
def show(*, place: str, types: tuple[str, ...], epochs: tuple[int, ...], form: Form, settings: Options) -> None:
    """Print the records, oldest first.

    With -o json each line is one JSON object: schema, epoch, seq, type, and the fields of the type. Bytes may hold a
    program's data, so the command shows only their size. At damage it stops, with exit code 8.
    """
    for name in types:
        if name not in _NAMES:
            message = f"there is no type of record {name!r}.{did_you_mean(name, _NAMES)}"
            raise UsageError(message)
    with _opened(place, settings) as directory:
        shown = 0
        for epoch in epochs or directory.epochs():
            for entry in directory.entries(epoch):
                if types and type_name(entry.type) not in types:
                    continue
                _print(entry, form)
                shown += 1
        if not shown:
            click.echo(_why_none(directory), err=True)


@command.command()
@click.argument("place", metavar="APP|DIR", type=APPLICATION_OR_FILE)
@output_option
@settings_options
def verify(*, place: str, form: Form, settings: Options) -> int:
    """Check every byte, and count the records of each epoch by type.

    The exit code is 0 if everything is there as it was written, and 8 if the journal is damaged. The command tells of
    two things that are no damage: a record that a writer left half written when it died, and records that it added
    after another writer had taken over.
    """
    with _opened(place, settings) as directory:
        reports = directory.verify()
    if form == "table":
        _print_reports(reports)
    else:
        print_document({"schema": 1, "path": directory.path, "epochs": [_fields(each) for each in reports]}, form)
    for report in reports:
        for warning in _warnings(report):
            click.echo(warning, err=True)
    return max((each.damage.exit_code for each in reports if each.damage is not None), default=0)


@contextlib.contextmanager
def _opened(place: str, settings: Options) -> Iterator[JournalDirectory]:
    if place == LAST or is_application_id(place):
        with Application.from_id(place, settings=settings) as application:
            yield journal_of(application)
    else:
        yield journal_at(place)


def _print(entry: JournalEntry, form: Form) -> None:
    told = {"epoch": entry.epoch, "seq": entry.seq, "type": type_name(entry.type), **_of_record(entry)}
    if form == "json":
        click.echo(msgspec.json.encode({"schema": 1, **told}).decode())
    elif form == "yaml":
        click.echo("---\n" + as_yaml({"schema": 1, **told}), nl=False)
    else:
        kind = click.style(f"{told['type']:<{_TYPE_WIDTH}}", fg="cyan")
        details = " ".join(f"{name}={_value(value)}" for name, value in list(told.items())[3:] if value not in ("", []))
        click.echo(f"{entry.epoch}.{entry.seq:<7} {kind} {visible(details)}")


def _of_record(entry: JournalEntry) -> dict[str, Any]:
    """The fields of a record, with sizes instead of bytes."""
    try:
        record = decode(entry)
    except NotOfItsTypeError:
        return {"payload_bytes": len(entry.payload), "problem": "the payload is none of this type"}
    if isinstance(record, UnknownRecord):
        return {"payload_bytes": len(record.payload)}
    told: dict[str, Any] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, bytes):
            told[f"{name}_bytes"] = len(value)
        else:
            # Not of the record, whose epoch may be a former one.
            told["of_epoch" if name == "epoch" else name] = list(value) if isinstance(value, tuple) else value
    return told


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(str(one) for one in value)
    return repr(value) if isinstance(value, str) and " " in value else str(value)


def _why_none(directory: JournalDirectory) -> str:
    unread = sum(report.unread_bytes for report in directory.verify())
    if unread:
        return f"no such records (yet): {unread} bytes cannot be read before their writer has closed the file"
    return "no such records"


def _print_reports(reports: list[EpochReport]) -> None:
    table = columns("EPOCH", "STATE", "RECORDS", "BYTES", "IGNORED", "TYPES")
    for report in reports:
        types = ", ".join(f"{type_name(number)} {count}" for number, count in report.types.items())
        table.add_row(
            *(plain(each) for each in (report.epoch, _state(report), report.records, report.size_bytes,
                                       report.ignored_bytes, types)),
        )  # fmt: skip
    stdout_console().print(table)


def _state(report: EpochReport) -> str:
    if report.damage is not None:
        return "damaged"
    if report.sealed_by is None:
        return "stopped" if report.stopped else "open"
    return "ended" if report.sealed_by == report.epoch else f"sealed by {report.sealed_by}"


def _warnings(report: EpochReport) -> Iterator[str]:
    if report.damage is not None:
        yield f"error: {report.damage.message}. {_DAMAGED}"
    if report.stopped:
        yield f"warning: the recording of epoch {report.epoch} stopped: {report.stopped}"
    if report.unread_bytes:
        yield (
            f"warning: {report.unread_bytes} bytes of epoch {report.epoch} cannot be read, because its writer has not "
            "closed the file. They can be read once it has, or once the next epoch has begun. If the application has "
            "ended, give its id in place of the directory"
        )
    if report.ignored_records:
        yield (
            f"warning: {report.ignored_records} records of epoch {report.epoch} are ignored: its writer added them "
            f"after epoch {report.sealed_by} had taken over"
        )


def _fields(report: EpochReport) -> dict[str, Any]:
    told = report._asdict()
    told["state"] = _state(report)
    told["types"] = {type_name(number): count for number, count in report.types.items()}
    damage: JournalDamaged | None = report.damage
    told["damage"] = None if damage is None else {"path": damage.path, "offset": damage.offset, "what": damage.what}
    return told
