"""What Spark's own event log says of the jobs of an application: every attempt, copies and killed ones too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One task attempt."""

    stage: int
    index: int
    host: str
    copy: bool
    won: bool
    launch_ms: int
    finish_ms: int

    @property
    def seconds(self) -> float:
        """How long it held a slot."""
        return (self.finish_ms - self.launch_ms) / 1000


class Job(msgspec.Struct, kw_only=True):
    """One job: when it ran, and its attempts."""

    description: str
    begun_ms: int
    ended_ms: int = 0
    attempts: list[Attempt] = []
    executor_seconds: float = 0.0
    """For how long executors were registered while it ran, all of them together."""


def jobs(path: Path) -> list[Job]:
    """The described jobs in an event log, in their order."""
    found: list[Job] = []
    of_stage: dict[int, Job] = {}
    by_number: dict[int, Job] = {}
    executors: dict[str, list[int]] = {}
    last_ms = 0
    for event in _events(path):
        last_ms = max(last_ms, int(event.get("Timestamp", 0)))
        match event["Event"]:
            case "SparkListenerJobStart":
                description = (event.get("Properties") or {}).get("spark.job.description")
                if description:
                    job = Job(description=description, begun_ms=event["Submission Time"])
                    found.append(job)
                    by_number[event["Job ID"]] = job
                    of_stage.update(dict.fromkeys(event["Stage IDs"], job))
            case "SparkListenerJobEnd":
                if event["Job ID"] in by_number:
                    by_number[event["Job ID"]].ended_ms = event["Completion Time"]
            case "SparkListenerTaskEnd":
                if event["Stage ID"] in of_stage:
                    of_stage[event["Stage ID"]].attempts.append(_attempt(event))
            case "SparkListenerExecutorAdded":
                executors[event["Executor ID"]] = [event["Timestamp"]]
            case "SparkListenerExecutorRemoved":
                executors.setdefault(event["Executor ID"], [0]).append(event["Timestamp"])
            case _:
                pass
    for job in found:
        job.executor_seconds = (
            sum(
                max(0, min(job.ended_ms, (*life, job.ended_ms)[1]) - max(job.begun_ms, life[0]))
                for life in executors.values()
            )
            / 1000
        )
    return found


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        for line in lines:
            yield json.loads(line)


def _attempt(event: dict[str, Any]) -> Attempt:
    info = event["Task Info"]
    return Attempt(
        stage=event["Stage ID"],
        index=info["Index"],
        host=info["Host"],
        copy=info["Speculative"],
        won=event["Task End Reason"]["Reason"] == "Success",
        launch_ms=info["Launch Time"],
        finish_ms=info["Finish Time"],
    )
