"""The demo's third act: the application master is killed in the middle of a job, and the next one goes on."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from integration import faults
from integration.cluster import Cluster
from integration.lives import output_files
from integration.quickjvm import QUICK_TEXT
from integration.soak.programs import shuffles
from integration.submitting import ENDED, run_yarnspec, start_submit, write_report
from integration.waiting import wait_for

PROGRAM = Path(shuffles.__file__)
SEED = 7
EXECUTORS, SLOTS = 3, 2
MAPS = shuffles.TASKS * shuffles.STEPS
TASKS = MAPS + shuffles.TASKS
READY_S, END_S = 120, 180


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the job: what there was at the kill, and what the next attempt used again and ran."""

    application_id: str
    right: bool
    finished: int
    saved: int
    restored: int
    ran: int
    to_first_s: float


def show(cluster: Cluster, console: Console, step: Callable[[str, Callable[[], Killed]], Killed]) -> bool:
    """Kill the application master half way and show how much was kept; True when the result is right and some was."""
    console.rule("[bold]the application master is killed[/bold]")
    words = f"yarnspec submit --num-executors {EXECUTORS} job.py\nkill -9 MASTER DRIVER"
    title = f"a job of {shuffles.STEPS + 1} stages and {TASKS} tasks"
    console.print(Panel(Text(words), title=title, title_align="left"))
    run = step("run it, and kill its application master and driver half way", lambda: _run(cluster))
    console.print(f"[bold]what was kept[/bold]  {run.application_id}")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold")
    for count, what in (
        (f"{run.finished}", "map outputs on the hosts at the kill"),
        (f"{run.saved}", "of them in the journal"),
        (f"{run.restored}", "of those found by the next attempt, checked and used again"),
        (f"{run.ran}", f"of {TASKS} tasks run by it, the first one {run.to_first_s:.1f} s after the kill"),
    ):
        table.add_row(count, what)
    console.print(table)
    good = run.right and run.restored > 0 and run.ran == TASKS - run.restored
    console.print(
        f"[green]✓ the result is right, and {run.restored} tasks did not run again[/green]"
        if good
        else f"[red]✗ the result is {'right' if run.right else 'wrong'}, {run.restored} outputs were used again[/red]"
    )
    console.print(f"its page: {write_report(cluster, run.application_id, 'killed-master')}")
    return good


def _run(cluster: Cluster) -> Killed:
    name = f"killed-master-demo-{os.getpid()}"
    flags = [
        "--num-executors", str(EXECUTORS), "--executor-cores", str(SLOTS), "--executor-memory", "1g",
        "--driver-memory", "512m", "--driver-java-options", QUICK_TEXT,
        "--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT}",
        "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore",
        "--set", "speculation.enabled=false", str(PROGRAM), str(SEED),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="yarnspec-demo-") as workspace:
        submission = start_submit(cluster, name, flags, Path(workspace))
        try:
            application = submission.application_id()
            wait_for("half of the work", lambda: len(output_files(cluster, application)) >= MAPS // 2, READY_S)
            finished = len(output_files(cluster, application))
            killed_ms = time.time_ns() // 10**6
            faults.kill(faults.master(cluster, application))
            ended = submission.wait(END_S)
            recovery = run_yarnspec(cluster, "status", application, "-o", "json").document["recovery"]
            told = run_yarnspec(cluster, "events", application, "-o", "json", "--type", "TaskFinished").lines
        finally:
            submission.stop()
            left = cluster.application_named(name)
            if left and cluster.application(left)["state"] not in ENDED:
                run_yarnspec(cluster, "kill", left)
    again = [one["launch_ms"] for one in told if one["launch_ms"] > killed_ms and one["epoch"] == told[-1]["epoch"]]
    return Killed(
        application_id=application,
        right=ended.lines[-1:] == [{"result": shuffles.expected(SEED)}],
        finished=finished,
        saved=recovery["saved_outputs"],
        restored=recovery["restored_outputs"],
        ran=len(again),
        to_first_s=(min(again, default=killed_ms) - killed_ms) / 1000,
    )
