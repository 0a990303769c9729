"""The tasks of a stage that finished first, and the median over them.

Both are as in the speculative execution proposal (FLINK-10644).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from yarnspec.core.messages.observations import NONE
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.options.types import Share
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks

_CACHED_STAGES = 1_000


class BaselineSettings(CommonDetectorSettings, frozen=True, kw_only=True):
    """The options of the detectors that compare with the tasks that finished first."""

    baseline_ratio: Share = 0.75
    """The share of a stage's tasks that must have finished before any other is judged; with 0 baseline_lower_bound
    alone decides."""


def needed(tasks: int, ratio: float) -> int:
    """N x R as a number of tasks: rounded up, for with fewer than N x R finished there is no baseline.

    With 0.75, 10 tasks need 8. 3 tasks need 3 and a single task 1, so neither can ever be judged.
    """
    # 30 x 0.1 is a little more than 3 in floating point, and is 3.
    return max(0, min(tasks, math.ceil(tasks * ratio - 1e-9)))


def execution_ms(stage: StageTasks, rows: Column) -> Column:
    """From the driver's launch of each attempt to its end; rows whose launch is not known are left out."""
    launch_ms, finish_ms = stage.rows["launch_ms"][rows], stage.rows["finish_ms"][rows]
    known = (launch_ms != NONE) & (finish_ms != NONE)
    took_ms: Column = np.maximum(finish_ms[known] - launch_ms[known], 0)
    return took_ms


def first_finished(stage: StageTasks, count: int) -> Column:
    """The rows of the ``count`` tasks that finished first, by the time of their end; of a tie the one heard first."""
    rows = stage.winners
    rows = rows[stage.won(stage.rows["index"][rows]) == rows]
    # Nearly in order already, which is what this sort is quick at.
    order = np.argsort(stage.rows["finish_ms"][rows], kind="stable")
    first: Column = rows[order[:count]]
    return first


@dataclass(slots=True)
class _Known:
    stage: weakref.ref[StageTasks]  # the columns of one that is over may be large
    count: int
    seen: int
    lost: int
    latest_ms: int
    median: float | None


class FirstFinishedMedian:
    """A median over the tasks that finished first, computed anew only when that set changes.

    Once N x R tasks have finished the set is fixed, with three exceptions. The end of a task is heard of late. The end
    of a task is lost. An older attempt of the stage ends tasks, which makes N smaller.
    """

    def __init__(self, measure: Callable[[StageTasks, Column], Column]) -> None:
        self._measure = measure
        self._known: dict[tuple[int, int], _Known] = {}

    def of(self, stage: StageTasks, count: int) -> float | None:
        """The median; None when the measure is known for no task of the set."""
        known = self._known.get(stage.key)
        if known is not None and known.stage() is stage and (known.count, known.lost) == (count, stage.lost):
            news = stage.winners[known.seen :]
            known.seen += len(news)
            if not len(news) or int(stage.rows["finish_ms"][news].min()) >= known.latest_ms:
                return known.median
        rows = first_finished(stage, count)
        values = self._measure(stage, rows)
        median = float(np.median(values)) if len(values) else None
        latest_ms = int(stage.rows["finish_ms"][rows].max()) if len(rows) else 0
        if len(self._known) >= _CACHED_STAGES:
            self._known.clear()
        self._known[stage.key] = _Known(weakref.ref(stage), count, len(stage.winners), stage.lost, latest_ms, median)
        return median
