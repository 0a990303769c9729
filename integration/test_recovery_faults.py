"""What was kept is damaged, cut or lost, or the cluster fails meanwhile: nothing wrong is used, and all else is.

These take long: `make soak` runs them.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration import faults
from integration.bench.recovery import program as waiting
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.lives import Lives, Output, journal_of, output_files, outputs
from integration.programs import heavy
from integration.soak.programs import shuffles
from integration.step_gates import Gates
from integration.submitting import run_yarnspec
from integration.waiting import wait_for

pytestmark = pytest.mark.soak

OPTIONS = (
    "--set", "recovery.enabled=true", "--set", "recovery.flush_interval=500ms", "--set", "am.max_attempts=6",
    # One life for each attempt, as these tests count them.
    "--set", "recovery.driver_restarts=0",
    "--set", "speculation.enabled=false", "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
)  # fmt: skip
APART = ("--executor-memory", "4g")
"""Two such executors do not fit on one host."""
SEED = 5
SHUFFLE_TASKS = shuffles.TASKS * (shuffles.STEPS + 1)
WAIT_S = 120
CUT_BYTES = 700
"""About two records of finished maps."""
AWAY_S = 20
KEPT_BYTES = 1 << 20
"""Less than half of what `heavy.py` writes: one of two executors has more."""


def wait_for_outputs(cluster: Cluster, application: str, number: int) -> set[Output]:
    """Wait for so many map outputs; returns what there is."""

    def enough() -> set[Output] | None:
        found = set(output_files(cluster, application))
        return found if len(found) >= number else None

    return wait_for(f"{number} map outputs", enough, WAIT_S, poll_s=0.05)


@pytest.mark.one_a_day("outputs outlive the driver")
@pytest.mark.parametrize("repeatable", [False, True])
def test_damaged_outputs_and_a_cut_journal(submit: Submit, cluster: Cluster, repeatable: bool) -> None:
    """One output is deleted, one is cut, in two a bit is flipped; later the journal loses its end.

    Of functions that give the same each time only those maps run again; of others what stands above them as well.
    """
    said = ["--set", "recovery.repeatable=true"] if repeatable else []
    submission = submit(shuffles.__file__, str(SEED), options=[*OPTIONS, *APART, *said])
    application = submission.application_id()
    wait_for_outputs(cluster, application, 2 * shuffles.TASKS + 5)
    with no_next_life(cluster):
        faults.kill(faults.master(cluster, application))
        files = output_files(cluster, application)
        # By the tasks that wrote them: Spark numbers this chain from its end, and of the newest not all is recorded.
        by_age = sorted(files, key=lambda each: each[1])
        first, second = list(dict.fromkeys(shuffle for shuffle, _ in by_age))[:2]
        oldest = [each for each in by_age if each[0] == first][:1] + [each for each in by_age if each[0] == second][:3]
        damaged = dict(zip(oldest, (flip, delete, cut, flip), strict=True))
        for output, damage in damaged.items():
            damage(data_file(files[output]))

    journal = journal_of(cluster, application)
    second_life = wait_for("the second life", lambda: journal.epochs()[1:2], WAIT_S)[0]
    there = output_files(cluster, application).keys()
    wait_for(
        "outputs of the second life",
        lambda: len(output_files(cluster, application).keys() - there) >= shuffles.TASKS,
        WAIT_S,
    )
    with no_next_life(cluster):
        faults.kill(faults.master(cluster, application))
        log = f"{journal.directory(second_life)}/log"
        journal.recover(second_life)
        before = len(list(journal.scan(second_life, None)))
        size_bytes = journal.sizes(second_life)["log"] - CUT_BYTES
        cluster.hdfs_truncate(log, size_bytes)
        wait_for("the cut", lambda: len(cluster.hdfs_read(log)) == size_bytes, 30)
    ended = submission.wait(180).expect(0)

    lives = Lives(cluster, application)
    assert ended.lines[-1]["result"] == shuffles.expected(SEED), lives.said
    assert len(lives.epochs) == 3, lives.said
    refused: Counter[str] = Counter()
    for told in lives.of("OutputsReported", second_life):
        refused.update(told["refused"])
    assert refused == {"checksum differs": 2, "missing data": 1, "length differs": 1}, lives.said
    assert outputs(lives.saved(second_life)) > damaged.keys()
    assert len(list(journal.scan(second_life, journal.seal_of(second_life)))) < before
    lives.check(SHUFFLE_TASKS, damaged.keys(), repeatable=repeatable)
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("outputs outlive the driver")
def test_what_was_recorded_before_the_journal_could_not_be_written(submit: Submit, cluster: Cluster) -> None:
    """The lease of its open file is taken away: the job goes on, and the next driver uses what is there."""
    submission = submit(shuffles.__file__, str(SEED), options=[*OPTIONS, *APART])
    application = submission.application_id()
    wait_for_outputs(cluster, application, shuffles.TASKS + 5)
    journal = journal_of(cluster, application)
    (first,) = journal.epochs()
    journal.recover(first)
    wait_for("word of it", lambda: journal.why_stopped(first), WAIT_S)
    status = run_yarnspec(cluster, "status", application, "-o", "json").document
    assert not status["recovery"]["recording"]
    assert "finished work is not recorded for a next driver: " in status["recovery"]["why_not"]
    there = output_files(cluster, application).keys()
    wait_for("further outputs", lambda: output_files(cluster, application).keys() - there, WAIT_S)
    faults.kill(faults.master(cluster, application))
    ended = submission.wait(180).expect(0)

    lives = Lives(cluster, application)
    assert ended.lines[-1]["result"] == shuffles.expected(SEED), lives.said
    assert len(outputs(lives.check(SHUFFLE_TASKS))) > shuffles.TASKS // 2, lives.said
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("outputs outlive the driver")
def test_what_is_over_the_budget_of_a_host_goes(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """An executor is killed; the next one on its host leaves as much of what it had as may be kept there."""
    options = [*OPTIONS, *APART, "--set", f"recovery.keep_per_host={KEPT_BYTES >> 20}m"]
    submission = submit("heavy.py", str(tmp_path), options=options)
    application = submission.application_id()
    gates = Gates(submission, tmp_path)
    gates.reached(1)
    paths = output_files(cluster, application).values()
    ((most, _),) = Counter(path.relative_to(cluster.home).parts[1] for path in paths).most_common(1)
    victim = next(each for each in faults.executors(cluster, application) if each.host == most)
    for host in set(cluster.hosts) - {victim.host}:
        run_yarnspec(cluster, "hosts", application, "block", host, "--force", "--reason", "a test").expect(0)
    victim.kill()

    def kept() -> list[dict[str, Any]]:
        status = run_yarnspec(cluster, "status", application, "-o", "json").expect(0).document
        return [one for one in status["recovery"]["kept"] if one["host"] == victim.host]

    (found,) = wait_for("word of what is kept", kept, WAIT_S)
    assert found["dropped"] > 0, found
    assert 0 < found["bytes"] <= KEPT_BYTES, found
    gates.go(1)
    ended = submission.wait(180).expect(0)
    assert ended.lines[-1]["result"] == heavy.BYTES
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("outputs outlive the driver")
def test_what_has_waited_too_long_is_not_used(submit: Submit, cluster: Cluster) -> None:
    """The next attempt begins later than it is to be kept; all runs again, and the status says why."""
    submission = submit(shuffles.__file__, str(SEED), options=[*OPTIONS, *APART, "--set", "recovery.keep_for=1s"])
    application = submission.application_id()
    wait_for_outputs(cluster, application, shuffles.TASKS + 5)
    faults.kill(faults.master(cluster, application))
    ended = submission.wait(180).expect(0)
    assert ended.lines[-1]["result"] == shuffles.expected(SEED)
    recovery = run_yarnspec(cluster, "status", application, "-o", "json").document["recovery"]
    assert recovery["saved_outputs"] > recovery["restored_outputs"] == 0
    assert "longer than recovery.keep_for (1 s): not used" in recovery["why_not"]
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@contextlib.contextmanager
def no_next_life(cluster: Cluster) -> Iterator[None]:
    """There is no ResourceManager meanwhile: the next driver begins when everything is as it shall be."""
    cluster.mini.rm_stop(kill=True)
    try:
        yield
    finally:
        cluster.mini.rm_start()


def data_file(index: Path) -> Path:
    """The records of the map output with this index: Spark spreads files over directories by their names."""
    return next(index.parent.parent.glob(f"*/{index.stem}.data"))


def flip(path: Path) -> None:
    """Change one bit of the content."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def delete(path: Path) -> None:
    """Remove the file."""
    path.unlink()


def cut(path: Path) -> None:
    """Keep half of the content."""
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size // 2)


@pytest.mark.one_a_day("outputs outlive the driver")
def test_hdfs_is_away_then_the_master_dies_with_its_host_and_the_resource_manager_restarts(
    submit: Submit, cluster: Cluster, tmp_path: Path
) -> None:
    """The job goes on without HDFS; what was on the dead host runs again; the rest is used, whoever restarts."""
    order = {"tasks": 20, "records": 300, "stages": 3}
    tasks = order["tasks"] * (order["stages"] + 1)
    (tmp_path / "go-1.json").write_text(json.dumps(order))
    (tmp_path / "stop").touch()
    everywhere = [*APART, "--num-executors", str(len(cluster.hosts))]
    submission = submit(waiting.__file__, str(tmp_path), "0", options=[*OPTIONS, *everywhere])
    application = submission.application_id()
    wait_for_outputs(cluster, application, 4)
    with faults.held(faults.daemons(cluster, "namenode", "datanode")):
        begun = time.monotonic()
        before = len(output_files(cluster, application))
        wait_for("twenty seconds without HDFS", lambda: time.monotonic() >= begun + AWAY_S, AWAY_S + 5)
        assert len(output_files(cluster, application)) > before
    by_then = output_files(cluster, application).keys()
    wait_for_outputs(cluster, application, 2 * order["tasks"] + 5)
    master = faults.master(cluster, application)
    lost = master[0].host
    faults.kill(master)
    # Only now: no output that comes later is recorded.
    gone = {each for each, path in output_files(cluster, application).items() if f"/hosts/{lost}/" in str(path)}
    assert gone, "one of the executors was on the master's host"
    cluster.mini.host_stop(lost, kill=True)
    journal = journal_of(cluster, application)
    second_life = wait_for("the second life", lambda: journal.epochs()[1:2], WAIT_S)[0]
    cluster.mini.rm_restart(kill=True)
    done = submission.document(tmp_path / "done-1.json", 180)
    submission.wait(60).expect(0)
    cluster.mini.host_start(lost)

    lives = Lives(cluster, application)
    assert done["right"], lives.said
    assert not lives.of("RecordingEnded", lives.epochs[0]), lives.said
    saved = outputs(lives.saved(second_life)) - gone
    assert saved & by_then, "nothing was saved, on the other hosts, of what was done before HDFS was back"
    assert saved - by_then, "nothing was saved, on the other hosts, of what was done after HDFS was back"
    assert lives.of("GiveUpHost", second_life), lives.said
    assert lives.of("ResourceManagerReconnected", second_life), lives.said
    lives.check(tasks, gone)
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
