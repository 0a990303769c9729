"""YARN takes containers back for another queue that is entitled to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.waiting import wait_for

PREEMPTED = -102
# One on each host, and nothing else beside it.
EXECUTORS = ["--executor-cores", "7", "--conf", "spark.task.cpus=7"]


@pytest.mark.one_a_day("features of YARN")
def test_a_preempted_executor_costs_no_task_a_failure(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """A job that fills the cluster gives a container to the queue `urgent` and ends right, with no failure allowed."""
    stop = tmp_path / "stop"
    patient = submit(
        "rounds.py", str(stop), "8", "0.5",
        options=[*EXECUTORS, "--num-executors", "4", "--conf", "spark.task.maxFailures=1"],
    )  # fmt: skip
    application = patient.application_id()
    wait_for("a round on four hosts", lambda: patient.stdout.count("127.0.0.") >= len(cluster.hosts), 90)
    wait_for("four executors", lambda: len(cluster.containers(application)) == 5, 30)

    urgent = submit("tasks.py", "1", "0", options=[*EXECUTORS, "--num-executors", "1", "--queue", "urgent"])
    (line,) = urgent.wait().expect(0).lines
    assert line["sum"] == 0

    stop.touch()
    result = patient.wait().expect(0)
    assert result.lines[-1]["wrong"] == 0
    assert len(cluster.attempts(application)) == 1
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    lost = [record for record in records if record["type"] == "ContainerLost" and record["exit_code"] == PREEMPTED]
    announced = [record for record in records if record["type"] == "ContainersPreempted"]
    assert {record["container_id"] for record in lost} <= {each for one in announced for each in one["container_ids"]}
    assert lost
    # The host is not to blame for it.
    assert [record for record in records if record["type"] == "BlockHost"] == []
