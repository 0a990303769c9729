"""`yarnspec simulate`: scenarios by name and by file, and what a user is told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

LEAST = "hosts:\n  - {count: 2, executors: 2}\nexecutors: EXECUTORS\njobs:\n  - stages:\n      - {tasks: 20}\n"


def _file(tmp_path: Path, executors: str, more: str = "") -> str:
    path = tmp_path / "job.yaml"
    path.write_text(LEAST.replace("EXECUTORS", executors) + more)
    return str(path)


def test_a_shipped_scenario_goes_by_its_name(tmp_path: Path, yarnspec: Run) -> None:
    ran = yarnspec("simulate", "slow-host")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "a slow host: 12 hosts, 920 tasks, seed 1")
    ran = yarnspec("simulate", str(tmp_path / "slow-host"))
    assert (ran.code, ran.out) == (2, "")
    assert "No such file or directory. yarnspec ships the scenarios burst, faults, slow-host" in ran.err


def test_a_job_that_fails_has_an_exit_code(tmp_path: Path, yarnspec: Run) -> None:
    ran = yarnspec("simulate", _file(tmp_path, "{min: 9, max: 9}"))
    assert ran.code == 1
    assert "as written: FAILED: only 4 of at least 9 executors" in ran.out


def test_a_job_that_fails_is_not_shown_as_a_quick_one(tmp_path: Path, yarnspec: Run) -> None:
    """By Spark's rules it starts with the four that come."""
    ran = yarnspec("simulate", _file(tmp_path, "{min: 9, max: 9}"), "--compare")
    row, bar, *_ = (line.split() for line in ran.out.splitlines() if line.startswith("as written"))
    assert row[2:4] == ["failed", "-"]
    assert bar[2:] == ["failed"]
    assert any("█" in line for line in ran.out.splitlines() if line.startswith("Spark's rules"))


def test_aliases_among_the_options_are_told_of(tmp_path: Path, yarnspec: Run) -> None:
    alias = "options: {jobmanager.adaptive-scheduler.submission.resource-wait-timeout: 4 min}\n"
    ran = yarnspec("simulate", _file(tmp_path, "{count: 2}", alias))
    assert ran.code == 0
    assert ran.err.startswith("warning: ")
    assert "resources.wait_timeout" in ran.err


def test_a_rescale_that_the_job_s_end_ends_tells_how_many_executors_are_there(tmp_path: Path, yarnspec: Run) -> None:
    quick = "{rescale_cooldown: 1 s, rescale_stabilization: 1 s, rescale_max_delay: 1 s}"
    scale = f"      - {{tasks: 60}}\nscale: [{{at: 5 s, min: 2, max: 9}}]\noptions: {{resources: {quick}}}\n"
    ran = yarnspec("simulate", _file(tmp_path, "{min: 2, max: 2}", scale))
    assert ran.code == 0
    assert "2 -> 9 executors, got 4: the SparkContext stopped" in ran.out


def test_what_is_asked_for_in_vain_is_told(tmp_path: Path, yarnspec: Run) -> None:
    """Not all hosts may be blocked, there is no room for so many executors, and the job ends before the last one."""
    quick = "{rescale_cooldown: 1 s, rescale_stabilization: 1 s, rescale_max_delay: 0}"
    wishes = "block: [{host: host1, at: 3 s}, {host: host2, at: 4 s, for: 1 s}, {host: host2, at: 1 h}]\n"
    scale = f"scale: [{{at: 5 s, min: 40, max: 50}}]\noptions: {{resources: {quick}}}\n"
    path = _file(tmp_path, "{count: 2}", wishes + scale)
    ran = yarnspec("simulate", path)
    assert ran.code == 0
    assert "as written: after 4 s block host2: refused: " in ran.out
    assert "as written: after 5 s scale to 40 to 50 executors: in the end it waits: " in ran.out
    assert "as written: after 1 h 0 min block host2: the job had ended" in ran.out
    (run,) = json.loads(yarnspec("simulate", path, "-o", "json").out)["runs"]
    assert [one["at_ms"] for one in run["unmet"]] == [4_000, 5_000, 3_600_000]


def test_a_block_that_yarnspec_itself_may_not_make_is_nobodys_wish(tmp_path: Path, yarnspec: Run) -> None:
    """One of two slow hosts may be blocked."""
    path = tmp_path / "job.yaml"
    path.write_text(
        "hosts:\n  - {count: 4, executors: 2}\n  - {name: slow, count: 2, slow: 6, executors: 2}\n"
        "executors: {count: 12, cores: 2}\njobs:\n  - stages:\n      - {tasks: 300, work: 3 s}\n"
        "options: {placement: {max_blocked_share: 0.17}}\n"
    )
    (run,) = json.loads(yarnspec("simulate", str(path), "-o", "json").out)["runs"]
    assert (run["blocked_hosts"], run["unmet"]) == (1, [])
