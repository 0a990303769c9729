"""What is not copied: barriers, writers that nobody coordinates, readers of no files, caches, marked jobs, streams."""

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


ONE_EACH = [*SPREAD, "--num-executors", "2", "--executor-cores", "2", *BY_TIME]
NUMBERS = [0, 1, 2, 3]
NOT_COPIED = {
    "barrier": "(barrier)",
    "foreach": "speculation.copy_writers",
    "pipe": "speculation.copy_readers",
    "source": "speculation.copy_readers",
    "no_copies": "yarnspec.speculation=false",
    "cached": "speculation.copy_cached",
}
"""Kinds of jobs, and what stands in the reason."""


@pytest.mark.one_a_day("copies")
def test_what_must_not_run_twice_is_not_copied(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """In each of these stages a late task is left alone. A late reader of files is copied, to the same result."""
    submission = submit("late.py", str(tmp_path), *NOT_COPIED, "files", options=ONE_EACH)
    application = submission.application_id()

    def withheld(stage: int, why: str) -> bool:
        submission.check_running()
        said = yarnspec("explain", application, "--task", f"{stage}.0", "-o", "json").stdout
        return "slow, and not copied" in said and why in said

    for stage, (kind, why) in enumerate(NOT_COPIED.items()):
        wait_for(f"why the stage of {kind} is not copied", lambda stage=stage, why=why: withheld(stage, why), 90)  # type: ignore[misc]
        (tmp_path / kind).touch()
    result = submission.wait().expect(0)
    assert result.lines == [
        *(
            {"kind": kind, "stage": stage, "attempts": [0], "numbers": [] if kind == "foreach" else NUMBERS}
            for stage, kind in enumerate(NOT_COPIED)
        ),
        {"kind": "files", "stage": len(NOT_COPIED), "attempts": [1], "numbers": NUMBERS},
    ]
    copies = yarnspec("events", application, "-o", "json", "--type", "LaunchCopy").lines
    assert {(each["stage"], each["index"]) for each in copies} == {(len(NOT_COPIED), 0)}
    told = {one["stage"]: one["not_copied"] for one in yarnspec("status", application, "-o", "json").document["stages"]}
    assert not [why for stage, why in enumerate(NOT_COPIED.values()) if why not in told[stage]]
    assert told[len(NOT_COPIED)] == ""
    page = " ".join(yarnspec("status", application).stdout.split())
    assert "no task of stages 2, 3 is copied: its stage reads a source" in page


@pytest.mark.one_a_day("copies")
def test_what_is_else_not_copied_is_where_the_user_allows_it(submit: Submit, tmp_path: Path) -> None:
    """The options `copy_writers`, `copy_readers` and `copy_cached` let late tasks of such stages be copied."""
    allowed = [word for what in ("writers", "readers", "cached") for word in ("--set", f"speculation.copy_{what}=true")]
    kinds = ("foreach", "pipe", "cached")
    result = submit("late.py", str(tmp_path), *kinds, options=[*ONE_EACH, *allowed]).wait().expect(0)
    assert result.lines == [
        {"kind": "foreach", "stage": 0, "attempts": [1], "numbers": []},
        {"kind": "pipe", "stage": 1, "attempts": [1], "numbers": NUMBERS},
        {"kind": "cached", "stage": 2, "attempts": [1], "numbers": NUMBERS},
    ]


@pytest.mark.one_a_day("copies")
def test_a_job_that_is_cancelled_takes_its_copies_along(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """By its group or by a tag, while a task runs twice. Jobs beside it go on, and every core is free afterwards."""
    submission = submit("cancels.py", str(tmp_path), options=ONE_EACH)
    assert submission.wait().expect(0).lines == [
        {"cancelled": ["group", "tag"], "beside": [6, 6], "barrier": 6, "went_on": []}
    ]
    copies = yarnspec("events", submission.application_id(), "-o", "json", "--type", "LaunchCopy").lines
    assert [each["index"] for each in copies] == [0, 0]


def test_streaming_is_refused_where_speculation_is_asked_for(submit: Submit, tmp_path: Path) -> None:
    """A program that streams ends with a clear error, which names the option to switch speculation off."""
    options = ["--set", "speculation.enabled=true"]
    result = submit("streaming.py", str(tmp_path / "checkpoint"), options=options).wait().expect(1)
    assert "speculation.enabled" in result.stderr
    assert "stream" in result.stderr
