"""What a plan says of hosts that take nothing, of rules that would give way, and of executors that find no place."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.gateway.calm_cluster import Rm, host
from tests.gateway.cluster import HOSTS, HandMadeCluster
from tests.gateway.lines import read
from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.submit.placement_plan import PlacementPlan, plan_of_request
from yarnspec.yarn.rm.rm_reports import Host

SIZE_MB = 1024 + 384


@pytest.fixture
def rm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rm:
    cluster = HandMadeCluster(tmp_path)
    cluster.__dict__["rm"] = made = Rm("http://rm:8088")
    monkeypatch.setattr(Cluster, "from_environment", lambda settings=None: cluster)  # noqa: ARG005
    monkeypatch.setenv("SPARK_CONF_DIR", "/nonexistent")
    (tmp_path / "app.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return made


def plan(*line: str) -> PlacementPlan:
    return plan_of_request(read("--executor-memory", "1g", "--num-executors", "4", *line, "app.py"))


GPUS = ["--conf", "spark.executor.resource.gpu.amount=2", "--conf", "spark.executor.resource.gpu.discoveryScript=/x"]


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        (["--executor-memory", "500g"], UsageError, "--executor-memory"),
        (["--exclude-hosts", "nosuchhost"], NotFound, "nosuchhost"),
        (["--exclude-hosts", ",".join(HOSTS)], UsageError, "leave at least one"),
        (["--placement-constraint", f"nm.yarn.io/host={HOSTS[0]}", "--exclude-hosts", HOSTS[0]], UsageError, HOSTS[0]),
        (GPUS, UsageError, "gpu"),
    ],
)
@pytest.mark.usefixtures("rm")
def test_lines_that_a_submit_refuses_have_no_plan(line: list[str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        plan(*line)


FAST = ["--conf", "spark.yarn.executor.nodeLabelExpression=fast"]
SMALL = {"memory_mb": 2048}
TWO_GPUS = {"resources": {"yarn.io/gpu": 2}}
SSD = {"attributes": {"nm.yarn.io/host": "a", "rm.yarn.io/disk": "ssd"}}
TOO_SMALL = "a: it has 2048 MiB, and an executor needs 4505"


@pytest.mark.parametrize(
    ("hosts", "line", "words"),
    [
        (
            [host("a"), host("b"), host("g", labels=("gpu",), **TWO_GPUS)],
            GPUS,
            [
                "a, b: it has no yarn.io/gpu",
                "g: it has the node label gpu, and executors have none",
                "Change one of these: their node label (spark.yarn.executor.nodeLabelExpression), their size (",
            ],
        ),
        (
            [host("a", **SMALL, **SSD), host("b"), host("c")],
            ["--placement-constraint", "disk=ssd"],
            [
                TOO_SMALL,
                "b, c: your constraint does not hold there",
                "Change one of these: placement.constraint, their",
            ],
        ),
        (
            [host("a", **SMALL, labels=("fast",)), *(host(f"h{number}") for number in range(5))],
            FAST,
            [TOO_SMALL, "h0, h1, h2 and 2 more: it does not have the node label fast"],
        ),
        (
            [host("a", **SMALL), host("b"), host("c", state="LOST")],
            ["--exclude-hosts", "b"],
            [TOO_SMALL, "b: it is excluded at submit", "spark.executor.resource.*), --exclude-hosts."],
        ),
        (
            [host("a", **SMALL, **TWO_GPUS), host("b")],
            GPUS,
            [TOO_SMALL, "b: it has no yarn.io/gpu"],
        ),
    ],
)
def test_what_no_host_has_all_at_once_is_refused(rm: Rm, hosts: list[Host], line: list[str], words: list[str]) -> None:
    """Each condition alone holds on some host."""
    rm.made_hosts = hosts
    with pytest.raises(UsageError, match="no running host takes executors") as caught:
        plan("--executor-memory", "4g", *line)
    for said in words:
        assert said in str(caught.value)
    rm.made_hosts = [msgspec.structs.replace(one, state="LOST") for one in hosts]
    if "--placement-constraint" not in line:
        assert plan("--executor-memory", "4g", *line).warnings == ()


def test_what_may_still_come_is_a_warning(rm: Rm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that ends, cores that the scheduler may not count, a label that no host has yet or that is shared."""

    def warned(*line: str) -> str:
        planned = plan("--executor-memory", "4g", *line)
        assert counts(planned) == [0] * len(rm.made_hosts)
        (said,) = planned.warnings
        return said.removeprefix("no running host takes executors now: ")

    rm.made_hosts = [host("a"), host("b")]
    assert warned(*FAST) == "a, b: it does not have the node label fast"
    rm.made_hosts = [host("a", labels=("fast",), vcores=2), host("b")]
    assert "a: it has 2 cores, and an executor needs 4" in warned(*FAST, "--executor-cores", "4")
    rm.made_hosts = [host("a", **SMALL), host("g", labels=("gpu",))]
    with pytest.raises(UsageError, match="g: it has the node label gpu"):
        plan("--executor-memory", "4g")
    rm.made_shared_labels = frozenset({"gpu"})
    assert "g: it has the node label gpu, and executors have none" in warned()
    rm.made_hosts = [host("a", **SMALL), host("b")]
    listed = (("b",), ())
    monkeypatch.setattr("yarnspec.gateway.submit.clustercheck.listed_hosts", lambda *_: listed)
    assert warned() == f"b: it is on the cluster's list of blocked hosts; {TOO_SMALL}"


@pytest.mark.usefixtures("rm")
def test_a_plan_warns_that_the_clusters_list_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        message = "HDFS does not answer"
        raise ClusterUnreachable(message)

    monkeypatch.setattr(HandMadeCluster, "shared_blocks", away)
    assert plan().warnings == ("the cluster's list of blocked hosts cannot be read: HDFS does not answer",)


def counts(planned: PlacementPlan) -> list[int]:
    return [len(one.containers) for one in planned.hosts]


def test_a_host_says_which_label_keeps_executors_off(rm: Rm) -> None:
    rm.made_hosts = [host("a"), host("b", labels=("gpu",))]
    planned = plan()
    assert counts(planned) == [4, 0]
    assert [one.why_not for one in planned.hosts] == ["", "it has the node label gpu, and executors have none"]
    planned = plan("--conf", "spark.yarn.executor.nodeLabelExpression=gpu")
    assert counts(planned) == [0, 4]
    assert [one.why_not for one in planned.hosts] == ["it does not have the node label gpu", ""]
    assert "hard: only hosts with the node label gpu" in planned.rules


def test_executors_with_a_label_that_no_host_has_come_anywhere_and_the_plan_says_why(rm: Rm) -> None:
    planned = plan("--conf", "spark.yarn.executor.nodeLabelExpression=gpu")
    assert (counts(planned), len(planned.anywhere)) == ([0] * len(HOSTS), 4)
    assert planned.why_not_asked_for == "no running host has the node label gpu: 4 containers wait"
    rm.made_queue = msgspec.structs.replace(rm.made_queue, default_label="fast")
    assert {one.why_not for one in plan().hosts} == {"it does not have the node label fast"}


def test_executors_that_are_not_asked_for_are_told_with_the_rule_that_keeps_them_off(rm: Rm) -> None:
    planned = plan("--set", "placement.max_per_host=1")
    assert (counts(planned), planned.not_asked_for) == ([1, 1, 1], 1)
    assert "at most 1 may be on one host (placement.max_per_host)" in planned.why_not_asked_for
    assert "hard: at most 1 executor on one host" in planned.rules
    rm.made_hosts = [host(name, labels=("gpu",)) for name in HOSTS]
    planned = plan("--set", "placement.max_per_host=1")
    assert (counts(planned), planned.not_asked_for) == ([0, 0, 0], 4)
    assert planned.why_not_asked_for == (
        "4 executors are not asked for: every running host has a node label, and executors have none"
    )


@pytest.mark.usefixtures("rm")
def test_tags_of_its_own_in_the_constraint_limit_the_executors_on_a_host() -> None:
    planned = plan("--set", "placement.tags=etl", "--placement-constraint", "and(notin,node,etl:notin,node,all/hbase)")
    assert (counts(planned), len(planned.anywhere), planned.not_asked_for) == ([1, 1, 1], 0, 1)
    assert "at most 1 may be on one host (placement.constraint)" in planned.why_not_asked_for
    planned = plan("--set", "placement.tags=etl", "--placement-constraint", "cardinality,node,etl,0,1")
    assert (sorted(counts(planned)), planned.not_asked_for) == ([1, 1, 2], 0)


@pytest.mark.usefixtures("rm")
def test_the_plan_says_why_containers_near_others_are_not_spread() -> None:
    planned = plan("--placement-constraint", "in,node,all/hbase")
    assert len(planned.anywhere) == 4
    assert planned.rules[-1] == "no spreading: with in or cardinality only the ResourceManager knows the hosts"


def test_the_plan_says_when_it_draws_nothing_and_when_it_does_not_spread(rm: Rm) -> None:
    dynamic = ["--conf", "spark.dynamicAllocation.enabled=true", "--num-executors", "0"]
    planned = plan(*dynamic)
    assert counts(planned) == [0] * len(rm.made_hosts)
    assert (planned.not_asked_for, planned.why_not_asked_for) == (
        0,
        "0 executors are asked for at the start; dynamic allocation asks for more",
    )
    assert plan(*dynamic, "--conf", "spark.dynamicAllocation.minExecutors=1").why_not_asked_for == ""
    for limit in ([], ["--set", "placement.max_per_host=2"]):
        planned = plan("--set", "placement.spread=false", *limit)
        assert planned.rules[-1] == "no spreading: placement.spread is false"


def test_full_hosts_say_so_and_the_plan_says_that_spreading_gives_way(rm: Rm) -> None:
    rm.made_hosts = [
        host("a", used_memory_mb=8192 - SIZE_MB + 1),
        host("b", used_vcores=8),
        host("c", memory_mb=1000),
        host("d", state="LOST"),
    ]
    planned = plan()
    assert [one.why_not for one in planned.hosts] == [
        f"it has {SIZE_MB - 1} MiB free, and an executor needs {SIZE_MB}",
        "it has 0 cores free, and an executor needs 1",
        f"it has 1000 MiB, and an executor needs {SIZE_MB}",
        "it is LOST",
    ]
    assert len(planned.anywhere) == 4
    assert planned.relaxed == ("no host has room for 4 containers now: they may come anywhere",)


def test_a_container_takes_as_much_memory_as_yarn_gives_it(rm: Rm) -> None:
    """The step is 1024 MiB: 1408 become 2048, and one of 3000 MiB has room for one such container, not for two."""
    rm.made_hosts = [host("a", memory_mb=3000), host("b", memory_mb=2047), host("c", memory_mb=3000)]
    assert counts(plan("--num-executors", "3")) == [1, 1, 1]
    rm.step_mb = 1024
    planned = plan("--num-executors", "3")
    assert counts(planned) == [1, 0, 1]
    assert planned.hosts[1].why_not == "it has 2047 MiB, and an executor needs 2048"
    assert len(planned.anywhere) == 1
    rm.made_hosts = [host("b", memory_mb=2047)]
    with pytest.raises(UsageError, match="an executor needs 2048 MiB and 1 cores, and no host has that much"):
        plan()


def test_a_full_host_beside_others_says_so_and_nothing_gives_way(rm: Rm) -> None:
    rm.made_hosts = [host("a"), host("b", used_memory_mb=8192)]
    planned = plan()
    assert (counts(planned), planned.relaxed, planned.why_not_asked_for) == ([4, 0], (), "")
    assert [one.why_not for one in planned.hosts] == ["", f"it has 0 MiB free, and an executor needs {SIZE_MB}"]


def test_a_host_with_its_share_of_containers_is_not_called_full(rm: Rm) -> None:
    rm.made_hosts = [host("a", memory_mb=SIZE_MB), host("b")]
    planned = plan()
    assert counts(planned) == [1, 3]
    assert [one.why_not for one in planned.hosts] == ["", ""]
