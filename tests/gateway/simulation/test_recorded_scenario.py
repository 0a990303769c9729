"""Scenarios out of Spark's event logs: what the job read, and what it ran on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from yarnspec.feed.sparklog import events
from yarnspec.gateway.simulation.recorded_scenario import scenario_text
from yarnspec.gateway.simulation.scenario_file import read_scenario
from yarnspec.simulate.whatif.plan import SimulationPlan
from yarnspec.simulate.whatif.scenario_run import simulate


class Log:
    """A log as Spark writes it. Tasks are given as begin, end and executor."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[tuple[int, dict[str, Any]]] = []
        self._tasks = 0

    def job(self, job: int, at_ms: int, parents: dict[int, list[int]]) -> None:
        infos = [{"Stage ID": stage, "Parent IDs": read} for stage, read in parents.items()]
        line = {"Event": "SparkListenerJobStart", "Job ID": job, "Stage IDs": list(parents), "Stage Infos": infos}
        self._lines.append((at_ms, line))

    def stage(self, stage: int, tasks: list[tuple[int, int, int]], run_ms: int | None = None) -> None:
        begin_ms, end_ms = min(task[0] for task in tasks), max(task[1] for task in tasks)
        info = {"Stage ID": stage, "Stage Attempt ID": 0, "Number of Tasks": len(tasks), "Submission Time": begin_ms}
        self._lines.append((begin_ms, {"Event": "SparkListenerStageSubmitted", "Stage Info": info}))
        for index, task in enumerate(tasks):
            self._task(stage, index, task, run_ms)
        done = {"Event": "SparkListenerStageCompleted", "Stage Info": {**info, "Completion Time": end_ms}}
        self._lines.append((end_ms, done))

    def _task(self, stage: int, index: int, task: tuple[int, int, int], run_ms: int | None) -> None:
        begin_ms, end_ms, executor = task
        info = {
            "Task ID": self._tasks, "Index": index, "Attempt": 0, "Launch Time": begin_ms, "Executor ID": str(executor),
            "Host": f"worker{executor % 3}", "Finish Time": end_ms,
        }  # fmt: skip
        line = {"Stage ID": stage, "Stage Attempt ID": 0, "Task Info": info}
        ended = {"Task End Reason": {"Reason": "Success"}} | (
            {} if run_ms is None else {"Task Metrics": {"Executor Run Time": run_ms}}
        )
        self._lines.append((begin_ms, {"Event": "SparkListenerTaskStart", **line}))
        self._lines.append((end_ms, {"Event": "SparkListenerTaskEnd", **line, **ended}))
        self._tasks += 1

    def plan(self) -> SimulationPlan:
        return read_scenario(self.text(), "job.yaml").plan

    def text(self) -> str:
        ordered = sorted(self._lines, key=lambda line: line[0])
        self._path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for _, line in ordered))
        return scenario_text(events(self._path), "log")


def _parents(plan: SimulationPlan) -> list[list[tuple[int, ...]]]:
    """By job, the parents of each of its stages, numbered in the job."""
    return [
        [tuple(parent - job.stages[0].stage for parent in stage.parents) for stage in job.stages] for job in plan.jobs
    ]


def test_a_join_reads_both_stages_that_ran_side_by_side(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.job(0, 900, {0: [], 1: [], 2: [0, 1]})
    log.stage(0, [(1_000, 4_900, 0), (1_000, 4_800, 1)])
    log.stage(1, [(1_000, 41_000, 0), (1_000, 40_000, 1)])
    log.stage(2, [(41_000, 45_000, 0)])
    plan = log.plan()
    assert _parents(plan) == [[(), (), (0, 1)]]
    assert simulate(plan).took_ms > 36_000  # all of them ran


def test_jobs_run_one_after_the_other_without_the_stages_that_spark_skipped(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.job(0, 900, {0: [], 1: [0]})
    log.stage(0, [(1_000, 2_000, 0)])
    log.stage(1, [(2_000, 3_000, 0)])
    log.job(1, 3_100, {2: [], 3: [2]})
    log.stage(3, [(3_100, 4_000, 0), (3_100, 4_000, 1)])
    plan = log.plan()
    assert _parents(plan) == [[(), (0,)], [()]]
    assert [len(stage.work_ms) for job in plan.jobs for stage in job.stages] == [1, 1, 2]


def test_jobs_that_ran_at_the_same_time_run_side_by_side(tmp_path: Path) -> None:
    """As adaptive SQL has them: each shuffle is a job, and its reader is one as well, which begins after it."""
    log = Log(tmp_path / "log")
    log.job(0, 900, {0: []})
    log.job(1, 900, {1: []})
    log.stage(0, [(1_000, 2_000, 0)])
    log.stage(1, [(1_000, 9_000, 1)])
    log.job(2, 2_100, {2: [], 3: [2]})
    log.stage(3, [(2_100, 3_000, 0)])
    log.job(3, 3_100, {4: [], 5: [4]})
    log.stage(5, [(3_100, 4_000, 0)])
    log.job(4, 9_100, {6: [], 7: [], 8: [6, 7]})
    log.stage(8, [(9_100, 9_900, 0)])
    assert _parents(log.plan()) == [[(), (), (0,), (2,)], [()]]


def test_a_stage_that_ran_again_for_a_reader_of_another_job_is_no_stage_before_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.job(0, 900, {0: [], 1: [0]})
    log.stage(1, [(1_000, 9_000, 1)])
    log.stage(0, [(4_000, 5_000, 0)])
    assert _parents(log.plan()) == [[(), ()]]


def test_executors_that_follow_each_other_are_not_there_at_once(tmp_path: Path) -> None:
    """As with dynamic allocation: three executors with two slots each in each stage, others in the next."""
    log = Log(tmp_path / "log")
    for stage in range(4):
        begin_ms = 10_000 * stage
        log.stage(stage, [(begin_ms, begin_ms + 4_000, 3 * stage + number % 3) for number in range(6)])
    plan = log.plan()
    assert (plan.settings.initial_executors, plan.slots) == (3, 2)
    assert [life.room for life in plan.hosts] == [1, 1, 1]


def test_a_long_tail_makes_the_slots_no_fewer(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.stage(0, [*((1_000, 5_000, number % 3) for number in range(12)), (5_000, 125_000, 0)])
    plan = log.plan()
    assert (plan.settings.initial_executors, plan.slots) == (3, 4)
    assert "# The job took 2 min 4 s then" in log.text()


def test_a_slot_is_free_before_the_driver_notes_the_end_of_its_task(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.stage(0, [(1_000 + 4_000 * number, 5_020 + 4_000 * number, 0) for number in range(5)], run_ms=3_950)
    assert log.plan().slots == 1
