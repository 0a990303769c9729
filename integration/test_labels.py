"""Node labels: Spark's own properties say on which hosts executors and AM may run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit
from integration.waiting import wait_for

LABEL = "fast"


@pytest.fixture
def labelled(cluster: Cluster) -> Iterator[str]:
    """A host that has the label, for one test."""
    host = cluster.hosts[-1]
    cluster.command("yarn", "rmadmin", "-addToClusterNodeLabels", LABEL)
    cluster.command("yarn", "rmadmin", "-refreshQueues")
    cluster.command("yarn", "rmadmin", "-replaceLabelsOnNode", f"{host}={LABEL}")
    wait_for("the label", lambda: _labels(cluster, host) == [LABEL], 10)
    yield host
    cluster.command("yarn", "rmadmin", "-replaceLabelsOnNode", host)
    wait_for("the end of the label", lambda: _labels(cluster, host) == [], 10)


@pytest.mark.one_a_day("features of YARN")
def test_containers_go_to_the_hosts_with_their_label(submit: Submit, labelled: str, cluster: Cluster) -> None:
    """In both modes executors are on the labelled host; the AM is there only when its own property says so."""
    executors = ["--conf", f"spark.yarn.executor.nodeLabelExpression={LABEL}"]
    master = ["--conf", f"spark.yarn.am.nodeLabelExpression={LABEL}"]
    by_blacklist = submit("tasks.py", "8", "0.2", options=["--set", "placement.mode=blacklist", *executors])
    by_constraints = submit(
        "tasks.py", "8", "0.2", options=["--set", "placement.mode=constraints", *executors, *master]
    )
    (first,) = by_blacklist.wait().expect(0).lines
    (second,) = by_constraints.wait().expect(0).lines
    for line in (first, second):
        assert list(line["hosts"]) == [labelled]
    # The label is exclusive: who does not ask for it is elsewhere.
    assert first["driver_host"] != labelled
    assert second["driver_host"] == labelled
    for submission in (by_blacklist, by_constraints):
        application = submission.application_id()
        am = cluster.attempts(application)[0]["containerId"]
        assert {host for container, host in cluster.launched(application).items() if container != am} == {labelled}


def _labels(cluster: Cluster, host: str) -> list[str]:
    nodes = (cluster.rest("nodes").get("nodes") or {}).get("node") or []
    return [label for node in nodes if str(node["id"]).startswith(f"{host}:") for label in node.get("nodeLabels") or []]
