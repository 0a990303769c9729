"""`yarnspec kill`: end an application now."""

from __future__ import annotations

import click

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import Form, output_option, print_document, settings_options
from yarnspec.gateway.application.handle import Application
from yarnspec.options import Options

EXAMPLES = """
\b
Example:
  yarnspec kill application_1700000000000_0001
"""


@click.command(epilog=EXAMPLES)
@application_argument
@output_option
@settings_options
def command(*, application: str, form: Form, settings: Options) -> None:
    """End an application: its driver, its executors, and its files in the staging directory.

    Its output, its events and its logs stay. The command leaves an application that has ended as it is. With the option
    history.report the command writes the application's page into its history directory.
    """
    with Application.from_id(application, settings=settings) as found:
        killed = found.kill()
        document = found.status()
    if not killed:
        click.echo(f"{found.id} had ended already", err=True)
    if form == "table":
        click.echo(f"{found.id} {document.state}")
        if killed and document.links.report is not None:
            click.echo(f"its report: {document.links.report}", err=True)
    else:
        about = {"application_id": found.id, "state": document.state, "killed": killed}
        print_document({"schema": 1, **about}, form)
