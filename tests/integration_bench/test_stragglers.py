"""What the bench of slow hosts makes of an event log and of the runs so far, and what it still has to run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from integration.bench.stragglers.arms import ARMS, HEALTHY, HEALTHY_SHIPPED, ORACLE, SHIPPED, WORKLOADS
from integration.bench.stragglers.attempts import jobs
from integration.bench.stragglers.results import Results, Sample, load, store
from integration.bench.stragglers.tables import print_results

EIGHT, SIXTY_FOUR = (workload.name for workload in WORKLOADS)
SLOW = "127.0.0.5"


def sample(arm: str, seconds: float, workload: str = EIGHT, **changes: Any) -> Sample:
    slow = next(one for one in ARMS if one.name == arm).slow
    fields: dict[str, Any] = {
        "seconds": seconds, "right": True, "slot_seconds": 100.0, "executor_seconds": 200.0, "attempts": 48,
        "copies": 0, "copies_won": 0, "am_host": "127.0.0.2", "slow_host": SLOW if slow else "",
        "slowdown": {"127.0.0.2": 1.02, SLOW: 9.9 if slow else 1.01},
    }  # fmt: skip
    return Sample(arm=arm, workload=workload, **{**fields, **changes})


def shown(*samples: Sample) -> str:
    text = io.StringIO()
    print_results(Results(setup={}, samples=list(samples)), Console(file=text, width=200))
    return text.getvalue()


def test_the_event_log_gives_every_attempt_to_its_job_and_counts_executors_while_it_runs(tmp_path: Path) -> None:
    """A copy that was killed after the job had ended counts; an executor counts only while the job runs."""

    def task(stage: int, launch: int, finish: int, reason: str, *, copy: bool = False) -> dict[str, Any]:
        info = {"Index": 1, "Host": SLOW, "Speculative": copy, "Launch Time": launch, "Finish Time": finish}
        ended = {"Reason": reason}
        return {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task Info": info, "Task End Reason": ended}

    log = [
        {"Event": "SparkListenerExecutorAdded", "Executor ID": "1", "Timestamp": 500},
        {"Event": "SparkListenerExecutorAdded", "Executor ID": "2", "Timestamp": 2_000},
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Stage IDs": [0], "Submission Time": 600, "Properties": {}},
        task(0, 600, 700, "Success"),
        {
            "Event": "SparkListenerJobStart", "Job ID": 1, "Stage IDs": [1, 2], "Submission Time": 1_000,
            "Properties": {"spark.job.description": "repeat 1"},
        },
        task(1, 1_000, 3_000, "Success"),
        {"Event": "SparkListenerExecutorRemoved", "Executor ID": "2", "Timestamp": 3_500},
        {"Event": "SparkListenerJobEnd", "Job ID": 1, "Completion Time": 4_000},
        task(2, 3_000, 4_500, "TaskKilled", copy=True),
    ]  # fmt: skip
    path = tmp_path / "log"
    path.write_text("\n".join(map(json.dumps, log)))
    (job,) = jobs(path)
    assert job.description == "repeat 1"
    assert [(one.stage, one.seconds, one.won, one.copy) for one in job.attempts] == [
        (1, 2.0, True, False),
        (2, 1.5, False, True),
    ]
    assert job.executor_seconds == pytest.approx(3.0 + 1.5)


def test_five_runs_are_made_in_two_goes_and_two_of_an_arm_that_takes_three_times_as_long() -> None:
    results = Results(setup={}, samples=[sample(ORACLE, 20.0)])
    assert results.missing("none", EIGHT, 2) == 2
    results.samples += [sample("none", 61.0), sample("none", 61.0)]
    assert results.missing("none", EIGHT, 3) == 0
    results.samples += [sample("spark", 59.0), sample("spark", 59.0)]
    assert results.missing("spark", EIGHT, 3) == 3
    # Each workload by itself.
    assert results.missing("none", SIXTY_FOUR, 3) == 3


def test_runs_of_another_setup_are_kept_beside_and_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "stragglers.json"
    store(path, Results(setup={"yarnspec": "a"}), [sample(ORACLE, 20.0)])
    assert load(path, {"yarnspec": "a"}).samples == [sample(ORACLE, 20.0)]
    assert load(path, {"yarnspec": "b"}, keep_others=True).samples
    assert path.exists()
    assert not load(path, {"yarnspec": "b"}).samples
    assert path.with_suffix(".before.json").exists()


def test_the_aims_are_judged_by_medians() -> None:
    text = shown(
        *(sample(ORACLE, seconds) for seconds in (19.0, 20.0, 99.0)),
        *(sample(SHIPPED, seconds, slot_seconds=116.0) for seconds in (1.0, 22.9, 99.0)),
        *(sample(HEALTHY, seconds) for seconds in (10.0, 10.0)),
        *(sample(HEALTHY_SHIPPED, 10.3, attempts=49, copies=copies) for copies in (0, 1)),
    )
    assert "\n  met: job time, shipped to oracle 1.145" in text
    assert "NOT MET: slot-seconds, shipped to oracle 1.160" in text
    assert "NOT MET: healthy cluster, shipped to no speculation 1.030" in text
    assert "NOT MET: needless copies on the healthy cluster 1.03%" in text
    assert "99.0 (99.0-99.0) ms on 127.0.0.5 (slow)" in text
    assert "10.1 (10.1-10.1) ms on 127.0.0.5\n" in text


@pytest.mark.parametrize(("decided", "said"), [({"JudgeTasks": 2}, "fired: 2 times"), ({}, "never fired")])
def test_it_is_said_whether_the_seeds_defaults_did_anything(decided: dict[str, int], said: str) -> None:
    assert f"the seed's defaults {said}" in shown(sample("seed", 100.0, decided=decided))


def test_a_wrong_result_cannot_be_overlooked() -> None:
    assert "(1 WRONG RESULTS)" in shown(sample(SHIPPED, 20.0), sample(SHIPPED, 20.0, right=False))
