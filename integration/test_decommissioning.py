"""A host that an administrator takes out of service in order: Spark lets its executors there finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import EXCLUDED_HOSTS, Submit, Yarnspec
from integration.waiting import wait_for

GRACE_S = "600"


@pytest.fixture
def decommission(cluster: Cluster) -> Iterator[Callable[[str], None]]:
    """Takes a host out of service in order, until the test ends; an empty name takes all hosts back."""
    file = cluster.home / EXCLUDED_HOSTS

    def begin(host: str) -> None:
        file.write_text(f"{host}\n")
        cluster.command("yarn", "rmadmin", "-refreshNodes", "-g", GRACE_S, "-server")
        expected = {one: "DECOMMISSIONING" if one == host else "RUNNING" for one in cluster.hosts}
        wait_for(f"{host or 'no host'} decommissioning", lambda: cluster.node_states() == expected, 30)

    yield begin
    # A host on which the application has ended meanwhile has shut down.
    file.write_text("")
    cluster.command("yarn", "rmadmin", "-refreshNodes")
    for host in cluster.hosts:
        cluster.mini.host_start(host)


@pytest.mark.one_a_day("features of YARN")
def test_executors_of_a_host_that_is_decommissioned_finish_elsewhere(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, *, decommission: Callable[[str], None], tmp_path: Path
) -> None:
    """The executor gets no more tasks, moves its map outputs and ends; another one comes, and no task has failed."""
    stop = tmp_path / "stop"
    wishes = ("spark.decommission.enabled=true", "spark.storage.decommission.enabled=true")
    options = [word for wish in wishes for word in ("--conf", wish)]
    submission = submit("rounds.py", str(stop), "4", "0.2", "shuffled", options=options)
    application = submission.application_id()
    wait_for("a round on two hosts", lambda: len(submission.last_hosts) == 2, 60)
    master = str(cluster.attempts(application)[0]["nodeId"]).partition(":")[0]
    leaving = next(host for host in submission.last_hosts if host != master)
    decommission(leaving)

    def moved() -> bool:
        submission.check_running()
        return len(submission.last_hosts) == 2 and leaving not in submission.last_hosts

    wait_for("rounds without that host", moved, 60)
    assert leaving not in cluster.containers(application).values()
    decommission("")
    stop.touch()
    last = submission.wait().expect(0).lines[-1]
    assert last["wrong"] == 0
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    told = {
        kind: [one for one in records if one["type"] == kind]
        for kind in ("DecommissionHost", "ExecutorsDecommissioned", "RemoveExecutor", "TaskFinished")
    }
    assert [one["host"] for one in told["DecommissionHost"]] == [leaving]
    (executor,) = [name for one in told["ExecutorsDecommissioned"] for name in one["executor_ids"]]
    (removed,) = told["RemoveExecutor"]
    assert (removed["executor_id"], removed["exit_code"], removed["caused_by_app"]) == (executor, 0, False)
    assert [one for one in told["TaskFinished"] if one.get("failure")] == []
