"""The programs on a mini cluster: recorded on healthy hosts, or run beside a really slow one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from integration.bench.detection.programs import TIMES
from integration.bench.detection.recordings import Run, read_log
from integration.cluster import Cluster
from integration.quickjvm import QUICK_TEXT
from integration.submitting import run_yarnspec, start_submit
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster

PROGRAM = Path(__file__).with_name("programs.py")
HOSTS = 4
SLOTS = 2
PROPERTIES = {"yarn.nodemanager.delete.debug-delay-sec": "60"}
ENDS_S = 280


class RealRun(msgspec.Struct, frozen=True, kw_only=True):
    """What yarnspec did beside a really slow host."""

    kind: str
    slow_host: str
    blocked: dict[str, list[str]]
    """Host → the levels on which it was blocked for being slow."""

    @property
    def right(self) -> bool:
        """The slow host was blocked, and no other; that a task alone was kept off its host says nothing of the host."""
        return [host for host, levels in self.blocked.items() if set(levels) != {"task"}] == [self.slow_host]


def mini_cluster(home: Path) -> MiniCluster:
    """Four hosts; an executor and the application master fit on one, two executors do not."""
    return MiniCluster(home, nodes=HOSTS, vcores=SLOTS + 1, properties=PROPERTIES)


def record(cluster: Cluster, kind: str, workspace: Path) -> Run:
    """Run a program on healthy hosts without speculation, and read its event log."""
    events = workspace / f"events-{kind}"
    events.mkdir()
    log = (
        "--set", "speculation.enabled=false", "--conf", "spark.eventLog.enabled=true",
        "--conf", "spark.eventLog.compress=false", "--conf", "spark.eventLog.rolling.enabled=false",
        "--conf", f"spark.eventLog.dir={events.as_uri()}",
    )  # fmt: skip
    _run(cluster, kind, TIMES, options=log, workspace=workspace, meanwhile=lambda _: None)
    return read_log(kind, next(events.iterdir()))


def beside_slow_host(cluster: Cluster, kind: str, factor: float, times: int, workspace: Path) -> RealRun:
    """Run a program with yarnspec as shipped, one host made slow once the executors are there."""
    slow: list[str] = []

    def slow_down(application: str) -> None:
        wait_for("the executors", lambda: len(cluster.containers(application)) == HOSTS + 1, 90)
        am = cluster.attempts(application)[0]["containerId"]
        am_host = cluster.containers(application)[am]
        slow.append(next(host for host in cluster.hosts[::-1] if host != am_host))
        cluster.mini.host_slow(slow[0], factor)

    try:
        application = _run(cluster, kind, times, options=(), workspace=workspace, meanwhile=slow_down)
    finally:
        for host in slow:
            cluster.mini.host_slow(host, 1)
    blocked: dict[str, list[str]] = {}
    records = run_yarnspec(cluster, "events", application, "-o", "json", "--type", "BlockHost").expect(0).lines
    for each in records:
        if each["cause"] == "slow":
            blocked.setdefault(each["host"], []).append(each["level"])
    return RealRun(kind=kind, slow_host=slow[0], blocked=blocked)


def _run(
    cluster: Cluster,
    kind: str,
    times: int,
    *,
    options: tuple[str, ...],
    workspace: Path,
    meanwhile: Callable[[str], None],
) -> str:
    name = f"detection-{kind}-{time.time_ns() // 10**6}"
    flags = [
        "--driver-memory", "512m", "--executor-memory", "640m", "--num-executors", str(HOSTS),
        "--executor-cores", str(SLOTS), "--driver-java-options", QUICK_TEXT,
        "--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT}", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.sql.adaptive.enabled=false",
        "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
        "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore", *options,
    ]  # fmt: skip
    submission = start_submit(cluster, name, [*flags, str(PROGRAM), kind, f"/bench/{name}", str(times)], workspace)
    try:
        application = submission.application_id()
        wait_for("the application master", lambda: cluster.attempts(application), 60)
        meanwhile(application)
        submission.wait(ENDS_S).expect(0)
    finally:
        submission.stop()
    return application
