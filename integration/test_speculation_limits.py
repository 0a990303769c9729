"""What is never copied: barriers, writers that nobody coordinates, streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.conftest import Submit, Yarnspec
from integration.slowhosts import SPREAD
from integration.waiting import wait_for

# Late is what takes longer than a second, whichever host it runs on.
BY_TIME = [
    "--set", "detector.kind=execution-time", "--set", "detector.baseline_lower_bound=1s",
    "--set", "detector.baseline_ratio=0.5", "--set", "detector.check_interval=200ms",
    "--set", "blocklist.enabled=false",
]  # fmt: skip


@pytest.mark.one_a_day("writers")
def test_barriers_and_writers_are_not_copied(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """A late task of a barrier stage or of foreachPartition is left alone; the same task in a plain stage is copied."""
    options = [*SPREAD, "--num-executors", "2", "--executor-cores", "2", *BY_TIME]
    submission = submit("late.py", str(tmp_path), "barrier", "foreach", "plain", options=options)
    application = submission.application_id()

    def why(stage: int) -> str:
        return yarnspec("explain", application, "--task", f"{stage}.0", "-o", "json").stdout

    wait_for(
        "why the barrier stage is not copied", lambda: "slow, and not copied" in why(0) and "barrier" in why(0), 90
    )
    (tmp_path / "barrier").touch()
    wait_for("why the writer is not copied", lambda: "slow, and not copied" in why(1) and "writes" in why(1), 60)
    (tmp_path / "foreach").touch()
    result = submission.wait().expect(0)
    assert result.lines == [
        {"kind": "barrier", "stage": 0, "attempts": [0]},
        {"kind": "foreach", "stage": 1, "attempts": [0]},
        {"kind": "plain", "stage": 2, "attempts": [1]},
    ]
    copies = yarnspec("events", application, "-o", "json", "--type", "LaunchCopy").lines
    assert {(each["stage"], each["index"]) for each in copies} == {(2, 0)}


@pytest.mark.one_a_day("writers")
def test_writers_are_copied_when_the_user_allows_it(submit: Submit, tmp_path: Path) -> None:
    """`speculation.copy_writers`: foreachPartition's late task gets a copy as well."""
    options = [
        *SPREAD,
        "--num-executors",
        "2",
        "--executor-cores",
        "2",
        *BY_TIME,
        "--set",
        "speculation.copy_writers=true",
    ]
    result = submit("late.py", str(tmp_path), "foreach", options=options).wait().expect(0)
    assert result.lines == [{"kind": "foreach", "stage": 0, "attempts": [1]}]


def test_streaming_is_refused_where_speculation_is_asked_for(submit: Submit, tmp_path: Path) -> None:
    """A program that streams ends with a clear error, which names the option to switch speculation off."""
    options = ["--set", "speculation.enabled=true"]
    result = submit("streaming.py", str(tmp_path / "checkpoint"), options=options).wait().expect(1)
    assert "speculation.enabled" in result.stderr
    assert "stream" in result.stderr
