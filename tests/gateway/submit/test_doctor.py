"""What doctor checks, and what it says to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.conftest import Run
from tests.gateway.calm_cluster import Rm, host
from tests.gateway.cluster import HandMadeCluster, report
from tests.yarn.server import documents
from yarnspec.errors import ClusterUnreachable, ResourcesTimedOut, UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.submit import doctor
from yarnspec.gateway.submit.doctor import Check, Patient, examine, exit_code
from yarnspec.gateway.submit.hostcheck import HostPython, explained, program
from yarnspec.options import default_options
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.hadoop.clock import http_skew_ms, skew_ms
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.hadoop.site_files import Property

SITE = {"fs.defaultFS": "hdfs://nn:8020", "yarn.resourcemanager.webapp.address": "rm:8088"}


class Clinic:
    """Everything around a patient; each test spoils one thing."""

    def __init__(self, directory: Path, url: str) -> None:
        self.cluster = HandMadeCluster(directory)
        self.rm = Rm(url)
        self.site = dict(SITE)
        self.ran: list[dict[str, Any]] = []
        self.host_error: Exception | None = None
        self.now_ms = 1_000_000
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.program("java", 'echo openjdk version \\"21.0.1\\" >&2')
        self.program("yarn", "echo /opt/hadoop/etc:/opt/hadoop/hadoop-common.jar")
        self.environ = {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        self.queue = "default"

    def program(self, name: str, line: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.bin / name).chmod(0o755)

    def _open(self, _: object) -> Cluster:
        properties = [Property(key, value) for key, value in self.site.items()]
        self.cluster.conf = HadoopConf({"core-site.xml": properties}, environ={"HADOOP_USER_NAME": "me"})
        self.cluster.__dict__["rm"] = self.rm
        return self.cluster

    def _run(self, cluster: Cluster, **asked: Any) -> HostPython:
        assert cluster is self.cluster
        self.ran.append(asked)
        if self.host_error is not None:
            raise self.host_error
        return HostPython(host="127.0.0.3", python="/venv/bin/python")

    def checks(self, **more: Any) -> dict[str, Check]:
        patient = Patient(
            default_options(),
            queue=self.queue,
            environ=self.environ,
            open_cluster=self._open,
            run_on_host=self._run,
            **more,
        )
        return {check.name: check for check in examine(patient)}


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    # The jar is there only once it was built.
    jar = tmp_path / "yarnspec.jar"
    _make_jar(jar, doctor._PROVIDER_CLASS)
    monkeypatch.setattr(doctor, "jar_path", lambda: jar)
    with documents({"/ws/v1/cluster/info": {}}) as server:
        yield Clinic(tmp_path, f"http://127.0.0.1:{server.port}")


def _make_jar(path: Path, entry: str) -> None:
    import zipfile

    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(entry, b"")


def states(checks: dict[str, Check]) -> dict[str, str]:
    return {name: check.state for name, check in checks.items() if check.state != "ok"}


def test_all_is_well(clinic: Clinic) -> None:
    checks = clinic.checks(environment="venv:///v")
    assert states(checks) == {}
    assert [*checks] == [step.name for step in doctor.STEPS]
    assert exit_code([*checks.values()]) == 0
    assert clinic.ran == [{"queue": "default", "environment": "venv:///v"}]
    assert "constraints" in checks["placement"].found
    assert "127.0.0.3" in checks["Python on hosts"].found
    assert [*clinic.cluster.home.glob(".yarnspec-doctor*")] == []


def test_an_old_java_is_a_local_problem(clinic: Clinic) -> None:
    clinic.program("java", 'echo java version \\"1.8.0_292\\" >&2')
    checks = clinic.checks()
    assert states(checks) == {"java": "failed", "Python on hosts": "skipped"}
    assert "Java 8" in checks["java"].found
    assert exit_code([*checks.values()]) == 2
    assert clinic.ran == []


@pytest.mark.parametrize("line", ["exit 1", "echo /etc/hadoop"])
def test_a_yarn_command_without_a_class_path(clinic: Clinic, line: str) -> None:
    clinic.program("yarn", line)
    checks = clinic.checks()
    assert states(checks) == {"yarn": "failed", "Python on hosts": "skipped"}
    assert exit_code([*checks.values()]) == 2


def test_a_jar_of_something_else(clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "yarnspec.jar").unlink()
    _make_jar(tmp_path / "yarnspec.jar", "Other.class")
    assert states(clinic.checks()) == {"jar": "failed", "Python on hosts": "skipped"}


def test_without_a_configuration_one_cause_is_told_once(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> Cluster:
        raise UsageError("HADOOP_CONF_DIR is not set")

    monkeypatch.setattr(Clinic, "_open", none)
    checks = clinic.checks()
    found = states(checks)
    assert found.pop("configuration") == "failed"
    assert set(found.values()) == {"skipped"}
    assert exit_code([*checks.values()]) == 2


def test_a_local_default_file_system_does_not_do(clinic: Clinic) -> None:
    clinic.site["fs.defaultFS"] = "file:///"
    assert states(clinic.checks())["configuration"] == "failed"


def test_hdfs_that_refuses(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(LocalFiles, "write", refuse)
    checks = clinic.checks()
    assert states(checks) == {"HDFS": "failed", "Python on hosts": "skipped"}
    assert "home directory" in checks["HDFS"].advice
    assert exit_code([*checks.values()]) == 4


def test_no_resource_manager(clinic: Clinic) -> None:
    clinic.rm.unreachable = True
    checks = clinic.checks()
    assert checks["ResourceManager"].state == "failed"
    assert {checks[name].state for name in ("queue", "hosts", "placement", "clocks", "Python on hosts")} == {"skipped"}
    assert checks["HDFS"].state == "ok"
    assert exit_code([*checks.values()]) == 4


def test_an_old_resource_manager_is_a_warning(clinic: Clinic) -> None:
    clinic.rm.info = msgspec.structs.replace(clinic.rm.info, version="2.10.2")
    checks = clinic.checks()
    assert states(checks) == {"ResourceManager": "warning"}
    assert exit_code([*checks.values()]) == 0


def test_an_unknown_queue(clinic: Clinic) -> None:
    clinic.queue = "etl"
    checks = clinic.checks()
    assert checks["queue"].state == "failed"
    assert "'etl'" in checks["queue"].found
    assert exit_code([*checks.values()]) == 5


def test_a_queue_that_yarn_may_create_is_a_warning(clinic: Clinic) -> None:
    clinic.rm.made_queue = msgspec.structs.replace(clinic.rm.made_queue, note="YARN may create it")
    checks = clinic.checks()
    assert (checks["queue"].state, checks["queue"].advice) == ("warning", "YARN may create it")


def test_a_stopped_queue(clinic: Clinic) -> None:
    clinic.rm.made_queue = msgspec.structs.replace(clinic.rm.made_queue, state="STOPPED")
    checks = clinic.checks()
    assert checks["queue"].state == "failed"
    assert exit_code([*checks.values()]) == 4


@pytest.mark.parametrize(
    ("limit_mb", "used_mb", "advice"), [(1000, 0, "only one application"), (4000, 3000, "waits until")]
)
def test_a_share_for_application_masters_that_is_too_small(
    clinic: Clinic, limit_mb: int, used_mb: int, advice: str
) -> None:
    clinic.rm.made_queue = msgspec.structs.replace(
        clinic.rm.made_queue, am_limit_memory_mb=limit_mb, am_used_memory_mb=used_mb
    )
    checks = clinic.checks()
    assert states(checks) == {"queue": "warning"}
    assert advice in checks["queue"].advice


def test_no_host_runs(clinic: Clinic) -> None:
    clinic.rm.made_hosts = [host("a", state="LOST")]
    checks = clinic.checks()
    assert checks["hosts"].state == "failed"
    assert exit_code([*checks.values()]) == 4


def test_hosts_that_are_too_small(clinic: Clinic) -> None:
    clinic.rm.made_hosts = [host("a", memory_mb=1000)]
    checks = clinic.checks()
    assert checks["hosts"].state == "failed"
    assert "--executor-memory" in checks["hosts"].found
    assert exit_code([*checks.values()]) == 2


def test_lost_hosts_are_named(clinic: Clinic) -> None:
    clinic.rm.made_hosts.append(host("node9", state="LOST"))
    checks = clinic.checks()
    assert states(checks) == {"hosts": "warning"}
    assert "node9 LOST" in checks["hosts"].found


def test_room_counts_memory_and_cores(clinic: Clinic) -> None:
    clinic.rm.made_hosts = [host("a", memory_mb=100_000, vcores=3), host("b", memory_mb=2 * 1408, vcores=64)]
    assert "room for 5 executors" in clinic.checks()["hosts"].found


def test_auto_takes_the_blacklist_where_constraints_do_not_work(clinic: Clinic) -> None:
    clinic.rm.handler = "disabled"
    check = clinic.checks()["placement"]
    assert check.state == "ok"
    assert check.found.startswith("blacklist")
    assert "disabled" in check.found


def test_a_clock_that_is_far_off(clinic: Clinic) -> None:
    checks = clinic.checks(clock_ms=lambda: 1_000_000_000_000)
    assert states(checks) == {"clocks": "warning"}
    assert "ahead" in checks["clocks"].found
    assert "NTP" in checks["clocks"].advice


def test_a_busy_cluster_is_a_warning(clinic: Clinic) -> None:
    clinic.host_error = ResourcesTimedOut("did not end within 60 s: Queue's AM resource limit exceeded")
    checks = clinic.checks()
    assert states(checks) == {"Python on hosts": "warning"}
    assert "AM resource limit" in checks["Python on hosts"].found


@pytest.mark.parametrize(
    ("there_ms", "resolution_ms", "skew"),
    [(1500, 1, 0), (900, 1000, 0), (0, 1000, 0), (-1, 1000, -1), (2500, 1, 500), (400, 1, -599)],
)
def test_the_least_skew_that_explains_what_was_seen(there_ms: int, resolution_ms: int, skew: int) -> None:
    assert skew_ms(there_ms, 1000, 2000, resolution_ms=resolution_ms) == skew


def test_the_date_of_an_answer_that_refuses_counts_too() -> None:
    with documents({}) as server:
        assert abs(http_skew_ms(f"http://127.0.0.1:{server.port}/nothing")) < 5000


@pytest.mark.parametrize(
    ("diagnostics", "error", "words"),
    [
        ("Application driver failed with exit code 127, see logs", UsageError, "there is no /v/python on 127.0.0.2"),
        ("Application driver failed with exit code 92, see logs", UsageError, "cannot import pyspark"),
        ("Application driver failed with exit code 9, see logs", ClusterUnreachable, "exit code 9"),
        ("ApplicationMaster for attempt 1 timed out.", ResourcesTimedOut, "too slow"),
    ],
)
def test_why_python_did_not_run_on_a_host(diagnostics: str, error: type[Exception], words: str) -> None:
    told = explained(report("FAILED", "FAILED", diagnostics=diagnostics), "/v/python")
    assert type(told) is error
    assert words in str(told)


def test_the_program_for_the_hosts_runs_where_yarnspec_is_installed() -> None:
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", program()], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    without = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program()], capture_output=True, text=True, check=False, timeout=60
    )
    assert without.returncode == 92, without.stderr


def test_the_command_prints_advice_and_ends_with_the_first_failure(
    clinic: Clinic, yarnspec: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "from_environment", clinic._open)
    monkeypatch.setattr("yarnspec.cli.doctor.Patient", lambda *args, **more: _patient(clinic, *args, **more))
    ran = yarnspec("doctor", "--queue", "etl", "--skip-hosts-check")
    assert ran.code == 5
    lines = ran.out.splitlines()
    (row,) = [number for number, line in enumerate(lines) if line.startswith("failed")]
    assert lines[row] == "failed   queue            There is no queue 'etl'."
    assert lines[row + 1].strip().startswith("→ choose a queue")
    assert all(line == line.rstrip() for line in lines)
    assert "cannot work yet: queue" in ran.err
    ran = yarnspec("doctor", "--skip-hosts-check", "-o", "json")
    document = msgspec.json.decode(ran.out)
    assert (document["healthy"], document["exit_code"]) == (True, 0)
    assert document["checks"][-1]["state"] == "skipped"


def _patient(clinic: Clinic, *args: Any, **more: Any) -> Patient:
    return Patient(*args, **more, environ=clinic.environ, open_cluster=clinic._open, run_on_host=clinic._run)
