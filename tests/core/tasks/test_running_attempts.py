"""The attempts that run, as those who look get them."""

from __future__ import annotations

from yarnspec.core.messages.events import RunningAttempt
from yarnspec.core.messages.observations import ObservationsBuilder, RowKind, State
from yarnspec.core.tasks.running_attempts import running_attempts
from yarnspec.core.tasks.task_table import TaskTable


def test_what_runs_is_told_with_its_place_and_at_most_so_many() -> None:
    rows = ObservationsBuilder()
    rows.add(RowKind.STAGE_STARTED, stage=1, stage_attempt=0, tasks=2, time_ms=1, flags=0)
    for index in range(2):
        rows.add(
            RowKind.TASK_STARTED, stage=1, stage_attempt=0, index=index, partition=index, attempt=0, task_id=5 + index,
            host="h", executor="e", speculative=index, state=int(State.RUNNING), launch_ms=7, time_ms=7,
        )  # fmt: skip
    table = TaskTable()
    table.observe(rows.take())
    first, second = running_attempts(table, 10)
    assert first == RunningAttempt(
        stage=1, stage_attempt=0, index=0, attempt=0, task_id=5, executor_id="e", host="h", launch_ms=7
    )
    assert second.speculative
    assert running_attempts(table, 1) == (first,)
