"""The lines of `yarnspec events`: one for each message, whatever it holds."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from hypothesis import given

from tests.observe.messages import messages
from yarnspec.cli.events import _print
from yarnspec.core.messages.commands import BlockHost, Command, JudgeTasks, Verdict
from yarnspec.core.messages.events import DriverLost, Event, JobStarted, TaskFinished
from yarnspec.observe.forms.moments import clock
from yarnspec.observe.forms.records import decode, encode, record_of

TASK: dict[str, Any] = {
    "stage": 3, "stage_attempt": 0, "index": 7, "attempt": 0, "task_id": 7, "executor_id": "1", "host": "h4",
    "state": "SUCCESS",
}  # fmt: skip


def line_of(message: Event | Command) -> str:
    """What is printed for it, as it was read from the history."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        _print(decode(encode(record_of(message, seq=1, time_ms=1, epoch=1))), "table")
    return out.getvalue()


@given(messages)
def test_every_message_is_one_line(message: Event | Command) -> None:
    assert line_of(message).count("\n") == 1


def test_lists_of_lists_are_shown_as_they_are() -> None:
    assert "parents=[[1,[0]]]" in line_of(JobStarted(job=0, stages=(1,), parents=((1, (0,)),)))


def test_a_line_of_verdicts_names_their_tasks() -> None:
    verdict = Verdict(
        stage=3, stage_attempt=0, index=7, attempt=0, task_id=7, host="h4", executor_id="1", detector="progress",
        elapsed_ms=70_000, numbers={"expected_ms": 2_000.0}, reason="late",
    )  # fmt: skip
    line = line_of(JudgeTasks(verdicts=(verdict,) * 10, reason="10 tasks are slow"))
    assert "verdicts=3.7@h4,3.7@h4" in line
    assert "and 2 more (10 tasks are slow)" in line
    assert len(line) < 200
    assert "verdicts=3.7@h4, late (1 task is slow)" in line_of(JudgeTasks(verdicts=(verdict,), reason="1 task is slow"))


def test_times_are_clock_times_and_spans_stay_numbers() -> None:
    until_ms = 1_700_000_167_759
    block = BlockHost(reason="r", host="h1", until_ms=until_ms, by="me")
    assert f"host=h1 until={clock(until_ms)} by=me (r)" in line_of(block)
    assert "launch_ms=1" in line_of(TaskFinished(**TASK, launch_ms=1, finish_ms=until_ms))


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    line = line_of(DriverLost(exit_code=1, reason="\x1b]0;title\x07\nsecond line"))
    assert "\x1b" not in line
    assert line.count("\n") == 1
