"""`python -m integration.bench late-host`: when a job starts whose last host comes late, and how its first wave lies.

Four hosts, of which one starts some seconds after the submit; 8 executors, two on a host. Spark waits for 80 % of the
executors, yarnspec for all of them or for 6 and its stabilization (``resources.submission_stabilization``).
The program is that of the bench `placing`, but does not wait for its executors itself. The bench asks yarnspec also how
many rescales the late executors were.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import tempfile
import threading
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console
from rich.table import Table

from integration.bench.placing import EXECUTORS, HOSTS, SIZES, TASKS, TIMEOUT_S
from integration.bench.ratio import paired_ratio
from integration.bench.sides import Side, run
from integration.cluster import Cluster
from integration.submitting import PROGRAMS, base_environment, run_yarnspec
from yarnspec.minicluster import MiniCluster

Arm = Literal["spark-submit", "yarnspec", "yarnspec, 6 to 8"]
ARMS: dict[Arm, tuple[str, ...]] = {
    "spark-submit": (),
    "yarnspec": (),
    "yarnspec, 6 to 8": ("--min-executors", "6", "--max-executors", "8"),
}
STAGES = 4
LATE_S = 8.0
REPEATS = 3
# Two executors fill a host, so that none finds room elsewhere.
MEMORY = ("--executor-memory", "2g")


class Started(msgspec.Struct, frozen=True):
    """One run: how uneven the first stage's tasks lay, the stages' time, and how many rescales there were."""

    first_wave: float
    job_s: float
    rescales: int


def measure(console: Console, repeats: int = REPEATS) -> bool:
    """Run the arms by turns, and print the table; whether each burst of arrivals was one rescale."""
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-"))
    found: dict[Arm, list[Started]] = {arm: [] for arm in ARMS}
    try:
        with MiniCluster(workspace / "cluster", nodes=HOSTS) as mini:
            cluster = Cluster(mini, base_environment())
            for number in range(repeats):
                for arm in ARMS:
                    started = _one(cluster, arm, f"late-{len(found[arm])}-{number}", workspace)
                    console.print(f"{number + 1}/{repeats} {arm}: {started}")
                    found[arm].append(started)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return _told(console, found)


def _one(cluster: Cluster, arm: Arm, name: str, workspace: Path) -> Started:
    name = f"{name}-{arm.replace(', ', '-').replace(' ', '-')}"
    locks, output = workspace / f"{name}-locks", workspace / f"{name}.json"
    locks.mkdir()
    late = cluster.hosts[-1]
    cluster.mini.host_stop(late)
    timer = threading.Timer(LATE_S, cluster.mini.host_start, [late])
    timer.start()
    side: Side = "spark-submit" if arm == "spark-submit" else "yarnspec"
    arguments = ["0", str(TASKS), str(STAGES), str(locks), str(output)]
    try:
        done = run(
            side, cluster, PROGRAMS / "equal.py", arguments, name=name, workspace=workspace, timeout_s=TIMEOUT_S,
            sizes=(*SIZES, *MEMORY, *ARMS[arm]),
        )  # fmt: skip
    finally:
        timer.join()
    stages = json.loads(output.read_text())["stages"]
    rescales = 0
    if side == "yarnspec":
        told = run_yarnspec(cluster, "events", done.application_id, "--type", "BeginRescale", "-o", "json").expect(0)
        rescales = len(told.lines)
    return Started(
        first_wave=max(stages[0]["hosts"]) / math.ceil(TASKS / HOSTS),
        job_s=sum(one["ms"] for one in stages) / 1000,
        rescales=rescales,
    )


def _told(console: Console, found: dict[Arm, list[Started]]) -> bool:
    table = Table(title=f"{EXECUTORS} executors, the last of {HOSTS} hosts starts {LATE_S:g} s late")
    for heading in ("", "first wave: uneven", "the stages, s", "to spark-submit", "rescales at most"):
        table.add_column(heading)
    theirs = [one.job_s for one in found["spark-submit"]]
    for arm, runs in found.items():
        jobs = [one.job_s for one in runs]
        table.add_row(
            arm,
            f"{statistics.median(one.first_wave for one in runs):.2f}",
            f"{statistics.median(jobs):.2f} ({min(jobs):.2f}-{max(jobs):.2f})",
            "" if arm == "spark-submit" else str(paired_ratio(jobs, theirs)),
            str(max(one.rescales for one in runs)),
        )
    console.print(table)
    return all(one.rescales <= 1 for runs in found.values() for one in runs)
