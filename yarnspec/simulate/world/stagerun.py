"""One attempt of a stage, as Spark's task set keeps it: which tasks wait, run and have succeeded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from yarnspec.core.messages.commands import LaunchCopy
from yarnspec.simulate.world.scenario import StagePlan


@dataclass(frozen=True, slots=True)
class SimulatedAttempt:
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
    running: dict[int, SimulatedAttempt] = field(default_factory=dict)
    won: dict[int, SimulatedAttempt] = field(default_factory=dict)
    elsewhere: set[int] = field(default_factory=set)
    """Tasks that an older attempt of the stage has ended meanwhile: they are not launched here any more."""
    copies: dict[int, LaunchCopy] = field(default_factory=dict)
    launched: Counter[int] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)
    over: bool = False

    def of(self, index: int) -> list[SimulatedAttempt]:
        """The running attempts of a task."""
        return [one for one in self.running.values() if one.index == index]

    def has_finished(self, index: int) -> bool:
        """Whether a task has ended well, here or in an older attempt of the stage."""
        return index in self.won or index in self.elsewhere

    def finish_elsewhere(self, partition: int) -> None:
        """An older attempt of the stage has ended a task well; what runs of it here goes on."""
        if partition in self.partitions:
            index = self.partitions.index(partition)
            self.elsewhere.add(index)
            self.pending = [one for one in self.pending if one != index]

    def again(self, index: int) -> None:
        """A task has to run again, unless an attempt of it still may end it."""
        if not self.over and not self.has_finished(index) and index not in self.pending and not self.of(index):
            self.pending.append(index)
            self.pending.sort()
