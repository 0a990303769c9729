"""The demo's third act: the application master is killed in the middle of a job, and the next one goes on."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from integration.cluster import Cluster
from integration.soak.programs import shuffles
from integration.submitting import ENDED, run_yarnspec, start_submit
from integration.waiting import wait_for

PROGRAM = Path(__file__).parent / "soak" / "programs" / "shuffles.py"
SEED = 7
EXECUTORS = 3
TASKS = shuffles.TASKS * (shuffles.STEPS + 1)
READY_S, END_S, POLL_S = 120, 180, 0.5
QUIET_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the job: tasks that ran in each attempt, and what the second one had not to do again."""

    application_id: str
    right: bool
    first: int
    second: int
    saved: int
    restored: int


def show(cluster: Cluster, console: Console, step: Callable[[str, Callable[[], Killed]], Killed]) -> bool:
    """Kill the application master half way and show how much was kept; True when the result is right and some was."""
    console.rule("[bold]the application master is killed[/bold]")
    words = (
        f"yarnspec submit --num-executors {EXECUTORS} --set recovery.enabled=true job.py\nkill -9 APPLICATION_MASTER"
    )
    title = f"a job of {shuffles.STEPS + 1} stages, {TASKS} tasks; half of them are done"
    console.print(Panel(Text(words), title=title, title_align="left"))
    run = step("run it, and kill its master in the middle", lambda: _run(cluster))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("tasks that ended before the kill", Text(str(run.first), style="bold"))
    table.add_row("map outputs that were saved", Text(str(run.saved), style="bold"))
    table.add_row("of these used again", Text(str(run.restored), style="bold green"))
    table.add_row(f"tasks of {TASKS} that the next attempt ran", Text(str(run.second), style="bold"))
    console.print(table)
    good = run.right and run.restored > 0 and run.second == TASKS - run.restored
    console.print(
        f"[green]✓ the result is right, and {run.restored} tasks did not run again[/green]"
        if good
        else f"[red]✗ the result is {'right' if run.right else 'wrong'}, {run.restored} outputs were used again[/red]"
    )
    return good


def _run(cluster: Cluster) -> Killed:
    name = f"killed-master-demo-{os.getpid()}"
    flags = [
        "--num-executors", str(EXECUTORS), "--executor-memory", "1g", "--driver-memory", "512m",
        "--driver-java-options", QUIET_JVM, "--conf", f"spark.executor.extraJavaOptions={QUIET_JVM}",
        "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore",
        "--set", "recovery.enabled=true", str(PROGRAM), str(SEED),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="yarnspec-demo-") as workspace:
        submission = start_submit(cluster, name, flags, Path(workspace))
        try:
            application = submission.application_id()
            wait_for("half of the tasks", lambda: _done(cluster, application) >= TASKS // 2, READY_S, POLL_S)
            next(each for each in cluster.processes(application) if each.what == "skein-am").kill()
            lines = submission.wait(END_S).stdout.splitlines()
            status = run_yarnspec(cluster, "status", application, "-o", "json").document
            events = run_yarnspec(cluster, "events", application, "-o", "json").lines
        finally:
            submission.stop()
            left = cluster.application_named(name)
            if left and cluster.application(left)["state"] not in ENDED:
                run_yarnspec(cluster, "kill", left)
    return Killed(
        application_id=application,
        right=bool(lines) and json.loads(lines[-1]) == {"result": shuffles.expected(SEED)},
        first=_finished(events, 1),
        second=_finished(events, 2),
        saved=status["recovery"]["saved_outputs"],
        restored=status["recovery"]["restored_outputs"],
    )


def _done(cluster: Cluster, application: str) -> int:
    told = run_yarnspec(cluster, "status", application, "-o", "json")
    return int(told.document["tasks"]["finished"]) if told.exit_code == 0 else 0


def _finished(events: list[dict[str, Any]], epoch: int) -> int:
    ended = [one for one in events if one["type"] == "TaskFinished" and one["epoch"] == epoch]
    return sum(one["state"] == "SUCCESS" for one in ended)
