"""The disks of HDFS are full for a while, and nothing of a job can be recorded.

It has a cluster of its own: `make soak` runs it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration import faults
from integration.bench.recovery import program as waiting
from integration.bench.recovery import work
from integration.cluster import Cluster
from integration.conftest import HOSTS, PROPERTIES, Submit, leftovers, started
from integration.lives import journal_of, output_files, outputs
from integration.smalldisk import small_disk
from integration.submitting import run_yarnspec
from integration.test_recovery_faults import APART, OPTIONS, WAIT_S, wait_for_outputs
from integration.waiting import wait_for
from yarnspec.journal.replay import replay
from yarnspec.minicluster import MiniCluster

pytestmark = pytest.mark.soak

DISK = "2g"
"""HDFS puts a whole block, 128 MB, by for each file that is written."""


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> MiniCluster:
    """Not started."""
    return MiniCluster(tmp_path_factory.mktemp("fulldisk"), nodes=HOSTS, properties=PROPERTIES)


@pytest.fixture(scope="module")
def set_full(mini: MiniCluster) -> Iterator[Callable[[bool], None]]:
    """The small disk of HDFS, mounted until the cluster has ended."""
    data = mini.home.hdfs / "data"
    data.mkdir(parents=True)
    with small_disk(data, DISK) as set_full:
        yield set_full


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest,
    user_environment: dict[str, str],
    mini: MiniCluster,
    set_full: Callable[[bool], None],  # noqa: ARG001 - it is there before and after
) -> Iterator[Cluster]:
    """One whose HDFS has it."""
    with started(request, mini, user_environment) as running:
        yield running


@pytest.mark.one_a_day("the end is in the way")
def test_a_full_disk_ends_the_recording_and_not_the_job(
    submit: Submit, cluster: Cluster, set_full: Callable[[bool], None], tmp_path: Path
) -> None:
    """The status says so; when there is room again the next driver uses what was recorded before."""
    order = {"tasks": 20, "records": 500, "stages": 3}
    (tmp_path / "go-1.json").write_text(json.dumps(order))
    submission = submit(waiting.__file__, str(tmp_path), "0", options=[*OPTIONS, *APART])
    application = submission.application_id()
    wait_for_outputs(cluster, application, order["tasks"] // 2)
    journal = journal_of(cluster, application)
    (first,) = journal.epochs()
    set_full(True)

    def recovery_off() -> dict[str, object] | None:
        submission.check_running()
        recovery: dict[str, object] = run_yarnspec(cluster, "status", application, "-o", "json").document["recovery"]
        return None if recovery["recording"] else recovery

    said = wait_for("the end of the recording", recovery_off, WAIT_S)
    assert "finished work is not recorded for a next driver: " in str(said["why_not"])
    there = output_files(cluster, application).keys()
    wait_for("further outputs", lambda: output_files(cluster, application).keys() - there, WAIT_S)
    wait_for("word of it", lambda: journal.why_stopped(first), WAIT_S)
    set_full(False)
    faults.kill(faults.master(cluster, application))
    (tmp_path / "stop").touch()
    done = submission.document(tmp_path / "done-1.json", 180)
    submission.wait(180).expect(0)

    assert done["right"]
    assert len(journal.epochs()) == 2
    saved = outputs(replay(journal, [first]).recorded)
    again = {one.task for one in work.read(tmp_path / "progress") if one.life > 1}
    assert saved
    assert len(again) == order["tasks"] * order["stages"] - len(saved)
    recovery = run_yarnspec(cluster, "status", application, "-o", "json", timeout_s=180).expect(0).document["recovery"]
    assert recovery["restored_outputs"] == recovery["saved_outputs"] == len(saved), recovery
    events = run_yarnspec(cluster, "events", application, "-o", "json", timeout_s=180)
    # HDFS may be unable to close what it has of those of the first life.
    assert events.exit_code == 0 or "did not recover the lease" in events.stderr, events
    assert max(one["epoch"] for one in events.lines) == max(journal.epochs())
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
