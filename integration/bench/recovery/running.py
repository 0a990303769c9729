"""The applications of the bench: one where something is killed in the middle of a job, and two that are left alone."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from integration import faults
from integration.bench.recovery import work
from integration.bench.recovery.results import Kill, Pair, Way
from integration.bench.sides import beginning
from integration.cluster import Cluster
from integration.quickjvm import QUICK_TEXT
from integration.submitting import ENDED, Submission, run_yarnspec, start_submit
from integration.waiting import wait_for

PROGRAM = Path(__file__).with_name("program.py")
HOSTS, SLOTS = 4, 2
# An executor on each host, and each of them has two slots.
TASKS, RECORDS, STAGES = 24, 200, 3
PAIR_TASKS = 72
"""Of each stage of a job without a kill, which takes about a minute: what is done once a job weighs as it does then."""
FLUSH_MS = 1_000
READY_S, JOB_S, END_S = 180, 300, 120
POLL_S = 0.05


def kill(cluster: Cluster, directory: Path, *, way: Way, share: float) -> Kill:
    """Run the job, kill when so much of its work is done, and let it finish in what comes next."""
    begun = time.monotonic()
    with _application(cluster, directory, executors=0, live=way is Way.LIVE, spark=way is Way.SPARK) as submission:
        _order(directory, 1, TASKS)
        application = submission.application_id()
        every = TASKS * RECORDS * STAGES

        def done() -> bool:
            submission.check_running()
            return sum(one.records for one in _worked(directory)) >= share * every

        wait_for(f"{share:.0%} of the work", done, READY_S, POLL_S)
        victims = faults.master(cluster, application) if way.master else faults.executors(cluster, application)[:1]
        killed_ms = time.time_ns() // 10**6
        faults.kill(victims)
        answer = submission.document(directory / "done-1.json", JOB_S)
        (directory / "stop").touch()
        submission.wait(END_S).expect(0)
        total_s = time.monotonic() - begun
        told = {} if way is Way.SPARK else _kept(cluster, application)
    worked = _worked(directory)
    cost = (
        work.twice(worked, killed_ms=killed_ms, records=RECORDS, flush_ms=FLUSH_MS)
        if way.master
        else work.with_executor(worked, killed_ms=killed_ms, records=RECORDS)
    )
    return Kill(
        way=way, share=share, total_s=total_s, right=answer["right"], twice=cost,
        saved=told.get("saved_outputs", 0), restored=told.get("restored_outputs", 0),
    )  # fmt: skip


def pairs(cluster: Cluster, directory: Path, wanted: int, tasks: int) -> Iterator[Pair]:
    """Start an application with recovery and one without, and run the job in both by turns: so many tasks a stage."""
    sides = (directory / "with", directory / "without")
    with contextlib.ExitStack() as stack:
        for side in sides:
            side.mkdir()
            recovery = side.name == "with"
            submission = stack.enter_context(_application(cluster, side, executors=HOSTS, recovery=recovery))
            wait_for(f"{side.name}: executors", (side / "ready").exists, READY_S)
            stack.callback(submission.wait, END_S)
            stack.callback((side / "stop").touch)
        for number in range(1, wanted + 1):
            took: dict[str, float] = {}
            right = True
            # By turns: who comes second may find the machine in another state.
            for side in sides if number % 2 else sides[::-1]:
                _order(side, number, tasks)
                done = side / f"done-{number}.json"
                wait_for(f"job {number}", done.exists, JOB_S)
                answer = json.loads(done.read_text())
                took[side.name] = answer["seconds"]
                right &= answer["right"]
            yield Pair(with_s=took["with"], without_s=took["without"], right=right)


def _kept(cluster: Cluster, application: str) -> dict[str, int]:
    told: dict[str, int] = run_yarnspec(cluster, "status", application, "-o", "json").expect(0).document["recovery"]
    return told


@contextlib.contextmanager
def _application(
    cluster: Cluster, directory: Path, *, executors: int, recovery: bool = True, live: bool = False, spark: bool = False
) -> Iterator[Submission]:
    """``spark``: spark-submit's own."""
    flags = [
        "--driver-memory", "512m", "--driver-java-options", QUICK_TEXT, "--executor-memory", "512m",
        "--executor-cores", str(SLOTS), "--num-executors", str(HOSTS),
        "--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT}", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.locality.wait=0s",
        "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
        "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore",
    ]  # fmt: skip
    ours = [
        "--set", "speculation.enabled=false", "--set", f"recovery.enabled={str(recovery).lower()}",
        "--set", f"recovery.live_adoption={str(live).lower()}", "--set", f"recovery.flush_interval={FLUSH_MS}ms",
    ]  # fmt: skip
    name = f"recovery-bench-{time.time_ns() // 10**6}"
    arguments = [*flags, *([] if spark else ours), str(PROGRAM), str(directory), str(executors)]
    submission = start_submit(cluster, name, arguments, directory, beginning("spark-submit" if spark else "yarnspec"))
    try:
        yield submission
    finally:
        submission.stop()
        left = cluster.application_named(name)
        if left and cluster.application(left)["state"] not in ENDED:
            run_yarnspec(cluster, "kill", left)


def _worked(directory: Path) -> list[work.Worked]:
    progress = directory / "progress"
    return work.read(progress) if progress.exists() else []


def _order(directory: Path, number: int, tasks: int) -> None:
    path = directory / f"go-{number}.json"
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps({"tasks": tasks, "records": RECORDS, "stages": STAGES}))
    scratch.rename(path)
