"""One application of an arm: started, warmed up, one host made slow, and the job run again and again."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from integration.bench.stragglers.arms import (
    AM_HOST,
    HOSTS,
    RECORD_S,
    SLOTS_PER_HOST,
    SLOW_HOST,
    SLOWER,
    STAGES,
    Arm,
    Workload,
)
from integration.bench.stragglers.attempts import Job, jobs
from integration.bench.stragglers.results import Sample
from integration.cluster import Cluster
from integration.quickjvm import QUICK_TEXT
from integration.submitting import ENDED, run_yarnspec, start_submit
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster

PROGRAM = Path(__file__).with_name("program.py")
# A host has room for one executor. The application master is larger than that: it fits on one host only, which is
# enlarged for it, and beside it there is room for one executor as well.
AM_VCORES = SLOTS_PER_HOST + 1
AM_HOST_VCORES = AM_VCORES + SLOTS_PER_HOST
PROPERTIES = {
    "yarn.nodemanager.delete.debug-delay-sec": "600",
    "yarn.scheduler.maximum-allocation-vcores": str(AM_HOST_VCORES),
}
READY_S = 120
JOB_S = 280
DECISIONS = ("JudgeTasks", "LaunchCopy", "WithdrawCopy", "BlockHost", "UnblockHost", "RequestContainers")


class Together:
    """Applications that run beside each other: they start one after the other, and their jobs wait for all of them.

    Several that start at once take so long on few cores that YARN gives their masters up.
    """

    def __init__(self, applications: int) -> None:
        self.turn = threading.Lock()
        self.begin = threading.Barrier(applications)


def mini_cluster(home: Path) -> MiniCluster:
    """Hosts with room for one executor each."""
    return MiniCluster(home, nodes=HOSTS, vcores=SLOTS_PER_HOST, properties=PROPERTIES)


def _enlarge(cluster: Cluster) -> None:
    """Make room for the application master on its host, unless there is; a host that comes back has its old size."""

    def reported() -> dict[str, Any] | None:
        nodes = (cluster.rest("nodes").get("nodes") or {}).get("node") or []
        mine = [each for each in nodes if each["id"].startswith(f"{cluster.hosts[AM_HOST]}:")]
        return next((each for each in mine if each["state"] == "RUNNING"), None)

    def large() -> bool:
        found = reported()
        return found is not None and found["availableVirtualCores"] + found["usedVirtualCores"] == AM_HOST_VCORES

    if large():
        return
    found = wait_for("the host of the application master", reported, 30)
    memory_mb = str(found["availMemoryMB"] + found["usedMemoryMB"])
    cluster.command("yarn", "rmadmin", "-updateNodeResource", found["id"], memory_mb, str(AM_HOST_VCORES))
    wait_for("the larger host", large, 30)


def run(cluster: Cluster, arm: Arm, orders: Sequence[Workload], directory: Path, together: Together) -> list[Sample]:
    """Start an application, run these workloads in it one after the other, and return what was measured."""
    _enlarge(cluster)
    am_host, slow = cluster.hosts[AM_HOST], cluster.hosts[SLOW_HOST] if arm.slow else ""
    executors = HOSTS - 1 if arm.excluded else HOSTS
    events = directory / "spark-events"
    events.mkdir()
    flags = [
        "--driver-memory", "512m", "--driver-cores", str(AM_VCORES), "--driver-java-options", QUICK_TEXT,
        "--executor-memory", "512m", "--executor-cores", str(SLOTS_PER_HOST), "--num-executors", str(executors),
        "--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT}", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.eventLog.enabled=true",
        # Else Spark keeps a stage off hosts that hold none of its input, whoever looks after slow ones.
        "--conf", "spark.locality.wait=0s",
        "--conf", "spark.eventLog.compress=false", "--conf", "spark.eventLog.rolling.enabled=false",
        "--conf", f"spark.eventLog.dir={events.as_uri()}", *arm.flags,
    ]  # fmt: skip
    if arm.excluded:
        flags += ["--exclude-hosts", slow]
    name = f"{arm.name}-{directory.name}-{time.time_ns() // 10**6}"
    submission = None
    try:
        with together.turn:
            submission = start_submit(cluster, name, [*flags, str(PROGRAM), str(directory), str(executors)], directory)
            ready = submission.document(directory / "ready.json", READY_S)
        if ready["am_host"] != am_host:
            raise RuntimeError(f"the application master is on {ready['am_host']}, not on {am_host}")
        with suppress(threading.BrokenBarrierError):
            together.begin.wait(READY_S * together.begin.parties)
        if slow:
            cluster.mini.host_slow(slow, SLOWER)
        done = []
        for number, workload in enumerate(orders, 1):
            # Also where nothing is learnt: after a pause as long, the first tasks take longer in every arm.
            _forget(cluster, ready["application_id"], executors, but=slow if arm.excluded else "")
            _order(directory / f"go-{number}.json", workload)
            done.append(submission.document(directory / f"done-{number}.json", JOB_S))
        (directory / "stop").touch()
        submission.wait(60).expect(0)
        decided = _decisions(cluster, ready["application_id"], directory) if arm.copies == "yarnspec" else []
    finally:
        together.begin.abort()
        if submission is not None:
            submission.stop()
        left = cluster.application_named(name)
        if left and cluster.application(left)["state"] not in ENDED:
            run_yarnspec(cluster, "kill", left)
        if slow:
            cluster.mini.host_slow(slow, 1)
    found = {job.description: job for job in jobs(next(events.iterdir()))}
    return [
        _sample(
            arm,
            workload,
            done[number - 1],
            found[f"repeat {number}"],
            am_host=am_host,
            slow=slow,
            decided=decided,
            progress=directory / f"progress-{number}",
        )
        for number, workload in enumerate(orders, 1)
    ]


def _order(path: Path, workload: Workload) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps({"tasks": workload.tasks, "records": workload.records, "stages": STAGES}))
    scratch.rename(path)


def _forget(cluster: Cluster, application: str, executors: int, *, but: str) -> None:
    """Begin anew: no other host blocked, nothing known of any, not from the warm-up either, no container more."""
    for host in cluster.hosts:
        if host != but:
            run_yarnspec(cluster, "hosts", application, "unblock", host)
    wait_for("the containers of the start", lambda: len(cluster.containers(application)) == executors + 1, 60)


def _decisions(cluster: Cluster, application: str, directory: Path) -> list[tuple[int, str]]:
    events = run_yarnspec(cluster, "events", application, "-o", "json").expect(0)
    (directory / "events.jsonl").write_text(events.stdout)
    records = events.lines
    return [(record["time_ms"], record["type"]) for record in records if record["type"] in DECISIONS]


def _sample(
    arm: Arm,
    workload: Workload,
    done: dict[str, Any],
    job: Job,
    *,
    am_host: str,
    slow: str,
    decided: list[tuple[int, str]],
    progress: Path,
) -> Sample:
    copies = [attempt for attempt in job.attempts if attempt.copy]
    slowdown = _slowdown(progress)
    if arm.excluded and slow in slowdown:
        raise RuntimeError(f"a task ran on {slow}, which was to be left out")
    return Sample(
        arm=arm.name,
        workload=workload.name,
        seconds=round(done["seconds"], 3),
        right=done["right"],
        slot_seconds=round(sum(attempt.seconds for attempt in job.attempts), 3),
        executor_seconds=round(job.executor_seconds, 3),
        attempts=len(job.attempts),
        copies=len(copies),
        copies_won=sum(copy.won for copy in copies),
        am_host=am_host,
        slow_host=slow,
        slowdown=slowdown,
        decided=dict(Counter(kind for at_ms, kind in decided if job.begun_ms <= at_ms <= job.ended_ms)),
    )


def _slowdown(progress: Path) -> dict[str, float]:
    """How long a wait took on each host, as the tasks themselves noted it, those that were killed too."""
    waits: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for path in progress.iterdir():
        lines = path.read_text().splitlines()
        if lines:
            host = path.name.partition("-")[0]
            number, taken = lines[-1].split()
            waits[host] += int(number)
            seconds[host] += float(taken)  # type: ignore[assignment] # a Counter of floats
    return {host: round(seconds[host] / waits[host] / RECORD_S, 2) for host in sorted(waits)}
