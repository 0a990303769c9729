"""The metrics of stages, running ones and the newest that ended."""

from __future__ import annotations

from collections import Counter, OrderedDict

import msgspec

from yarnspec.core.copies import Copies
from yarnspec.core.detectors import Detector
from yarnspec.core.figures import StageSpeculation
from yarnspec.core.stagetasks import StageTasks
from yarnspec.core.tasks import StageKey, TaskTable

_SPANS_SHOWN = 1_000
_ENDED_KEPT = 100


class StageMetrics:
    """Counts slow tasks as the detector's last pass had them, and keeps the last word on stages that ended."""

    def __init__(self, table: TaskTable, copies: Copies, detector: Detector) -> None:
        self._table = table
        self._copies = copies
        self._detector = detector
        self._ended: OrderedDict[StageKey, StageSpeculation] = OrderedDict()
        self.slow: Counter[StageKey] = Counter()

    @property
    def slow_tasks(self) -> int:
        """Tasks that were slow in the last pass, in all stages."""
        return sum(self.slow.values())

    def stage_ended(self, stage: StageTasks, now_ms: int) -> StageSpeculation | None:
        """Keep what is to be seen of a stage attempt after its end; gives it when there were slow tasks or copies."""
        figures = self._ended[stage.key] = self._of(stage, now_ms)
        self.slow.pop(stage.key, None)
        if len(self._ended) > _ENDED_KEPT:
            key, _ = self._ended.popitem(last=False)
            self._copies.forget_stage(key)
        return figures if figures.slow_tasks or figures.speculative_executions else None

    def forget(self) -> None:
        """The SparkContext is gone; its stages are not to be mistaken for the next one's."""
        self._ended.clear()
        self.slow.clear()

    def view(self, now_ms: int) -> tuple[StageSpeculation, ...]:
        """All stages."""
        running = [self._of(stage, now_ms) for stage in self._table.stages.values()]
        return (*running, *(self._now(ended) for ended in reversed(self._ended.values())))

    def _now(self, ended: StageSpeculation) -> StageSpeculation:
        # Attempts that lost may end after their stage.
        ledger = self._copies.ledger_of((ended.stage, ended.stage_attempt))
        return msgspec.structs.replace(ended, running_copies=ledger.copies_running, wasted_ms=ledger.wasted_ms)

    def _of(self, stage: StageTasks, now_ms: int) -> StageSpeculation:
        ledger = self._copies.ledger_of(stage.key)
        return StageSpeculation(
            stage=stage.stage,
            stage_attempt=stage.stage_attempt,
            name=stage.name,
            tasks=stage.tasks,
            state="RUNNING" if stage.ended is None else stage.ended.name,
            slow_tasks=self.slow[stage.key],
            effective_copies=ledger.copies_won,
            min_finished_for_speculation=self._detector.min_finished(stage),
            finished_executions=stage.finished,
            speculative_executions=ledger.copies_launched,
            speculative_threshold_ms=self._detector.threshold_ms(stage, now_ms),
            running_ms_by_index=dict(stage.spans(_SPANS_SHOWN, now_ms)),
            fastest_copies=ledger.copies_won,
            running_copies=ledger.copies_running,
            gained_ms=ledger.gained_ms,
            wasted_ms=ledger.wasted_ms,
        )
