"""`python -m integration.bench late-host`: when a job starts whose last host comes late, and how its first wave lies.

Five hosts with room for one executor each; the last one comes some eight seconds after the others have given all that
they can. Spark begins with 80 % of the executors, which is without that host. yarnspec with bounds waits for the rest
as long as its stabilization takes (``resources.submission_stabilization``). The time counts from the submit to the end
of the last stage, so that the wait for executors is a part of it.

In one arm the stabilization is short, and the host starts when the first job has begun: its executor comes while the
job executes, and must be one rescale. The time of that arm is not compared.

The program is that of the bench `placing`, but does not wait for its executors itself.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console
from rich.table import Table

from integration.bench.ratio import paired_ratio
from integration.bench.sides import Side, run
from integration.cluster import Cluster
from integration.submitting import PROGRAMS, base_environment, run_yarnspec
from yarnspec.minicluster import MiniCluster

HOSTS, EXECUTORS, AT_SPARKS_RATIO = 5, 5, 4
TASKS, STAGES = 20, 10
LATE_S = 8.0
"""When YARN has the last host, about. Its NodeManager is started sooner by the time that one start took before."""
REPEATS = 3
TIMEOUT_S = 400
POLL_S = 0.3

Arm = Literal["spark-submit", "yarnspec", "yarnspec, 4 to 5", "yarnspec, 4 to 5, host comes while it executes"]
BURST: Arm = "yarnspec, 4 to 5, host comes while it executes"
_PLAIN = ("--num-executors", str(EXECUTORS))
_BOUNDS = ("--min-executors", str(AT_SPARKS_RATIO), "--max-executors", str(EXECUTORS))
ARMS: dict[Arm, tuple[str, ...]] = {
    "spark-submit": _PLAIN,
    "yarnspec": _PLAIN,
    "yarnspec, 4 to 5": _BOUNDS,
    BURST: (*_BOUNDS, "--set", "resources.submission_stabilization=1s"),
}
RESCALES: dict[Arm, tuple[int, ...]] = {
    "spark-submit": (0,),
    "yarnspec": (0,),  # Spark's own rule: nobody asked for a timeline
    "yarnspec, 4 to 5": (0, 1),  # the executor may come before the first job, or after
    BURST: (1,),
}
# One executor fills a host, but for room for an application master.
SIZES = ("--executor-cores", "2", "--executor-memory", "5000m", "--driver-memory", "512m")


class Started(msgspec.Struct, frozen=True):
    """One run: how uneven the first stage's tasks lay, seconds since the submit, and how many rescales there were."""

    first_wave: float
    begun_s: float
    job_s: float
    rescales: int


def measure(console: Console, repeats: int = REPEATS) -> bool:
    """Run the arms by turns, and print the table; whether each burst of arrivals was one rescale."""
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-"))
    found: dict[Arm, list[Started]] = {arm: [] for arm in ARMS}
    try:
        with MiniCluster(workspace / "cluster", nodes=HOSTS) as mini:
            cluster = Cluster(mini, base_environment())
            late_s = max(0.0, LATE_S - _a_start_s(cluster))
            _one(cluster, "spark-submit", late_s, "late-warms-up", workspace)
            for number in range(repeats):
                for place, arm in enumerate(ARMS):
                    started = _one(cluster, arm, late_s, f"late-{number}-{place}", workspace)
                    console.print(f"{number + 1}/{repeats} {arm}: {started}")
                    found[arm].append(started)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    _tell(console, found)
    return as_expected(found)


def _a_start_s(cluster: Cluster) -> float:
    """How long the last host takes to come up."""
    cluster.mini.host_stop(cluster.hosts[-1])
    began = time.monotonic()
    cluster.mini.host_start(cluster.hosts[-1])
    return time.monotonic() - began


def _one(cluster: Cluster, arm: Arm, late_s: float, name: str, workspace: Path) -> Started:
    locks, output = workspace / f"{name}-locks", workspace / f"{name}.json"
    locks.mkdir()
    cluster.mini.host_stop(cluster.hosts[-1])
    over = threading.Event()
    due = partial(_begun, locks) if arm == BURST else partial(_full, cluster, name)
    late = threading.Thread(target=_start_late, args=(cluster, due, 0 if arm == BURST else late_s, over))
    late.start()
    side: Side = "spark-submit" if arm == "spark-submit" else "yarnspec"
    arguments = ["0", str(TASKS), str(STAGES), str(locks), str(output)]
    try:
        done = run(
            side, cluster, PROGRAMS / "equal.py", arguments, name=name, workspace=workspace, timeout_s=TIMEOUT_S,
            sizes=(*SIZES, *ARMS[arm]),
        )  # fmt: skip
    finally:
        over.set()
        late.join()
    told: dict[str, Any] = json.loads(output.read_text())
    rescales = 0
    if side == "yarnspec":
        found = run_yarnspec(cluster, "events", done.application_id, "--type", "BeginRescale", "-o", "json").expect(0)
        rescales = len(found.lines)
    return Started(
        first_wave=max(told["stages"][0]["hosts"]) / math.ceil(TASKS / HOSTS),
        begun_s=(told["there_ms"] - done.began_ms) / 1000,
        job_s=(told["ended_ms"] - done.began_ms) / 1000,
        rescales=rescales,
    )


def _start_late(cluster: Cluster, due: Callable[[], bool], late_s: float, over: threading.Event) -> None:
    """Start the last host so many seconds after it is ``due``, or when the run is ``over``."""
    while not due() and not over.wait(POLL_S):
        pass
    over.wait(late_s)
    cluster.mini.host_start(cluster.hosts[-1])


def _full(cluster: Cluster, name: str) -> bool:
    """Whether the other hosts have given as many containers as they have room for."""
    containers = AT_SPARKS_RATIO + 1  # and the application master's
    application = cluster.application_named(name)
    return application is not None and cluster.application(application).get("runningContainers", 0) >= containers


def _begun(locks: Path) -> bool:
    """Whether the first job has begun: its tasks leave files."""
    return any(locks.glob("0-first-*"))


def as_expected(found: dict[Arm, list[Started]]) -> bool:
    """Whether each run had as many rescales as its arm may have."""
    return all(one.rescales in RESCALES[arm] for arm, runs in found.items() for one in runs)


def _tell(console: Console, found: dict[Arm, list[Started]]) -> None:
    table = Table(title=f"{EXECUTORS} executors, the last of {HOSTS} hosts comes late; seconds since the submit")
    for heading in (
        "",
        "first wave: uneven",
        "tasks may start, s",
        "last stage ends, s",
        "to spark-submit",
        "rescales",
    ):
        table.add_column(heading)
    theirs = [one.job_s for one in found["spark-submit"]]
    for arm, runs in found.items():
        table.add_row(
            arm,
            f"{statistics.median(one.first_wave for one in runs):.2f}",
            _spread([one.begun_s for one in runs]),
            _spread([one.job_s for one in runs]),
            "" if arm in ("spark-submit", BURST) else str(paired_ratio([one.job_s for one in runs], theirs)),
            ", ".join(str(one.rescales) for one in runs),
        )
    console.print(table)


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"
