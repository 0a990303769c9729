"""The disks of HDFS are full for a while, and nothing of a job can be recorded.

It has a cluster of its own: `make soak` runs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import CLUSTER, HOSTS, PROPERTIES, Submit, leftovers
from integration.lives import Lives, journal_of, output_files, outputs
from integration.smalldisk import small_disk
from integration.soak.programs import shuffles
from integration.submitting import run_yarnspec
from integration.test_recovery_faults import APART, OPTIONS, SHUFFLE_TASKS, WAIT_S, wait_for_outputs
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster

pytestmark = pytest.mark.soak

SEED = 31
DISK = "2g"
"""HDFS puts a whole block, 128 MB, by for each file that is written."""


@pytest.fixture(scope="module")
def disk() -> Iterator[ExitStack]:
    """What is mounted, until the cluster has ended."""
    with ExitStack() as mounted:
        yield mounted


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    user_environment: dict[str, str],
    disk: ExitStack,
) -> Iterator[Cluster]:
    """One whose HDFS has a small disk."""
    mini = MiniCluster(tmp_path_factory.mktemp("fulldisk"), nodes=HOSTS, properties=PROPERTIES)
    data = mini.home.hdfs / "data"
    data.mkdir(parents=True)
    request.config.stash[FULL] = disk.enter_context(small_disk(data, DISK))
    mini.start(while_pid=os.getpid())
    request.config.stash[CLUSTER] = running = Cluster(mini, user_environment)
    try:
        yield running
    finally:
        mini.stop()


FULL = pytest.StashKey[Callable[[bool], None]]()


def test_a_full_disk_ends_the_recording_and_not_the_job(
    submit: Submit, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    """The status says so; when there is room again the next life uses what was recorded before."""
    set_full = request.config.stash[FULL]
    submission = submit(shuffles.__file__, str(SEED), options=[*OPTIONS, *APART])
    application = submission.application_id()
    wait_for_outputs(cluster, application, shuffles.TASKS + 5)
    journal = journal_of(cluster, application)
    (first,) = journal.epochs()
    set_full(True)

    def recovery_off() -> dict[str, object] | None:
        recovery: dict[str, object] = run_yarnspec(cluster, "status", application, "-o", "json").document["recovery"]
        return None if recovery["recording"] else recovery

    said = wait_for("the end of the recording", recovery_off, WAIT_S)
    assert "finished work is not recorded for a next driver: " in str(said["why_not"])
    there = output_files(cluster, application).keys()
    wait_for("further outputs", lambda: output_files(cluster, application).keys() - there, WAIT_S)
    wait_for("word of it", lambda: journal.why_stopped(first), WAIT_S)
    set_full(False)
    faults.kill(faults.master(cluster, application))
    ended = submission.wait(180).expect(0)

    lives = Lives(cluster, application)
    assert ended.lines[-1]["result"] == shuffles.expected(SEED), lives.said
    assert len(outputs(lives.check(SHUFFLE_TASKS))) > shuffles.TASKS // 2, lives.said
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
