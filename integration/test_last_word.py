"""The end of a program is the end of its application, whatever is in the way of saying so to YARN."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.submitting import ONE_EXECUTOR
from integration.waiting import wait_for
from yarnspec.plan import PLACEMENT_FILE

SHUTDOWN_S = 2
AWAY_S = 6


class Program:
    """`ends.py` under way, which ends well or badly when it is told to."""

    def __init__(self, submit: Submit, cluster: Cluster, directory: Path, how: str) -> None:
        self.stop = directory / "stop"
        self._starts = directory / "starts"
        self._cluster = cluster
        self._how = how
        self._submission = submit("ends.py", str(self._starts), str(self.stop), how, options=[*ONE_EXECUTOR])
        self.application = self._submission.application_id()
        wait_for("the program", self._starts.exists, 90)

    def check_end(self, *, attempts: int) -> None:
        """Everybody says how it ended; it took so many attempts, and the program ran once."""
        well = self._how == "well"
        result = self._submission.wait().expect(0 if well else 1)
        report = self._cluster.application(self.application)
        assert (report["state"], report["finalStatus"]) == ("FINISHED", "SUCCEEDED" if well else "FAILED")
        if not well:
            assert "ValueError: it ended badly" in result.stderr
            assert "it ended badly" in report["diagnostics"]
        assert len(self._cluster.attempts(self.application)) == attempts
        assert self._starts.read_text() == "10\n"
        wait_for("nothing left", lambda: not leftovers(self._cluster, self.application), 20)


@pytest.mark.one_a_day("the end is in the way")
def test_a_program_that_fails_while_the_resource_manager_is_away_is_not_run_again(
    submit: Submit, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skein unregisters in a hook that Hadoop cuts off after a while: here after 2 s, as the user has it configured."""
    configuration = tmp_path / "conf"
    shutil.copytree(cluster.environment["HADOOP_CONF_DIR"], configuration)
    core = configuration / "core-site.xml"
    limit = f"<property><name>hadoop.service.shutdown.timeout</name><value>{SHUTDOWN_S}s</value></property>"
    core.write_text(core.read_text().replace("</configuration>", f"{limit}</configuration>"))
    monkeypatch.setitem(cluster.environment, "HADOOP_CONF_DIR", str(configuration))

    program = Program(submit, cluster, tmp_path, "badly")
    application = program.application
    cluster.mini.rm_stop()
    try:
        program.stop.touch()
        wait_for("the negotiator's end", lambda: "negotiator" not in _running(cluster, application), 30)
        # For longer than Hadoop would wait: the AM goes on trying.
        until = time.monotonic() + AWAY_S
        wait_for(
            "the AM's end, or some time", lambda: _master_ended(cluster, application) or time.monotonic() > until, 20
        )
        assert not _master_ended(cluster, application)
    finally:
        cluster.mini.rm_start()

    program.check_end(attempts=1)


@pytest.mark.one_a_day("the end is in the way")
@pytest.mark.parametrize("how", ["well", "badly"])
def test_a_program_that_has_ended_is_not_run_again_when_the_master_dies_then(
    how: str, submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """YARN has not heard of the end, and starts another attempt: it ends as the first one had."""
    program = Program(submit, cluster, tmp_path, how)
    application = program.application
    cluster.mini.rm_stop()
    try:
        program.stop.touch()
        wait_for("the negotiator's end", lambda: "negotiator" not in _running(cluster, application), 30)
        assert not _master_ended(cluster, application)
        faults.kill(faults.master(cluster, application))
    finally:
        cluster.mini.rm_start()

    program.check_end(attempts=2)


@pytest.mark.one_a_day("the end is in the way")
@pytest.mark.parametrize("how", ["well", "badly"])
def test_a_file_that_cannot_be_written_at_the_end_does_not_run_the_program_again(
    how: str, submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """The file in which the negotiator tells the provider what to say cannot be replaced any more."""
    program = Program(submit, cluster, tmp_path, how)
    application = program.application
    (placement,) = cluster.home.glob(f"hosts/*/local/usercache/*/appcache/{application}/container_*/{PLACEMENT_FILE}")
    placement.with_suffix(".new").mkdir()
    program.stop.touch()
    program.check_end(attempts=1)


def _running(cluster: Cluster, application: str) -> set[str]:
    return {each.what for each in cluster.processes(application)}


def _master_ended(cluster: Cluster, application: str) -> bool:
    return "skein-am" not in _running(cluster, application)
