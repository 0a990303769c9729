"""The lines of `yarnspec events`: one for each message, whatever it holds."""

from __future__ import annotations

import contextlib
import io

from hypothesis import given

from tests.observe.messages import messages
from yarnspec.cli.events import _print
from yarnspec.core.messages.commands import Command, JudgeTasks, Verdict
from yarnspec.core.messages.events import DriverLost, Event, JobStarted
from yarnspec.observe.forms.records import decode, encode, record_of


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


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    line = line_of(DriverLost(exit_code=1, reason="\x1b]0;title\x07\nsecond line"))
    assert "\x1b" not in line
    assert line.count("\n") == 1
