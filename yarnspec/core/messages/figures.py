"""The figures of speculation: of one stage attempt, and of all copies. Plain numbers, for commands and views alike."""

from __future__ import annotations

from typing import Annotated

import msgspec


class StageMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one stage attempt.

    Their names in JSON and Prometheus are those of the speculative execution proposal (FLINK-10644). The last two hold
    numbers of others under the proposal's names: nobody sets or reads them.
    """

    slow_tasks: Annotated[
        int,
        msgspec.Meta(
            description="Running tasks that are slow now; 0 when the stage has ended. Where more than 2,048 "
            "attempts may be slow, `progress` looks closely at so many only, and more may be slow"
        ),
    ] = msgspec.field(name="numSlowTasks", default=0)
    effective_copies: Annotated[int, msgspec.Meta(description="Tasks whose copy finished before the original")] = (
        msgspec.field(name="numEffectiveCopies", default=0)
    )
    min_finished_for_speculation: Annotated[
        int,
        msgspec.Meta(
            description="Tasks that must have finished before others are compared with them. With `progress`: "
            "`min_finished`, or all tasks of a smaller stage; none on a host that other stages have shown to be slow"
        ),
    ] = msgspec.field(name="minFinishedForSpeculationThresholdMetrics", default=0)
    finished_executions: Annotated[int, msgspec.Meta(description="Tasks that have finished")] = msgspec.field(
        name="finishedExecutionCountMetrics", default=0
    )
    speculative_executions: Annotated[int, msgspec.Meta(description="Copies that were started")] = msgspec.field(
        name="speculativeExecutionCountMetrics", default=0
    )
    speculative_threshold_ms: Annotated[
        float | None,
        msgspec.Meta(
            description="Execution time in milliseconds from which on a task is late; absent while there is none. "
            "`progress` then weighs the task's host. With the other detectors a late task is slow"
        ),
    ] = msgspec.field(name="speculativeThresholdOfTime", default=None)
    running_ms_by_index: Annotated[
        dict[int, int],
        msgspec.Meta(
            description="By task index, running time in milliseconds of the newest original attempt; the longest only"
        ),
    ] = msgspec.field(name="executionIndex2RunningTimespan", default_factory=dict)
    fastest_copies: Annotated[int, msgspec.Meta(description="Tasks whose copy finished first")] = msgspec.field(
        name="speculativeExecutionFastestFinishedCountMetrics", default=0
    )
    slow_execution_vertices: Annotated[
        int, msgspec.Meta(description="The same as numSlowTasks, under its first name")
    ] = msgspec.field(name="numSlowExecutionVertices", default=0)
    effective_speculative_executions: Annotated[
        int, msgspec.Meta(description="The same as numEffectiveCopies, under its first name")
    ] = msgspec.field(name="numEffectiveSpeculativeExecutions", default=0)

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "slow_execution_vertices", self.slow_tasks)
        msgspec.structs.force_setattr(self, "effective_speculative_executions", self.effective_copies)


class StageSpeculation(StageMetrics, frozen=True, kw_only=True):
    """One stage attempt with its metrics. ``not_copied`` says why no task of the stage is copied at all."""

    stage: int
    stage_attempt: int
    name: str
    tasks: int
    state: str
    running_copies: int
    gained_ms: int
    wasted_ms: int
    not_copied: str = ""


class LedgerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of all copies; see ``ledger.py`` for how the gain is estimated."""

    copies_asked: int
    copies_launched: int
    copies_running: int
    copies_won: int
    copies_failed: int
    copies_cancelled: int
    copies_refused: int
    copies_withdrawn: int
    gained_ms: int
    wasted_ms: int
    spent_ms: int
