"""The 99 TPC-DS queries give what DuckDB gives on the same files.

Five run each day. `make soak` runs all of them beside a slow host, and all of them over the death of the master.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.slowhosts import SLOWER, SPREAD
from integration.submitting import Submission
from integration.tpcds.data import SCALE, tpcds_data, tpcds_queries
from integration.tpcds.queries import FLAGS, write_module
from integration.tpch.compare import disagreements, duckdb_results
from integration.waiting import wait_for

DATA = "/tpcds/data"
QUERIES = range(1, 100)
FIVES = 20
FIRST_S, HALF_S, ALL_S = 120, 600, 1200


class Queries:
    """Some of the queries in one application, whose results are compared when it has ended."""

    def __init__(self, submit: Submit, cluster: Cluster, numbers: Iterable[int], workspace: Path) -> None:
        self._cluster = cluster
        self._workspace = workspace
        texts = tpcds_queries()
        self._texts = {number: texts[number] for number in numbers}
        self._data = tpcds_data()
        if not cluster.hdfs_list(DATA):
            cluster.hdfs_put(self._data, DATA)
        self._output = f"/tpcds/{workspace.name}"
        fs = cluster.mini.default_fs
        module = write_module(workspace / "queries.py", self._texts)
        self.submission: Submission = submit(
            "tpc.py", f"{fs}{DATA}", "all", f"{fs}{self._output}", str(SCALE),
            options=[
                *SPREAD, *FLAGS, "--driver-memory", "1g", "--conf", "spark.sql.shuffle.partitions=4",
                "--py-files", str(module),
            ],
        )  # fmt: skip

    def wait_for(self, ended: int, timeout_s: float) -> None:
        """Wait until so many queries have given their rows."""

        def enough() -> bool:
            self.submission.check_running()
            return self.submission.stdout.count('{"query"') >= ended

        wait_for(f"the rows of {ended} queries", enough, timeout_s)

    def check(self, timeout_s: float) -> None:
        """Wait for the end, and compare."""
        result = self.submission.wait(timeout_s).expect(0)
        assert [line["query"] for line in result.lines][-len(self._texts) :] == list(self._texts)
        here = self._workspace / "results"
        self._cluster.command("hdfs", "dfs", "-get", self._output, str(here))
        assert disagreements(here, duckdb_results(self._data, self._texts)) == []


@pytest.mark.one_a_day("TPC-DS")
@pytest.mark.parametrize("first", range(1, FIVES + 1))
def test_five_queries_agree_with_duckdb(first: int, submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    Queries(submit, cluster, QUERIES[first - 1 :: FIVES], tmp_path).check(300)


@pytest.mark.soak
@pytest.mark.timeout(3 * ALL_S)
@pytest.mark.usefixtures("fast_hosts")
def test_all_agree_beside_a_slow_host(submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path) -> None:
    queries = Queries(submit, cluster, QUERIES, tmp_path)
    application = queries.submission.application_id()
    queries.wait_for(1, FIRST_S)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    slow = next(host for host in cluster.containers(application).values() if host != am_host)
    cluster.mini.host_slow(slow, SLOWER)
    queries.check(ALL_S)
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    noticed = {one["type"] for one in records} & {"LaunchCopy", "BlockHost", "SlowHostNotBlocked"}
    assert noticed, "nobody noticed the slow host"


@pytest.mark.soak
@pytest.mark.timeout(3 * ALL_S)
def test_all_agree_when_the_master_is_killed(
    submit: Submit, cluster: Cluster, yarnspec: Yarnspec, tmp_path: Path
) -> None:
    queries = Queries(submit, cluster, QUERIES, tmp_path)
    application = queries.submission.application_id()
    queries.wait_for(len(QUERIES) // 2, HALF_S)
    faults.strike(cluster, application, "master")
    queries.check(ALL_S)
    assert len(cluster.attempts(application)) == 2
    assert yarnspec("status", application, "-o", "json").document["recovery"]["restored_outputs"] > 0
