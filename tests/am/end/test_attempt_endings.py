"""Which end of an attempt is the application's."""

from __future__ import annotations

import pytest

from tests.am.loop.test_shell import Make, World, make
from tests.spark.plain_plan import plan
from yarnspec.am.end.attempt_endings import CRASHED, ending_of, for_good, unless_replaced, why_ended
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import AbandonAttempt, FinishApplication
from yarnspec.yarn.rm.rm_reports import AttemptReport

__all__ = ["make"]

LOST = AbandonAttempt(exit_code=9, reason="the driver was lost", diagnostics="long")


def test_an_error_in_the_core_ends_the_attempt_and_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world: World = make({})

    def handle(_event: object, _now_ms: int) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(world.core, "handle", handle)
    world.shell.post(events.DriverStopping())
    ending = ending_of(world.shell)
    assert isinstance(ending, AbandonAttempt)
    assert ending.exit_code == CRASHED
    assert ending.reason == "negotiator failed: ZeroDivisionError: a bug"
    assert world.logged == ["DriverStopping", "AbandonAttempt"]
    last = for_good(ending, plan(max_attempts=1), 1)
    assert isinstance(last, FinishApplication)
    assert "ZeroDivisionError" in last.reason


def test_an_error_while_recording_ends_the_attempt_too(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make({})

    def append(_message: object, _now_ms: int) -> None:
        raise TypeError("cannot be encoded")

    monkeypatch.setattr(world.log, "append", append)
    world.shell.post(events.DriverStopping())
    ending = ending_of(world.shell)
    assert ending.reason == "negotiator failed: TypeError: cannot be encoded"


def test_only_the_last_attempts_crash_is_the_applications_end() -> None:
    assert for_good(LOST, plan(max_attempts=2), 1) is LOST
    last = for_good(LOST, plan(max_attempts=2), 2)
    assert isinstance(last, FinishApplication)
    assert (last.status, last.exit_code, last.diagnostics) == ("FAILED", 1, "long")
    assert last.reason == "the driver was lost (attempt 2 of 2, the last one)"


def test_where_yarn_forgets_failures_no_attempt_is_known_to_be_the_last() -> None:
    assert for_good(LOST, plan(max_attempts=2, attempts_are_forgotten=True), 2) is LOST


@pytest.mark.parametrize(
    ("diagnostics", "why"),
    [
        (
            "AM Container for appattempt_1_0002_000001 exited with  exitCode: 137\nFailing this attempt.Diagnostics: "
            "[2026-11-23 16:43:39.691]Container killed on request. Exit code is 137\n[2026-11-23 16:43:39.8]Killed\n",
            "its application master ended with exit code 137: Container killed on request. Exit code is 137",
        ),
        ("exitCode: -100\n", "its application master ended with exit code -100: exitCode: -100"),
        ("", "its application master ended: YARN gives no reason"),
    ],
)
def test_why_an_attempt_was_lost_is_told_in_a_line(diagnostics: str, why: str) -> None:
    attempt = AttemptReport(
        id="a", number=1, am_container_id="", am_host=None, started_ms=0, finished_ms=1,
        diagnostics=diagnostics,
    )  # fmt: skip
    assert why_ended(attempt) == why


def test_a_programs_end_stays_what_it_is() -> None:
    done = commands.FinishApplication(reason="r", status="SUCCEEDED", exit_code=0)
    assert for_good(done, plan(max_attempts=1), 1) is done


def away() -> int:
    raise TimeoutError


def test_an_attempt_that_was_replaced_does_not_end_the_application() -> None:
    """It was stopped for so long that YARN started the next one; its program's failure is nobody's business."""
    failed = FinishApplication(status="FAILED", exit_code=1, reason="FileNotFoundException")
    assert unless_replaced(failed, 2, [lambda: 2, lambda: 1]) is failed
    for newest in ([lambda: 3], [lambda: 2, lambda: 3], [away, lambda: 3]):
        replaced = unless_replaced(failed, 2, newest)
        assert isinstance(replaced, AbandonAttempt)
        assert replaced.exit_code == CRASHED
        assert replaced.reason == (
            "application attempt 3 has begun, and only the newest decides how the application ends. "
            "Attempt 2 ended as well: FileNotFoundException"
        )
    assert unless_replaced(LOST, 2, [lambda: 3]) is LOST


def test_a_file_system_that_does_not_answer_does_not_keep_an_application_from_its_end() -> None:
    done = FinishApplication(status="SUCCEEDED", exit_code=0, reason="r")
    assert unless_replaced(done, 1, [away, away]) is done
