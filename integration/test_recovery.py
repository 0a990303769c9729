"""The driver or the application master is killed in the middle: the next attempt goes on with what is left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.soak.programs import frames, shuffles
from integration.submitting import PROGRAMS
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


def test_accumulators_count_each_record_once(submit: Submit, yarnspec: Yarnspec, cluster: Cluster) -> None:
    """Maps that do not run again have counted all the same, and those that do count once."""
    numbers = range(10_000)
    sums = [sum(number for number in numbers if number % 100 == key) for key in range(100)]
    result = sorted([key, sum(sums[key::10])] for key in range(10))
    run = killed(
        PROGRAMS / "resumes.py", "rdd", "unused",
        victim="driver-jvm", after_tasks=9, submit=submit, yarnspec=yarnspec, cluster=cluster,
    )  # fmt: skip
    assert json.loads(run.said_last.removeprefix("RESULT ")) == [result, len(numbers), sum(numbers)], run.said
    assert run.recovery["restored_outputs"] > 0, run.said


@pytest.mark.parametrize("aqe", [True, False], ids=["aqe", "no aqe"])
def test_what_is_left_of_dataframe_jobs_is_not_computed_again(
    aqe: bool, submit: Submit, yarnspec: Yarnspec, cluster: Cluster
) -> None:
    """Python functions, aggregations, a join and an order, with adaptive execution and without."""
    submission = submit(
        str(SOAK / "frames.py"), str(SEED), options=[*ON, "--conf", f"spark.sql.adaptive.enabled={str(aqe).lower()}"]
    )
    application = submission.application_id()
    wait_for("two rounds", lambda: '{"round": 1}' in submission.stdout, 120)
    next(each for each in cluster.processes(application) if each.what == "driver-jvm").kill()
    ended = submission.wait(180).expect(0)
    assert ended.lines[-1]["result"] == frames.expected(SEED)
    recovery = yarnspec("status", application, "-o", "json").expect(0).document["recovery"]
    assert recovery["restored_outputs"] == recovery["saved_outputs"] > 0, recovery
