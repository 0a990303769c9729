"""`yarnspec report`: an application's page as one file."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path

import click

from yarnspec.cli.names import APPLICATION_OR_FILE
from yarnspec.cli.printing import settings_options
from yarnspec.errors import UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.application_list import LAST
from yarnspec.gateway.report.log_report import log_report
from yarnspec.ids import is_application_id
from yarnspec.options import Options

EXAMPLES = """
\b
Examples:
  yarnspec report last --open
  yarnspec report application_1700000000000_0001 -o night.html
  yarnspec report /tmp/logs/application_1700000000000_0001.zstd
"""


@click.command(epilog=EXAMPLES)
@click.argument("what", metavar="APP|LOG", type=APPLICATION_OR_FILE)
@click.option(
    "-o", "--output", "file", metavar="FILE.html", help="Where to write the page (- is stdout). [default: APP.html]"
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@settings_options
def command(*, what: str, file: str | None, show: bool, settings: Options) -> None:
    """Write the page of an application as one HTML file.

    APP is an application of yarnspec, running or ended. LOG is an event log of Spark, of a job on any master: a file,
    or the directory of a rolled log. If the log is in HDFS, copy it with `hdfs dfs -get` first. The page opens offline
    and asks nobody for anything. The page of a log shows what `yarnspec replay` finds. In a long job the page looks for
    slow tasks less often than `replay`, and says so.
    """
    if file == "-" and show:
        message = "--open needs a file: leave out `-o -`"
        raise click.UsageError(message)
    log = Path(what)
    if what != LAST and log.exists():
        name, text = log.name, log_report(log, settings.detector, int(time.time() * 1000))
    elif what != LAST and not is_application_id(what):
        message = f"{what!r} is neither an application id nor a file: write an id, `last`, or the path of a log"
        raise UsageError(message)
    else:
        with Application.from_id(what, settings=settings) as found:
            name, text = found.id, found.page()
    if file == "-":
        click.echo(text, nl=False)
        return
    path = Path(file or f"{name}.html")
    _write(path, text)
    click.echo(str(path))
    if show and not webbrowser.open(path.absolute().as_uri()):
        click.echo("no browser could be opened", err=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise UsageError(message) from error
