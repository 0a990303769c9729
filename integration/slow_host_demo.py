"""The demo's second act: the same job beside a slow host, without speculation and as yarnspec is shipped."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from integration.cluster import Cluster
from integration.quickjvm import QUICK_TEXT
from integration.submitting import ENDED, run_yarnspec, start_submit, write_report

PROGRAM = Path(__file__).parent / "bench" / "stragglers" / "program.py"
SLOWER = 10
EXECUTORS = 4
SLOTS = 2
STAGES, TASKS, RECORDS = 3, 8, 100
READY_S, JOB_S, END_S = 120, 120, 60
BAR_CHARACTERS = 50


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One run: how long the job took, which host was slow, and what was decided meanwhile."""

    application_id: str
    seconds: float
    slow_host: str
    right: bool
    begun_ms: int
    events: tuple[dict[str, Any], ...]


def show(cluster: Cluster, console: Console, step: Callable[[str, Callable[[], Shown]], Shown]) -> bool:
    """Run the job twice and show what yarnspec made of the slow host; True when it was the quicker one and right."""
    console.rule("[bold]one host ten times slower[/bold]")
    words = (
        f"yarnspec submit --num-executors {EXECUTORS} --executor-cores {SLOTS} job.py\n"
        f"yarnspec minicluster host slow HOST {SLOWER}"
    )
    title = f"a job of {STAGES} stages, {TASKS} tasks of {RECORDS / 100:g} s each, and a host that becomes slow"
    console.print(Panel(Text(words), title=title, title_align="left"))
    with tempfile.TemporaryDirectory(prefix="yarnspec-demo-") as workspace:
        without = step(
            "run it without speculation (--set speculation.enabled=false)",
            lambda: _run(cluster, Path(workspace) / "without", ["--set", "speculation.enabled=false"]),
        )
        shipped = step("run it as yarnspec is shipped", lambda: _run(cluster, Path(workspace) / "shipped", []))
    _show_story(shipped, console)
    _show_times(without, shipped, console)
    console.print(f"its page: {write_report(cluster, shipped.application_id, 'slow-host')}")
    return without.right and shipped.right and shipped.seconds < without.seconds


def _run(cluster: Cluster, directory: Path, options: list[str]) -> Shown:
    directory.mkdir()
    flags = [
        "--num-executors", str(EXECUTORS), "--executor-cores", str(SLOTS), "--executor-memory", "2g",
        "--driver-memory", "512m", "--driver-java-options", QUICK_TEXT, "--conf", "spark.locality.wait=0s",
        "--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT}", "--conf", "spark.ui.showConsoleProgress=false",
        "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore", *options,
    ]  # fmt: skip
    name = f"slow-host-demo-{directory.name}-{os.getpid()}"
    submission = start_submit(cluster, name, [*flags, str(PROGRAM), str(directory), str(EXECUTORS)], directory)
    slow = ""
    try:
        ready = submission.document(directory / "ready.json", READY_S)
        slow = next(host for host in cluster.hosts[::-1] if host != ready["am_host"])
        cluster.mini.host_slow(slow, SLOWER)
        order = {"tasks": TASKS, "records": RECORDS, "stages": STAGES}
        (directory / "order").write_text(json.dumps(order))
        (directory / "order").rename(directory / "go-1.json")
        done = submission.document(directory / "done-1.json", JOB_S)
        (directory / "stop").touch()
        submission.wait(END_S)
        events = run_yarnspec(cluster, "events", ready["application_id"], "-o", "json").lines
    finally:
        submission.stop()
        left = cluster.application_named(name)
        if left and cluster.application(left)["state"] not in ENDED:
            run_yarnspec(cluster, "kill", left)
        if slow:
            cluster.mini.host_slow(slow, 1)
    begun_ms = max((each["time_ms"] for each in events if each["type"] == "JobStarted"), default=0)
    return Shown(
        application_id=ready["application_id"], seconds=done["seconds"], slow_host=slow, right=done["right"],
        begun_ms=begun_ms, events=tuple(each for each in events if each["time_ms"] >= begun_ms),
    )  # fmt: skip


def _show_story(run: Shown, console: Console) -> None:
    table = Table(header_style="dim", box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("what yarnspec did", no_wrap=True)
    table.add_column("because")
    for each in run.events:
        what = _words(each)
        if what:
            table.add_row(f"{(each['time_ms'] - run.begun_ms) / 1000:.1f} s", what, Text(each["reason"], style="dim"))
    console.print(f"[bold]what was detected, blocked and copied[/bold]  {run.application_id}; {run.slow_host} is slow")
    console.print(table)
    ledger = next((each["ledger"] for each in reversed(run.events) if each.get("ledger")), None)
    if ledger:
        console.print(
            f"{ledger['copies_launched']} copies, {ledger['copies_won']} of them won; about "
            f"{(ledger['gained_ms'] or 0) / 1000:.1f} s of tasks' time gained, "
            f"{(ledger['wasted_ms'] or 0) / 1000:.1f} s of copies wasted"
        )


def _words(event: dict[str, Any]) -> str:
    match event["type"]:
        case "JudgeTasks":
            return f"found {len(event['verdicts'])} slow tasks"
        case "BlockHost" if event["level"] in ("stage", "application"):
            return f"blocked {event['host']} for the {event['level']}"
        case "LaunchCopy":
            return f"copied task {event['stage']}.{event['index']}"
        case "UnblockHost" if event["level"] == "application":
            return f"let {event['host']} in again"
        case _:
            return ""


def _show_times(without: Shown, shipped: Shown, console: Console) -> None:
    longest = max(without.seconds, shipped.seconds)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for words, run, style in (("without", without, "yellow"), ("yarnspec as shipped", shipped, "green")):
        bar = Text("█" * max(1, round(run.seconds / longest * BAR_CHARACTERS)), style=style)
        table.add_row(words, Text(f"{run.seconds:.1f} s", style="bold"), bar)
    console.print(table)
    if shipped.seconds < without.seconds:
        console.print(f"[green]✓ {without.seconds / shipped.seconds:.1f} times quicker, and the same result[/green]")
    else:
        console.print("[red]✗ it was not quicker[/red]")
