"""The figures of speculation: of one stage attempt, and of all copies. Plain numbers, for commands and views alike."""

from __future__ import annotations

import msgspec

_NAMES = {
    "slow_tasks": "numSlowTasks",
    "slow_execution_vertices": "numSlowExecutionVertices",
    "effective_copies": "numEffectiveCopies",
    "effective_speculative_executions": "numEffectiveSpeculativeExecutions",
    "min_finished_for_speculation": "minFinishedForSpeculationThresholdMetrics",
    "finished_executions": "finishedExecutionCountMetrics",
    "speculative_executions": "speculativeExecutionCountMetrics",
    "speculative_threshold_ms": "speculativeThresholdOfTime",
    "running_ms_by_index": "executionIndex2RunningTimespan",
    "fastest_copies": "speculativeExecutionFastestFinishedCountMetrics",
}


def set_twins(figures: msgspec.Struct, **twins: str) -> None:
    """Fill the fields that give a number of another field a second name in JSON: nobody else sets or reads them."""
    for twin, field in twins.items():
        msgspec.structs.force_setattr(figures, twin, getattr(figures, field))


class StageSpeculation(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    """One stage attempt; in records its metrics have the names of the speculative execution proposal (FLINK-10644).

    ``speculative_threshold_ms`` is null while there is none. ``running_ms_by_index`` has the longest originals.
    ``not_copied`` says why no task of the stage is copied at all. The last two fields hold the numbers of
    ``slow_tasks`` and ``effective_copies`` under the proposal's names.
    """

    stage: int
    stage_attempt: int
    name: str
    tasks: int
    state: str
    slow_tasks: int
    effective_copies: int
    min_finished_for_speculation: int
    finished_executions: int
    speculative_executions: int
    speculative_threshold_ms: float | None
    running_ms_by_index: dict[int, int]
    fastest_copies: int
    running_copies: int
    gained_ms: int
    wasted_ms: int
    not_copied: str = ""
    slow_execution_vertices: int = 0
    effective_speculative_executions: int = 0

    def __post_init__(self) -> None:
        set_twins(self, slow_execution_vertices="slow_tasks", effective_speculative_executions="effective_copies")


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
