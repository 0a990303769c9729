"""`python -m integration.bench placing`: where executors and tasks go beside Spark on YARN, and what that does to jobs.

Both sides submit the same program by turns: 8 executors on 4 hosts, stages of equal tasks of which a half begins while
the other half runs (``integration/programs/equal.py``). There are as many tasks as executors: who heeds what each has
to do gives each of them one. A host has two processors for such tasks: with three of them it works no faster than with
two.
Uneven is the largest number of executors on a host, or of tasks on an executor, divided by the mean rounded up.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from integration.bench.ratio import paired_ratio
from integration.bench.sides import SIDES, Side, run
from integration.cluster import Cluster
from integration.submitting import PROGRAMS, base_environment
from yarnspec.minicluster import MiniCluster

HOSTS, EXECUTORS, CORES = 4, 8, 2
TASKS, STAGES = EXECUTORS, 4
REPEATS = 5
TIMEOUT_S = 400
SIZES = (
    "--num-executors", str(EXECUTORS), "--executor-cores", str(CORES), "--executor-memory", "512m",
    "--driver-memory", "512m",
)  # fmt: skip
AIM_UNEVEN, AIM_JOB, AIM_THERE = 1.0, 1.0, 1.05
"""Where Spark's placement is uneven, the stages' time is to be below the aim."""


class Placed(msgspec.Struct, frozen=True):
    """One run: how uneven, how long the stages took together, and when all executors were there, in seconds."""

    containers: float
    tasks: float
    job_s: float
    there_s: float
    hosts: tuple[int, ...]

    @property
    def uneven(self) -> bool:
        """Whether some host or executor had more than it need have."""
        return max(self.containers, self.tasks) > AIM_UNEVEN


def measure(console: Console, repeats: int = REPEATS) -> bool:
    """Run the pairs and print the table; whether all aims are met."""
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-"))
    found: dict[Side, list[Placed]] = {side: [] for side in SIDES}
    try:
        with MiniCluster(workspace / "cluster", nodes=HOSTS) as mini:
            cluster = Cluster(mini, base_environment())
            for number in range(repeats + 1):
                for side in SIDES:
                    placed = _one(cluster, side, f"placing-{side}-{number}", workspace)
                    console.print(f"{number}/{repeats} {side}: {placed}" + ("" if number else " (warms up)"))
                    if number:
                        found[side].append(placed)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return _told(console, found)


def _one(cluster: Cluster, side: Side, name: str, workspace: Path) -> Placed:
    locks, output = workspace / f"{name}-locks", workspace / f"{name}.json"
    locks.mkdir()
    arguments = [str(EXECUTORS), str(TASKS), str(STAGES), str(locks), str(output)]
    program = PROGRAMS / "equal.py"
    done = run(
        side, cluster, program, arguments, name=name, workspace=workspace, timeout_s=TIMEOUT_S, sizes=SIZES
    )  # fmt: skip
    told: dict[str, Any] = json.loads(output.read_text())
    stages = told["stages"]
    return Placed(
        containers=max(told["hosts"].values()) / math.ceil(EXECUTORS / HOSTS),
        tasks=statistics.mean(max(one["executors"]) / math.ceil(TASKS / EXECUTORS) for one in stages),
        job_s=sum(one["ms"] for one in stages) / 1000,
        there_s=(told["there_ms"] - done.began_ms) / 1000,
        hosts=tuple(sorted(told["hosts"].values(), reverse=True)),
    )


def _told(console: Console, found: dict[Side, list[Placed]]) -> bool:
    table = Table(title=f"{EXECUTORS} executors on {HOSTS} hosts, {STAGES} stages of {TASKS} equal tasks in two halves")
    for heading in ("", *SIDES, "ratio [95 %]", "aim"):
        table.add_column(heading)
    met = True
    for field, words, aim in (
        ("containers", "executors on a host", AIM_UNEVEN),
        ("tasks", "tasks on an executor", AIM_UNEVEN),
    ):
        values = {side: [getattr(one, field) for one in found[side]] for side in SIDES}
        met &= statistics.median(values["yarnspec"]) <= aim
        table.add_row(f"uneven: {words}", *(_spread(values[side]) for side in SIDES), "", f"{aim:g}")
    for field, words, aim in (
        ("job_s", "the stages, s", AIM_JOB),
        ("there_s", "until all executors are there, s", AIM_THERE),
    ):
        values = {side: [getattr(one, field) for one in found[side]] for side in SIDES}
        ratio = paired_ratio(values["yarnspec"], values["spark-submit"])
        met &= round(ratio.value, 2) <= aim
        table.add_row(words, *(_spread(values[side]) for side in SIDES), str(ratio), f"≤ {aim:g}")
    uneven = [pair for pair in zip(found["spark-submit"], found["yarnspec"], strict=True) if pair[0].uneven]
    if uneven:
        jobs = [[one.job_s for one in side] for side in zip(*uneven, strict=True)]
        ratio = paired_ratio(jobs[1], jobs[0])
        met &= round(ratio.value, 2) < AIM_JOB
        words = f"the stages, s, in {len(uneven)} pairs where Spark's placement is uneven"
        table.add_row(words, *map(_spread, jobs), str(ratio), f"< {AIM_JOB:g}")
    console.print(table)
    return met


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"
