"""Progress of Spark's stages, counted from stage and task events or from the columns that these are made of."""

from __future__ import annotations

import msgspec
import numpy as np

from yarnspec.core.messages.events import StageFinished, StageStarted, TaskFinished
from yarnspec.core.messages.observations import IntColumn, Observations, RowKind, State
from yarnspec.observe.forms.document import StageStatus, TaskCounts

_ENDED_STAGES = 200
_MOST_TASKS = 10_000_000


class _Active:
    """A stage attempt that runs; remembers which of its tasks are done, so that two copies count once."""

    __slots__ = ("done", "status")

    def __init__(self, stage: int, stage_attempt: int, name: str, tasks: int) -> None:
        tasks = min(max(tasks, 0), _MOST_TASKS)
        self.done = np.zeros(tasks, dtype=np.bool_)
        self.status = StageStatus(
            stage=stage,
            stage_attempt=stage_attempt,
            name=name,
            tasks=tasks,
            finished=0,
            failed=0,
            state="RUNNING",
        )


class Stages:
    """All stage attempts of one driver; those that ended are kept as far back as ``status`` shows them."""

    def __init__(self) -> None:
        self._active: dict[tuple[int, int], _Active] = {}
        self._ended: dict[tuple[int, int], StageStatus] = {}
        self._launched: int | None = None
        self._finished = 0
        self._failed = 0
        self._total = 0

    def started(self, event: StageStarted) -> None:
        """A stage attempt began."""
        self._start(event.stage, event.stage_attempt, event.name, event.tasks)

    def task_finished(self, event: TaskFinished) -> None:
        """A task attempt ended."""
        active = self._active.get((event.stage, event.stage_attempt))
        if active is None:
            return
        if event.state == State.SUCCESS.name:
            if 0 <= event.index < len(active.done) and not active.done[event.index]:
                active.done[event.index] = True
                self._count(active, finished=1)
        elif event.state == State.FAILED.name:
            self._count(active, failed=1)

    def finished(self, event: StageFinished) -> None:
        """A stage attempt ended; the tasks that it did not run are not counted as still to come."""
        self._end((event.stage, event.stage_attempt), failed=bool(event.failure))

    def observe(self, rows: Observations) -> None:
        """Fold all that these rows tell."""
        self._launched = (self._launched or 0) + int(np.count_nonzero(rows.kind == RowKind.TASK_STARTED))
        before = 0
        stage_rows = np.flatnonzero((rows.kind == RowKind.STAGE_STARTED) | (rows.kind == RowKind.STAGE_ENDED))
        for row in stage_rows.tolist():
            self._tasks_ended(rows, slice(before, row))
            before = row + 1
            stage, stage_attempt = int(rows.stage[row]), int(rows.stage_attempt[row])
            if rows.kind[row] == RowKind.STAGE_STARTED:
                self._start(stage, stage_attempt, rows.texts.get(row, ""), int(rows.tasks[row]))
            else:
                self._end((stage, stage_attempt), failed=bool(rows.state[row] != State.SUCCESS))
        self._tasks_ended(rows, slice(before, len(rows)))

    def driver_lost(self) -> None:
        """End all stages that run."""
        for key in list(self._active):
            self._end(key, failed=True)

    def newest(self) -> tuple[StageStatus, ...]:
        """Stage attempts in the order of their numbers: all that run, and the newest of those that ended."""
        shown = {**self._ended, **{key: active.status for key, active in self._active.items()}}
        return tuple(shown[key] for key in sorted(shown))

    def counts(self, running: int) -> TaskCounts:
        """Tasks of all stages; ``running`` is the driver's own number, which the events do not tell."""
        return TaskCounts(
            launched=self._launched,
            running=running,
            finished=self._finished,
            total=self._total,
            failed=self._failed,
        )

    def _start(self, stage: int, stage_attempt: int, name: str, tasks: int) -> None:
        key = (stage, stage_attempt)
        if key in self._active:
            return
        # One of that number that has ended was another SparkContext's: the numbers begin again with each.
        self._ended.pop(key, None)
        self._active[key] = _Active(stage, stage_attempt, name, tasks)
        self._total += self._active[key].status.tasks

    def _tasks_ended(self, rows: Observations, part: slice) -> None:
        """Count the task ends in a part of the rows in which no stage starts or ends."""
        ended = np.flatnonzero(rows.kind[part] == RowKind.TASK_ENDED) + part.start
        if not len(ended):
            return
        stages, attempts = rows.stage[ended], rows.stage_attempt[ended]
        if (stages == stages[0]).all() and (attempts == attempts[0]).all():
            self._stage_tasks_ended((int(stages[0]), int(attempts[0])), rows, ended)
            return
        for stage, stage_attempt in np.unique(np.stack((stages, attempts)), axis=1).T.tolist():
            mine = ended[(stages == stage) & (attempts == stage_attempt)]
            self._stage_tasks_ended((stage, stage_attempt), rows, mine)

    def _stage_tasks_ended(self, key: tuple[int, int], rows: Observations, ended: IntColumn) -> None:
        active = self._active.get(key)
        if active is None:
            return
        states = rows.state[ended]
        done = np.unique(rows.index[ended][states == State.SUCCESS])
        done = done[(done >= 0) & (done < len(active.done))]
        new = done[~active.done[done]]
        active.done[new] = True
        self._count(active, finished=len(new), failed=int(np.count_nonzero(states == State.FAILED)))

    def _count(self, active: _Active, *, finished: int = 0, failed: int = 0) -> None:
        self._finished += finished
        self._failed += failed
        active.status = msgspec.structs.replace(
            active.status, finished=active.status.finished + finished, failed=active.status.failed + failed
        )

    def _end(self, key: tuple[int, int], *, failed: bool) -> None:
        active = self._active.pop(key, None)
        if active is None:
            return
        self._total -= active.status.tasks - active.status.finished
        self._ended[key] = msgspec.structs.replace(active.status, state="FAILED" if failed else "SUCCEEDED")
        while len(self._ended) > _ENDED_STAGES:
            del self._ended[next(iter(self._ended))]
