"""The programs of the soak: how each is submitted, and whether what it gave is right."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from integration.cluster import Cluster
from integration.soak.programs import frames, shuffles
from integration.soak.scenario import Scenario
from integration.submitting import PROGRAMS, SMALL
from integration.tpch.compare import Expected, disagreement, duckdb_results, parquet_rows, result_directory
from integration.tpch.data import tpch_data
from integration.tpch.queries import QUERIES, query_text

SCALE = 0.01
DATA = "/soak/tpch"
QUERIES_FILE = Path(__file__).parent.parent / "tpch" / "queries.py"
MAX_ATTEMPTS = 3


def prepare(cluster: Cluster) -> None:
    """Put the input into HDFS, once."""
    if not cluster.hdfs_list(f"{DATA}/lineitem"):
        cluster.hdfs_put(tpch_data(SCALE), DATA)


def program(scenario: Scenario) -> Path:
    """The file that is submitted."""
    return PROGRAMS / "tpc.py" if scenario.job == "tpch" else Path(__file__).parent / "programs" / f"{scenario.job}.py"


def arguments(scenario: Scenario, cluster: Cluster, excluded: str | None) -> list[str]:
    """What stands behind `yarnspec submit --name NAME`."""
    options = [*SMALL, "--num-executors", str(scenario.executors), "--set", f"placement.mode={scenario.mode}"]
    options += ["--conf", f"spark.yarn.maxAppAttempts={MAX_ATTEMPTS}"]
    options += ["--set", f"recovery.enabled={str(scenario.recovery).lower()}"]
    if excluded is not None:
        options += ["--exclude-hosts", excluded]
    if scenario.job != "tpch":
        return [*options, str(program(scenario)), str(scenario.seed)]
    options += ["--driver-memory", "1g", "--executor-memory", "1g", "--py-files", str(QUERIES_FILE)]
    options += ["--conf", "spark.sql.shuffle.partitions=4"]
    fs = cluster.mini.default_fs
    numbers = ",".join(map(str, scenario.queries))
    return [*options, str(program(scenario)), f"{fs}{DATA}", numbers, f"{fs}{_results(scenario)}", f"{SCALE:g}"]


def wrong(scenario: Scenario, cluster: Cluster, stdout: str) -> str | None:
    """What is wrong with the result of a program that succeeded, in words; None when it is right."""
    lines = [_object(line) for line in stdout.splitlines()]
    if scenario.job == "tpch":
        told = [line["query"] for line in lines if "query" in line][-len(scenario.queries) :]
        if told != list(scenario.queries):
            return f"stdout ends with the queries {told}, not with {list(scenario.queries)}"
        return _wrong_rows(scenario, cluster)
    results = [line["result"] for line in lines if "result" in line]
    right = (frames if scenario.job == "frames" else shuffles).expected(scenario.seed)
    if not results:
        return "there is no result on stdout"
    return None if results[-1] == right else f"the result is {results[-1]}, right is {right}"


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _results(scenario: Scenario) -> str:
    return f"/soak/results/{scenario.seed}"


def _wrong_rows(scenario: Scenario, cluster: Cluster) -> str | None:
    right = _right_results()
    with tempfile.TemporaryDirectory() as workspace:
        for number in scenario.queries:
            source = f"{_results(scenario)}/{result_directory(number)}"
            target = Path(workspace) / result_directory(number)
            target.mkdir()
            for name in cluster.hdfs_list(source):
                if name.endswith(".parquet"):
                    (target / name).write_bytes(cluster.hdfs_read(f"{source}/{name}"))
            different = disagreement(number, parquet_rows(target), right[number])
            if different:
                return different
    return None


@cache
def _right_results() -> dict[int, Expected]:
    return duckdb_results(tpch_data(SCALE), {number: query_text(number, SCALE) for number in QUERIES})
