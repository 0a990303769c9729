"""The driver or the application master is killed in the middle: the next attempt goes on with what is left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.soak.programs import shuffles
from integration.waiting import wait_for

SOAK = Path(__file__).parent / "soak" / "programs"
ON = ["--set", "recovery.enabled=true"]
TOLD = {
    "JournalReplayed", "ShuffleDeclared", "AnswerShuffle", "ShuffleRestored", "OutputsReported", "RecordingStopped",
    "RecordingEnded", "SavedUnreadable", "AdoptionOff", "AdmitLimit", "GiveUpHost", "OfferSaved",
}  # fmt: skip
SEED = 11
SHUFFLE_TASKS = shuffles.TASKS * (shuffles.STEPS + 1)
FLUSH_MS = 1_500
"""What ended so long before the kill is durable: the flush interval, and some time to get there."""


@dataclass(frozen=True)
class Run:
    """A killed application after its end; ``said_last``: the last line of the program's output."""

    said_last: str
    status: dict[str, Any]
    records: list[dict[str, Any]]

    def finished(self, epoch: int) -> list[dict[str, Any]]:
        """The task attempts that succeeded in an epoch."""
        return [
            one
            for one in self.records
            if one["type"] == "TaskFinished" and one["epoch"] == epoch and one["state"] == "SUCCESS"
        ]

    @property
    def said(self) -> str:
        """What was told and decided about kept work, for a test that fails."""
        lines = [json.dumps(one) for one in self.records if one["type"] in TOLD]
        return "\n".join(line[:600] for line in lines)

    @property
    def recovery(self) -> dict[str, Any]:
        """What the status says of it."""
        found: dict[str, Any] = self.status["recovery"]
        return found


def tasks_done(yarnspec: Yarnspec, application: str) -> int:
    told = yarnspec("status", application, "-o", "json")
    return int(told.document["tasks"]["finished"]) if told.exit_code == 0 else 0


def killed(
    program: Path,
    *arguments: str,
    victim: str,
    after_tasks: int,
    submit: Submit,
    yarnspec: Yarnspec,
    cluster: Cluster,
) -> Run:
    """Submit a program, kill a part of the application after so many tasks, and wait for its end."""
    submission = submit(str(program), *arguments, options=ON)
    application = submission.application_id()
    wait_for(f"{after_tasks} tasks", lambda: tasks_done(yarnspec, application) >= after_tasks, 120, poll_s=0.5)
    next(each for each in cluster.processes(application) if each.what == victim).kill()
    ended = submission.wait(180).expect(0)
    status = yarnspec("status", application, "-o", "json").expect(0).document
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
    return Run(ended.stdout.splitlines()[-1], status, records)


@pytest.mark.parametrize("victim", ["driver-jvm", "skein-am"])
def test_what_is_left_of_an_rdd_job_is_not_computed_again(
    victim: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster
) -> None:
    """The result is right, and exactly what was not saved runs again."""
    program = SOAK / "shuffles.py"
    half = SHUFFLE_TASKS // 2
    run = killed(program, str(SEED), victim=victim, after_tasks=half, submit=submit, yarnspec=yarnspec, cluster=cluster)
    assert json.loads(run.said_last)["result"] == shuffles.expected(SEED)
    assert run.status["epoch"] == 2
    recovery = run.recovery
    assert recovery["restored_outputs"] == recovery["saved_outputs"] > 0, run.said
    last_ms = max(one["finish_ms"] for one in run.finished(1))
    durable = [one for one in run.finished(1) if one["finish_ms"] <= last_ms - FLUSH_MS]
    assert recovery["saved_outputs"] >= len(durable) > 0, run.said
    assert len(run.finished(2)) == SHUFFLE_TASKS - recovery["restored_outputs"], run.said
