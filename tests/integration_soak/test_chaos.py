"""How a job of the chaos is judged, and how the table says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from integration.soak import chaos
from integration.soak.chaos import MAX_ATTEMPTS, NOT_ENDED, Job, row, table
from integration.soak.faults import Done

HOST = Done(kind="kill host", due_s=20.0, at_s=20.2, target="127.0.0.4 (the AM's)", ends_an_attempt=True)
MASTER = Done(kind="kill AM", due_s=50.0, at_s=50.1, ends_an_attempt=True)
GOOD = Job(
    application="application_1_0001", outcome="SUCCEEDED", right=True, attempts=2, seconds=150.0, faults=[HOST],
    diagnostics="",
)  # fmt: skip
FAILED = msgspec.structs.replace(
    GOOD, outcome="FAILED", right=False, attempts=MAX_ATTEMPTS, faults=[MASTER], diagnostics="killed too often"
)


def changed(job: Job, **fields: Any) -> Job:
    return msgspec.structs.replace(job, **fields)


def test_what_is_wrong_with_a_job() -> None:
    assert GOOD.held
    assert FAILED.held
    assert changed(GOOD, right=False).wrong
    assert changed(FAILED, attempts=3).given_up
    assert changed(FAILED, faults=[HOST, MASTER]).given_up, "YARN does not count the attempt whose host was lost"
    assert changed(FAILED, faults=[HOST, MASTER], attempts=5).held
    assert changed(FAILED, diagnostics="").unexplained
    assert not changed(FAILED, outcome=NOT_ENDED).held


def test_a_line_says_why_a_job_failed() -> None:
    assert row(GOOD, 100.0).endswith("150 s (1.5 times the undisturbed time); 20 kill host")
    assert row(FAILED, 100.0).endswith("50 kill AM killed too often")
    assert row(changed(FAILED, attempts=1), 100.0).endswith("GIVEN UP: killed too often")
    assert row(changed(FAILED, diagnostics=""), 100.0).endswith("NO REASON")


def test_the_aim_is_told_where_executors_and_hosts_alone_were_killed() -> None:
    assert "1.50 to 1.50, 1.50 on average (aim: 1.2 at most, MISSED)" in table([GOOD], 100.0)
    assert "1.00 on average (aim: 1.2 at most, kept)" in table([GOOD], 150.0)
    both = table([GOOD, FAILED], 100.0)
    assert "aim" not in both
    assert "| failed with all attempts used  | 1 |" in both
    assert "none" in table([], 100.0)


def test_a_job_that_hangs_is_one_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging:
        process = None
        stopped = False

        def application_id(self, _timeout_s: float) -> str:
            return "application_1_0001"

        def wait(self, _timeout_s: float) -> None:
            raise AssertionError("`yarnspec submit` did not end within 3600 s")

        def stop(self) -> None:
            self.stopped = True

    hanging = Hanging()
    ended: list[str] = []
    monkeypatch.setattr(chaos, "idle", lambda _cluster: None)
    monkeypatch.setattr(chaos, "start_submit", lambda *_: hanging)
    monkeypatch.setattr(chaos, "end", lambda _cluster, application: ended.append(application))
    cluster: Any = object()
    job = chaos._job(cluster, tmp_path, 1, None, ())
    assert (job.outcome, job.held, hanging.stopped) == (NOT_ENDED, False, True)
    assert ended == ["application_1_0001"]
    assert "| did not end                    | 1 |" in table([job], 100.0)
