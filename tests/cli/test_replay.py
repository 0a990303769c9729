"""`yarnspec replay`: a Spark event log, judged as if it ran now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, Run
from yarnspec.gateway.simulation.scenario_file import read_scenario

STAGE = 3
SLOW_HOST = "worker4"


def _stage(**more: Any) -> dict[str, Any]:
    return {"Stage ID": STAGE, "Stage Attempt ID": 0, "Stage Name": "count", "Number of Tasks": 32, **more}


def _task(kind: str, number: int, begin_ms: int, end_ms: int) -> dict[str, Any]:
    info = {
        "Task ID": number, "Index": number, "Attempt": 0, "Launch Time": begin_ms, "Executor ID": str(number % 4),
        "Host": f"worker{number % 4 + 1}", "Speculative": False, "Failed": False, "Killed": False,
        "Finish Time": end_ms if kind == "End" else 0,
    }  # fmt: skip
    more = {"Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"}} if kind == "End" else {}
    return {"Event": f"SparkListenerTask{kind}", "Stage ID": STAGE, "Stage Attempt ID": 0, "Task Info": info, **more}


def write_log(file: Path, slowness: int) -> Path:
    """Two tasks on each of four hosts at a time, 5 s each; on the fourth ``slowness`` times as long."""
    lines = [(0, {"Event": "SparkListenerStageSubmitted", "Stage Info": _stage(**{"Submission Time": 1_000})})]
    for number in range(32):
        took_ms = 5_000 * (slowness if number % 4 == 3 else 1)
        begin_ms = 1_000 + number // 8 * took_ms
        lines.append((begin_ms, _task("Start", number, begin_ms, 0)))
        lines.append((begin_ms + took_ms, _task("End", number, begin_ms, begin_ms + took_ms)))
    ended = {"Event": "SparkListenerStageCompleted", "Stage Info": _stage(**{"Completion Time": 300_000})}
    lines.append((300_000, ended))
    lines.sort(key=lambda line: line[0])
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for _, line in lines))
    return file


def write_log_of_inputs(file: Path, *, large: int = 10, slowness: int = 1, cached: bool = False) -> Path:
    """24 tasks of 8 MB and 5 s on four healthy hosts; the last two on the first host read ``large`` times as much.

    They take as much longer. ``slowness``: of the first host. ``cached``: they read what the program has cached.
    """
    level = {"Use Disk": False, "Use Memory": cached, "Deserialized": True, "Replication": 1}
    rdds = [{"RDD ID": 1, "Name": "FileScanRDD", "Storage Level": level}]
    begun = _stage(**{"Number of Tasks": 24, "Submission Time": 1_000, "RDD Info": rdds})
    lines = [(0, {"Event": "SparkListenerStageSubmitted", "Stage Info": begun})]
    free_ms = {(host, slot): 1_000 for host in range(4) for slot in range(2)}
    for number in range(24):
        slot = number % 4, number // 4 % 2
        size = large if number in (16, 20) else 1
        begin_ms = free_ms[slot]
        end_ms = free_ms[slot] = begin_ms + 5_000 * size * (slowness if slot[0] == 0 else 1)
        ended = _task("End", number, begin_ms, end_ms)
        read = {"Shuffle Read Metrics": {"Remote Bytes Read": (size - 1) << 23, "Local Bytes Read": 1 << 23}}
        lines += [(begin_ms, _task("Start", number, begin_ms, 0)), (end_ms, {**ended, "Task Metrics": read})]
    lines.sort(key=lambda line: line[0])
    over = {"Event": "SparkListenerStageCompleted", "Stage Info": {**begun, "Completion Time": 900_000}}
    told = [*(line for _, line in lines), over]
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in told))
    return file


def documented(ran: Ran) -> Any:
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def test_a_slow_host_and_its_tasks_are_found(tmp_path: Path, yarnspec: Run) -> None:
    log = write_log(tmp_path / "app-1", slowness=10)
    found = documented(yarnspec("replay", str(log), "-o", "json"))
    assert [each["verdict"]["host"] for each in found["hosts"]] == [SLOW_HOST]
    assert found["tasks"]
    assert {each["verdict"]["host"] for each in found["tasks"]} == {SLOW_HOST}
    assert (found["attempts"], found["stages"]) == (32, 1)
    printed = yarnspec("replay", str(log)).out
    assert "hosts that would have been found slow: 1" in printed
    assert SLOW_HOST in printed


def test_like_tasks_are_one_line_with_a_count(tmp_path: Path, yarnspec: Run) -> None:
    log = write_log(tmp_path / "app-1", slowness=10)
    found = documented(yarnspec("replay", str(log), "-o", "json"))["tasks"]
    assert len(found) > 1
    heading, *rows = yarnspec("replay", str(log)).out.partition("tasks that would")[2].splitlines()[1:]
    assert heading.split() == ["AFTER", "STAGE", "HOST", "TASKS", "FACTOR", "WORST"]
    assert sum(int(row.split()[4]) for row in rows) == len(found)
    assert len(rows) < len(found)


def test_healthy_hosts_are_not(tmp_path: Path, yarnspec: Run) -> None:
    log = write_log(tmp_path / "app-1", slowness=1)
    found = documented(yarnspec("replay", str(log), "-o", "json"))
    assert (found["hosts"], found["tasks"]) == ([], [])


def test_the_detector_is_the_options(tmp_path: Path, yarnspec: Run) -> None:
    """The seed's: 50 s on the slow host are less than its lower bound of a minute."""
    log = write_log(tmp_path / "app-1", slowness=10)
    seed = ["--set", "detector.kind=execution-time", "--set", "detector.baseline_lower_bound=1min"]
    assert documented(yarnspec("replay", str(log), "-o", "json", *seed))["tasks"] == []


DETECTORS = [(), ("--set", "detector.kind=input-weighted", "--set", "detector.baseline_lower_bound=1s")]


@pytest.mark.parametrize("detector", DETECTORS, ids=["progress", "input-weighted"])
def test_tasks_with_more_to_read_are_not_slow_on_healthy_hosts(
    tmp_path: Path, yarnspec: Run, detector: tuple[str, ...]
) -> None:
    log = write_log_of_inputs(tmp_path / "app-1")
    found = documented(yarnspec("replay", str(log), "-o", "json", *detector))
    assert (found["hosts"], found["tasks"]) == ([], [])
    assert "inputs as read in the end" in yarnspec("replay", str(log)).out
    # What a cached partition is read from nobody knows before: by time alone these two are late.
    cached = write_log_of_inputs(tmp_path / "app-2", cached=True)
    assert documented(yarnspec("replay", str(cached), "-o", "json", *detector))["tasks"]


@pytest.mark.parametrize("detector", DETECTORS, ids=["progress", "input-weighted"])
def test_a_slow_host_is_found_where_the_inputs_are_ordinary(
    tmp_path: Path, yarnspec: Run, detector: tuple[str, ...]
) -> None:
    log = write_log_of_inputs(tmp_path / "app-1", large=1, slowness=10)
    found = documented(yarnspec("replay", str(log), "-o", "json", *detector))
    assert [each["verdict"]["host"] for each in found["hosts"]] == ["worker1"]
    assert {each["verdict"]["host"] for each in found["tasks"]} == {"worker1"}
    assert all(each["verdict"]["numbers"]["input_bytes"] == 1 << 23 for each in found["tasks"])


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a,b\n1,2\n", "tells of no task"), (b'{"Event":"SparkListenerTaskStart","Stage ID":\n', "cannot be read")],
)
def test_what_is_no_event_log_is_refused(content: bytes, said: str, tmp_path: Path, yarnspec: Run) -> None:
    (tmp_path / "file").write_bytes(content)
    ran = yarnspec("replay", str(tmp_path / "file"))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_job_that_ran_becomes_a_scenario(tmp_path: Path, yarnspec: Run) -> None:
    """The slow host is slow in it, and its tasks are as long as the others' there."""
    scenario = tmp_path / "job.yaml"
    log = write_log(tmp_path / "log", 4)
    assert yarnspec("replay", str(log), "--to-scenario", str(scenario)).code == 0
    plan = read_scenario(scenario.read_text(), "job.yaml").plan
    assert {life.plan.name: life.plan.speeds[0][1] for life in plan.hosts} == {
        "worker1": 1.0, "worker2": 1.0, "worker3": 1.0, SLOW_HOST: 4.0,
    }  # fmt: skip
    (stage,) = (stage for job in plan.jobs for stage in job.stages)
    assert set(stage.work_ms) == {5_000}
    (outcome,) = documented(yarnspec("simulate", str(scenario), "-o", "json"))["runs"]
    assert (outcome["state"], outcome["tasks"], outcome["hosts_used"]) == ("SUCCEEDED", 32, 4)


def test_a_scenario_that_is_there_is_overwritten_by_force_only(tmp_path: Path, yarnspec: Run) -> None:
    scenario, log = tmp_path / "job.yaml", str(write_log(tmp_path / "log", 4))
    scenario.write_text("mine\n")
    ran = yarnspec("replay", log, "--to-scenario", str(scenario))
    assert (ran.code, scenario.read_text()) == (2, "mine\n")
    assert "job.yaml is there already" in ran.err
    assert yarnspec("replay", log, "--to-scenario", str(scenario), "--force").code == 0
    assert "hosts:" in scenario.read_text()


@pytest.mark.parametrize("more", [("-o", "json"), ("--set", "detector.kind=progress")])
def test_what_changes_nothing_of_a_scenario_is_refused(tmp_path: Path, yarnspec: Run, more: tuple[str, ...]) -> None:
    scenario = tmp_path / "job.yaml"
    ran = yarnspec("replay", str(write_log(tmp_path / "log", 4)), "--to-scenario", str(scenario), *more)
    assert (ran.code, scenario.exists()) == (2, False)
    assert f"which {more[0]} does not change" in ran.err
