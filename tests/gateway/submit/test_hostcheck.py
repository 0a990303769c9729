"""Trying out a host's Python leaves nothing behind, however it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.calm_cluster import Rm
from tests.gateway.cluster import APP, HandMadeCluster, report
from yarnspec.errors import ResourcesTimedOut, UsageError
from yarnspec.gateway.submit import hostcheck
from yarnspec.gateway.submit.hostcheck import HostPython, run_python_on_a_host
from yarnspec.yarn.rm.rm_reports import ApplicationReport
from yarnspec.yarn.skein.skein_application import SkeinApplication, specification
from yarnspec.yarn.skein.skein_submission import Submitted


class Tried:
    """A cluster that runs the check as a test says; each look at the application is one report."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = HandMadeCluster(directory)
        self.rm = Rm("http://rm:8088")
        self.cluster.__dict__["rm"] = self.rm
        self.staging = directory / "staging"
        self.staging.mkdir()
        self.reports: list[ApplicationReport] = []
        self.taken: list[SkeinApplication] = []
        self.killed: list[str] = []
        self.paused = 0
        (directory / "yarnspec.jar").write_text("")
        monkeypatch.setattr(hostcheck, "jar_path", lambda: directory / "yarnspec.jar")
        monkeypatch.setattr(hostcheck, "submit", self._submit)
        monkeypatch.setattr(hostcheck, "kill_application", self.killed.append)
        self.rm.before_answer = self._look

    def _submit(self, application: SkeinApplication, *_: object, **__: object) -> Submitted:
        specification(application)
        self.taken.append(application)
        return Submitted(application_id=APP, staging_directory=str(self.staging))

    def _look(self) -> None:
        self.rm.reports[APP] = self.reports.pop(0) if len(self.reports) > 1 else self.reports[0]

    def _pause(self, _: float) -> None:
        self.paused += 1

    def run(self, environment: str | None = None, **more: Any) -> HostPython:
        return run_python_on_a_host(self.cluster, queue="q", environment=environment, pause=self._pause, **more)


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    return Tried(tmp_path, monkeypatch)


def test_a_python_that_can(tried: Tried) -> None:
    tried.reports = [report("ACCEPTED"), report("RUNNING"), report("FINISHED", "SUCCEEDED")]
    assert tried.run("venv:///opt/v") == HostPython(host="127.0.0.2", python="/opt/v/bin/python")
    (application,) = tried.taken
    assert (application.queue, application.max_attempts) == ("q", 1)
    assert application.master.script.startswith("exec /opt/v/bin/python -c ")
    assert tried.paused == 2
    assert tried.killed == []
    assert not tried.staging.exists()


def test_an_archive_is_shipped(tried: Tried, tmp_path: Path) -> None:
    archive = tmp_path / "env.tar.gz"
    archive.write_text("")
    tried.reports = [report("FINISHED", "SUCCEEDED")]
    tried.run(str(archive))
    (application,) = tried.taken
    assert application.master.files["yarnspec-environment"].kind == "ARCHIVE"
    assert application.master.script.startswith("exec yarnspec-environment/bin/python ")


def test_a_python_that_cannot(tried: Tried) -> None:
    failed = "Application driver failed with exit code 93, see logs for more information."
    tried.reports = [report("FINISHED", "FAILED", diagnostics=failed)]
    with pytest.raises(UsageError, match=r"/opt/v/bin/python on 127.0.0.2 cannot import yarnspec"):
        tried.run("venv:///opt/v")
    assert not tried.staging.exists()


def test_what_does_not_end_in_time_is_killed(tried: Tried) -> None:
    tried.reports = [report("ACCEPTED")]
    tried.rm.pending = "Queue's AM resource limit exceeded"
    with pytest.raises(ResourcesTimedOut, match="within 3 s: Queue's AM resource limit exceeded"):
        tried.run(deadline_s=3)
    assert tried.killed == [APP]
    assert not tried.staging.exists()


def test_what_is_interrupted_is_killed(tried: Tried) -> None:
    tried.reports = [report("ACCEPTED")]

    def interrupted() -> None:
        raise KeyboardInterrupt

    tried.rm.before_answer = interrupted
    with pytest.raises(KeyboardInterrupt):
        tried.run()
    assert tried.killed == [APP]
    assert not tried.staging.exists()
