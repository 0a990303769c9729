"""The attempts that run now, for those who look."""

from __future__ import annotations

import numpy as np

from yarnspec.core.messages.events import RunningAttempt
from yarnspec.core.tasks.task_table import TaskTable


def running_attempts(table: TaskTable, most: int) -> tuple[RunningAttempt, ...]:
    """The running attempts of all stages, at most ``most``: of each stage those that were launched first."""
    found: list[RunningAttempt] = []
    for stage in table.stages.values():
        rows = np.flatnonzero(stage.is_running())[: most - len(found)]
        columns = (
            stage.rows[name][rows].tolist()
            for name in ("index", "attempt", "task_id", "executor", "host", "launch_ms", "speculative")
        )
        hosts, executors = stage.places.host_names, stage.places.executor_names
        found += [
            RunningAttempt(
                stage=stage.stage, stage_attempt=stage.stage_attempt, index=index, attempt=attempt, task_id=task_id,
                executor_id=executors[executor], host=hosts[host], launch_ms=launch_ms, speculative=speculative == 1,
            )
            for index, attempt, task_id, executor, host, launch_ms, speculative in zip(*columns, strict=True)
        ]  # fmt: skip
    return tuple(found)
