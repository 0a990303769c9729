"""One application of an arm: started, warmed up, one host made slow, and the job run again and again."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integration.bench.stragglers.arms import HOSTS, RECORD_S, SLOTS_PER_HOST, SLOWER, STAGES, Arm, Workload
from integration.bench.stragglers.attempts import Job, jobs
from integration.bench.stragglers.results import Sample
from integration.cluster import Cluster
from integration.submitting import ENDED, run_yarnspec, start_submit
from integration.waiting import wait_for

PROGRAM = Path(__file__).with_name("program.py")
# No host has room for two executors, and the application master fits beside one.
PROPERTIES = {"yarn.nodemanager.delete.debug-delay-sec": "600"}
VCORES = SLOTS_PER_HOST + 1
READY_S = 120
JOB_S = 280
QUIET_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
DECISIONS = ("JudgeTasks", "LaunchCopy", "WithdrawCopy", "BlockHost", "UnblockHost", "RequestContainers")


def run(cluster: Cluster, arm: Arm, orders: Sequence[Workload], directory: Path) -> list[Sample]:
    """Start an application, run these workloads in it one after the other, and return what was measured."""
    directory.mkdir(parents=True)
    candidates = cluster.hosts[::-1]
    executors = HOSTS - 1 if arm.excluded else HOSTS
    events = directory / "spark-events"
    events.mkdir()
    flags = [
        "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", str(executors),
        "--executor-cores", str(SLOTS_PER_HOST), "--driver-java-options", QUIET_JVM,
        "--conf", f"spark.executor.extraJavaOptions={QUIET_JVM}", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.eventLog.enabled=true",
        # Else Spark keeps a stage off hosts that hold none of its input, whoever looks after slow ones.
        "--conf", "spark.locality.wait=0s",
        "--conf", "spark.eventLog.compress=false", "--conf", "spark.eventLog.rolling.enabled=false",
        "--conf", f"spark.eventLog.dir={events.as_uri()}", *arm.flags,
    ]  # fmt: skip
    if arm.excluded:
        flags += ["--exclude-hosts", candidates[0]]
    name = f"{arm.name}-{directory.name}-{time.time_ns() // 10**6}"
    submission = start_submit(cluster, name, [*flags, str(PROGRAM), str(directory), str(executors)], directory)
    slow = ""
    try:
        ready = submission.document(directory / "ready.json", READY_S)
        slow = next(host for host in candidates if host != ready["am_host"]) if arm.slow else ""
        if slow:
            cluster.mini.host_slow(slow, SLOWER)
        done = []
        for number, workload in enumerate(orders, 1):
            _order(directory / f"go-{number}.json", workload)
            done.append(submission.document(directory / f"done-{number}.json", JOB_S))
            if arm.copies == "yarnspec":
                _forget(cluster, ready["application_id"], slow, executors)
        (directory / "stop").touch()
        submission.wait(60).expect(0)
        decided = _decisions(cluster, ready["application_id"], directory) if arm.copies == "yarnspec" else []
    finally:
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


def _forget(cluster: Cluster, application: str, slow: str, executors: int) -> None:
    """Begin anew: no host blocked, nothing known of the slow one, no container more than at the start."""
    for host in [slow] if slow else cluster.hosts:
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
    slow: str,
    decided: list[tuple[int, str]],
    progress: Path,
) -> Sample:
    copies = [attempt for attempt in job.attempts if attempt.copy]
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
        slow_host=slow,
        slowdown=_slowdown(progress),
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
