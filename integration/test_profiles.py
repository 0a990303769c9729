"""Executors of other sizes and resource types, and those near HDFS blocks, as the ResourceManager gives them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import PROPERTIES, Submit, Yarnspec, started
from integration.lives import durable_outputs, opened
from integration.submitting import Submission, conf, dynamic
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster

HOSTS, HOST_OF_BLOCKS = 2, "127.0.0.3"
PENS, GPUS = "acme.io/pen", "yarn.io/gpu"
THERE = 4
"""So many of each type a host has."""
PATIENCE_S = 90
MAPS = 2
"""So many map outputs has the stage of the profile."""
HEAP_MB, OVERHEAD_MB = 700, 384
LETS_GO = {"spark.dynamicAllocation.shuffleTracking.timeout": "4s"}
"""Without it Spark keeps executors that hold map outputs."""


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, user_environment: dict[str, str]
) -> Iterator[Cluster]:
    """Hosts with resource types of their own. All blocks of HDFS are on the last one."""
    types = {
        "yarn.resource-types": f"{PENS},{GPUS}",
        f"yarn.nodemanager.resource-type.{PENS}": str(THERE),
        f"yarn.nodemanager.resource-type.{GPUS}": str(THERE),
        # The name of the one data node is that of a host, and HDFS's REST is redirected to it.
        "dfs.datanode.hostname": HOST_OF_BLOCKS,
        "dfs.datanode.http.address": f"{HOST_OF_BLOCKS}:0",
    }
    mini = MiniCluster(tmp_path_factory.mktemp("profiles"), nodes=HOSTS, pmem_check=True, properties=PROPERTIES | types)
    with started(request, mini, user_environment) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def _hosts_back() -> None:
    """The cluster is this file's own."""


def discovery(directory: Path, name: str, spark: str, *addresses: str) -> str:
    """A script that finds these addresses of a resource."""
    script = directory / name
    listed = ", ".join(f'"{one}"' for one in addresses)
    script.write_text(f'#!/bin/sh\necho \'{{"name": "{spark}", "addresses": [{listed}]}}\'\n')
    script.chmod(0o755)
    return str(script)


def used(cluster: Cluster) -> Counter[str]:
    """How much of each resource type all containers have together."""
    total: Counter[str] = Counter()
    for node in cluster.rest("nodes")["nodes"]["node"]:
        for one in node["usedResource"]["resourceInformations"]["resourceInformation"]:
            total[one["name"]] += int(one["value"])
    return total


def sizes(cluster: Cluster, application: str) -> dict[str, tuple[int, int]]:
    """Memory and cores of each container that the application has now, by its id."""
    attempt = cluster.attempts(application)[-1]["appAttemptId"]
    listed = cluster.rest(f"apps/{application}/appattempts/{attempt}/containers").get("container") or []
    return {one["containerId"]: (int(one["allocatedMB"]), int(one["allocatedVCores"])) for one in listed}


def step(submission: Submission, name: str, epoch: int = 1) -> dict[str, Any]:
    """What the program has printed of this step, in this epoch: each prints it once."""

    def found() -> dict[str, Any] | None:
        submission.check_running()
        # The last line may not be whole yet.
        lines = [line for line in submission.stdout.splitlines() if line.startswith('{"step"') and line.endswith("}")]
        steps = [one for one in map(json.loads, lines) if one["step"] == name]
        return steps[epoch - 1] if len(steps) >= epoch else None

    return wait_for(f"the step {name}", found, PATIENCE_S)


@pytest.mark.one_a_day("executors of all kinds")
def test_resource_types_are_asked_for_by_name(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """A GPU for the driver, which knows it, one for each executor, which tasks get, and pens beside them.

    Then stages whose profile says only what a task needs. Of 4 tasks without a GPU as many run at once as cores allow.
    """
    options = [
        *("--num-executors", "2", "--executor-cores", "2"),
        *conf(
            **{
                "spark.executor.resource.gpu.amount": "1",
                "spark.executor.resource.gpu.discoveryScript": discovery(tmp_path, "gpus.sh", "gpu", "g7"),
                "spark.task.resource.gpu.amount": "1",
                "spark.driver.resource.gpu.amount": "1",
                "spark.driver.resource.gpu.discoveryScript": discovery(tmp_path, "drivers.sh", "gpu", "g1"),
                f"spark.yarn.executor.resource.{PENS}.amount": "2",
            }
        ),
    ]
    for mode in ("blacklist", "constraints"):
        submission = submit("profiles.py", str(tmp_path), options=[*options, "--set", f"placement.mode={mode}"])
        wait_for(
            f"3 GPUs and 4 pens in mode {mode}",
            lambda: (used(cluster)[GPUS], used(cluster)[PENS]) == (3, 4),
            PATIENCE_S,
        )
        (tmp_path / "usual").touch()
        line, *by_tasks = submission.wait().expect(0).lines
        assert line["resources"] == [{"gpu": ["g7"]}] * 2
        assert line["driver"] == {"gpu": ["g1"]}
        assert [(one["step"], one["at_once"]) for one in by_tasks] == [("small-tasks", 4), ("large-tasks", 2)]
        (tmp_path / "usual").unlink()
        wait_for("all of them free", lambda: used(cluster)[GPUS] == 0, 30)

    for wrong, why in (
        ({f"spark.yarn.executor.resource.{PENS}s.amount": "1"}, f"resource type {PENS}s, which no host of the cluster"),
        ({f"spark.yarn.executor.resource.{PENS}.amount": "5"}, f"5 of {PENS}, and no running host has more than 4"),
        (
            {"spark.yarn.driver.resource.acme.io/ink.amount": "1"},
            "the AM container needs the resource type acme.io/ink",
        ),
    ):
        assert why in submit("profiles.py", str(tmp_path), options=conf(**wrong)).wait().expect(2).stderr


@pytest.mark.one_a_day("executors of all kinds")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("heap_mb", [HEAP_MB, 500])
def test_a_stage_runs_on_executors_of_its_profile(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path, *, heap_mb: int
) -> None:
    """Larger ones, and smaller ones than the usual 512 MiB; with pens and more cores; they go when Spark lets go."""
    discovery(tmp_path, "pens.sh", PENS, "p1", "p2")
    submission = submit("profiles.py", str(tmp_path), f"{heap_mb}m", "2", "2", options=dynamic(**LETS_GO), small=False)
    application = submission.application_id(PATIENCE_S)
    (tmp_path / "usual").touch()
    usual = step(submission, "usual")
    wanted = (heap_mb + OVERHEAD_MB, 2)

    def large() -> list[str]:
        return [one for one, size in sizes(cluster, application).items() if size[1] == 2]

    (container,) = wait_for("an executor of the profile", large, PATIENCE_S)
    # YARN gives memory in steps of its smallest container.
    assert wanted[0] <= sizes(cluster, application)[container][0] < wanted[0] + 128
    assert used(cluster)[PENS] == 2
    planned = yarnspec("plan", "-o", "json", application).expect(0).document
    (profile,) = planned["profiles"]
    assert (profile["memory_mb"], profile["cores"], profile["slots"]) == (*wanted, 2)
    assert profile["resources"] == {PENS: 2}
    drawn = Counter(one["profile"] for host in planned["hosts"] for one in host["containers"])
    assert drawn[profile["id"]] == 1
    (tmp_path / "large").touch()
    stage = step(submission, "large")
    assert (stage["containers"], stage["sum"]) == ([container], 1)
    assert stage["profiles"] != ["0"]
    after = step(submission, "after")
    assert after["profiles"] == ["0"] == usual["profiles"]
    wait_for("the executor's end", lambda: not large() and used(cluster)[PENS] == 0, 60)
    document = yarnspec("status", application, "-o", "json").expect(0).document
    assert not [one for one in document["warnings"] if "placement" in one]
    (tmp_path / "end").touch()
    submission.wait().expect(0)


@pytest.mark.one_a_day("executors of all kinds")
@pytest.mark.timeout(400)
def test_the_outputs_of_such_a_stage_outlive_the_driver(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """They hold where they were made: the next driver reads them, and asks for no executor of the profile."""
    options = [*dynamic(), "--set", "recovery.enabled=true"]
    submission = submit("profiles.py", str(tmp_path), f"{HEAP_MB}m", "2", "0", options=options, small=False)
    application = submission.application_id(PATIENCE_S)
    for name in ("usual", "large"):
        (tmp_path / name).touch()
    made = step(submission, "large")
    step(submission, "after")
    with opened(cluster, application) as running:
        wait_for("the journal", lambda: durable_outputs(running) == MAPS, PATIENCE_S)
    next(each for each in cluster.processes(application) if each.what == "driver-jvm").kill()
    again = step(submission, "large", epoch=2)
    assert again == made
    assert step(submission, "after", epoch=2)["profiles"] == ["0"]
    (tmp_path / "end").touch()
    submission.wait().expect(0)
    told = yarnspec("events", application, "-o", "json").expect(0).lines
    asked = [one for one in told if one["type"] == "RequestContainers" and one.get("profile")]
    assert {one["epoch"] for one in asked} == {1}


@pytest.mark.one_a_day("executors of all kinds")
def test_executors_of_dynamic_allocation_come_where_the_blocks_are(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Spreading would put two on each host; the first one is asked for before anything is known of tasks."""
    files = tmp_path / "lines"
    files.mkdir()
    for number in range(THERE):
        (files / f"{number}.txt").write_text("a line\n")
    directory = cluster.hdfs_put(files, "/near-data/lines")
    end = tmp_path / "end"
    options = dynamic(**{"spark.dynamicAllocation.maxExecutors": str(THERE)})
    submission = submit("near_data.py", directory, str(end), options=options, small=False)
    application = submission.application_id(PATIENCE_S)

    def executors() -> Counter[str] | None:
        submission.check_running()
        found = Counter(cluster.executors(application).values())
        return found if found.total() == THERE else None

    assert wait_for(f"{THERE} executors", executors, PATIENCE_S)[HOST_OF_BLOCKS] >= THERE - 1
    end.touch()
    assert submission.wait().expect(0).lines == [{"lines": THERE}]
    told = yarnspec("events", application, "-o", "json").expect(0).lines
    wishes = [one for one in told if one["type"] == "TargetExecutorsChanged" and one.get("local_tasks")]
    assert wishes[-1]["local_tasks"][0]["hosts"] == {HOST_OF_BLOCKS: THERE}
    assert {want.get("rule") for one in told if one["type"] == "UpdatePlacement" for want in one["wanted"]} >= {
        "prefer"
    }
