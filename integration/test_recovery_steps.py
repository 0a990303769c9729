"""An application that is killed at every step of recovery, and in the end is as if nothing had happened to it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.lives import Lives, Output, journal_of, output_files, outputs
from integration.programs import stages
from integration.submitting import Submission, run_yarnspec
from integration.turns import turn
from integration.waiting import wait_for

OPTIONS = (
    "--set", "recovery.enabled=true", "--set", "recovery.flush_interval=500ms", "--set", "am.max_attempts=8",
    # One life for each attempt, as these tests count them.
    "--set", "recovery.driver_restarts=0",
    "--set", "speculation.enabled=false",
    # Two executors do not fit on one host: each of them has outputs, on a host of its own.
    "--executor-memory", "4g", "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
)  # fmt: skip
STEP_S = 120
MEANWHILE = 5
"""So many outputs are finished while HDFS does not answer: more than the journal gets between two flushes."""


class Stages:
    """The program of `stages.py` under way; each method kills it at one step, and says what shows later that it did."""

    def __init__(self, cluster: Cluster, submission: Submission, directory: Path) -> None:
        self.cluster = cluster
        self.application = submission.application_id()
        self.journal = journal_of(cluster, self.application)
        self._submission = submission
        self._directory = directory

    def reached(self, step: object) -> None:
        """Wait until the program is there."""

        def there() -> bool:
            assert self._submission.process.poll() is None, self._submission.stderr[-3_000:]
            return (self._directory / f"at-{step}").exists()

        wait_for(f"step {step}", there, STEP_S)

    def go(self, step: object) -> None:
        """Let it go on from there."""
        (self._directory / f"go-{step}").touch()

    def files(self) -> set[Output]:
        """The map outputs on disk."""
        return set(output_files(self.cluster, self.application))

    def kill_registering(self) -> None:
        """The driver waits for the answer about a shuffle, and the journal for HDFS."""
        self.reached(2)
        jvm = faults.driver(self.cluster, self.application)
        with faults.held(faults.daemons(self.cluster, "namenode")):
            self.go(2)
            wait_for("a question", lambda: "Questions.await" in faults.stacks(self.cluster, jvm), STEP_S)
            faults.kill([jvm])

    def kill_adopting(self, before: set[str]) -> None:
        """One executor has taken over what is on its host, the other is late."""

        def new() -> list[int]:
            found = faults.executors(self.cluster, self.application)
            return [each.pid for each in found if each.container_id not in before]

        def adopted() -> bool:
            told = run_yarnspec(self.cluster, "events", self.application, "-o", "json", "--type", "OutputsReported")
            return any(one["adopted"] for one in told.lines)

        with faults.held(wait_for("a new executor", new, STEP_S)[:1]):
            wait_for("outputs taken over", adopted, STEP_S, poll_s=0.5)
            faults.kill([faults.driver(self.cluster, self.application)])

    def kill_flushing(self) -> set[Output]:
        """Some outputs are on their way to the journal when HDFS stops; returns all that are on disk at the end."""
        self.reached(3)
        hdfs = faults.daemons(self.cluster, "namenode", "datanode")
        known = self.files()
        self.go(3)
        wait_for("an output of the last job", lambda: self.files() - known, STEP_S, poll_s=0.02)
        with faults.held(hdfs):
            known = self.files()
            wait_for("more of them", lambda: len(self.files() - known) >= MEANWHILE, STEP_S)
            on_disk = self.files()
            faults.kill(faults.master(self.cluster, self.application))
        return on_disk

    def kill_sealing(self, last: int) -> int:
        """The next life has begun its epoch, whose number is returned, and is about to end the one before."""

        def begun() -> int:
            newest = self.journal.epochs()[-1]
            return newest if newest > last and "log" in self.journal.sizes(newest) else 0

        epoch = wait_for("the next epoch", begun, STEP_S, poll_s=0.02)
        faults.kill(faults.master(self.cluster, self.application))
        assert self.journal.seal_of(last) is None
        return epoch

    def kill_committing(self, target: str) -> None:
        """All tasks have committed, and the driver is about to publish what they wrote."""
        self.reached("commitJob")
        faults.kill(faults.master(self.cluster, self.application))
        assert "_SUCCESS" not in self.cluster.hdfs_list(target)
        self.go("commitJob")


KINDS = ("adaptive", "sorted")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == turn(KINDS) else pytest.mark.soak) for kind in KINDS]
)
def test_killed_at_every_step(kind: str, submit: Submit, cluster: Cluster, tmp_path: Path, commit_steps: Path) -> None:
    """Registering, adopting, flushing, sealing, committing: the driver or the whole application master dies there.

    Once with adaptive execution, once without and with the files in order.
    """
    ordered = kind == "sorted"
    target = f"/test/{tmp_path.name}"
    options = [
        *OPTIONS, "--jars", str(commit_steps),
        "--conf", "spark.sql.parquet.output.committer.class=yarnspec.commitsteps.ParquetSteps",
        "--conf", f"spark.hadoop.commitsteps.directory={tmp_path}",
        "--conf", f"spark.sql.adaptive.enabled={str(not ordered).lower()}",
    ]  # fmt: skip
    arguments = [str(tmp_path), f"{cluster.mini.default_fs}{target}", *(["sorted"] if ordered else [])]
    submission = submit("stages.py", *arguments, options=options)
    running = Stages(cluster, submission, tmp_path)
    running.go(1)
    running.go(4)
    running.reached(2)
    first = {each.container_id for each in faults.executors(cluster, running.application)}
    running.kill_registering()
    running.kill_adopting(first)
    on_disk = running.kill_flushing()
    flushing = running.journal.epochs()[-1]
    sealing = running.kill_sealing(flushing)
    running.kill_committing(target)
    ended = submission.wait(STEP_S).expect(0)

    lives = Lives(cluster, running.application)
    assert ended.lines[-1]["result"] == stages.expected(), lives.said
    found = rows(cluster, target)
    assert found == stages.written()
    assert not ordered or list(found) == sorted(found)
    registering, adopting, *others, _committing, _last = lives.epochs
    assert others == [flushing, sealing], lives.said
    assert not lives.of("ShuffleRestored", adopting), lives.said
    assert outputs(lives.saved(adopting)), "nothing of the first job is saved"
    assert len(lives.of("ShuffleDeclared", registering)) > 1, lives.said
    assert on_disk - outputs(lives.saved(sealing)), "nothing was on its way to the journal"
    assert not lives.ran(sealing)
    saved = lives.check(stages.TASKS + (stages.SORTED_TASKS if ordered else 0))
    assert len(outputs(saved)) == stages.ALL_MAPS + (stages.SORTED_MAPS if ordered else 0), lives.said
    wait_for("nothing left", lambda: not leftovers(cluster, running.application), 20)


def rows(cluster: Cluster, target: str) -> dict[int, int]:
    """What was written, in the order of the files."""
    names = [name for name in cluster.hdfs_list(target) if name.endswith(".parquet")]
    tables = [pq.read_table(BytesIO(cluster.hdfs_read(f"{target}/{name}"))) for name in names]
    pairs = [pair for one in tables for pair in zip(one["key"].to_pylist(), one["total"].to_pylist(), strict=True)]
    found = dict(pairs)
    assert len(found) == len(pairs), "a row is there twice"
    return found
