"""The 22 TPC-H queries give what DuckDB gives on the same files: a sixth of them each day."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Watch
from integration.tpch.compare import disagreements, duckdb_results
from integration.tpch.queries import QUERIES, query_text

SCALE = 0.01
SIXTHS = 6
QUERIES_FILE = Path(__file__).parent / "tpch" / "queries.py"


@pytest.mark.one_a_day("whole programs")
@pytest.mark.parametrize("sixth", range(SIXTHS))
def test_queries_agree_with_duckdb(
    sixth: int, submit: Submit, cluster: Cluster, *, watch: Watch, tpch_small: Path, tmp_path: Path
) -> None:
    """On executors that are so large that each has a host of its own; everything that finishes is recorded."""
    data = cluster.hdfs_put(tpch_small, "/tpch/small")
    output = f"{cluster.mini.default_fs}/tpch/results{sixth}"
    queries = list(QUERIES)[sixth::SIXTHS]
    submission = submit(
        "tpc.py", data, ",".join(map(str, queries)), output, str(SCALE),
        options=[
            "--executor-memory", "4g", "--num-executors", "2", "--driver-memory", "1g",
            "--conf", "spark.sql.shuffle.partitions=4", "--py-files", str(QUERIES_FILE),
            "--set", "recovery.enabled=true",
        ],
    )  # fmt: skip
    with watch(submission.application_id()) as placement:
        result = submission.wait(300).expect(0)
    assert [line["query"] for line in result.lines] == queries
    am = cluster.attempts(submission.application_id())[0]["containerId"]
    executors = {container: host for container, host in placement.by_rest.items() if container != am}
    assert len(set(executors.values())) >= 2

    cluster.command("hdfs", "dfs", "-get", f"/tpch/results{sixth}", str(tmp_path / "results"))
    right = duckdb_results(tpch_small, {number: query_text(number, SCALE) for number in queries})
    assert disagreements(tmp_path / "results", right) == []
