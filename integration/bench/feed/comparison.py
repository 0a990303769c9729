"""A job of many tasks on a mini cluster, compared end by end with Spark's own event log of the same run."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

from integration.cluster import Cluster
from integration.submitting import PROGRAMS, SMALL, run_yarnspec, start_submit
from integration.taskends import difference, launches, of_spark, of_yarnspec

_JOB_S = 1200.0
_EVENTS_S = 300.0


class Comparison(NamedTuple):
    """What came of one run."""

    launches: int
    ends: int
    missing: int
    added: int
    seconds: float
    tasks_per_s: float
    negotiator_mb: float
    warnings: list[str]
    """What the status warns of, and why attempts were given up: the ends of each would be among yarnspec's."""


def compare(cluster: Cluster, tasks: int, workspace: Path) -> Comparison:
    """Run ``integration/programs/many_tasks.py`` and compare the launches and every end of a task and of a stage."""
    spark_events = workspace / "spark-events"
    spark_events.mkdir()
    flags = [
        *SMALL, "--driver-memory", "1g", "--executor-cores", "2", "--conf", "spark.task.maxFailures=2",
        "--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={spark_events.as_uri()}",
        "--conf", "spark.eventLog.compress=false", "--conf", "spark.eventLog.rolling.enabled=false",
    ]  # fmt: skip
    began = time.monotonic()
    name = f"bench-feed-{time.time_ns() // 10**6}"
    submission = start_submit(cluster, name, [*flags, str(PROGRAMS / "many_tasks.py"), str(tasks)], workspace)
    try:
        application = submission.application_id()
        peak_kb = 0
        while submission.process.poll() is None and time.monotonic() < began + _JOB_S:
            peak_kb = max(peak_kb, _negotiator_kb(cluster, application))
            time.sleep(1)
        done = submission.wait(1).expect(0)
    finally:
        submission.stop()
    seconds = time.monotonic() - began
    log = next(spark_events.iterdir())
    spark, launched = of_spark(log), launches(log)
    records = run_yarnspec(cluster, "events", application, "-o", "json", timeout_s=_EVENTS_S).expect(0).lines
    status = run_yarnspec(cluster, "status", application, "-o", "json").expect(0).document
    given_up = [record["reason"] for record in records if record["type"] in ("AbandonAttempt", "DriverLost")]
    found = difference(spark, of_yarnspec(records))
    unseen = launched - status["tasks"]["launched"]
    return Comparison(
        launches=launched,
        ends=spark.tasks.total() + spark.stages.total(),
        missing=len(found.missing) + max(0, unseen),
        added=len(found.added) + max(0, -unseen),
        seconds=seconds,
        tasks_per_s=tasks / done.lines[-1]["seconds"],
        negotiator_mb=peak_kb / 1024,
        warnings=[*status["warnings"], *given_up],
    )


def _negotiator_kb(cluster: Cluster, application: str) -> int:
    """The most memory that the negotiator's process has held so far."""
    for process in cluster.processes(application):
        if process.what == "negotiator":
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                return int(status.partition("VmHWM:")[2].split()[0])
    return 0
