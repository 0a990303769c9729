"""Stages and task attempts by hand: what a driver's feed would tell, at times that a test chooses."""

from __future__ import annotations

from dataclasses import dataclass

from yarnspec.core.detectors import Detector, detector_of
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.commands import Verdict
from yarnspec.core.messages.observations import Failure, Observations, ObservationsBuilder, RowKind, StageFlag, State
from yarnspec.core.slowness.host_speed import HostSpeeds, HostVerdict
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import Happened, TaskTable

NO_FLAGS = StageFlag(0)

T0 = 1_700_000_000_000
"""When every test's first stage begins; times below are milliseconds after it."""


@dataclass(frozen=True)
class Launched:
    """An attempt that a test launched."""

    task_id: int
    stage: int
    index: int
    attempt: int
    host: str
    executor: str
    launch_ms: int


class TaskWorld:
    """A task table and a detector, fed by hand. Executors are named after their hosts: one on each."""

    def __init__(self, settings: DetectorSettings | None = None) -> None:
        self.settings = settings or DetectorSettings()
        self.table = TaskTable()
        self.speeds = HostSpeeds(self.settings)
        self.detector: Detector = detector_of(self.settings, self.speeds)
        self.rows = ObservationsBuilder()
        self._next_task_id = 0
        self._attempts: dict[tuple[int, int], int] = {}

    def stage(self, tasks: int, *, stage: int = 0, at: int = 0, flags: StageFlag = NO_FLAGS) -> None:
        self.rows.add(
            RowKind.STAGE_STARTED, stage=stage, stage_attempt=0, time_ms=T0 + at, tasks=tasks, flags=flags, text="s"
        )

    def launch(
        self, index: int, host: str, at: int = 0, *, stage: int = 0, copy: bool = False, input_bytes: int = -1,
        executor: str = "",
    ) -> Launched:  # fmt: skip
        attempt = self._attempts.get((stage, index), 0)
        self._attempts[stage, index] = attempt + 1
        found = Launched(self._next_task_id, stage, index, attempt, host, executor or f"e-{host}", T0 + at)
        self._next_task_id += 1
        self.rows.add(
            RowKind.TASK_STARTED, stage=stage, stage_attempt=0, time_ms=T0 + at, index=index, attempt=attempt,
            task_id=found.task_id, host=host, executor=found.executor, speculative=int(copy), launch_ms=T0 + at,
            input_bytes=input_bytes,
        )  # fmt: skip
        return found

    def count(self, task: Launched, at: int, bytes_read: int) -> None:
        self.rows.add(
            RowKind.TASK_COUNTERS, stage=task.stage, stage_attempt=0, time_ms=T0 + at, task_id=task.task_id,
            bytes_read=bytes_read,
        )  # fmt: skip

    def end(
        self, task: Launched, at: int, state: State = State.SUCCESS, failure: Failure = Failure.NONE, *,
         bytes_read: int = -1,
    ) -> None:  # fmt: skip
        self.rows.add(
            RowKind.TASK_ENDED, stage=task.stage, stage_attempt=0, time_ms=T0 + at, index=task.index,
            attempt=task.attempt, task_id=task.task_id, host=task.host, executor=task.executor,
            launch_ms=task.launch_ms, finish_ms=T0 + at, state=state, failure=failure, bytes_read=bytes_read,
        )  # fmt: skip

    def end_stage(self, at: int, *, stage: int = 0, state: State = State.SUCCESS) -> None:
        self.rows.add(RowKind.STAGE_ENDED, stage=stage, stage_attempt=0, time_ms=T0 + at, state=state)

    def observe(self, at: int = 0) -> Happened:
        return self.tell(self.rows.take(), at)

    def tell(self, batch: Observations, at: int = 0) -> Happened:
        happened = self.table.observe(batch)
        self.speeds.observe(self.table, happened, T0 + at)
        return happened

    def judge(self, at: int) -> list[Verdict]:
        if len(self.rows):
            self.observe(at)
        self.speeds.refresh(self.table, T0 + at)
        return self.detector.judge(self.table, T0 + at).verdicts

    def slow_tasks(self, at: int) -> list[int]:
        return [each.index for each in self.judge(at)]

    def found_slow(self, at: int) -> list[HostVerdict]:
        if len(self.rows):
            self.observe(at)
        self.speeds.refresh(self.table, T0 + at)
        return self.speeds.slow()

    def slow_hosts(self, at: int) -> list[str]:
        return [each.host for each in self.found_slow(at)]

    def running(self, stage: int = 0) -> StageTasks:
        return self.table.stages[stage, 0]

    def warm(self, *hosts: str, python: bool = False) -> None:
        """A stage before the test's first one: each host's executor ends a task."""
        self.stage(len(hosts), stage=900, at=-10_000, flags=StageFlag.PYTHON if python else StageFlag(0))
        for index, host in enumerate(hosts):
            self.end(self.launch(index, host, -10_000, stage=900), -9_000)
        self.end_stage(-9_000, stage=900)
        self.observe(-9_000)
