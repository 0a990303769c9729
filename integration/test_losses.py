"""Executors, hosts and the ResourceManager go away while a job runs; the job goes on and its results are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Watch, Yarnspec
from integration.processes import ContainerProcess
from integration.waiting import wait_for

OPTIONS = ["--executor-memory", "4g", "--num-executors", "2"]


@pytest.mark.one_a_day("the end is in the way")
def test_a_killed_executor_and_lost_hosts_are_replaced(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, watch: Watch, tmp_path: Path
) -> None:
    """First an executor is killed, then a host stops in order, then a host is killed."""
    stop = tmp_path / "stop"
    submission = submit("rounds.py", str(stop), options=OPTIONS)
    application = submission.application_id()
    stopped: list[str] = []
    with watch(application):
        _executors(cluster, application)
        am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]

        def lose(how: str) -> ContainerProcess:
            """Lose an executor that is not on the AM's host, and wait for another one."""
            before = _executors(cluster, application)
            victim = next(each for each in before if each.host != am_host)
            if how == "kill":
                victim.kill()
            else:
                stopped.append(victim.host)
                _minicluster(
                    yarnspec, cluster, "host", "stop", victim.host, *(["--kill"] if how == "host kill" else [])
                )
            known = {each.container_id for each in before}
            wait_for(f"a replacement after {how}", lambda: _new(cluster, application, known), 60)
            return victim

        killed = lose("kill")
        on_stopped_host = lose("host stop")
        wait_for("both registered", lambda: _registered(yarnspec, application) == 2, 60)
        on_killed_host = lose("host kill")
        stop.touch()
        result = submission.wait().expect(0)
    for host in stopped:
        _minicluster(yarnspec, cluster, "host", "start", host)
    wait_for("all hosts", lambda: list(cluster.node_states().values()) == ["RUNNING"] * len(cluster.hosts), 30)

    assert result.lines[-1]["wrong"] == 0
    assert cluster.application(application)["finalStatus"] == "SUCCEEDED"
    assert len(cluster.attempts(application)) == 1
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    lost = {record["container_id"]: record for record in records if record["type"] == "ContainerLost"}
    assert lost[killed.container_id]["exit_code"] == 137
    assert lost[killed.container_id]["diagnostics"]
    assert on_stopped_host.container_id in lost
    assert on_killed_host.container_id in lost
    states = {
        one["state"]: number
        for number, record in enumerate(records)
        for one in (record["hosts"] if record["type"] == "HostsReported" else ())
        if one["host"] == on_killed_host.host
    }
    # Another executor was asked for before YARN knew of the dead host, if it did at all.
    meanwhile = {record["type"] for record in records[states["UNREACHABLE"] : states.get("LOST")]}
    assert {"ReleaseContainer", "RequestContainers"} <= meanwhile


@pytest.mark.one_a_day("the end is in the way")
def test_the_resource_manager_restarts_and_dies(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, watch: Watch, tmp_path: Path
) -> None:
    """The job runs on, the block is sent again after each restart, and executors are still replaced, elsewhere.

    First the ResourceManager is stopped in order, then it is killed.
    """
    stop = tmp_path / "stop"
    submission = submit("rounds.py", str(stop), options=["--set", "placement.mode=blacklist", *OPTIONS])
    application = submission.application_id()
    with watch(application) as placement:
        before = _executors(cluster, application)
        am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
        host = next(each.host for each in before if each.host != am_host)
        yarnspec("hosts", application, "block", host, "--reason", "kept over the restart").expect(0)
        for restart in (1, 2):
            _minicluster(yarnspec, cluster, "rm", "restart", *(["--kill"] if restart == 2 else []))

            def registered(times: int = restart) -> bool:
                records = yarnspec("events", application, "-o", "json").lines
                return [record["type"] for record in records].count("ResourceManagerReconnected") == times

            wait_for("the event of the new registration", registered, 60, poll_s=1)
            known = {each.container_id for each in before}
            assert known <= {each.container_id for each in cluster.processes(application)}
            assert host in str(cluster.attempts(application)[-1].get("blacklistedNodes"))
            # The first time the one on the blocked host.
            next((each for each in before if each.host == host), before[0]).kill()
            new = wait_for("a replacement", lambda: _new(cluster, application, known), 60)  # noqa: B023 - used at once
            assert host not in {each.host for each in new}
            before = _executors(cluster, application)
        stop.touch()
        result = submission.wait().expect(0)
        assert placement.by_rest
    assert result.lines[-1]["wrong"] == 0
    assert len(cluster.attempts(application)) == 1


def _minicluster(yarnspec: Yarnspec, cluster: Cluster, *arguments: str) -> None:
    """As somebody types it."""
    yarnspec("minicluster", *arguments, "--home", str(cluster.home), timeout_s=120).expect(0)


def _registered(yarnspec: Yarnspec, application: str) -> int:
    """How many executors the driver knows."""
    containers = yarnspec("status", application, "-o", "json").expect(0).document["containers"]
    return sum(one["role"] == "executor" and one["state"] == "RUNNING" for one in containers)


def _new(cluster: Cluster, application: str, known: set[str]) -> list[ContainerProcess]:
    """The executors that are not among the known containers, once both run."""
    return [each for each in _executors(cluster, application) if each.container_id not in known]


def _executors(cluster: Cluster, application: str) -> list[ContainerProcess]:
    """Both executors' processes, once both run."""

    def both() -> list[ContainerProcess]:
        found = [each for each in cluster.processes(application) if each.what == "executor"]
        return found if len(found) == 2 else []

    return wait_for("two executors", both, 90)
