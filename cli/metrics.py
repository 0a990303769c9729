"""`yarnspec metrics`: an application's numbers for Prometheus."""

from __future__ import annotations

import click

from yarnspec.cli.names import application_argument
from yarnspec.cli.printing import settings_options
from yarnspec.gateway.application.handle import Application
from yarnspec.options import Options

EXAMPLES = """
\b
Examples:
  yarnspec metrics application_1700000000000_0001
  yarnspec metrics application_1700000000000_0001 > /var/lib/node_exporter/yarnspec.prom
"""


@click.command(epilog=EXAMPLES)
@application_argument
@settings_options
def command(*, application: str, settings: Options) -> None:
    """Print an application's numbers in Prometheus' text form.

    The same text is at /metrics of the application master while it runs; docs/operators.md says how to scrape it.
    """
    with Application.from_id(application, settings=settings) as found:
        click.echo(found.metrics(), nl=False)
