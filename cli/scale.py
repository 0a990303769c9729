"""`yarnspec scale`: change how many executors a running application has at least and at most."""

from __future__ import annotations

import click

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import Form, output_option, plain, print_document, settings_options
from yarnspec.gateway.application.handle import Application
from yarnspec.options import Options

EXAMPLES = """
\b
Example:
  yarnspec scale application_1700000000000_0001 --min 4 --max 16
"""


@click.command(epilog=EXAMPLES)
@application_argument
@click.option(
    "--min",
    "least",
    type=click.IntRange(min=1),
    required=True,
    help="Least number of executors. The change waits until the hosts have room for them.",
)
@click.option("--max", "most", type=click.IntRange(min=1), required=True, help="Most executors to ask for.")
@click.option("--force", is_flag=True, help="Accept bounds that the present hosts cannot hold.")
@output_option
@settings_options
def command(*, application: str, least: int, most: int, force: bool, form: Form, settings: Options) -> None:
    """Change how many executors a running application has at least and at most.

    The change takes effect at the end of a stage, once the hosts have room for MIN: docs/resources.md tells when.
    Surplus executors take no new tasks and end when nobody needs their data. The next driver and application attempt
    have these bounds, too.
    """
    with Application.from_id(application, settings=settings) as found:
        answer = found.scale(least, most, force=force)
    if form == "table":
        click.echo(f"{found.id}: {least} to {most} executors")
        click.echo(plain(answer.reason).plain, err=True)
    else:
        document = {"application_id": found.id, "min": least, "max": most, "reason": answer.reason}
        print_document({"schema": 1, **document}, form)
