"""The detector of the speculative execution proposal (FLINK-10644): slow is a task that runs much longer than others.

N tasks, finished ratio R, multiplier M, lower bound B. T is the median execution time of the N x R tasks that finished
first, and the baseline is max(T x M, B). Once N x R tasks have finished, a running attempt at or over the baseline is
slow. Time counts from the driver's launch of the attempt, for running and finished ones alike: a slow host delays
starting a task as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from yarnspec.core.detectors.baseline import BaselineSettings, FirstFinishedMedian, execution_ms, needed
from yarnspec.core.detectors.protocol import (
    Judged,
    Kind,
    PutOff,
    SlowAttempts,
    SlownessExplanation,
    input_numbers,
    nobody,
    verdict,
    worst_first,
)
from yarnspec.core.detectors.words import running_text, seconds
from yarnspec.core.messages.commands import Verdict
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import TaskTable


class ExecutionTime:
    """Slow is what has run for ``baseline_multiplier`` times the median of those that finished first."""

    name = "execution-time"

    def __init__(self, settings: BaselineSettings) -> None:
        self._settings = settings
        self._median = FirstFinishedMedian(execution_ms)

    def judge(self, table: TaskTable, now_ms: int, put_off: PutOff = nobody) -> Judged:
        """The attempts that are slow now, the worst first."""
        found = [each for stage in table.stages.values() for each in self._slow_attempts(stage, now_ms)]
        return worst_first(found, put_off)

    def _slow_attempts(self, stage: StageTasks, now_ms: int) -> Iterator[SlowAttempts]:
        numbers = self._numbers(stage)
        baseline_ms = numbers.get("baseline_ms")
        if baseline_ms is None:
            return
        slow = stage.overdue(now_ms - baseline_ms)
        if not len(slow):
            return
        elapsed_ms = now_ms - stage.rows["launch_ms"][slow]
        said = self._said(numbers)

        def judge(at: int) -> Verdict:
            reason = f"it has run for {seconds(int(elapsed_ms[at]))}, and {said}"
            own = numbers | input_numbers(stage, int(slow[at]))
            return verdict(stage, int(slow[at]), now_ms, detector=self.name, numbers=own, reason=reason)

        yield SlowAttempts(stage, slow, elapsed_ms / max(baseline_ms, 1.0), np.full(len(slow), np.nan), judge)

    def explain(self, stage: StageTasks, index: int, now_ms: int) -> SlownessExplanation:
        """The numbers of one task, slow or not."""
        numbers = self._numbers(stage)
        text, elapsed_ms = running_text(stage, index, now_ms)
        slow = elapsed_ms is not None and "baseline_ms" in numbers and elapsed_ms >= numbers["baseline_ms"]
        if elapsed_ms is not None:
            numbers["elapsed_ms"] = elapsed_ms
        return SlownessExplanation(
            stage=stage.stage, stage_attempt=stage.stage_attempt, index=index, detector=self.name, slow=slow,
            text=f"{text}; {self._said(numbers)}", numbers=numbers,
        )  # fmt: skip

    def min_finished(self, stage: StageTasks) -> int:
        """N x R."""
        return needed(stage.tasks - stage.finished_elsewhere, self._settings.baseline_ratio)

    def threshold_ms(self, stage: StageTasks, now_ms: int) -> int | None:  # noqa: ARG002 - the same at all times
        """The baseline."""
        baseline_ms = self._numbers(stage).get("baseline_ms")
        return None if baseline_ms is None else math.ceil(baseline_ms)

    def _numbers(self, stage: StageTasks) -> dict[str, float]:
        settings = self._settings
        count = self.min_finished(stage)
        numbers: dict[str, float] = {"tasks": stage.tasks, "finished": stage.finished, "needed": count}
        if stage.tasks > 0 and stage.finished >= count:
            # With a ratio of 0 nobody has to have finished, and the lower bound alone is the baseline.
            numbers["median_ms"] = self._median.of(stage, count) or 0.0
            numbers["baseline_ms"] = max(
                numbers["median_ms"] * settings.baseline_multiplier, float(settings.baseline_lower_bound_ms)
            )
        return numbers

    def _said(self, numbers: dict[str, float]) -> str:
        settings = self._settings
        if "baseline_ms" not in numbers:
            return (
                f"there is no baseline before {numbers['needed']:.0f} of {numbers['tasks']:.0f} tasks have finished "
                f"({numbers['finished']:.0f} have)"
            )
        return (
            f"the baseline is {seconds(numbers['baseline_ms'])}: the larger of {settings.baseline_multiplier:g} x "
            f"{seconds(numbers['median_ms'])}, the median of the {numbers['needed']:.0f} of {numbers['tasks']:.0f} "
            f"tasks that finished first, and {seconds(settings.baseline_lower_bound_ms)}"
        )


KIND = Kind(
    ExecutionTime.name,
    "a task is slow that runs longer than its finished siblings did",
    BaselineSettings,
    lambda settings, _speeds, _many: ExecutionTime(settings),
)
