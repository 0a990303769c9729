"""`--proxy-user`: the application, its files and its history are another user's, and the submitter still sees all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.submitting import PROGRAMS
from integration.waiting import wait_for

ALICE = "alice"


@pytest.mark.one_a_day("features of YARN")
def test_an_application_for_another_user(submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path) -> None:
    """Output is streamed, hosts are blocked, logs and events are read during and after the run, by the submitter."""
    cluster.hdfs_mkdir(f"/user/{ALICE}", owner=ALICE)
    stop = tmp_path / "stop"
    for_alice = ["--proxy-user", ALICE, "--num-executors", "1"]
    submission = submit("saves.py", f"/user/{ALICE}/saved", str(stop), options=for_alice)
    application = submission.application_id()
    wait_for("its output", lambda: '"saved"' in submission.stdout, 90)
    assert cluster.application(application)["user"] == ALICE
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert (status["user"], status["running_containers"]) == (ALICE, 1)
    am_host = next(each["host"] for each in status["containers"] if each["role"] == "am")
    other = next(host for host in cluster.hosts if host != am_host)
    yarnspec("hosts", application, "block", other, "--reason", "for alice").expect(0)
    stop.touch()
    (line,) = submission.wait().expect(0).lines
    assert line["saved"] == 10

    # Who wrote what: the tasks and the driver as alice; staging and history were in her home, and only there.
    assert {each["owner"] for each in cluster.hdfs_statuses(f"/user/{ALICE}/saved")} == {ALICE}
    assert cluster.hdfs_list(f"/user/{ALICE}/.yarnspec/history") == [application]
    assert cluster.hdfs_list(f"/user/{ALICE}/.skein") == []
    assert application not in cluster.hdfs_list(f"/user/{cluster.user}/.yarnspec/history")
    assert yarnspec("status", application, "-o", "json").expect(0).document["final"]["exit_code"] == 0
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    assert [(each["host"], each["by"]) for each in records if each["type"] == "BlockHost"] == [(other, cluster.user)]
    logs = wait_for("the logs", lambda: yarnspec("logs", application, "--file", "driver.stdout").stdout, 30)
    assert json.loads(logs) == line

    killed = submit("saves.py", f"/user/{ALICE}/again", str(tmp_path / "never"), options=for_alice)
    second = killed.application_id()
    wait_for("its output", lambda: '"saved"' in killed.stdout, 90)
    yarnspec("kill", second).expect(0)
    killed.wait(30).expect(7)
    assert cluster.hdfs_list(f"/user/{ALICE}/.skein") == []
    result = json.loads(cluster.hdfs_read(f"/user/{ALICE}/.yarnspec/history/{second}/result.json"))
    assert (result["status"], result["reason"]) == ("KILLED", f"killed by {cluster.user}")
    wait_for("nothing left", lambda: not leftovers(cluster, second), 20)


def test_who_may_not_act_for_another_is_refused(yarnspec: Yarnspec, cluster: Cluster) -> None:
    """The ResourceManager decides, before anything is submitted or looked for in the other user's home."""
    before = len(cluster.applications())
    mallory = {"HADOOP_USER_NAME": "mallory"}
    program = str(PROGRAMS / "tasks.py")
    result = yarnspec("submit", "--proxy-user", cluster.user, program, "1", "0", environment=mallory).expect(4)
    assert "mallory" in result.stderr
    assert len(cluster.applications()) == before
