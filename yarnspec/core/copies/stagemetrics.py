"""The metrics of stages, running ones and the newest that ended."""

from __future__ import annotations

from collections import Counter, OrderedDict
from itertools import islice

import msgspec
import numpy as np

from yarnspec.core.copies.task_copies import TaskCopies
from yarnspec.core.detectors import Detector
from yarnspec.core.messages.figures import StageSpeculation
from yarnspec.core.messages.observations import NONE
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import StageKey, TaskTable

_SPANS_SHOWN = 1_000
_SPANS_OF_BRIEF = 20
_ENDED_KEPT = 100


class StageMetricsTable:
    """Counts slow tasks as the detector's last pass had them, and keeps the last word on stages that ended."""

    def __init__(self, table: TaskTable, copies: TaskCopies, detector: Detector) -> None:
        self._table = table
        self._copies = copies
        self._detector = detector
        self._ended: OrderedDict[StageKey, StageSpeculation] = OrderedDict()
        self._settled: set[StageKey] = set()
        self.slow: Counter[StageKey] = Counter()

    @property
    def slow_tasks(self) -> int:
        """Tasks that were slow in the last pass, in all stages."""
        return sum(self.slow.values())

    def stage_ended(self, stage: StageTasks, now_ms: int) -> StageSpeculation:
        """Keep what is to be seen of a stage attempt after its end, when no task is slow any more; gives it."""
        self.slow.pop(stage.key, None)
        figures = self._of(stage, now_ms)
        self._ended.pop(stage.key, None)
        self._ended[stage.key] = figures
        self._settled.discard(stage.key)
        if len(self._ended) > _ENDED_KEPT:
            key, _ = self._ended.popitem(last=False)
            if key in self._settled:
                self._settled.discard(key)
            else:
                self._copies.forget_stage(key)
        return figures

    def settle(self) -> None:
        """The SparkContext is about to be forgotten: what its stages came to stays to be seen as it is now.

        To be called while its copies are still known. The numbers of stages begin again with the next context, and a
        stage of the same number takes the place of the old one.
        """
        for key, ended in self._ended.items():
            self._ended[key] = msgspec.structs.replace(self._now(ended), running_copies=0)
            self._settled.add(key)
        self.slow.clear()

    def forget(self) -> None:
        """The stages' numbers mean others from now on."""
        self._ended.clear()
        self._settled.clear()

    def view(self, now_ms: int) -> tuple[StageSpeculation, ...]:
        """All stages."""
        running = {key: self._of(stage, now_ms) for key, stage in self._table.stages.items()}
        ended = [self._now(figures) for key, figures in reversed(self._ended.items()) if key not in running]
        return (*running.values(), *ended)

    def running(self, now_ms: int) -> tuple[StageSpeculation, ...]:
        """The stages that run, in brief."""
        return tuple(brief(self._of(stage, now_ms)) for stage in self._table.stages.values())

    def _now(self, ended: StageSpeculation) -> StageSpeculation:
        if (ended.stage, ended.stage_attempt) in self._settled:
            return ended
        # Attempts that lost may end after their stage.
        ledger = self._copies.ledger_of((ended.stage, ended.stage_attempt))
        return msgspec.structs.replace(ended, running_copies=ledger.copies_running, wasted_ms=ledger.wasted_ms)

    def _of(self, stage: StageTasks, now_ms: int) -> StageSpeculation:
        ledger = self._copies.ledger_of(stage.key)
        won = ledger.copies_won  # the proposal has two names for this number, and the output keeps both
        return StageSpeculation(
            stage=stage.stage,
            stage_attempt=stage.stage_attempt,
            name=stage.name,
            tasks=stage.tasks,
            state="RUNNING" if stage.ended is None else stage.ended.name,
            slow_tasks=self.slow[stage.key],
            effective_copies=won,
            min_finished_for_speculation=self._detector.min_finished(stage),
            finished_executions=stage.finished,
            speculative_executions=ledger.copies_launched,
            speculative_threshold_ms=self._detector.threshold_ms(stage, now_ms),
            running_ms_by_index=dict(spans(stage, _SPANS_SHOWN, now_ms)),
            fastest_copies=won,
            running_copies=ledger.copies_running,
            gained_ms=ledger.gained_ms,
            wasted_ms=ledger.wasted_ms,
            not_copied=self._copies.withheld_from(stage),
        )


def brief(figures: StageSpeculation) -> StageSpeculation:
    """A stage's metrics for the event log, where few of the running times will do."""
    return msgspec.structs.replace(
        figures, running_ms_by_index=dict(islice(figures.running_ms_by_index.items(), _SPANS_OF_BRIEF))
    )


def spans(stage: StageTasks, count: int, now_ms: int) -> list[tuple[int, int]]:
    """The newest originals of a stage's tasks, the ``count`` longest, longest first: (index, milliseconds)."""
    rows = stage.rows
    originals = np.flatnonzero((rows["speculative"] != 1) & (rows["launch_ms"] != NONE))
    originals = _newest(rows["index"][originals], originals)
    until = np.where(stage.is_running(originals), now_ms, rows["finish_ms"][originals])
    took_ms = np.maximum(until - rows["launch_ms"][originals], 0)
    if len(took_ms) > count:
        longest = np.argpartition(took_ms, len(took_ms) - count)[len(took_ms) - count :]
    else:
        longest = np.arange(len(took_ms))
    longest = longest[np.argsort(-took_ms[longest], kind="stable")]
    return list(zip(rows["index"][originals[longest]].tolist(), took_ms[longest].tolist(), strict=True))


def _newest(index: Column, rows: Column) -> Column:
    """The last row of each index. ``rows`` are in the order in which they were heard of."""
    if not len(rows):
        return rows
    newest = np.full(int(index.max()) + 1, NONE)
    newest[index] = rows
    found: Column = np.sort(newest[newest != NONE])
    return found
