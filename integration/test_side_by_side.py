"""Several mini clusters on one machine, by the command line."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Yarnspec
from integration.submitting import base_environment
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster
from yarnspec.minicluster.hadoop.daemons import container_mark, mark
from yarnspec.minicluster.machine.processes import ProcessIdentity, find_marked, send

DAEMONS = ["ownerwatch", "resourcemanager", "namenode", "datanode", "nodemanager-127.0.0.2"]


@pytest.mark.one_a_day("features of YARN")
def test_clusters_in_different_homes_do_not_clash_and_stop_clean(
    yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Two start at once, beside the tests' own; each is a cluster of its own, and ends also after a crash."""
    homes = [tmp_path / name for name in ("one", "two")]

    def start(home: Path) -> None:
        options = ("--home", str(home), "--nodes", "1", "--while-pid", str(os.getpid()))
        yarnspec("minicluster", "start", *options, timeout_s=120).expect(0)

    def stop(home: Path) -> None:
        yarnspec("minicluster", "stop", "--home", str(home)).expect(0)

    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(start, homes))
        one, two = (Cluster(MiniCluster(home), base_environment()) for home in homes)
        for each in (one, two):
            document = yarnspec("minicluster", "status", "--home", str(each.home), "-o", "json").expect(0).document
            assert document["state"] == "running"
            assert [daemon["name"] for daemon in document["daemons"]] == DAEMONS
            assert each.node_states() == {"127.0.0.2": "RUNNING"}
        assert len({each.mini.rm_url for each in (one, two, cluster)}) == 3
        assert len({each.mini.default_fs for each in (one, two, cluster)}) == 3
        one.hdfs_mkdir("/mine")
        assert "mine" in one.hdfs_list("/")
        assert "mine" not in two.hdfs_list("/")

        stop(homes[0])
        assert _processes(one) == []
        assert two.node_states() == {"127.0.0.2": "RUNNING"}
        assert cluster.node_states()["127.0.0.2"] == "RUNNING"

        # A crash: nothing is left of two daemons, and the others stand there alone.
        status = yarnspec("minicluster", "status", "--home", str(two.home), "-o", "json").expect(0).document
        pids = {daemon["name"]: daemon["pid"] for daemon in status["daemons"]}
        victims = [each for each in _processes(two) if each.pid in (pids["resourcemanager"], pids["namenode"])]
        send(victims, signal.SIGKILL)
        wait_for("the end of two daemons", lambda: len(_processes(two)) == len(DAEMONS) - len(victims), 10)
    finally:
        for home in homes:
            stop(home)
    assert _processes(two) == []
    assert cluster.node_states()["127.0.0.2"] == "RUNNING"


def _processes(cluster: Cluster) -> list[ProcessIdentity]:
    home = cluster.mini.home
    return find_marked([mark(home), container_mark(home, "127.0.0.2")])
