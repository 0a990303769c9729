"""Programs of all kinds are killed at every step of recovery; in the end it is as if nothing had happened to them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.kinds import KINDS, SORTED, Kinds, result, written_rows
from integration.lives import Lives, Output, journal_of, output_files, outputs
from integration.processes import ContainerProcess
from integration.programs import stages
from integration.step_gates import STEP_S, Gates
from integration.submitting import run_yarnspec
from integration.waiting import wait_for
from yarnspec.core.recovery.savedwork import saved_writes

FLUSH_MS = 500
WRITTEN_MS = 1_500
"""What ended so long before, beside the flush interval, is durable: so long writing may take."""
OPTIONS = (
    "--set", f"recovery.flush_interval={FLUSH_MS}ms", "--set", "am.max_attempts=8",
    # Two executors do not fit on one host: each of them has outputs, on a host of its own.
    "--executor-memory", "4g",
)  # fmt: skip
SPARED = {"stages true": stages.WRITES, SORTED: stages.WRITES + stages.SORTED_TASKS - stages.SORTED_MAPS}
"""These commit Parquet files at their end: so many tasks are spared when those are there, beside what is saved."""
CASES = [(kind, victim) for kind in (*KINDS, SORTED) for victim in ("driver", "master")]


class Steps:
    """A program under way; each method kills its driver or its master at one step."""

    def __init__(self, cluster: Cluster, application: str, victim: str) -> None:
        self.journal = journal_of(cluster, application)
        self._cluster = cluster
        self._application = application
        self._victim = victim
        self._known: set[str] = set()

    def registering(self) -> None:
        """The driver waits for the answer about its first shuffle, and the journal for HDFS."""
        self._new_executors(2)
        jvm = faults.driver(self._cluster, self._application)
        with faults.held(faults.daemons(self._cluster, "namenode", "datanode")):
            wait_for("a question", lambda: "Questions.await" in faults.stacks(self._cluster, jvm), STEP_S)
            self._strike(self._victim)

    def flushing(self) -> set[Output]:
        """Both executors have saved outputs, others are on their way to the journal; returns all that are on disk."""
        self._wait_until_saved(hosts=2)
        with faults.held(faults.daemons(self._cluster, "namenode", "datanode")):
            known = self._files()
            wait_for("an output that is not saved", lambda: self._files() - known, STEP_S, poll_s=0.02)
            self._strike(self._victim)
            return self._files()

    def adopting(self) -> int:
        """One executor has taken over what is on its host, the other is late; returns the epoch of that."""
        with faults.held([self._new_executors(1)[0].pid]):

            def adopted() -> int:
                told = run_yarnspec(
                    self._cluster, "events", self._application, "-o", "json", "--type", "OutputsReported"
                )
                return max((one["epoch"] for one in told.lines if one["adopted"]), default=0)

            epoch = wait_for("outputs taken over", adopted, STEP_S, poll_s=0.5)
            self._strike(self._victim)
        return epoch

    def further(self) -> None:
        """There are new outputs, and they are saved; it is the master's end."""
        self._wait_until_saved(hosts=1)
        self._strike("master")

    def sealing(self) -> int:
        """The next driver has begun its epoch, whose number is returned, and is about to end the one before.

        It is always the master that dies: there is no driver yet.
        """
        last = self.journal.epochs()[-1]

        def begun() -> int:
            newest = self.journal.epochs()[-1]
            return newest if newest > last and "log" in self.journal.sizes(newest) else 0

        epoch = wait_for("the next epoch", begun, STEP_S, poll_s=0.02)
        self._strike("master")
        assert self.journal.seal_of(last) is None
        return epoch

    def committing(self, gates: Gates, target: str) -> None:
        """All tasks have committed, and the driver is about to publish what they wrote."""
        gates.reached("commitJob")
        self._strike(self._victim)
        assert "_SUCCESS" not in self._cluster.hdfs_list(target)
        gates.go("commitJob")

    def shown(self, gates: Gates, target: str) -> None:
        """The files are there for everybody, and that is not recorded yet."""
        gates.reached("shown")
        self._strike(self._victim)
        assert "_SUCCESS" in self._cluster.hdfs_list(target)
        gates.go("shown")

    def _strike(self, victim: str) -> None:
        self._known |= {each.container_id for each in self._executors()}
        faults.strike(self._cluster, self._application, victim)

    def _executors(self) -> list[ContainerProcess]:
        """Those of this life."""
        found = faults.executors(self._cluster, self._application)
        return [each for each in found if each.container_id not in self._known]

    def _new_executors(self, number: int) -> list[ContainerProcess]:
        def enough() -> list[ContainerProcess]:
            found = self._executors()
            return found if len(found) >= number else []

        return wait_for(f"{number} executors", enough, STEP_S, poll_s=0.05)

    def _files(self) -> set[Output]:
        """The map outputs on disk."""
        return set(output_files(self._cluster, self._application))

    def _wait_until_saved(self, hosts: int) -> None:
        """New outputs on so many hosts are surely recorded; nothing runs while that is waited for."""
        known = self._files()

        def new() -> dict[str, list[Path]]:
            found: dict[str, list[Path]] = {}
            for output, path in output_files(self._cluster, self._application).items():
                if output not in known:
                    host = path.relative_to(self._cluster.home).parts[1]
                    found.setdefault(host, []).append(path)
            # Of an executor's last output the driver may not have heard yet.
            return {host: paths for host, paths in found.items() if len(paths) > 1}

        wait_for("new outputs", lambda: len(new()) >= hosts, STEP_S, poll_s=0.02)
        with faults.held(each.pid for each in self._executors()):
            newest_s = max(path.stat().st_mtime for paths in new().values() for path in paths)
            settled_s = newest_s + (FLUSH_MS + WRITTEN_MS) / 1000
            wait_for("their records", lambda: time.time() > settled_s, STEP_S)


@pytest.mark.one_a_day("outputs outlive the driver")
@pytest.mark.parametrize("case", [pytest.param(one, id=" ".join(one)) for one in CASES])
def test_killed_at_every_step(
    case: tuple[str, str], submit: Submit, cluster: Cluster, tmp_path: Path, commit_steps: Path
) -> None:
    """Registering, flushing, adopting, sealing, committing: the driver or the whole application master dies there.

    Committing, before the files are shown and after. (Between two of them: `integration/local/test_writes.py`.)

    Between adopting and sealing the master dies once more: of two lives in a row that finish nothing there is no third.
    """
    kind, victim = case
    kinds = Kinds(submit, cluster, tmp_path, OPTIONS)
    undisturbed = kinds.undisturbed(kind)
    submission = kinds.start(
        kind, "--jars", str(commit_steps),
        "--conf", "spark.hadoop.fs.hdfs.impl=yarnspec.commitsteps.GatedHdfs",
        "--conf", f"spark.hadoop.commitsteps.directory={tmp_path}",
    )  # fmt: skip
    application = submission.application_id()
    steps = Steps(cluster, application, victim)
    steps.registering()
    on_disk = steps.flushing()
    adopting = steps.adopting()
    steps.further()
    sealing = steps.sealing()
    if kind in SPARED:
        gates = Gates(submission, tmp_path)
        steps.committing(gates, kinds.target)
        steps.shown(gates, kinds.target)
    ended = submission.wait(STEP_S).expect(0)

    lives = Lives(cluster, application)
    assert result(ended.stdout) == undisturbed.result, lives.said
    _registering, flushing, *others = lives.epochs
    assert others[0] == adopting, lives.said
    assert others[2] == sealing, lives.said
    assert len(others) == (6 if kind in SPARED else 4), lives.said
    assert not outputs(lives.saved(flushing)), lives.said
    saved = outputs(lives.saved(adopting))
    assert saved, "nothing was saved before the kill"
    # A driver that dies alone leaves what was on its way to its master.
    assert victim == "driver" or on_disk - saved, "nothing was on its way to the journal"
    assert not lives.of("ShuffleRestored", adopting), lives.said
    assert outputs(lives.saved(sealing)) - saved, "nothing was saved after that"
    assert not lives.ran(sealing)
    lives.check(undisturbed.tasks, spared=SPARED.get(kind, 0))
    if kind in SPARED:
        found = written_rows(cluster, kinds.target)
        assert found == stages.written()
        assert kind != SORTED or list(found) == sorted(found)
        assert [one.state for one in saved_writes(lives.saved(lives.last))] == ["committing"], lives.said
        status = run_yarnspec(cluster, "status", application, "-o", "json").document
        assert status["recovery"]["skipped_writes"] == 1, lives.said
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
