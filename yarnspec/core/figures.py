"""The figures of speculation: of one stage attempt, and of all copies. Plain numbers, for commands and views alike."""

from __future__ import annotations

import msgspec


class StageSpeculation(msgspec.Struct, frozen=True, kw_only=True):
    """One stage attempt. The first two metrics are seed 000's, the rest under "seed 001" have its names there.

    slow_tasks: numSlowExecutionVertices; effective_copies: numEffectiveSpeculativeExecutions. Seed 001:
    min_finished_for_speculation (minFinishedForSpeculationThreshold), finished_executions (finishedExecutionCount),
    speculative_executions (speculativeExecutionCount), speculative_threshold_ms (speculativeThresholdOfTime; None while
    there is none), running_ms_by_index (executionIndex2RunningTimespan: the longest originals), fastest_copies
    (speculativeExecutionFastestFinishedCount), each with "Metrics" at its end there.
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


class LedgerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What copies did in all; see ``ledger.py`` for how the gain is estimated."""

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
