"""`yarnspec hosts`: the hosts as one running application sees them; block and unblock them for it."""

from __future__ import annotations

import time

import click

from yarnspec.cli.groups import SuggestingGroup
from yarnspec.cli.moments import until
from yarnspec.cli.printing import Form, columns, output_option, plain, print_document, settings_options, stdout_console
from yarnspec.gateway.application import Application
from yarnspec.options import Options

EXAMPLES = """
\b
Examples:
  yarnspec hosts application_1700000000000_0001 list
  yarnspec hosts application_1700000000000_0001 block worker7 --for 10m --reason "slow disk"
  yarnspec hosts application_1700000000000_0001 unblock worker7
"""


@click.group(cls=SuggestingGroup, epilog=EXAMPLES, subcommand_metavar="COMMAND [ARGS]...")
@click.argument("application", metavar="APP")
@click.pass_context
def command(context: click.Context, *, application: str) -> None:
    """List, block and unblock hosts for a running application.

    A blocked host gets no new containers and no new tasks of this application; what runs there goes on. Hosts are named
    as in YARN's node reports, without a port.
    """
    context.obj = application


@command.command(name="list")
@output_option
@settings_options
@click.pass_obj
def list_hosts(application: str, *, form: Form, settings: Options) -> None:
    """List the cluster's hosts, and which of them are blocked."""
    with Application.from_id(application, settings=settings) as found:
        hosts = found.hosts()
    if form != "table":
        print_document({"schema": 1, "hosts": hosts}, form)
        return
    now_ms = int(time.time() * 1000)
    table = columns("HOST", "STATE", "CONTAINERS", "BLOCKED", "REASON")
    for host in hosts:
        blocked = until(host.until_ms, now_ms) if host.blocked else ""
        table.add_row(plain(host.host), plain(host.state), str(host.containers), blocked, plain(host.reason))
    stdout_console().print(table)


@command.command()
@click.argument("host")
@click.option("--for", "duration", metavar="DURATION", help="How long, like 30s, 10m or 2h (default: until unblocked).")
@click.option(
    "--reason", metavar="TEXT", default="asked for by hand", show_default=True, help="Shown wherever it counts."
)
@click.option("--force", is_flag=True, help="Also above the share of hosts that may be blocked; all hosts never.")
@output_option
@settings_options
@click.pass_obj
def block(
    application: str, *, host: str, duration: str | None, reason: str, force: bool, form: Form, settings: Options
) -> None:
    """Keep new containers and tasks of the application off HOST."""
    with Application.from_id(application, settings=settings) as found:
        found.block_host(host, duration, reason=reason, force=force)
    _say(
        form,
        host,
        blocked=True,
        words=f"{host} is blocked {f'for {duration}' if duration else 'until it is unblocked'}",
    )


@command.command()
@click.argument("host")
@output_option
@settings_options
@click.pass_obj
def unblock(application: str, *, host: str, form: Form, settings: Options) -> None:
    """Let the application use HOST again."""
    with Application.from_id(application, settings=settings) as found:
        found.unblock_host(host)
    _say(form, host, blocked=False, words=f"{host} is not blocked any more")


def _say(form: Form, host: str, *, blocked: bool, words: str) -> None:
    if form == "table":
        click.echo(words)
    else:
        print_document({"schema": 1, "host": host, "blocked": blocked}, form)
