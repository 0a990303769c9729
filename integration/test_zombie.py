"""An application master that YARN takes for dead lives on, and goes on when the next one has long been at work."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.kinds import written_rows
from integration.lives import Lives, journal_of
from integration.processes import ContainerProcess
from integration.programs import stages
from integration.step_gates import Gates
from integration.submitting import run_yarnspec
from integration.waiting import wait_for

WAIT_S = 120
OPTIONS = (
    "--set", "recovery.enabled=true", "--set", "recovery.driver_restarts=0", "--set", "speculation.enabled=false",
    "--executor-memory", "4g", "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
)  # fmt: skip
PENDING_S = 600
"""So long records wait to be written: those that the old master has when it goes on wait for its driver's question."""


@pytest.mark.one_a_day("the driver or its master dies")
def test_a_master_that_was_only_stopped_does_no_harm(
    submit: Submit, cluster: Cluster, tmp_path: Path, commit_steps: Path
) -> None:
    """It is stopped with its host when its driver is about to publish; the next one publishes, then it goes on.

    First the driver alone, until it asks whether it may; then the negotiator, and Skein last: YARN refuses it, and it
    takes the others with it.
    """
    target = f"/test/{tmp_path.name}"
    options = [
        *OPTIONS, "--set", f"recovery.flush_interval={PENDING_S}s", "--jars", str(commit_steps),
        "--conf", "spark.hadoop.fs.hdfs.impl=yarnspec.commitsteps.GatedHdfs",
        "--conf", f"spark.hadoop.commitsteps.directory={tmp_path}",
    ]  # fmt: skip
    submission = submit("stages.py", str(tmp_path), f"{cluster.mini.default_fs}{target}", options=options)
    application = submission.application_id()
    gates = Gates(submission, tmp_path)
    for gate in (1, 2, 3, "shown"):
        gates.go(gate)
    gates.reached("commitJob")
    old = faults.master(cluster, application)
    host = old[0].host
    journal = journal_of(cluster, application)
    (first,) = journal.epochs()
    last = {each.what: each.pid for each in old if each.what in {"skein-am", "negotiator"}}
    jvm = next(each for each in old if each.what == "driver-jvm")
    with faults.held(faults.daemons(cluster, f"nodemanager-{host}")):
        with faults.held([last["skein-am"]]):
            with faults.held([last["negotiator"]]):
                with faults.held(each.pid for each in old if each.what not in last):
                    wait_for("the next driver", lambda: len(journal.epochs()) > 1, WAIT_S)
                    gates.go("commitJob")
                    gates.reached(4)
                    published = listing(cluster, target)
                    assert written_rows(cluster, target) == stages.written()
                wait_for("its question", lambda: "WriteQuestions.ask" in faults.stacks(cluster, jvm), WAIT_S)
                assert alive(jvm)
            # From here on it runs, while the next one waits before its end.
            assert {each.what for each in old if alive(each)} >= {"negotiator", "driver-jvm"}
            refused = wait_for("the old one's refusal", lambda: refused_of(cluster, application), WAIT_S)
            assert refused["records"] > 0
            wait_for("its driver's", lambda: refused_of(cluster, application).get("commits"), WAIT_S)
        assert [each.what for each in old if each.what == "skein-am" and alive(each)]
        wait_for("its end", lambda: not any(alive(each) for each in old), WAIT_S)
        assert listing(cluster, target) == published
        assert "result.json" not in cluster.hdfs_list(str(Path(journal.path).parent))
        assert application in cluster.staging
        gates.go(4)
        ended = submission.wait(WAIT_S).expect(0)

    lives = Lives(cluster, application)
    assert refused_of(cluster, application).keys() >= {"records", "commits"}, lives.said
    assert ended.lines[-1]["result"] == stages.expected(), lives.said
    assert written_rows(cluster, target) == stages.written()
    assert len(lives.epochs) == 2
    # Which of the two its negotiator hears first is not said.
    refusals = [*lives.of("WriteRefused", first), *lives.of("RecordingEnded", first)]
    assert refusals, lives.said
    assert all("epoch 2 has begun" in each["why"] for each in refusals), lives.said
    seal = journal.seal_of(first)
    assert seal is not None
    assert seal.by == lives.last
    assert lives.launched(lives.last) < stages.TASKS, lives.said
    wait_for("nothing left", lambda: not leftovers(cluster, application), 30)


def alive(process: ContainerProcess) -> bool:
    """Whether it runs, neither stopped nor ended."""
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "TZX"


def refused_of(cluster: Cluster, application: str) -> dict[str, int]:
    """What came in the name of an epoch that was over, by the status: how often it was refused, by kind."""
    told: dict[str, int] = run_yarnspec(cluster, "status", application, "-o", "json").document["refused"]
    return told


def listing(cluster: Cluster, target: str) -> list[tuple[str, int, int]]:
    """What is in the directory: names, sizes, and when each was changed."""
    found = cluster.hdfs_statuses(target)
    return sorted((each["pathSuffix"], each["length"], each["modificationTime"]) for each in found)
