"""Where containers come, as the ResourceManager tells it. Programs without a SparkContext cost little beside them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.submitting import PROGRAMS, Submission, dynamic
from integration.waiting import wait_for

PATIENCE_S = 90
BLACKLIST, CONSTRAINTS = ("--set", "placement.mode=blacklist"), ("--set", "placement.mode=constraints")
LIMIT = ("--set", "placement.max_per_host=1")
SOAK = pytest.mark.soak
ONE_CONTAINER_MB = 1024
STAYS_S = 3
"""For so long nothing more comes where nothing more may."""
ANCHOR = "anchor"
"""The tag of another application's container, on the host that has Python 3.11."""
SIZE = ("--executor-memory", "512m")
"""That of the executors here: a plan is told it, a submit has it anyway."""
IDLE = str(PROGRAMS / "idle.py")


@pytest.fixture
def python_host(cluster: Cluster) -> Iterator[str]:
    """A host that has a node attribute, for one test."""
    host = cluster.hosts[-1]
    cluster.command("yarn", "nodeattributes", "-add", f"{host}:python(STRING)=3.11")
    yield host
    cluster.command("yarn", "nodeattributes", "-remove", f"{host}:python")


@pytest.fixture
def small_host(cluster: Cluster) -> Iterator[str]:
    """A host with room for one small container, for one test."""
    host = cluster.hosts[2]
    (node,) = (one for one in cluster.rest("nodes")["nodes"]["node"] if one["id"].startswith(f"{host}:"))
    memory_mb = node["usedMemoryMB"] + node["availMemoryMB"]
    cores = node["usedVirtualCores"] + node["availableVirtualCores"]

    def resize(size_mb: int) -> None:
        cluster.command("yarn", "rmadmin", "-updateNodeResource", node["id"], str(size_mb), str(cores))

    resize(ONE_CONTAINER_MB)
    yield host
    resize(memory_mb)


def counts(cluster: Cluster, submission: Submission, executors: int) -> Counter[str]:
    """How many containers each host has, the AM's not counted, as soon as there are so many."""
    application = submission.application_id(PATIENCE_S)

    def there() -> Counter[str] | None:
        found = _executors(cluster, application)
        return found if found.total() >= executors else None

    return wait_for(f"{executors} executors of {application}", there, PATIENCE_S)


def _executors(cluster: Cluster, application: str) -> Counter[str]:
    return Counter(cluster.executors(application).values())


def planned(document: dict[str, Any]) -> Counter[str]:
    """How many containers each host has in a plan."""
    return Counter({one["host"]: len(one["containers"]) for one in document["hosts"] if one["containers"]})


def plan(yarnspec: Yarnspec, *arguments: str) -> dict[str, Any]:
    return yarnspec("plan", "-o", "json", *arguments).expect(0).document


@pytest.mark.one_a_day("where containers are")
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
    before = plan(yarnspec, *SIZE, *options, IDLE)
    assert sorted(planned(before).values(), reverse=True) == even
    assert all(one["slots"] == 1 for host in before["hosts"] for one in host["containers"])
    submission = submit(IDLE, options=options)
    found = counts(cluster, submission, executors)
    assert sorted(found.values(), reverse=True) == even
    assert planned(plan(yarnspec, submission.application_id())) == found


@pytest.mark.one_a_day("where containers are")
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


@pytest.mark.one_a_day("where containers are")
@pytest.mark.parametrize("mode", [BLACKLIST, CONSTRAINTS])
def test_a_blocked_host_gets_nothing_and_the_others_share(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, *, mode: tuple[str, ...]
) -> None:
    excluded = cluster.hosts[1]
    options = [*mode, "--num-executors", "8", "--exclude-hosts", excluded]
    before = planned(plan(yarnspec, *SIZE, *options, IDLE))
    for found in (before, counts(cluster, submit(IDLE, options=options), 8)):
        assert excluded not in found
        assert sorted(found.values()) == [2, 3, 3]


@pytest.mark.one_a_day("where containers are")
@pytest.mark.parametrize("mode", [BLACKLIST, CONSTRAINTS])
def test_a_small_host_gets_what_fits_and_the_others_share(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, small_host: str, *, mode: tuple[str, ...]
) -> None:
    options = [*mode, "--num-executors", "8"]
    # The plan gives the application master no host: it may take the only place there.
    before = planned(plan(yarnspec, *SIZE, *options, IDLE))
    assert before.pop(small_host) == 1
    assert sorted(before.values()) == [2, 2, 3]
    submission = submit(IDLE, options=options)
    found = counts(cluster, submission, 8)
    master = cluster.attempts(submission.application_id())[0]["nodeId"].partition(":")[0]
    # The application master takes the only place there, or an executor does.
    fits = int(master != small_host)
    assert found[small_host] == fits
    assert sorted(found[host] for host in cluster.hosts if host != small_host) == ([2, 2, 3] if fits else [2, 3, 3])


@pytest.mark.one_a_day("where containers are")
@pytest.mark.parametrize("mode", [BLACKLIST, CONSTRAINTS])
def test_executors_of_dynamic_allocation_are_spread(
    submit: Submit, cluster: Cluster, tmp_path: Path, *, mode: tuple[str, ...]
) -> None:
    """They come with the load, go when it is over, and come again."""
    options = [*dynamic(**{"spark.dynamicAllocation.maxExecutors": "8"}), *mode]
    job = submit("loads.py", str(tmp_path), "8", options=options, small=False)
    application = job.application_id(PATIENCE_S)
    (tmp_path / "begin-1").touch()
    assert counts(cluster, job, 8) == dict.fromkeys(cluster.hosts, 2)
    (tmp_path / "end-1").touch()
    wait_for("the executors' end", lambda: _executors(cluster, application).total() == 1, PATIENCE_S)
    (tmp_path / "begin-2").touch()
    assert counts(cluster, job, 8) == dict.fromkeys(cluster.hosts, 2)
    (tmp_path / "end-2").touch()
    job.wait(PATIENCE_S).expect(0)


@pytest.mark.one_a_day("where containers are")
def test_a_limit_and_a_users_constraint_hold_together(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, python_host: str
) -> None:
    """Two hosts suit, and one container on each is allowed: of three one is not asked for."""
    elsewhere = cluster.hosts[0]
    either = f"or(python=3.11:nm.yarn.io/host={elsewhere})"
    options = [*CONSTRAINTS, *LIMIT, "--num-executors", "3", "--placement-constraint", either]
    before = plan(yarnspec, *SIZE, *options, IDLE)
    assert (planned(before), before["not_asked_for"]) == ({python_host: 1, elsewhere: 1}, 1)
    submission = submit(IDLE, options=options)
    assert counts(cluster, submission, 2) == {python_host: 1, elsewhere: 1}
    assert planned(plan(yarnspec, submission.application_id())) == {python_host: 1, elsewhere: 1}
    status = yarnspec("status", submission.application_id(), "-o", "json").expect(0).document
    assert status["placement_constraint"] == either
    assert any("1 executor is not asked for: at most 1 may be on one host" in one for one in status["warnings"])


@pytest.mark.one_a_day("where containers are")
def test_a_constraint_on_tags_of_its_own_keeps_executors_apart(submit: Submit, cluster: Cluster) -> None:
    apart = ["--set", "placement.tags=etl", "--placement-constraint", "notin,node,etl"]
    found = counts(cluster, submit(IDLE, options=[*CONSTRAINTS, *apart, "--num-executors", "4"]), 4)
    assert found == dict.fromkeys(cluster.hosts, 1)


@SOAK
@pytest.mark.timeout(900)
def test_constraints_of_each_kind(submit: Submit, yarnspec: Yarnspec, cluster: Cluster, python_host: str) -> None:
    """Beside an application with one executor on one host. The control, without a constraint, lies on all hosts."""
    anchor = ("--set", f"placement.tags={ANCHOR}", "--placement-constraint", "python=3.11")
    beside = submit(IDLE, options=[*CONSTRAINTS, *anchor, "--num-executors", "1"])
    assert counts(cluster, beside, 1) == {python_host: 1}
    there, elsewhere = [python_host], [host for host in cluster.hosts if host != python_host]
    for constraint, wanted, hosts, most in (
        ("", 4, cluster.hosts, 1),
        (f"in,node,all/{ANCHOR}", 3, there, 3),
        (f"in,node,not-self/{ANCHOR}", 3, there, 3),
        (f"notin,node,all/{ANCHOR}", 4, elsewhere, 2),
        (f"notin,node,not-self/{ANCHOR}", 4, elsewhere, 2),
        ("python!=3.11", 4, elsewhere, 2),
        # Where 0 or 1 are, so that there will be two.
        ("cardinality,node,etl,0,1", 8, cluster.hosts, 2),
        (f"and(in,node,all/{ANCHOR}:cardinality,node,etl,0,1)", 3, there, 2),
        (f"and(in,node,all/{ANCHOR}:python!=3.11)", 2, [], 0),
    ):
        options = [*CONSTRAINTS, "--set", "placement.tags=etl", "--num-executors", str(wanted)]
        submission = submit(IDLE, options=[*options, *(("--placement-constraint", constraint) if constraint else ())])
        application = submission.application_id(PATIENCE_S)
        wait_for(f"the master of {constraint}", lambda: cluster.containers(application), PATIENCE_S)  # noqa: B023
        expected = min(wanted, most * len(hosts))
        found = counts(cluster, submission, expected) if expected else Counter()
        if expected < wanted:
            time.sleep(STAYS_S)
            found = _executors(cluster, application)
        assert found.total() == expected, (constraint, found)
        assert set(found) <= set(hosts), (constraint, found)
        assert max(found.values(), default=0) <= most, (constraint, found)
        yarnspec("kill", application).expect(0)


def test_what_cannot_be_had_is_refused_before_anything_is_submitted(submit: Submit) -> None:
    for options, why in (
        ([*CONSTRAINTS, "--placement-constraint", "python=2.7"], "no running host satisfies 'rm.yarn.io/python=2.7'"),
        ([*CONSTRAINTS, "--placement-constraint", "in,node"], "'in,node' (from character 1) is wrong"),
        ([*BLACKLIST, "--placement-constraint", "notin,node,x"], "the mode is blacklist"),
    ):
        assert why in submit(IDLE, options=options).wait().expect(2).stderr
