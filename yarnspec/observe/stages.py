"""Progress of Spark's stages, counted from stage and task events."""

from __future__ import annotations

import msgspec

from yarnspec.core.events import StageFinished, StageStarted, TaskFinished
from yarnspec.observe.document import StageStatus, TaskCounts

_ENDED_STAGES = 200
_MOST_TASKS = 10_000_000
_SUCCESS = frozenset({"SUCCESS", "SUCCEEDED", "FINISHED"})
_FAILURE = frozenset({"FAILED", "FAILURE"})


class _Active:
    """A stage attempt that runs; remembers which of its tasks are done, so that two copies count once."""

    __slots__ = ("done", "status")

    def __init__(self, event: StageStarted) -> None:
        tasks = min(max(event.tasks, 0), _MOST_TASKS)
        self.done = bytearray(tasks)
        self.status = StageStatus(
            stage=event.stage,
            stage_attempt=event.stage_attempt,
            name=event.name,
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
        self._finished = 0
        self._failed = 0
        self._total = 0

    def started(self, event: StageStarted) -> None:
        """A stage attempt began."""
        key = (event.stage, event.stage_attempt)
        if key in self._active or key in self._ended:
            return
        self._active[key] = _Active(event)
        self._total += self._active[key].status.tasks

    def task_finished(self, event: TaskFinished) -> None:
        """A task attempt ended."""
        active = self._active.get((event.stage, event.stage_attempt))
        if active is None:
            return
        if event.state in _SUCCESS:
            if 0 <= event.index < len(active.done) and not active.done[event.index]:
                active.done[event.index] = 1
                self._finished += 1
                active.status = msgspec.structs.replace(active.status, finished=active.status.finished + 1)
        elif event.state in _FAILURE:
            self._failed += 1
            active.status = msgspec.structs.replace(active.status, failed=active.status.failed + 1)

    def finished(self, event: StageFinished) -> None:
        """A stage attempt ended; the tasks that it did not run are not counted as still to come."""
        self._end((event.stage, event.stage_attempt), failed=bool(event.failure))

    def driver_lost(self) -> None:
        """Nothing of what ran goes on."""
        for key in list(self._active):
            self._end(key, failed=True)

    def newest(self) -> tuple[StageStatus, ...]:
        """Stage attempts in the order of their numbers: all that run, and the newest of those that ended."""
        shown = {**self._ended, **{key: active.status for key, active in self._active.items()}}
        return tuple(shown[key] for key in sorted(shown))

    def counts(self, running: int) -> TaskCounts:
        """Tasks of all stages; ``running`` is the driver's own number, which the events do not tell."""
        return TaskCounts(running=running, finished=self._finished, total=self._total, failed=self._failed)

    def _end(self, key: tuple[int, int], *, failed: bool) -> None:
        active = self._active.pop(key, None)
        if active is None:
            return
        self._total -= active.status.tasks - active.status.finished
        self._ended[key] = msgspec.structs.replace(active.status, state="FAILED" if failed else "SUCCEEDED")
        while len(self._ended) > _ENDED_STAGES:
            del self._ended[next(iter(self._ended))]
