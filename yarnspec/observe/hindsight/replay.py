"""The task ends among an application's records, played again to the core's own detectors.

The records tell when each attempt began and ended, on which host, and how; what a task read, and how far it was in
between, they do not. So a detector judges by time here, whatever it had at the time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from yarnspec.core.detectors import SlownessExplanation, detector_of
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.events import StageFinished, StageStarted, TaskFinished
from yarnspec.core.messages.observations import COLUMNS, NONE, IntColumn, Observations, RowKind, State
from yarnspec.core.slowness.host_speed import HostSpeeds
from yarnspec.core.tasks.task_table import TaskTable

_ROWS = 8_192
_FIELDS = ("stage", "stage_attempt", "index", "attempt", "task_id", "host", "executor", "speculative", "state")


class Replay:
    """Stages and ended task attempts, in the order in which they were told. Times are milliseconds since the epoch."""

    def __init__(self, settings: DetectorSettings) -> None:
        self._settings = settings
        self._columns = {name: array("q") for name in (*_FIELDS, "launch_ms", "finish_ms", "told_ms")}
        self._hosts: dict[str, int] = {}
        self._executors: dict[str, int] = {}
        self._stages: dict[tuple[int, int], tuple[int, int, str]] = {}
        self._ends: dict[tuple[int, int], tuple[int, bool]] = {}
        self._first_launch_ms: dict[tuple[int, int], int] = {}

    def stage_started(self, event: StageStarted, time_ms: int) -> None:
        """A stage attempt began, as a record of this time says."""
        self._stages[event.stage, event.stage_attempt] = (time_ms, event.tasks, event.name)

    def stage_finished(self, event: StageFinished, time_ms: int) -> None:
        """A stage attempt ended."""
        self._ends[event.stage, event.stage_attempt] = (time_ms, not event.failure)

    def task_finished(self, event: TaskFinished, time_ms: int) -> None:
        """A task attempt ended, or what it had put out was lost, as a record of this time says."""
        key = (event.stage, event.stage_attempt)
        self._first_launch_ms[key] = min(event.launch_ms, self._first_launch_ms.get(key, event.launch_ms))
        values = (
            event.stage,
            event.stage_attempt,
            event.index,
            event.attempt,
            event.task_id,
            self._hosts.setdefault(event.host, len(self._hosts)),
            self._executors.setdefault(event.executor_id, len(self._executors)),
            int(event.speculative),
            int(State.at_end(event.state)),
            event.launch_ms,
            event.finish_ms,
            time_ms,
        )
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)

    def explain_task(self, stage: int, stage_attempt: int, index: int, at_ms: int) -> SlownessExplanation | None:
        """The detector's verdict on a task at a moment, or None if its stage did not run then."""
        speeds, table = HostSpeeds(self._settings), TaskTable()
        for rows in self._batches(until_ms=at_ms):
            speeds.observe(table, table.observe(rows), at_ms)
        found = table.stages.get((stage, stage_attempt))
        if found is None or not 0 <= index < found.tasks:
            return None
        speeds.refresh(table, at_ms)
        return detector_of(self._settings, speeds).explain(found, index, at_ms)

    def host_speeds(self) -> HostSpeeds:
        """The hosts' speed, learnt from all tasks."""
        speeds, table = HostSpeeds(self._settings), TaskTable()
        for rows in self._batches():
            speeds.observe(table, table.observe(rows), int(rows.time_ms[-1]))
        return speeds

    def _batches(self, until_ms: int | None = None) -> Iterator[Observations]:
        columns = {name: np.frombuffer(values, dtype=np.int64) for name, values in self._columns.items()}
        stages = self._stage_rows()
        tasks = len(columns["stage"])
        number = np.arange(tasks)
        # Each attempt is two rows, its start and its end; each stage one or two.
        source = np.concatenate([number, number, np.arange(len(stages))])
        kind = np.concatenate([
            np.full(tasks, int(RowKind.TASK_STARTED)),
            np.full(tasks, int(RowKind.TASK_ENDED)),
            np.array([row[0] for row in stages], dtype=np.int64),
        ])  # fmt: skip
        time_ms = np.concatenate([
            columns["launch_ms"], _ended_ms(columns), np.array([row[1] for row in stages], dtype=np.int64)
        ])  # fmt: skip
        order = np.lexsort((_rank(kind), time_ms))
        if until_ms is not None:
            order = order[time_ms[order] <= until_ms]
        for start in range(0, len(order), _ROWS):
            at = order[start : start + _ROWS]
            yield self._rows(columns, stages, kind[at], time_ms[at], source[at])

    def _rows(
        self,
        columns: dict[str, IntColumn],
        stages: list[tuple[int, int, int, int, int, str]],
        kind: IntColumn,
        time_ms: IntColumn,
        source: IntColumn,
    ) -> Observations:
        made = {name: np.full(len(kind), NONE, dtype=np.int64) for name in COLUMNS}
        made["kind"], made["time_ms"] = kind, time_ms
        of_task = (kind == RowKind.TASK_STARTED) | (kind == RowKind.TASK_ENDED)
        ended = kind == RowKind.TASK_ENDED
        for name in (*_FIELDS, "launch_ms"):
            made[name][of_task] = columns[name][source[of_task]]
        made["state"][of_task & ~ended] = int(State.RUNNING)
        made["finish_ms"][ended] = columns["finish_ms"][source[ended]]
        texts = {}
        for row in np.flatnonzero(~of_task).tolist():
            _, _, stage, stage_attempt, value, text = stages[source[row]]
            made["stage"][row], made["stage_attempt"][row] = stage, stage_attempt
            made["tasks" if kind[row] == RowKind.STAGE_STARTED else "state"][row] = value
            texts[row] = text
        made["flags"][kind == RowKind.STAGE_STARTED] = 0
        return Observations(**made, hosts=tuple(self._hosts), executors=tuple(self._executors), texts=texts)

    def _stage_rows(self) -> list[tuple[int, int, int, int, int, str]]:
        """Kind, time, stage, stage attempt, tasks or state, name."""
        rows = []
        for (stage, stage_attempt), (time_ms, tasks, name) in self._stages.items():
            # The record is younger than what it tells of; no task began before its stage.
            began_ms = min(time_ms, self._first_launch_ms.get((stage, stage_attempt), time_ms))
            rows.append((int(RowKind.STAGE_STARTED), began_ms, stage, stage_attempt, tasks, name))
        for (stage, stage_attempt), (time_ms, succeeded) in self._ends.items():
            state = int(State.SUCCESS if succeeded else State.FAILED)
            rows.append((int(RowKind.STAGE_ENDED), time_ms, stage, stage_attempt, state, ""))
        return rows


def _ended_ms(columns: dict[str, IntColumn]) -> IntColumn:
    """When each end came: that an output was lost later is told as a second end, with the times of the first."""
    ended_ms = columns["told_ms"].copy()
    _, first = np.unique(columns["task_id"], return_index=True)
    ended_ms[first] = columns["finish_ms"][first]
    return ended_ms


def _rank(kind: IntColumn) -> IntColumn:
    """At one moment stages begin first and end last."""
    order = (
        RowKind.STAGE_STARTED,
        RowKind.TASK_STARTED,
        RowKind.TASK_COUNTERS,
        RowKind.TASK_ENDED,
        RowKind.STAGE_ENDED,
    )
    ranks = np.zeros(max(order) + 1, dtype=np.int64)
    for rank, each in enumerate(order):
        ranks[each] = rank
    found: IntColumn = ranks[kind]
    return found
