"""The execution-time detector on time per input byte, so that a task with much to read is not taken for a slow one.

A task's input is its estimate from before it read (file splits, map outputs), else the bytes that it had read at its
end. A running task without an estimate is measured by the bytes that it has read so far. If such a task runs Python,
only its time counts: the JVM reads ahead of Python, so its counters cannot be believed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from yarnspec.core.detectors.baseline import BaselineSettings, FirstFinishedMedian, execution_ms, needed
from yarnspec.core.detectors.protocol import (
    MB,
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
from yarnspec.core.detectors.words import input_said, running_text, seconds
from yarnspec.core.messages.commands import Verdict
from yarnspec.core.messages.observations import NONE, StageFlag, State
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import TaskTable


class InputWeighted:
    """Slow is what has run, for its input, for ``baseline_multiplier`` times what those that finished first took."""

    name = "input-weighted"

    def __init__(self, settings: BaselineSettings) -> None:
        self._settings = settings
        self._median_ms = FirstFinishedMedian(execution_ms)
        self._median_ms_per_byte = FirstFinishedMedian(ms_per_byte)

    def judge(self, table: TaskTable, now_ms: int, put_off: PutOff = nobody) -> Judged:
        """The attempts that are slow now, the worst first."""
        found = [each for stage in table.stages.values() for each in self._slow_attempts(stage, now_ms)]
        return worst_first(found, put_off)

    def _slow_attempts(self, stage: StageTasks, now_ms: int) -> Iterator[SlowAttempts]:
        numbers = self._numbers(stage)
        if "median_ms" not in numbers:
            return
        rows = stage.overdue(now_ms - self._shortest_ms(numbers))
        baseline_ms, size = self._baselines(stage, rows, numbers)
        elapsed_ms = now_ms - stage.rows["launch_ms"][rows]
        slow = np.flatnonzero(elapsed_ms >= baseline_ms)
        if not len(slow):
            return

        def judge(position: int) -> Verdict:
            at = int(slow[position])
            own = numbers | {"baseline_ms": float(baseline_ms[at])}
            own |= input_numbers(stage, int(rows[at]), float(size[at]))
            reason = f"it has run for {seconds(float(elapsed_ms[at]))}, and {self._said(own)}"
            return verdict(stage, int(rows[at]), now_ms, detector=self.name, numbers=own, reason=reason)

        badness = elapsed_ms[slow] / np.maximum(baseline_ms[slow], 1.0)
        yield SlowAttempts(stage, rows[slow], badness, np.full(len(slow), np.nan), judge)

    def explain(self, stage: StageTasks, index: int, now_ms: int) -> SlownessExplanation:
        """The numbers of one task, slow or not."""
        numbers = self._numbers(stage)
        text, elapsed_ms = running_text(stage, index, now_ms)
        slow = False
        if elapsed_ms is not None:
            numbers["elapsed_ms"] = elapsed_ms
        if elapsed_ms is not None and "median_ms" in numbers:
            running = [row for row in stage.rows_of(index) if stage.rows["state"][row] == State.RUNNING]
            baseline_ms, size = self._baselines(stage, np.array(running[:1]), numbers)
            numbers |= {"baseline_ms": float(baseline_ms[0])} | input_numbers(stage, running[0], float(size[0]))
            slow = elapsed_ms >= numbers["baseline_ms"]
        return SlownessExplanation(
            stage=stage.stage, stage_attempt=stage.stage_attempt, index=index, detector=self.name, slow=slow,
            text=f"{text}; {self._said(numbers)}", numbers=numbers,
        )  # fmt: skip

    def min_finished(self, stage: StageTasks) -> int:
        """N x R."""
        return needed(stage.tasks - stage.finished_elsewhere, self._settings.baseline_ratio)

    def threshold_ms(self, stage: StageTasks, now_ms: int) -> int | None:  # noqa: ARG002 - the same at all times
        """The baseline of a task whose input is not known."""
        numbers = self._numbers(stage)
        if "median_ms" not in numbers:
            return None
        settings = self._settings
        return int(max(numbers["median_ms"] * settings.baseline_multiplier, settings.baseline_lower_bound_ms))

    def _numbers(self, stage: StageTasks) -> dict[str, float]:
        count = self.min_finished(stage)
        numbers: dict[str, float] = {"tasks": stage.tasks, "finished": stage.finished, "needed": count}
        if stage.tasks > 0 and stage.finished >= count:
            numbers["median_ms"] = self._median_ms.of(stage, count) or 0.0
            per_byte = self._median_ms_per_byte.of(stage, count)
            if per_byte is not None:
                numbers["median_ms_per_mb"] = per_byte * MB
        return numbers

    def _shortest_ms(self, numbers: dict[str, float]) -> float:
        """No running attempt has a baseline below this."""
        settings = self._settings
        if "median_ms_per_mb" in numbers:
            return settings.baseline_lower_bound_ms
        return max(numbers["median_ms"] * settings.baseline_multiplier, settings.baseline_lower_bound_ms)

    def _baselines(self, stage: StageTasks, rows: Column, numbers: dict[str, float]) -> tuple[Column, Column]:
        """The baseline of each row, and the input it was computed from (0: by time alone)."""
        settings = self._settings
        size = np.maximum(stage.rows["input_bytes"][rows], 0).astype(float)
        if StageFlag.PYTHON not in stage.flags:
            unknown = stage.rows["input_bytes"][rows] == NONE
            size = np.where(unknown, np.maximum(stage.rows["bytes_read"][rows], 0), size)
        per_mb = numbers.get("median_ms_per_mb")
        if per_mb is None:
            size = np.zeros(len(rows))
            typical_ms = np.full(len(rows), numbers["median_ms"])
        else:
            typical_ms = np.where(size > 0, size * (per_mb / MB), numbers["median_ms"])
        baseline_ms: Column = np.maximum(typical_ms * settings.baseline_multiplier, settings.baseline_lower_bound_ms)
        return baseline_ms, size

    def _said(self, numbers: dict[str, float]) -> str:
        settings = self._settings
        if "median_ms" not in numbers:
            return (
                f"there is no baseline before {numbers['needed']:.0f} of {numbers['tasks']:.0f} tasks have finished "
                f"({numbers['finished']:.0f} have)"
            )
        if "baseline_ms" not in numbers:
            return f"the {numbers['needed']:.0f} that finished first took {seconds(numbers['median_ms'])} in the median"
        size = numbers.get("input_bytes", numbers.get("read_bytes", 0.0))
        if size > 0 and "median_ms_per_mb" in numbers:
            typical = f"{size / MB:.1f} MB x {numbers['median_ms_per_mb']:.1f} ms/MB, the median"
            typical += "" if "input_bytes" in numbers else f" ({input_said(numbers)})"
        else:
            typical = f"{seconds(numbers['median_ms'])}, the median time ({input_said({})})"
        return (
            f"its baseline is {seconds(numbers['baseline_ms'])}: the larger of {settings.baseline_multiplier:g} x "
            f"{typical} of the {numbers['needed']:.0f} of {numbers['tasks']:.0f} tasks that finished first, and "
            f"{seconds(settings.baseline_lower_bound_ms)}"
        )


def input_bytes(stage: StageTasks, rows: Column) -> Column:
    """The input of ended attempts: as known before, else as read; -1 where neither is known."""
    told = stage.rows["input_bytes"][rows]
    found: Column = np.where(told == NONE, stage.rows["bytes_read"][rows], told)
    return found


def ms_per_byte(stage: StageTasks, rows: Column) -> Column:
    """The time that ended attempts took for each byte of input; those without input are left out."""
    size = input_bytes(stage, rows)
    rows = rows[(size > 0) & (stage.rows["launch_ms"][rows] != NONE)]
    per_byte: Column = execution_ms(stage, rows) / input_bytes(stage, rows)
    return per_byte


KIND = Kind(
    InputWeighted.name,
    "the same per byte of input",
    BaselineSettings,
    lambda settings, _speeds, _many: InputWeighted(settings),
)
