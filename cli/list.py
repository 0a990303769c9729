"""`yarnspec list`: which applications there are and were."""

from __future__ import annotations

import time

import click

from yarnspec.cli.printing import (
    STATE_STYLES,
    Form,
    columns,
    output_option,
    plain,
    print_document,
    settings_options,
    stdout_console,
)
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.cluster.application_list import ListedApplication, listed
from yarnspec.observe.forms.moments import at_time, span
from yarnspec.options import Options

_STATES = ("NEW", "SUBMITTED", "ACCEPTED", "RUNNING", "SUCCEEDED", "FAILED", "KILLED")

EXAMPLES = """
\b
Examples:
  yarnspec list
  yarnspec list --state running --all-users
  yarnspec list -n 0 -o json | jq -r '.applications[] | select(.exit_code != 0) | .id'
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    help="List only applications in this state; may be repeated.",
)
@click.option("--name", metavar="TEXT", help="List only applications with this text in their names.")
@click.option("--all-users", is_flag=True, help="Include other users' applications, with YARN's state only.")
@click.option(
    "-n",
    "--number",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many to list at most; 0 lists all.",
)
@output_option
@settings_options
def command(
    *, states: tuple[str, ...], name: str | None, all_users: bool, number: int, form: Form, settings: Options
) -> None:
    """List the applications of yarnspec, running and ended, the newest first.

    The list comes from YARN, and from the history directory for applications that YARN has forgotten. Wherever a
    command asks for APP, `last` stands for the newest.
    """
    cluster = Cluster.from_environment(settings)
    try:
        found = listed(cluster, user=None if all_users else cluster.user, states=states, most=0 if name else number)
    finally:
        cluster.close()
    if name:
        found = [one for one in found if name.lower() in one.name.lower()]
    found = found[:number] if number else found
    if form != "table":
        print_document({"schema": 1, "applications": found}, form)
    elif found:
        _print(found, int(time.time() * 1000))
    else:
        click.echo("no application of yarnspec was found", err=True)


def _print(applications: list[ListedApplication], now_ms: int) -> None:
    table = columns("ID", "NAME", "USER", "STATE", "STARTED", "TOOK", "EXIT")
    for one in applications:
        end_ms = one.finished_ms if one.ended else now_ms
        took = span(end_ms - one.started_ms) if one.started_ms is not None and end_ms is not None else ""
        table.add_row(
            one.id,
            plain(one.name),
            plain(one.user),
            plain(one.state, STATE_STYLES.get(one.state, "")),
            at_time(one.started_ms) if one.started_ms is not None else "",
            took,
            "" if one.exit_code is None else str(one.exit_code),
        )
    stdout_console().print(table)
