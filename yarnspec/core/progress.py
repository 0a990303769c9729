"""How far Spark has come: counts by stage, for the status document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from yarnspec.core.events import StageFinished, StageStarted, TaskFinished

_KEPT_STAGES = 200
_SUCCESS = frozenset({"SUCCESS", "SUCCEEDED", "FINISHED"})
_KILLED = frozenset({"KILLED"})


class StageView(msgspec.Struct, frozen=True, kw_only=True):
    """One stage attempt: ``finished`` counts tasks, ``failed`` counts task attempts."""

    stage: int
    stage_attempt: int
    name: str
    tasks: int
    finished: int
    failed: int
    killed: int
    state: Literal["running", "succeeded", "failed"]
    failure: str


@dataclass(slots=True)
class _Stage:
    name: str
    tasks: int
    done: set[int] = field(default_factory=set)
    finished: int = 0
    failed: int = 0
    killed: int = 0
    state: Literal["running", "succeeded", "failed"] = "running"
    failure: str = ""


class Progress:
    """The stage attempts that Spark has told of; of those that ended the last 200."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, int], _Stage] = {}
        self.ignored = 0

    def stage_started(self, event: StageStarted) -> None:
        """A stage attempt began."""
        self._stages.setdefault((event.stage, event.stage_attempt), _Stage(name=event.name, tasks=event.tasks))
        ended = [key for key, stage in self._stages.items() if stage.state != "running"]
        for key in ended[: max(0, len(ended) - _KEPT_STAGES)]:
            del self._stages[key]

    def stage_finished(self, event: StageFinished) -> None:
        """A stage attempt ended."""
        stage = self._stages.get((event.stage, event.stage_attempt))
        if stage is None or stage.state != "running":
            self.ignored += 1
            return
        stage.state = "failed" if event.failure else "succeeded"
        stage.failure = event.failure
        stage.done.clear()

    def task_finished(self, event: TaskFinished) -> None:
        """A task attempt ended; of several that succeed for one task, one counts."""
        stage = self._stages.get((event.stage, event.stage_attempt))
        if stage is None:
            self.ignored += 1
        elif event.state.upper() in _SUCCESS:
            if stage.state == "running" and event.index not in stage.done:
                stage.done.add(event.index)
                stage.finished += 1
        elif event.state.upper() in _KILLED:
            stage.killed += 1
        else:
            stage.failed += 1

    def view(self) -> tuple[StageView, ...]:
        """All kept stage attempts in the order in which they started."""
        return tuple(
            StageView(
                stage=number,
                stage_attempt=attempt,
                name=stage.name,
                tasks=stage.tasks,
                finished=stage.finished,
                failed=stage.failed,
                killed=stage.killed,
                state=stage.state,
                failure=stage.failure,
            )
            for (number, attempt), stage in self._stages.items()
        )
