"""`yarnspec logs`: what the driver, the negotiator and the executors wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import get_args

import click

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import Form, output_option, print_document, settings_options
from yarnspec.errors import UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.logs.role_logs import LogFile, LogPiece, Role
from yarnspec.options import Options

EXAMPLES = """
\b
Examples:
  yarnspec logs application_1700000000000_0001
  yarnspec logs application_1700000000000_0001 --file driver.stdout > result.txt
  yarnspec logs application_1700000000000_0001 --role executor --tail 20
  yarnspec logs application_1700000000000_0001 --executor 3 --follow
"""


@click.command(epilog=EXAMPLES)
@application_argument
@click.option(
    "--role",
    type=click.Choice(get_args(Role)),
    help="Whose logs to print (default: driver); am is Skein's application master.",
)
@click.option(
    "--executor", "executor_id", metavar="ID", help="Print only this executor's, by Spark's id or its container's."
)
@click.option("--file", "name", metavar="NAME", help="Print only the file of this name, without a line above it.")
@click.option(
    "--attempt",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the logs of this application attempt (default: the newest).",
)
@click.option(
    "--tail", "tail_lines", type=click.IntRange(min=0), metavar="N", help="Print only the last N lines of each file."
)
@click.option("--follow", "-f", is_flag=True, help="Print new lines, too, until the application ends.")
@output_option
@settings_options
def command(
    *,
    application: str,
    role: Role | None,
    executor_id: str | None,
    name: str | None,
    attempt: int | None,
    tail_lines: int | None,
    follow: bool,
    form: Form,
    settings: Options,
) -> None:
    """Print what the driver, the negotiator and the executors wrote, during the run and after the end.

    Above each file stands a line with its container, host and name, unless --file picks one file of one container.
    """
    if executor_id is not None and role not in (None, "executor"):
        message = f"--executor picks an executor: it does not go with --role {role}"
        raise UsageError(message)
    if follow and form != "table":
        message = "--follow prints text as it comes: it does not go with -o"
        raise UsageError(message)
    one_file = name is not None and (role != "executor" or executor_id is not None)
    with Application.from_id(application, settings=settings) as found:
        pieces = found.logs(
            role or "driver",
            executor_id=executor_id,
            name=name,
            attempt=attempt,
            tail_lines=tail_lines,
            follow=follow,
        )
        if form == "table":
            _print_text(pieces, titles=not one_file)
        else:
            print_document({"schema": 1, "logs": _collected(pieces)}, form)


def _print_text(pieces: Iterator[LogPiece], *, titles: bool) -> None:
    out = sys.stdout.buffer
    file: LogFile | None = None
    at_line_start = True
    for piece in pieces:
        if piece.file != file:
            if titles:
                out.write(("" if at_line_start else "\n").encode())
                out.write(f"{'' if file is None else chr(10)}==> {_title(piece.file)} <==\n".encode())
                at_line_start = True
            file = piece.file
        if piece.data:
            out.write(piece.data)
            at_line_start = piece.data.endswith(b"\n")
        out.flush()


def _title(file: LogFile) -> str:
    who = file.role if file.executor_id is None else f"{file.role} {file.executor_id}"
    return f"{who} on {file.host}, {file.container_id}: {file.name}"


def _collected(pieces: Iterator[LogPiece]) -> list[dict[str, object]]:
    texts: dict[LogFile, list[bytes]] = {}
    for piece in pieces:
        texts.setdefault(piece.file, []).append(piece.data)
    return [
        {
            "container_id": file.container_id,
            "host": file.host,
            "role": file.role,
            "executor_id": file.executor_id,
            "file": file.name,
            "text": b"".join(data).decode(errors="replace"),
        }
        for file, data in texts.items()
    ]
