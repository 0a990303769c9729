"""Leaving an application alone, killing it, and waiting for resources that do not come."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.submitting import ONE_EXECUTOR
from integration.waiting import wait_for


@pytest.mark.one_a_day("the end is in the way")
def test_no_wait_interrupt_and_kill(submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path) -> None:
    """--no-wait leaves at once; ^C leaves the application running (130); a waiting submit sees the kill (7)."""
    stop = str(tmp_path / "never")
    small = [*ONE_EXECUTOR]
    left_alone = submit("rounds.py", stop, options=["--no-wait", *small])
    waiting = submit("rounds.py", stop, options=small)
    result = left_alone.wait(60).expect(0)
    first = left_alone.application_id()
    assert first in result.stdout
    second = waiting.application_id()
    wait_for("output", lambda: '"round": 1' in waiting.stdout, 90)
    waiting.interrupt()
    interrupted = waiting.wait(15).expect(130)
    for command in ("status", "kill"):
        assert f"yarnspec {command} {second}" in interrupted.stderr or f"yarnspec logs {second}" in interrupted.stderr
    assert f"yarnspec kill {second}" in interrupted.stderr
    assert cluster.application(second)["state"] == "RUNNING"

    third_submission = submit("rounds.py", stop, options=small)
    third = third_submission.application_id()
    wait_for("output", lambda: '"round": 1' in third_submission.stdout, 90)
    for application in (first, second, third):
        yarnspec("kill", application).expect(0)
    third_submission.wait(30).expect(7)
    for application in (first, second, third):
        assert cluster.application(application)["finalStatus"] == "KILLED"
        assert yarnspec("status", application, "-o", "json").expect(0).document["state"] == "KILLED"
        wait_for("nothing left", lambda: not leftovers(cluster, application), 20)  # noqa: B023 - used at once


@pytest.mark.one_a_day("the end is in the way")
@pytest.mark.leaves_staging
def test_what_yarns_own_kill_leaves_is_swept_by_the_next_submit(
    submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """`yarn application -kill` ends every process; its staging directory goes with the next submit.

    The submit that would clear it away is gone by then.
    """
    submission = submit("rounds.py", str(tmp_path / "never"), options=[*ONE_EXECUTOR])
    application = submission.application_id()
    wait_for("output", lambda: '"round": 1' in submission.stdout, 90)
    submission.stop()
    cluster.command("yarn", "application", "-kill", application)
    wait_for("no process left", lambda: not cluster.processes(application), 30)
    assert application in cluster.staging
    submit("tasks.py", "2", "0", options=[*ONE_EXECUTOR]).wait().expect(0)
    assert application not in cluster.staging


@pytest.mark.one_a_day("the end is in the way")
def test_a_submit_that_waits_clears_away_what_a_killed_master_left(
    submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """The last attempt's AM is killed with no time to clean up."""
    options = ["--conf", "spark.yarn.maxAppAttempts=1", *ONE_EXECUTOR]
    submission = submit("rounds.py", str(tmp_path / "never"), options=options)
    application = submission.application_id()
    wait_for("output", lambda: '"round": 1' in submission.stdout, 90)
    next(each for each in cluster.processes(application) if each.what == "skein-am").kill()
    submission.wait(60).expect(1)
    assert application not in cluster.staging


@pytest.mark.one_a_day("the end is in the way")
def test_an_upload_that_is_interrupted_leaves_nothing(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """^C as soon as something is in the staging directory."""
    large = tmp_path / "large.bin"
    with large.open("wb") as stream:
        stream.truncate(1 << 30)
    before = set(cluster.staging)
    submission = submit("tasks.py", "2", "0", options=["--files", str(large), *ONE_EXECUTOR])
    (application,) = wait_for("the upload", lambda: set(cluster.staging) - before, 60)
    submission.interrupt()
    result = submission.wait(60).expect(130)
    assert result.stdout == ""
    assert "what was uploaded is deleted" in result.stderr
    assert application not in cluster.staging
    assert cluster.application(application) == {}


def test_resources_that_do_not_come(submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path) -> None:
    """In a queue with room for one AM: another does not come within the deadline, and neither do executors.

    Both end with 6, and `status` says the same and why.
    """
    stop = str(tmp_path / "never")
    options = ["--queue", "narrow"]
    first = submit("rounds.py", stop, options=options)
    holder = first.application_id()
    wait_for("its AM runs", lambda: cluster.application(holder)["state"] == "RUNNING", 60)
    behind = submit("rounds.py", stop, options=[*options, "--set", "resources.wait_timeout=10s"])
    pending = behind.application_id()

    def reason_for_the_am() -> str:
        return str(yarnspec("status", pending, "-o", "json").expect(0).document["pending_reason"])

    assert "AM" in wait_for("why its AM does not start", reason_for_the_am, 30)
    given_up = behind.wait(60).expect(6)
    assert "got no container within 10 s" in given_up.stderr
    yarnspec("kill", holder).expect(0)
    first.wait(60).expect(7)
    starved = submit("rounds.py", stop, options=[*options, "--set", "resources.wait_timeout=15s"])
    application = starved.application_id()
    result = starved.wait(90).expect(6)
    assert "15 s" in result.stderr
    for each, state in ((pending, "KILLED"), (application, "FAILED")):
        status = yarnspec("status", each, "-o", "json").expect(0).document
        assert (status["state"], status["final"]["exit_code"]) == (state, 6)
        assert status["final"]["reason"] in (given_up if each == pending else result).stderr
    assert len(cluster.attempts(application)) == 1
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
