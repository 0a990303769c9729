"""When an application came how far, by the logs that both sides have: the ResourceManager's, the hosts', Spark's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from integration.bench.sides import EXECUTORS, Run, event_logs
from integration.cluster import Cluster
from integration.waiting import wait_for

STEPS = {
    "submitted": "YARN has the application",
    "am_container": "AM container runs",
    "driver": "Spark driver begins its context",
    "executor_container": "first executor container runs",
    "registered": "executors registered",
    "first_task": "first task launched",
    "command": "command ended",
}
"""What is measured, in milliseconds since the submit command was started."""

_RUNS = re.compile(r"^(\S+ \S+) .* Container (container_\w+) transitioned from SCHEDULED to RUNNING")
_EVENT_LOG_TIMEOUT_S = 10


def timeline(cluster: Cluster, run: Run, workspace: Path) -> dict[str, int]:
    """The time of each step of a run that has ended."""
    am, executors = _container_starts(cluster, run.application_id)
    log = wait_for(
        "Spark's event log", lambda: _event_log(event_logs(workspace), run.application_id), _EVENT_LOG_TIMEOUT_S
    )
    spark = _spark_times(log)
    at_ms = {
        "submitted": int(cluster.application(run.application_id)["startedTime"]),
        "am_container": am,
        "driver": spark["driver"],
        "executor_container": min(executors),
        "registered": spark["registered"],
        "first_task": spark["first_task"],
        "command": run.ended_ms,
    }
    return {step: at_ms[step] - run.began_ms for step in STEPS}


def _container_starts(cluster: Cluster, application_id: str) -> tuple[int, list[int]]:
    """When the NodeManagers saw the AM's process and the executors' processes run."""
    middle = application_id.removeprefix("application_")
    am, executors = 0, []
    for host in cluster.hosts:
        for line in cluster.mini.home.log(f"nodemanager-{host}").read_text(errors="replace").splitlines():
            found = _RUNS.match(line)
            if found is None or f"_{middle}_" not in found[2]:
                continue
            at_ms = int(datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp() * 1000)
            if found[2].endswith("_01_000001"):
                am = at_ms
            else:
                executors.append(at_ms)
    return am, executors


def _event_log(directory: Path, application_id: str) -> Path | None:
    """The event log, once Spark has closed and renamed it."""
    found = [path for path in directory.glob(f"{application_id}*") if path.suffix != ".inprogress"]
    return found[0] if found else None


def _spark_times(log: Path) -> dict[str, int]:
    driver = 0
    registered: list[int] = []
    for event in _events(log):
        match event["Event"]:
            case "SparkListenerApplicationStart":
                driver = int(event["Timestamp"])
            case "SparkListenerExecutorAdded":
                registered.append(int(event["Timestamp"]))
            case "SparkListenerTaskStart":
                last = max(registered[:EXECUTORS])
                return {"driver": driver, "registered": last, "first_task": int(event["Task Info"]["Launch Time"])}
    raise ValueError(f"no task in {log}")


def _events(log: Path) -> Iterator[dict[str, Any]]:
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
