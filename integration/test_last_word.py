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

    starts, stop = tmp_path / "starts", tmp_path / "stop"
    submission = submit("ends.py", str(starts), str(stop), "badly", options=[*ONE_EXECUTOR])
    application = submission.application_id()
    wait_for("the program", starts.exists, 90)
    cluster.mini.rm_stop()
    try:
        stop.touch()
        wait_for("the negotiator's end", lambda: "negotiator" not in _running(cluster, application), 30)
        # For longer than Hadoop would wait: the AM goes on trying.
        until = time.monotonic() + AWAY_S
        wait_for(
            "the AM's end, or some time", lambda: _master_ended(cluster, application) or time.monotonic() > until, 20
        )
        assert not _master_ended(cluster, application)
    finally:
        cluster.mini.rm_start()

    result = submission.wait().expect(1)
    assert "ValueError: it ended badly" in result.stderr
    report = cluster.application(application)
    assert (report["state"], report["finalStatus"]) == ("FINISHED", "FAILED")
    assert "it ended badly" in report["diagnostics"]
    assert len(cluster.attempts(application)) == 1
    assert starts.read_text() == "10\n"
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.parametrize("how", ["well", pytest.param("badly", marks=pytest.mark.soak)])
def test_a_program_that_has_ended_is_not_run_again_when_the_master_dies_then(
    how: str, submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """YARN has not heard of the end, and starts another attempt: it ends as the first one had."""
    starts, stop = tmp_path / "starts", tmp_path / "stop"
    submission = submit("ends.py", str(starts), str(stop), how, options=[*ONE_EXECUTOR])
    application = submission.application_id()
    wait_for("the program", starts.exists, 90)
    cluster.mini.rm_stop()
    try:
        stop.touch()
        wait_for("the negotiator's end", lambda: "negotiator" not in _running(cluster, application), 30)
        assert not _master_ended(cluster, application)
        faults.kill(faults.master(cluster, application))
    finally:
        cluster.mini.rm_start()

    result = submission.wait().expect(0 if how == "well" else 1)
    report = cluster.application(application)
    assert (report["state"], report["finalStatus"]) == ("FINISHED", "SUCCEEDED" if how == "well" else "FAILED")
    if how == "badly":
        assert "ValueError: it ended badly" in result.stderr
        assert "it ended badly" in report["diagnostics"]
    assert len(cluster.attempts(application)) == 2
    assert starts.read_text() == "10\n"
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.parametrize("how", [pytest.param("well", marks=pytest.mark.soak), "badly"])
def test_a_file_that_cannot_be_written_at_the_end_does_not_run_the_program_again(
    how: str, submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """The file in which the negotiator tells the provider what to say cannot be replaced any more."""
    starts, stop = tmp_path / "starts", tmp_path / "stop"
    submission = submit("ends.py", str(starts), str(stop), how, options=[*ONE_EXECUTOR])
    application = submission.application_id()
    wait_for("the program", starts.exists, 90)
    (placement,) = cluster.home.glob(f"hosts/*/local/usercache/*/appcache/{application}/container_*/{PLACEMENT_FILE}")
    placement.with_suffix(".new").mkdir()
    stop.touch()
    result = submission.wait().expect(0 if how == "well" else 1)

    report = cluster.application(application)
    assert (report["state"], report["finalStatus"]) == ("FINISHED", "SUCCEEDED" if how == "well" else "FAILED")
    if how == "badly":
        assert "ValueError: it ended badly" in result.stderr
        assert "it ended badly" in report["diagnostics"]
    assert len(cluster.attempts(application)) == 1
    assert starts.read_text() == "10\n"
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


def _running(cluster: Cluster, application: str) -> set[str]:
    return {each.what for each in cluster.processes(application)}


def _master_ended(cluster: Cluster, application: str) -> bool:
    return "skein-am" not in _running(cluster, application)
