"""`yarnspec minicluster`: a real YARN and HDFS on this machine."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yarnspec.cli.groups import SuggestingGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from yarnspec.minicluster import MiniCluster


_host_argument = click.argument("host_name", metavar="HOST")


def _home_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
        help="The cluster's directory.  [default: one in the user's state directory]",
    )(function)


def _cluster(home: Path | None, **shape: Any) -> MiniCluster:
    # Imported only when a cluster is really asked for: help pages are quick.
    from yarnspec.minicluster import MiniCluster

    return MiniCluster(home, say=_say, **shape)


def _say(line: str) -> None:
    click.echo(line, err=True)


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Run a real YARN and HDFS on this machine: one JVM per daemon, hosts 127.0.0.2, 127.0.0.3, …"""


@command.command()
@_home_option
@click.option(
    "--nodes", type=click.IntRange(1, 200), default=3, show_default=True, help="How many hosts the cluster has."
)
@click.option("--memory-mb", type=click.IntRange(128), default=8192, show_default=True, help="Memory of each host.")
@click.option("--vcores", type=click.IntRange(1), default=8, show_default=True, help="Virtual cores of each host.")
@click.option(
    "--am-share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="The part of the queue that application masters may take.",
)
@click.option(
    "--placement-constraints/--no-placement-constraints",
    default=True,
    show_default=True,
    help="Take placement constraints and publish each host's name as a node attribute.",
)
@click.option("--pmem-check", is_flag=True, help="End containers that use more memory than they asked for.")
@click.option("--shuffle-service", is_flag=True, help="Run Spark's shuffle service on every host, with authentication.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a Hadoop key for every daemon (yarn.scheduler.capacity.*: for the scheduler). May be repeated.",
)
@click.option(
    "--slow",
    multiple=True,
    metavar="HOST=FACTOR",
    help="Make the processes in a host's containers FACTOR times slower (127.0.0.3=10). May be repeated.",
)
@click.option(
    "--hadoop",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where Hadoop's jars are kept, or fetched to.  [default: one directory in the user's cache]",
)
@click.option("--while-pid", type=click.IntRange(1), metavar="PID", help="Stop the cluster when this process ends.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(1),
    default=90,
    show_default=True,
    help="How many seconds the start may take.",
)
def start(
    home: Path | None,
    hadoop: Path | None,
    properties: tuple[str, ...],
    slow: tuple[str, ...],
    *,
    while_pid: int | None,
    timeout_s: float,
    **shape: Any,
) -> None:
    """Start a cluster and wait until it takes work.

    The containers of a slow host are stopped and continued about ten times a second, so that they run only one
    FACTOR-th of the time. Its NodeManager is not slowed down. `host slow` changes the factor while the cluster runs.

    A cluster runs until `stop`. With --while-pid it also ends with that process, however the process ends. A script
    gives its own id: --while-pid $$
    """
    own = {"properties": dict(map(_property, properties)), "slow": dict(map(_slow, slow))}
    cluster = _cluster(home, hadoop_directory=hadoop, **own, **shape)
    fresh = cluster.start(timeout_s, while_pid=while_pid)
    _say(f"{'started' if fresh else 'was running already'}: {len(cluster.hosts)} hosts, {cluster.rm_url}")
    if cluster.while_pid is not None:
        _say(f"it ends with process {cluster.while_pid}")
    shown = f" --home {shlex.quote(str(home))}" if home is not None else ""
    _say(f'to use it in a shell: eval "$(yarnspec minicluster env{shown})"')


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"'{text}' is not KEY=VALUE", param_hint="--property")
    return key.strip(), value


def _slow(text: str) -> tuple[str, float]:
    name, _, factor = text.partition("=")
    try:
        return name.strip(), float(factor)
    except ValueError:
        raise click.BadParameter(f"'{text}' is not HOST=FACTOR", param_hint="--slow") from None


@command.command()
@_home_option
def stop(home: Path | None) -> None:
    """End every process of the cluster; HDFS's data stays."""
    _cluster(home).stop()


@command.command()
@_home_option
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def status(home: Path | None, output: str) -> None:
    """Show the daemons, and the hosts as the ResourceManager sees them."""
    document = _cluster(home).status()
    if output == "json":
        click.echo(json.dumps(document, indent=2))
    elif output == "yaml":
        import yaml

        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
    else:
        _print_tables(document)


def _print_tables(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from yarnspec.cli.printing import plain

    console = Console(highlight=False)
    for key in ("home", "state", "resource_manager", "default_fs", "while_pid"):
        if document.get(key) is not None:
            console.print(plain(f"{key.replace('_', ' ')}: {document[key]}"), soft_wrap=True)
    for key, columns in (
        ("daemons", ("name", "state", "pid")),
        ("hosts", ("host", "state", "containers", "used_memory_mb", "used_vcores", "slow")),
    ):
        if document[key]:
            table = Table(*(column.replace("_", " ") for column in columns), box=None)
            for row in document[key]:
                table.add_row(*(plain(row[column]) for column in columns))
            console.print()
            console.print(table)


@command.command()
@_home_option
def env(home: Path | None) -> None:
    """Print the lines with which a shell uses the cluster."""
    cluster = _cluster(home)
    variables = cluster.env()
    click.echo("unset YARN_CONF_DIR")  # its files would be read beside this cluster's
    click.echo(f"export HADOOP_CONF_DIR={shlex.quote(variables['HADOOP_CONF_DIR'])}")
    click.echo(f"export JAVA_HOME={shlex.quote(variables['JAVA_HOME'])}")
    click.echo(f'export PATH={shlex.quote(str(cluster.home.bin))}:"$PATH"')


@command.group(cls=SuggestingGroup)
def host() -> None:
    """Stop and start single hosts, and slow them down."""


@host.command("stop")
@_host_argument
@_home_option
@click.option("--kill", is_flag=True, help="Kill the NodeManager and its containers, like a power failure.")
def host_stop(host_name: str, home: Path | None, kill: bool) -> None:
    """End a host's NodeManager, in order or by --kill."""
    _cluster(home).host_stop(host_name, kill=kill)


@host.command("start")
@_host_argument
@_home_option
def host_start(host_name: str, home: Path | None) -> None:
    """Bring a host back, and wait until the ResourceManager counts on it."""
    _cluster(home).host_start(host_name)


@host.command("slow")
@_host_argument
@click.argument("factor", type=float)
@_home_option
def host_slow(host_name: str, factor: float, home: Path | None) -> None:
    """Make the processes in a host's containers FACTOR times slower from now on; 1 ends this."""
    _cluster(home).host_slow(host_name, factor)


@command.group(cls=SuggestingGroup)
def rm() -> None:
    """Stop and start the ResourceManager; it keeps its applications."""


@rm.command("restart")
@_home_option
@click.option("--kill", is_flag=True, help="Kill it instead of asking it to end.")
def rm_restart(home: Path | None, kill: bool) -> None:
    """Restart the ResourceManager, and wait until the hosts are back."""
    _cluster(home).rm_restart(kill=kill)


@rm.command("stop")
@_home_option
@click.option("--kill", is_flag=True, help="Kill it instead of asking it to end.")
def rm_stop(home: Path | None, kill: bool) -> None:
    """End the ResourceManager; hosts and containers go on."""
    _cluster(home).rm_stop(kill=kill)


@rm.command("start")
@_home_option
def rm_start(home: Path | None) -> None:
    """Start the ResourceManager again, and wait until the hosts are back."""
    _cluster(home).rm_start()
