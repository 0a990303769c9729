"""`make demo`: TPC-H on a YARN of four hosts on this machine with one kept out, a job with a slow one, a killed master.

Starts the cluster, puts the data into HDFS, submits through the command line that users have, and shows what came out
and where it ran. A second run finds the data where the first one left it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from integration import killed_master_demo, slow_host_demo
from integration.cluster import Cluster
from integration.processes import ENDS_WITH_US
from integration.submitting import PROGRAMS, YARNSPEC, base_environment
from integration.tpch.data import tpch_data
from integration.waiting import wait_for
from integration.watch import PlacementWatch
from yarnspec.errors import YarnspecError
from yarnspec.minicluster import MiniCluster

SCALE = 0.1
HOSTS = 4
BLOCKED = "127.0.0.4"
# A host has room for one executor and the application master, not for two executors: they spread.
HOST_MEMORY_MB = 4608
EXECUTORS = 3
QUERIES = {
    1: "pricing summary",
    3: "shipping priority",
    5: "local supplier volume",
    6: "revenue change forecast",
    10: "returned items",
    12: "shipping modes",
    13: "customer distribution",
    18: "large volume customers",
}
SUBMIT_TIMEOUT_S = 120
RUN_TIMEOUT_S = 900
INTERRUPTED = 130
CELL_CHARACTERS = 24
COLUMNS_SHOWN = 5

console = Console(highlight=False)


def main() -> int:
    """Run the demo; 0 when all gave results, and blocked, slow and dead hosts did what they should."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    mini = MiniCluster(_home(), nodes=HOSTS, memory_mb=HOST_MEMORY_MB, say=_talk)
    console.rule("[bold]yarnspec demo[/bold]")
    try:
        return _run(mini)
    except KeyboardInterrupt:
        console.print("\n[yellow]interrupted[/yellow]")
        return INTERRUPTED
    except YarnspecError as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/red] {error.message}")
        return error.exit_code
    finally:
        _step("stop the cluster", mini.stop)


def _run(mini: MiniCluster) -> int:
    _step(f"start a ResourceManager, {HOSTS} NodeManagers and HDFS", lambda: mini.start(while_pid=os.getpid()))
    cluster = Cluster(mini, _environment())
    data = _step(f"make TPC-H data, scale {SCALE:g}", lambda: tpch_data(SCALE))
    uri = _step("put the data into HDFS", lambda: _in_hdfs(cluster, data))
    name = f"tpch-demo-{os.getpid()}"
    command = [
        YARNSPEC, "submit", "--name", name, "--exclude-hosts", BLOCKED,
        "--num-executors", str(EXECUTORS), "--executor-memory", "2g", "--driver-memory", "1g",
        "--conf", "spark.sql.shuffle.partitions=6", "--conf", "spark.ui.showConsoleProgress=false",
        "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore",
        "--py-files", str(Path(__file__).parent / "tpch" / "queries.py"), str(PROGRAMS / "tpc.py"),
        uri, ",".join(map(str, QUERIES)), f"{cluster.mini.default_fs}/tpch/demo-results", f"{SCALE:g}",
    ]  # fmt: skip
    console.print(Panel(_shown(command), title="a user submits, and keeps one host out", title_align="left"))
    begun = time.monotonic()
    process = subprocess.Popen([*ENDS_WITH_US, *command], stdout=subprocess.PIPE, text=True, env=cluster.environment)
    try:
        wait_for(
            "the application", lambda: cluster.application_named(name) or process.poll() is not None, SUBMIT_TIMEOUT_S
        )
        application = cluster.application_named(name)
        if application is None:
            return process.wait(SUBMIT_TIMEOUT_S)
        with PlacementWatch(cluster, application) as watch:
            output, _ = process.communicate(timeout=RUN_TIMEOUT_S)
    finally:
        if process.poll() is None:  # we were interrupted, and the command line may not have been
            process.kill()
            process.wait(10)
    seconds = time.monotonic() - begun
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"query"')]
    _show_results(lines)
    kept_out = _show_placement(cluster, watch, application)
    console.print(
        f"{len(lines)} queries, {seconds:.1f} s from submit to the end, "
        f"{sum(line['seconds'] for line in lines):.1f} s of them in queries"
    )
    if process.returncode != 0:
        console.print(f"[red]the application failed[/red]: exit code {process.returncode}")
        return process.returncode
    faster = slow_host_demo.show(cluster, console, _step)
    resumed = killed_master_demo.show(cluster, console, _step)
    return 0 if kept_out and faster and resumed and len(lines) == len(QUERIES) else 1


def _environment() -> dict[str, str]:
    """This shell's variables without those that would lead to another cluster; its colours and width stay."""
    shell = {name: os.environ[name] for name in ("NO_COLOR", "COLUMNS") if name in os.environ}
    return {name: value for name, value in base_environment().items() if name not in {"NO_COLOR", "COLUMNS"}} | shell


def _home() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "yarnspec" / "demo"


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _talk(line: str) -> None:
    console.print(f"  [dim]{line}[/dim]")


def _step(what: str, action: Callable[[], Any]) -> Any:
    begun = time.monotonic()
    with console.status(f"{what} …"):
        result = action()
    console.print(f"[green]✓[/green] {what} [dim]{time.monotonic() - begun:.1f} s[/dim]")
    return result


def _in_hdfs(cluster: Cluster, data: Path) -> str:
    """The data's URI; it gets its name when it is whole."""
    name = f"sf{SCALE:g}"
    if name not in cluster.hdfs_list("/tpch"):
        cluster.command("hdfs", "dfs", "-rm", "-r", "-f", "-skipTrash", f"/tpch/.{name}")
        cluster.hdfs_put(data, f"/tpch/.{name}")
        cluster.command("hdfs", "dfs", "-mv", f"/tpch/.{name}", f"/tpch/{name}")
    return f"{cluster.mini.default_fs}/tpch/{name}"


def _shown(command: list[str]) -> Text:
    here = str(Path.cwd())
    words = [word.removeprefix(f"{here}/") for word in command]
    words[0] = "yarnspec"
    return Text(" ".join(words))


def _show_results(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        console.print(
            f"[bold]query {line['query']}[/bold]  {QUERIES[line['query']]}  "
            f"[cyan]{line['seconds']:.2f} s[/cyan]  [dim]{line['rows']} rows[/dim]"
        )
        table = Table(header_style="dim", box=None, padding=(0, 2, 0, 0))
        shown = line["columns"][:COLUMNS_SHOWN]
        for column in shown:
            table.add_column(column, no_wrap=True, max_width=CELL_CHARACTERS)
        left_out = len(line["columns"]) - len(shown)
        if left_out:
            table.add_column(f"and {left_out} more", style="dim")
        for row in line["head"]:
            table.add_row(*row[:COLUMNS_SHOWN])
        if line["rows"] > len(line["head"]):
            table.add_row("[dim]…[/dim]")
        console.print(Padding(table, (0, 0, 1, 2)))


def _show_placement(cluster: Cluster, watch: PlacementWatch, application: str) -> bool:
    """Where the ResourceManager placed what; True when the blocked host got nothing and the others did the work."""
    masters = {attempt["containerId"] for attempt in cluster.attempts(application)}
    places = {**cluster.launched(application), **watch.by_rest}
    console.print(f"[bold]where it ran[/bold]  {application}")
    table = Table(header_style="dim", box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for column in ("host", "container", "what ran in it"):
        table.add_column(column)
    for host in cluster.hosts:
        here = sorted(container for container, where in places.items() if where == host)
        blocked = host == BLOCKED
        for index, container in enumerate(here or ["—"]):
            role = "application master and driver" if container in masters else "executor"
            note = ("nothing: blocked" if blocked else "nothing") if not here else role
            style = "yellow" if blocked else "bold" if container in masters else ""
            table.add_row(host if index == 0 else "", container, note, style=style)
    console.print(table)
    used = {host for container, host in places.items() if container not in masters}
    none_there = BLOCKED not in places.values()
    console.print(
        f"[green]✓ none of the {len(places)} containers ran on {BLOCKED}, the blocked host[/green] "
        f"[dim](seen in the ResourceManager's REST and in the NodeManagers' logs)[/dim]"
        if none_there
        else f"[red]✗ a container ran on {BLOCKED}, the blocked host[/red]"
    )
    return none_there and bool(used)


if __name__ == "__main__":
    sys.exit(main())
