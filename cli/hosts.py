"""`yarnspec hosts`: the hosts as one running application sees them, and the list that all applications share."""

from __future__ import annotations

import time

import click

from yarnspec.cli.groups import SuggestingGroup
from yarnspec.cli.names import APPLICATION, host_argument
from yarnspec.cli.printing import Form, columns, output_option, plain, print_document, settings_options, stdout_console
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.clusterhosts import ClusterHosts
from yarnspec.observe.forms.moments import until
from yarnspec.options import Options
from yarnspec.yarn.files.cluster_blocks import Standing

CLUSTER = "--cluster"

EXAMPLES = """
\b
Examples:
  yarnspec hosts application_1700000000000_0001 list
  yarnspec hosts application_1700000000000_0001 block worker7 --for 10m --reason "slow disk"
  yarnspec hosts application_1700000000000_0001 unblock worker7
  yarnspec hosts --cluster block worker7 --for 2h --reason "disk is being replaced"
"""


class _HostsGroup(SuggestingGroup):
    """Its first argument is an application, or ``--cluster`` instead of one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let ``--cluster`` stand where the application would."""
        if args and args[0] in self.commands and {"-h", "--help"} & set(args[1:]):
            # Whose hosts does not matter to the help.
            args = [CLUSTER, *args]
        if args and args[0] in self.commands:
            message = f"whose hosts? Write `yarnspec hosts APP {args[0]}`, or `yarnspec hosts --cluster {args[0]}`"
            raise click.UsageError(message, ctx)
        if args[1:2] == [CLUSTER]:
            message = f"one or the other: `yarnspec hosts {args[0]} …` or `yarnspec hosts --cluster …`"
            raise click.UsageError(message, ctx)
        if args[:1] == [CLUSTER] and not {"-h", "--help"} & set(args[1:2]):
            # An application of no name: what follows is a command.
            args = [CLUSTER, "", *args[1:]]
        return super().parse_args(ctx, args)


@click.group(cls=_HostsGroup, epilog=EXAMPLES, subcommand_metavar="COMMAND [ARGS]...")
@click.option(CLUSTER, "shared", is_flag=True, help="Use the list that all applications heed, instead of one APP's.")
@click.argument("application", metavar="APP|--cluster", type=APPLICATION)
@click.pass_context
def command(context: click.Context, *, application: str, shared: bool) -> None:
    """List, block and unblock hosts for a running application, or with --cluster for all.

    A blocked host gets no new containers and no new tasks. Its running containers and tasks go on. Name a host as in
    YARN's node reports, without a port.

    Blocks made with --cluster are in a directory of HDFS (option blocklist.cluster_directory). Each application reads
    the directory at its start and while it runs.
    """
    context.obj = None if shared else application


@command.command(name="list")
@output_option
@settings_options
@click.pass_obj
def list_hosts(application: str | None, *, form: Form, settings: Options) -> None:
    """List the cluster's hosts, and which of them are blocked."""
    if application is None:
        _list_shared(form, settings)
        return
    with Application.from_id(application, settings=settings) as found:
        hosts = found.hosts()
    if form != "table":
        print_document({"schema": 1, "hosts": hosts}, form)
        return
    now_ms = int(time.time() * 1000)
    table = columns("HOST", "STATE", "CONTAINERS", "BLOCKED", "REASON")
    for host in hosts:
        blocked = until(host.until_ms, now_ms) if host.blocked else ""
        if host.level == "cluster":
            blocked += ", for all applications"
        table.add_row(
            plain(host.host), plain(host.state), str(host.containers), blocked, plain(host.reason or host.left_in_use)
        )
    stdout_console().print(table)


@command.command()
@host_argument
@click.option(
    "--for", "duration", metavar="DURATION", help="How long the block lasts, like 30s or 2h (default: until unblocked)."
)
@click.option(
    "--reason", metavar="TEXT", help="Why the host is blocked; needed with --cluster.  [default: asked for by hand]"
)
@click.option("--force", is_flag=True, help="Block more hosts than the allowed share, but never all of them.")
@output_option
@settings_options
@click.pass_obj
def block(
    application: str | None,
    *,
    host: str,
    duration: str | None,
    reason: str | None,
    force: bool,
    form: Form,
    settings: Options,
) -> None:
    """Block HOST for new containers and tasks.

    The block holds for the application, or with --cluster for all of them.
    """
    lasting = f"for {duration}" if duration else "until it is unblocked"
    if application is None:
        if force:
            message = "each application decides how many hosts it leaves out: --force goes with an APP only"
            raise click.UsageError(message)
        if reason is None:
            message = "say why, with --reason: others see the block and want to know"
            raise click.UsageError(message)
        with ClusterHosts.from_environment(settings) as shared:
            done = shared.block(host, duration, reason=reason)
        lasting = f"for all applications {lasting}"
        changed, said = not isinstance(done, Standing), ""
        if not changed:
            holds = until(done.until_ms, int(time.time() * 1000))
            said = f"your entry stays as it is ({done.reason}; {holds}): to shorten it, unblock the host first"
    else:
        with Application.from_id(application, settings=settings) as found:
            answer = found.block_host(host, duration, reason=reason or "asked for by hand", force=force)
        changed, said = answer.changed, answer.reason
    words = f"{host} is blocked {lasting}"
    if not changed:
        words = f"{host} was blocked for as long or longer already: nothing had to change"
    _say(form, host, blocked=True, words=words, reason=said)


@command.command()
@host_argument
@output_option
@settings_options
@click.pass_obj
def unblock(application: str | None, *, host: str, form: Form, settings: Options) -> None:
    """Unblock HOST.

    The application may use it again, or with --cluster all of them may.
    """
    if application is None:
        with ClusterHosts.from_environment(settings) as shared:
            whose = shared.unblock(host)
        words = f"{host} is off the list of all applications ({', '.join(whose)} had blocked it)"
        _say(form, host, blocked=False, words=words)
        return
    with Application.from_id(application, settings=settings) as found:
        answer = found.unblock_host(host)
    words = f"{host} is not blocked any more"
    if answer.still_blocked:
        words = f"{host} is not blocked for this application alone any more, but still for all applications"
    _say(form, host, blocked=answer.still_blocked, words=words, reason=answer.reason)


def _list_shared(form: Form, settings: Options) -> None:
    with ClusterHosts.from_environment(settings) as shared:
        found = shared.read()
    if form != "table":
        print_document({"schema": 1, "blocks": found.blocks, "problems": found.problems}, form)
        return
    for problem in found.problems:
        click.echo(plain(f"warning: {problem}").plain, err=True)
    if not found.blocks:
        click.echo("no host is blocked for all applications", err=True)
        return
    now_ms = int(time.time() * 1000)
    table = columns("HOST", "BLOCKED", "REASON", "BY")
    for one in found.blocks:
        table.add_row(plain(one.host), until(one.until_ms, now_ms), plain(one.reason), plain(one.by))
    stdout_console().print(table)


def _say(form: Form, host: str, *, blocked: bool, words: str, reason: str = "") -> None:
    """``reason``: the application's words about it, which also tell when its driver has not taken it in yet."""
    if form != "table":
        print_document({"schema": 1, "host": host, "blocked": blocked, "reason": reason}, form)
        return
    click.echo(words)
    if reason:
        click.echo(plain(reason).plain, err=True)
