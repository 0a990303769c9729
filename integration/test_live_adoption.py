"""An executor is killed while the driver lives: what it had is taken over by another one on its host, or runs again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.lives import journal_of
from integration.soak.programs import shuffles
from integration.waiting import wait_for
from yarnspec.core.journal.journalrecords import MapFinished

pytestmark = pytest.mark.soak

PROGRAM = str(Path(__file__).parent / "soak" / "programs" / "shuffles.py")
SEED = 5
LIVE = ["--num-executors", "2", "--set", "recovery.enabled=true", "--set", "speculation.enabled=false"]
OFF = [*LIVE, "--set", "recovery.live_adoption=false"]
TASKS = shuffles.TASKS * (shuffles.STEPS + 1)
BEFORE = TASKS // 3
"""So many tasks have ended when the executor is killed: some stages have, and one runs."""


class Run:
    """A job whose executor was killed, after its end.

    ``attempts``: how many attempts of tasks there were; ``done_again``: the maps, by shuffle and index, of which one
    began after another had succeeded.
    """

    def __init__(self, cluster: Cluster, application: str, records: list[dict[str, Any]]) -> None:
        self._records = records
        attempts = {one["task_id"]: one for one in self.of("TaskFinished")}
        self.attempts = len(attempts)
        journal = journal_of(cluster, application)
        outputs: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for one in map(journal.record, journal.scan(1, journal.seal_of(1))):
            if isinstance(one, MapFinished):
                outputs.setdefault((one.shuffle, one.index), []).append(attempts[one.map_id])
        self.done_again = {
            key
            for key, ran in outputs.items()
            if max(one["launch_ms"] for one in ran) >= min(one["finish_ms"] for one in ran)
        }

    def of(self, kind: str) -> list[dict[str, Any]]:
        """What was told or decided of one type."""
        return [one for one in self._records if one["type"] == kind]


def run(options: list[str], submit: Submit, yarnspec: Yarnspec, cluster: Cluster) -> Run:
    """Run the job, and kill an executor in the middle. Its result is right."""
    submission = submit(PROGRAM, str(SEED), options=options)
    application = submission.application_id()

    def some_done() -> bool:
        told = yarnspec("status", application, "-o", "json")
        return told.exit_code == 0 and told.document["tasks"]["finished"] >= BEFORE

    wait_for(f"{BEFORE} tasks", some_done, 120, poll_s=0.2)
    next(each for each in cluster.processes(application) if each.what == "executor").kill()
    ended = submission.wait(180).expect(0)
    assert json.loads(ended.stdout.splitlines()[-1])["result"] == shuffles.expected(SEED)
    return Run(cluster, application, yarnspec("events", application, "-o", "json").expect(0).lines)


@pytest.mark.one_a_day("outputs outlive the driver")
def test_its_finished_maps_do_not_run_again(submit: Submit, yarnspec: Yarnspec, cluster: Cluster) -> None:
    """With the switch off they do. What ran at that moment may begin again in both."""
    on, off = (run(options, submit, yarnspec, cluster) for options in (LIVE, OFF))
    (began,), (ended,) = on.of("LiveAdoptionBegan"), on.of("LiveAdoptionEnded")
    assert ended["adopted"] == began["outputs"] > 0, ended
    print(f"{TASKS} tasks, {on.attempts} attempts, {off.attempts} where nothing is taken over")
    assert on.done_again == set()
    assert len(off.done_again) > 0
    assert TASKS < on.attempts < off.attempts
    assert not off.of("LiveAdoptionBegan")


@pytest.mark.one_a_day("outputs outlive the driver")
def test_where_no_other_one_comes_in_time_they_run_again(submit: Submit, yarnspec: Yarnspec, cluster: Cluster) -> None:
    """The deadline has passed before YARN can have started one; the job ends with the right result."""
    short = run([*LIVE, "--set", "recovery.live_adoption_deadline=100 ms"], submit, yarnspec, cluster)
    assert short.of("GiveUpHost")
    (ended,) = short.of("LiveAdoptionEnded")
    assert (ended["adopted"], ended["lost"]) == (0, ended["outputs"])
    assert len(short.done_again) > 0
