"""The user's program fails, the driver is killed, the application master is killed."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.programs.appends import ROWS, TASKS
from integration.submitting import ONE_EXECUTOR
from integration.waiting import wait_for

EVENT_LOGS = "/event-logs"


def test_a_failing_program_is_final_and_shows_its_traceback(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster
) -> None:
    """An exception: exit 1, the last lines of the traceback, where the log is, and no second attempt."""
    submission = submit("fails.py", "exception", options=[*ONE_EXECUTOR])
    second = submit("fails.py", "exit", "3", options=["-o", "json", *ONE_EXECUTOR])
    result = submission.wait().expect(1)
    application = submission.application_id()
    # spark-submit sends the program's stderr the same way as its stdout.
    assert result.stdout.startswith("counted 10\n")
    assert "ValueError: the answer was not 42" in result.stderr
    assert "in the end" in result.stderr
    assert "give_up" in result.stderr
    assert len(result.stderr) < 12_000  # of which the first lines are the submit's
    assert f"yarnspec logs {application}" in result.stderr
    assert cluster.application(application)["finalStatus"] == "FAILED"
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert (status["state"], status["final"]["exit_code"]) == ("FAILED", 1)
    assert "the answer was not 42" in str(status["final"])

    third = submit("fails.py", "task", options=["--conf", "spark.task.maxFailures=1", *ONE_EXECUTOR])
    document = second.wait().expect(1).document
    assert document["exit_code"] == 1
    # No error that the program handled before.
    assert document["status"]["final"]["reason"].endswith("exit code 3: went on")
    fourth = submit("fails.py", "input", options=[*ONE_EXECUTOR])
    assert "ZeroDivisionError" in third.wait().expect(1).stderr
    assert "PATH_NOT_FOUND" in fourth.wait().expect(1).stderr

    for each in (submission, second, third, fourth):
        assert len(cluster.attempts(each.application_id())) == 1
        run = yarnspec("status", each.application_id(), "-o", "json").expect(0).document
        assert (run["epoch"], run["driver_restarts"]) == (1, None)
        left = each.application_id()
        wait_for("nothing left", lambda: not leftovers(cluster, left), 20)  # noqa: B023 - used at once


@pytest.mark.one_a_day("the driver or its master dies")
@pytest.mark.parametrize(
    "victim",
    ["driver-jvm", "negotiator", "skein-am"],
)
def test_a_killed_master_or_driver_is_followed_by_one_that_ends_right(
    victim: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The program begins anew, in the same attempt or in the next one; no process of the first life stays."""
    stop = tmp_path / "stop"
    cluster.hdfs_mkdir(EVENT_LOGS)
    event_log = {"enabled": "true", "dir": f"{cluster.mini.default_fs}{EVENT_LOGS}"}
    options = [word for key, value in event_log.items() for word in ("--conf", f"spark.eventLog.{key}={value}")]
    submission = submit("rounds.py", str(stop), options=options)
    application = submission.application_id()
    wait_for("the first round", lambda: '"round": 2' in submission.stdout, 90)
    before = cluster.processes(application)
    next(each for each in before if each.what == victim).kill()
    wait_for("a second epoch's rounds", lambda: submission.stdout.count('"round": 1,') == 2, 90)
    alive = {each.pid for each in cluster.processes(application)}
    ended = {"driver-jvm", "executor"} | ({"negotiator"} if victim != "driver-jvm" else set())
    first = {each.pid for each in before if each.what in ended}
    assert not alive & first
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert status["attempt"] == len(cluster.attempts(application)) == (1 if victim == "driver-jvm" else 2)
    stop.touch()
    result = submission.wait().expect(0)
    assert result.lines[-1]["wrong"] == 0
    assert cluster.application(application)["finalStatus"] == "SUCCEEDED"
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    assert {record["epoch"] for record in records} == {1, status["epoch"]}
    # The second driver's event log is a second one, beside the first one's.
    logs = [name for name in cluster.hdfs_list(EVENT_LOGS) if application in name]
    assert len(logs) == 2, logs
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("the driver or its master dies")
def test_what_a_dead_driver_s_tasks_had_committed_is_not_published_by_the_next(
    submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """Three of four tasks have committed when the driver is killed: each row is there once, without a journal too."""
    go = tmp_path / "go"
    target = f"/test/{tmp_path.name}"
    submission = submit(
        "appends.py", target, str(go), options=["--set", "speculation.enabled=false", "--set", "recovery.enabled=false"]
    )
    application = submission.application_id()

    def committed() -> bool:
        uncommitted = f"{target}/_temporary"
        tasks = [name for each in cluster.hdfs_list(uncommitted) for name in cluster.hdfs_list(f"{uncommitted}/{each}")]
        return sum(name.startswith("task_") for name in tasks) == TASKS - 1

    wait_for("three committed tasks", committed, 90)
    next(each for each in cluster.processes(application) if each.what == "driver-jvm").kill()
    go.touch()
    submission.wait().expect(0)
    assert len(cluster.attempts(application)) == 2
    names = cluster.hdfs_list(target)
    assert set(names) - {"_SUCCESS"} == {name for name in names if name.endswith(".parquet")}
    tables = [pq.read_table(BytesIO(cluster.hdfs_read(f"{target}/{name}"))) for name in names if name != "_SUCCESS"]
    assert sorted(number for table in tables for number in table["number"].to_pylist()) == list(range(ROWS))


FORGETFUL = (
    "--conf", "spark.yarn.maxAppAttempts=2", "--conf", "spark.yarn.am.attemptFailuresValidityInterval=2s",
)  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(("--conf", "spark.yarn.maxAppAttempts=3"), id="three attempts"),
        pytest.param(FORGETFUL, id="two, and old failures forgotten"),
        pytest.param((*FORGETFUL, "--set", "recovery.enabled=true"), id="two, forgotten and recovered"),
    ],
)
def test_as_many_attempts_as_were_asked_for(
    settings: tuple[str, ...], submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """The negotiator is killed twice: Skein's AM lives, and must not take its second attempt for the last one."""
    stop = tmp_path / "stop"
    submission = submit("rounds.py", str(stop), options=list(settings))
    application = submission.application_id()
    for attempt in (1, 2):

        def has_run(times: int = attempt) -> bool:
            return submission.stdout.count('"round": 12,') == times

        wait_for(f"some time of attempt {attempt}", has_run, 90)
        next(each for each in cluster.processes(application) if each.what == "negotiator").kill()
    wait_for("a third attempt's rounds", lambda: submission.stdout.count('"round": 1,') == 3, 90)
    stop.touch()
    assert submission.wait().expect(0).lines[-1]["wrong"] == 0
    assert cluster.application(application)["finalStatus"] == "SUCCEEDED"
    assert len(cluster.attempts(application)) == 3
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
