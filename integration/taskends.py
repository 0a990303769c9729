"""The launches and ends of tasks as Spark's own event log tells them, and as yarnspec's events do, to be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple


@dataclass(frozen=True)
class TaskEnd:
    """What both sides say of the end of a task's attempt."""

    stage: int
    stage_attempt: int
    index: int
    attempt: int
    task_id: int
    executor_id: str
    host: str
    state: str
    launch_ms: int
    finish_ms: int
    speculative: bool


class Ends(NamedTuple):
    """The ends of tasks and of stages."""

    tasks: Counter[TaskEnd]
    stages: Counter[tuple[int, int, bool]]


class Difference(NamedTuple):
    """What one side has and the other has not."""

    missing: list[TaskEnd | tuple[int, int, bool]]
    added: list[TaskEnd | tuple[int, int, bool]]


def of_spark(log: Path) -> Ends:
    """From a plain event log of Spark, in one file; read by nothing of yarnspec's."""
    tasks: Counter[TaskEnd] = Counter()
    stages: Counter[tuple[int, int, bool]] = Counter()
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith('{"Event":"SparkListenerTaskEnd"'):
                told = json.loads(line)
                info = told["Task Info"]
                state = "FAILED" if info["Failed"] else "KILLED" if info["Killed"] else "SUCCESS"
                tasks[
                    TaskEnd(
                        told["Stage ID"], told["Stage Attempt ID"], info["Index"], info["Attempt"], info["Task ID"],
                        info["Executor ID"], info["Host"], state, info["Launch Time"], info["Finish Time"],
                        info["Speculative"],
                    )
                ] += 1  # fmt: skip
            elif line.startswith('{"Event":"SparkListenerStageCompleted"'):
                stage = json.loads(line)["Stage Info"]
                stages[stage["Stage ID"], stage["Stage Attempt ID"], "Failure Reason" not in stage] += 1
    return Ends(tasks, stages)


def launches(log: Path) -> int:
    """How many attempts of tasks were launched, from the same log; yarnspec's status has them in ``tasks.launched``."""
    with log.open(encoding="utf-8") as lines:
        return sum(line.startswith('{"Event":"SparkListenerTaskStart"') for line in lines)


def of_yarnspec(records: Iterable[dict[str, Any]]) -> Ends:
    """From the records that `yarnspec events -o json` prints."""
    tasks: Counter[TaskEnd] = Counter()
    stages: Counter[tuple[int, int, bool]] = Counter()
    for record in records:
        if record["type"] == "TaskFinished":
            tasks[TaskEnd(*(record[field.name] for field in fields(TaskEnd)))] += 1
        elif record["type"] == "StageFinished":
            stages[record["stage"], record["stage_attempt"], not record["failure"]] += 1
    return Ends(tasks, stages)


def difference(spark: Ends, ours: Ends) -> Difference:
    """What ours misses of Spark's, and what it has beyond."""
    return Difference(
        missing=[*(spark.tasks - ours.tasks), *(spark.stages - ours.stages)],
        added=[*(ours.tasks - spark.tasks), *(ours.stages - spark.stages)],
    )
