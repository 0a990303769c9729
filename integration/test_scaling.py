"""When a job starts and how many executors it has: bounds at submit, on a cluster that has not room for all."""

from __future__ import annotations

from pathlib import Path

from integration.conftest import Submit, Yarnspec
from integration.waiting import wait_for

TWO_HOSTS = ["--exclude-hosts", "127.0.0.4,127.0.0.5", "--force"]
"""Executors of 4 GiB: one on each of the hosts that are left, beside the application master."""
LARGE = ["--executor-memory", "4g", *TWO_HOSTS]


def test_bounds_at_submit(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """With room for 2 of at most 3 a job starts after its stabilization; with at least 3 it ends with exit code 6."""
    stop = tmp_path / "stop"
    fewer = submit(
        "rounds.py", str(stop),
        options=[*LARGE, "--num-executors", "3", "--min-executors", "2", "--set",
                 "resources.submission_stabilization=6s"],
    )  # fmt: skip
    application = fewer.application_id()
    wait_for("output", lambda: '"round": 1' in fewer.stdout, 90)
    resources = yarnspec("status", application, "-o", "json").expect(0).document["resources"]
    assert (resources["phase"], resources["sufficient"], resources["desired"]) == ("executing", 2, 3)
    assert resources["have"] == 2
    assert len(fewer.rounds[0]["hosts"]) == 2
    told = yarnspec("events", application, "-o", "json").expect(0).lines
    phases = [one for one in told if one.get("type") == "EnterPhase"]
    (stabilizes,) = (one for one in phases if one["data"]["waits_for"] == "more executors")
    (ready,) = (one for one in told if one.get("type") == "DeclareReady")
    assert 5_900 <= ready["time_ms"] - stabilizes["time_ms"] < 12_000
    stop.touch()
    fewer.wait(60).expect(0)

    starved = submit(
        "rounds.py", str(tmp_path / "never"),
        options=[*LARGE, "--num-executors", "3", "--min-executors", "3", "--set", "resources.wait_timeout=15s"],
    )  # fmt: skip
    result = starved.wait(90).expect(6)
    assert "only 2 of at least 3 executors came within 15 s" in result.stderr
    assert '"round"' not in result.stdout
