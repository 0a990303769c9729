"""One attempt of a stage, as Spark's task set keeps it: which tasks wait, run and have succeeded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from yarnspec.core.commands import LaunchCopy
from yarnspec.simulate.scenario import StagePlan


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a task; ``end_ms`` is when it would end by itself."""

    task_id: int
    index: int
    number: int
    executor_id: str
    host: str
    copy: bool
    launch_ms: int
    end_ms: int


@dataclass(slots=True)
class StageRun:
    """A stage attempt. Its tasks are numbered anew: ``partitions`` has each task's place in the stage."""

    plan: StagePlan
    stage_attempt: int
    partitions: tuple[int, ...]
    pending: list[int] = field(default_factory=list)
    running: dict[int, Attempt] = field(default_factory=dict)
    won: dict[int, Attempt] = field(default_factory=dict)
    copies: dict[int, LaunchCopy] = field(default_factory=dict)
    launched: Counter[int] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)
    over: bool = False

    def of(self, index: int) -> list[Attempt]:
        """The running attempts of a task."""
        return [one for one in self.running.values() if one.index == index]

    def again(self, index: int) -> None:
        """A task has to run again, unless an attempt of it still may end it."""
        if not self.over and index not in self.won and index not in self.pending and not self.of(index):
            self.pending.append(index)
            self.pending.sort()
