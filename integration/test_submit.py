"""A program runs on the cluster, and its output, its result and its story come back."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from integration.cluster import Cluster
from integration.conftest import Submit, Watch, Yarnspec, leftovers
from integration.submitting import ONE_EXECUTOR, WITH_UI
from integration.waiting import wait_for

EXECUTORS = 2


def test_output_exit_code_status_events_logs_and_history(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, watch: Watch
) -> None:
    """One application in client mode, looked at while it runs and after its end."""
    with_links = [*WITH_UI, "--conf", "spark.yarn.includeDriverLogsLink=true"]
    submission = submit("tasks.py", "12", "1", options=with_links)
    application = submission.application_id()
    with watch(application) as placement:
        wait_for(
            "both executors in the ResourceManager's list",
            lambda: len(cluster.containers(application)) == 1 + EXECUTORS,
            60,
        )
        running = wait_for(
            "a status with both executors running",
            lambda: _with_running(yarnspec("status", application, "-o", "json").expect(0).document),
            30,
        )
        by_rest = cluster.containers(application)
        spark_page = wait_for(
            "Spark's page through the ResourceManager's proxy",
            lambda: _page(f"{cluster.mini.rm_url}/proxy/{application}/spark/executors/"),
            15,
        )
        logs_of_negotiator = yarnspec("logs", application, "--role", "negotiator").expect(0).stdout
        result = submission.wait().expect(0)

    # The program's output is the whole of stdout, and right.
    (line,) = result.lines
    assert result.stdout == json.dumps(line) + "\n"
    assert line["sum"] == sum(range(12))
    assert line["application_id"] == application
    assert len(line["containers"]) == EXECUTORS
    assert "driver" in result.stderr
    assert "Driver Logs (stdout): http://" in result.stderr

    # While it ran, status showed what the ResourceManager shows.
    assert running["state"] == "RUNNING"
    assert running["attempt"] == running["epoch"] == 1
    live = {each["id"]: each["host"] for each in running["containers"] if each["state"] != "COMPLETE"}
    assert live == by_rest
    assert running["links"]["resource_manager"]
    assert logs_of_negotiator.strip()
    assert running["links"]["spark_ui"]
    assert f"/proxy/{application}/spark/jobs/" in spark_page  # its links lead through the proxy as well
    am = cluster.attempts(application)[0]["containerId"]
    assert [each["id"] for each in running["containers"] if each["role"] == "am"] == [am]
    assert line["driver_container"] == am
    assert {placement.by_rest[container] for container in line["containers"]} == set(line["hosts"])

    # Afterwards everything can still be read.
    assert cluster.application(application)["finalStatus"] == "SUCCEEDED"
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert status["state"] == "SUCCEEDED"
    assert status["final"]["exit_code"] == 0
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert {record["schema"] for record in records} == {1}
    types = [record["type"] for record in records]
    for earlier, later in (
        ("DriverStarted", "ContainerStarted"),
        ("RequestContainers", "ContainerStarted"),
        ("ContainerStarted", "TaskFinished"),
        ("TaskFinished", "DriverFinished"),
    ):
        assert types.index(earlier) < types.index(later)
    assert types.count("TaskFinished") == 12
    assert all(record["reason"] for record in records if record["kind"] == "command")
    logs = wait_for("the logs", lambda: yarnspec("logs", application, "--file", "driver.stdout").stdout, 30)
    assert json.loads(logs) == line
    executors = yarnspec("logs", application, "--role", "executor").expect(0).stdout
    assert "Starting executor" in executors

    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


def _page(url: str) -> str:
    """A page; empty while it is not there."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own cluster
            return str(answer.read().decode())
    except urllib.error.URLError:
        return ""


def _with_running(status: dict[str, Any]) -> dict[str, Any] | None:
    return status if status["running_containers"] == EXECUTORS else None


def test_cluster_mode_prints_the_id_and_json_one_object(submit: Submit, yarnspec: Yarnspec, cluster: Cluster) -> None:
    """`--deploy-mode cluster`: stdout is the id; `-o json`: one object; two applications run at once."""
    plain = submit("tasks.py", "4", "0.1", options=["--deploy-mode", "cluster", *ONE_EXECUTOR])
    as_json = submit("tasks.py", "4", "0.1", options=["-o", "json", *ONE_EXECUTOR])
    result = plain.wait().expect(0)
    document = as_json.wait().expect(0).document
    assert result.stdout == f"{plain.application_id()}\n"
    assert document["application_id"] == as_json.application_id()
    assert document["application_id"] != plain.application_id()
    assert (document["state"], document["exit_code"]) == ("SUCCEEDED", 0)
    for submission, mode in ((plain, "cluster"), (as_json, "client")):
        application = submission.application_id()
        output = wait_for("logs", lambda: yarnspec("logs", application, "--file", "driver.stdout").stdout, 30)  # noqa: B023 - used at once
        assert json.loads(output)["sum"] == 6
        assert json.loads(output)["application_id"] == application
        assert json.loads(output)["deploy_mode"] == mode
        wait_for("nothing left", lambda: not leftovers(cluster, application), 20)  # noqa: B023


def test_dry_run_submits_nothing(submit: Submit, cluster: Cluster) -> None:
    """`--dry-run` shows the specification, the placement and Spark's configuration."""
    before = len(cluster.applications())
    submission = submit(
        "tasks.py", "4", "0.1", options=["--dry-run", "-o", "json", "--exclude-hosts", cluster.hosts[1]]
    )
    result = submission.wait(30).expect(0)
    assert cluster.hosts[1] in result.stdout
    assert "spark.executor.memory" in result.stdout
    assert result.document
    assert len(cluster.applications()) == before
