"""Recorded runs: what Spark's event log said of each task of real programs, in two small files beside this one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from yarnspec.core.messages.observations import Observations, RowKind, State
from yarnspec.feed.sparklog import observations

RECORDED = Path(__file__).with_name("recorded.parquet")
LATER = Path(__file__).with_name("recorded_later.parquet")
"""The same programs, recorded when the rules were final: none was chosen by these."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task, by its attempt that succeeded; times in milliseconds since the run's beginning."""

    run: str
    stage: int
    stage_attempt: int
    stage_tasks: int
    stage_flags: int
    stage_started_ms: int
    stage_ended_ms: int
    index: int
    task_id: int
    host: str
    executor: str
    launch_ms: int
    finish_ms: int
    bytes_read: int
    records_read: int
    run_ms: int

    @property
    def stage_key(self) -> tuple[int, int]:
        """The stage attempt it belongs to."""
        return self.stage, self.stage_attempt

    @property
    def took_ms(self) -> int:
        """How long it took."""
        return self.finish_ms - self.launch_ms


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One program's run."""

    name: str
    tasks: tuple[Task, ...]

    @property
    def hosts(self) -> list[str]:
        """The hosts on which it had tasks."""
        return sorted({task.host for task in self.tasks})


def read_log(name: str, path: Path) -> Run:
    """The run that a Spark event log tells of."""
    rows = observations(path)
    stages: dict[tuple[int, int], dict[str, int]] = {}
    for row in range(len(rows)):
        key = (int(rows.stage[row]), int(rows.stage_attempt[row]))
        if rows.kind[row] == RowKind.STAGE_STARTED:
            stages[key] = {
                "started": int(rows.time_ms[row]),
                "tasks": int(rows.tasks[row]),
                "flags": int(rows.flags[row]),
            }
        elif rows.kind[row] == RowKind.STAGE_ENDED:
            stages[key]["ended"] = int(rows.time_ms[row])
    begun_ms = min(stage["started"] for stage in stages.values())
    tasks = [
        _task(name, rows, row, begun_ms, stages[int(rows.stage[row]), int(rows.stage_attempt[row])])
        for row in range(len(rows))
        if rows.kind[row] == RowKind.TASK_ENDED and rows.state[row] == State.SUCCESS
    ]
    return Run(name=name, tasks=tuple(tasks))


def _task(name: str, rows: Observations, row: int, begun_ms: int, stage: dict[str, int]) -> Task:
    return Task(
        run=name,
        stage=int(rows.stage[row]),
        stage_attempt=int(rows.stage_attempt[row]),
        stage_tasks=stage["tasks"],
        stage_flags=stage["flags"],
        stage_started_ms=stage["started"] - begun_ms,
        stage_ended_ms=stage.get("ended", int(rows.finish_ms[row])) - begun_ms,
        index=int(rows.index[row]),
        task_id=int(rows.task_id[row]),
        host=rows.hosts[rows.host[row]],
        executor=rows.executors[rows.executor[row]],
        launch_ms=int(rows.launch_ms[row]) - begun_ms,
        finish_ms=int(rows.finish_ms[row]) - begun_ms,
        bytes_read=int(rows.bytes_read[row]),
        records_read=int(rows.records_read[row]),
        run_ms=int(rows.run_ms[row]),
    )


def store(runs: Iterable[Run], path: Path = RECORDED) -> None:
    """Write all runs."""
    rows = [msgspec.to_builtins(task) for run in runs for task in run.tasks]
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd", compression_level=19)


def load(path: Path = RECORDED) -> list[Run]:
    """The recorded runs, by name."""
    if not path.is_file():
        return []
    by_run: dict[str, list[Task]] = {}
    for row in pq.read_table(path).to_pylist():
        by_run.setdefault(row["run"], []).append(msgspec.convert(row, Task))
    return [Run(name=name, tasks=tuple(tasks)) for name, tasks in sorted(by_run.items())]
