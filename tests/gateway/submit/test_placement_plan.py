"""What a plan says of hosts that take nothing, of rules that would give way, and of executors that find no place."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.gateway.calm_cluster import Rm, host
from tests.gateway.cluster import HOSTS, HandMadeCluster
from tests.gateway.lines import read
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.submit.placement_plan import PlacementPlan, plan_of_request

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
