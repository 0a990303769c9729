"""Where containers come, as the ResourceManager tells it. Programs without a SparkContext cost little beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.submitting import PROGRAMS, Submission
from integration.waiting import wait_for

PATIENCE_S = 90
BLACKLIST, CONSTRAINTS = ("--set", "placement.mode=blacklist"), ("--set", "placement.mode=constraints")
LIMIT = ("--set", "placement.max_per_host=1")
SOAK = pytest.mark.soak
IDLE = str(PROGRAMS / "idle.py")


@pytest.fixture
def python_host(cluster: Cluster) -> Iterator[str]:
    """A host that has a node attribute, for one test."""
    host = cluster.hosts[-1]
    cluster.command("yarn", "nodeattributes", "-add", f"{host}:python(STRING)=3.11")
    yield host
    cluster.command("yarn", "nodeattributes", "-remove", f"{host}:python")


def counts(cluster: Cluster, submission: Submission, executors: int) -> Counter[str]:
    """How many containers each host has, the AM's not counted, as soon as there are so many."""
    application = submission.application_id(PATIENCE_S)

    def there() -> Counter[str] | None:
        found = _executors(cluster, application)
        return found if found.total() >= executors else None

    return wait_for(f"{executors} executors of {application}", there, PATIENCE_S)


def _executors(cluster: Cluster, application: str) -> Counter[str]:
    attempts = cluster.attempts(application)
    am = attempts[0]["containerId"] if attempts else ""
    return Counter(host for container, host in cluster.containers(application).items() if container != am)


def plan(yarnspec: Yarnspec, *arguments: str) -> dict[str, Any]:
    return yarnspec("plan", "-o", "json", *arguments).expect(0).document


@pytest.mark.one_a_day("containers are spread")
@pytest.mark.parametrize(
    ("executors", "mode", "even"),
    [
        (executors, mode, even)
        for executors, even in ((9, [3, 2, 2, 2]), (8, [2] * 4), (4, [1] * 4), (2, [1, 1]))
        for mode in (BLACKLIST, CONSTRAINTS)
    ],
)
def test_containers_are_spread_as_planned(
    submit: Submit,
    yarnspec: Yarnspec,
    cluster: Cluster,
    *,
    executors: int,
    mode: tuple[str, ...],
    even: list[int],
) -> None:
    options = [*mode, "--num-executors", str(executors)]
    planned = plan(yarnspec, "--executor-memory", "512m", *options, IDLE)
    assert sorted((len(host["containers"]) for host in planned["hosts"]), reverse=True)[: len(even)] == even
    submission = submit(IDLE, options=options)
    assert sorted(counts(cluster, submission, executors).values(), reverse=True) == even
    shown = plan(yarnspec, submission.application_id())
    assert sum(len(host["containers"]) for host in shown["hosts"]) == executors


@SOAK
@pytest.mark.parametrize("mode", [BLACKLIST, CONSTRAINTS])
def test_without_spreading_some_host_gets_more(submit: Submit, cluster: Cluster, *, mode: tuple[str, ...]) -> None:
    """The control: of several applications one at least lies unevenly."""
    spreads = []
    for _ in range(3):
        submission = submit(IDLE, options=[*mode, "--num-executors", "8", "--set", "placement.spread=false"])
        found = counts(cluster, submission, 8)
        spreads.append(max(found.values()) - min(found[host] for host in cluster.hosts))
        submission.stop()
    assert max(spreads) > 1, spreads


@pytest.mark.one_a_day("not everywhere")
def test_a_blocked_host_gets_nothing_and_the_others_share(submit: Submit, cluster: Cluster) -> None:
    excluded = cluster.hosts[1]
    found = counts(cluster, submit(IDLE, options=[*BLACKLIST, "--num-executors", "8", "--exclude-hosts", excluded]), 8)
    assert excluded not in found
    assert sorted(found.values()) == [2, 3, 3]


@pytest.mark.one_a_day("not everywhere")
def test_a_limit_and_a_users_constraint_hold_together(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, python_host: str
) -> None:
    """Two hosts suit, and one container on each is allowed: of three one is not asked for."""
    elsewhere = cluster.hosts[0]
    either = f"or(python=3.11:nm.yarn.io/host={elsewhere})"
    options = [*CONSTRAINTS, *LIMIT, "--num-executors", "3", "--placement-constraint", either]
    submission = submit(IDLE, options=options)
    assert counts(cluster, submission, 2) == {python_host: 1, elsewhere: 1}
    status = yarnspec("status", submission.application_id(), "-o", "json").expect(0).document
    assert status["placement_constraint"] == either
    assert any("1 executors are not asked for: at most 1 may be on one host" in one for one in status["warnings"])


@pytest.mark.one_a_day("not everywhere")
def test_a_constraint_on_tags_of_its_own_keeps_executors_apart(submit: Submit, cluster: Cluster) -> None:
    apart = ["--set", "placement.tags=etl", "--placement-constraint", "notin,node,etl"]
    found = counts(cluster, submit(IDLE, options=[*CONSTRAINTS, *apart, "--num-executors", "4"]), 4)
    assert found == dict.fromkeys(cluster.hosts, 1)


def test_what_cannot_be_had_is_refused_before_anything_is_submitted(submit: Submit) -> None:
    for options, why in (
        ([*CONSTRAINTS, "--placement-constraint", "python=2.7"], "no running host satisfies 'rm.yarn.io/python=2.7'"),
        ([*CONSTRAINTS, "--placement-constraint", "in,node"], "'in,node' (from character 1) is wrong"),
        ([*BLACKLIST, "--placement-constraint", "notin,node,x"], "the mode is blacklist"),
    ):
        assert why in submit(IDLE, options=options).wait().expect(2).stderr
