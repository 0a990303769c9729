"""Wrong requests get a clear answer before anything is submitted."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Yarnspec
from integration.submitting import PROGRAMS, Result

PROGRAM = str(PROGRAMS / "tasks.py")

WRONG = {
    "no such program": (["no-such-file.py"], 2, "no-such-file.py"),
    "no such file to ship": (["--files", "/no/such/file", PROGRAM], 2, "/no/such/file"),
    "no such file to ship from HDFS": (["--files", "hdfs:///no/such/file", PROGRAM], 2, "/no/such/file"),
    "no such file to ship from HDFS, with one slash": (["--files", "hdfs:/no/such/file", PROGRAM], 2, "is missing"),
    "a scheme that no file system has": (["--files", "abc:/my/file", PROGRAM], 2, 'scheme "abc"'),
    "malformed size": (["--executor-memory", "lots", PROGRAM], 2, "lots"),
    "heap below Spark's minimum": (["--executor-memory", "300m", PROGRAM], 2, "300 MiB"),
    "more memory than any host has": (["--executor-memory", "100g", PROGRAM], 2, "8192"),
    "a driver larger than any host": (["--driver-memory", "100g", PROGRAM], 2, "8192"),
    "unknown flag": (["--executor-memroy", "1g", PROGRAM], 2, "--executor-memory"),
    "unknown option": (["--set", "placement.moed=blacklist", PROGRAM], 2, "placement.mode"),
    "other master": (["--master", "local[2]", PROGRAM], 2, "local[2]"),
    "no such queue": (["--queue", "fast", PROGRAM], 5, "fast"),
    "unknown host": (["--exclude-hosts", "127.0.0.99", PROGRAM], 5, "127.0.0.99"),
    "too many hosts": (["--exclude-hosts", "127.0.0.2,127.0.0.3", PROGRAM], 2, "--force"),
    "all hosts": (["--force", "--exclude-hosts", "127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5", PROGRAM], 2, "all"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_submit_says_what_is_wrong(case: str, yarnspec: Yarnspec, cluster: Cluster) -> None:
    """Each: its exit code, one error that names the cause, an empty stdout, no application, quickly."""
    arguments, exit_code, named = WRONG[case]
    before = len(cluster.applications())
    result = yarnspec("submit", *arguments, timeout_s=30).expect(exit_code)
    assert named in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert len(cluster.applications()) == before
    assert cluster.staging == []


def test_without_a_configuration(yarnspec: Yarnspec) -> None:
    """HADOOP_CONF_DIR is missing, or names no directory."""
    for value in ("", "/no/such/directory"):
        result = yarnspec("submit", PROGRAM, environment={"HADOOP_CONF_DIR": value})
        assert result.exit_code == 2
        assert "HADOOP_CONF_DIR" in result.stderr


def test_an_unreachable_cluster_is_exit_4_after_its_timeout(
    yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The ResourceManager, or HDFS, is at a port where nobody listens."""

    def submit_without(dead: str) -> Result:
        conf = tmp_path / dead
        shutil.copytree(cluster.mini.home.conf, conf)
        site = conf / dead
        text = site.read_text()
        for port in {word.rpartition(":")[2] for word in _addresses(text)}:
            text = text.replace(f":{port}<", ":9<")
        site.write_text(text)
        environment = {"HADOOP_CONF_DIR": str(conf), "YARNSPEC_CLUSTER__CONNECT_TIMEOUT": "5 s"}
        return yarnspec("submit", PROGRAM, "4", "1", environment=environment, timeout_s=60)

    with ThreadPoolExecutor() as pool:
        for result in pool.map(submit_without, ("yarn-site.xml", "core-site.xml")):
            result.expect(4)
            assert result.seconds < 25, "the default would be so patient"
            assert "127.0.0.1:9" in result.stderr


def _addresses(text: str) -> list[str]:
    return [word.partition("<")[0] for word in text.split("<value>") if "127.0.0.1:" in word.partition("<")[0]]


def test_reading_commands_do_not_find_an_application_that_is_not_there(yarnspec: Yarnspec) -> None:
    """Exit 5, and 2 for what is no application id at all."""
    for command in (["status"], ["logs"], ["events"], ["kill"]):
        yarnspec(*command, "application_1700000000000_0001").expect(5)
    yarnspec("hosts", "application_1700000000000_0001", "list").expect(5)
    yarnspec("status", "nonsense").expect(2)
