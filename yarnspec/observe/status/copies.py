"""Slow tasks and their copies, counted from records.

These counts serve for an application that left no last status and whose negotiator is gone. Numbers that only the core
knows, such as the time that copies gained, come from the last summary among the records.
"""

from __future__ import annotations

import msgspec

from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, TaskFinished
from yarnspec.core.messages.figures import LedgerFigures, StageMetrics, StageSpeculation
from yarnspec.core.messages.observations import State
from yarnspec.observe.forms.document import CopyTotals, SpeculationStatus, StageStatus
from yarnspec.observe.status.speculation import with_speculation

_MOST_STAGES = 2_000

_Task = tuple[int, int, int]


class _StageCounts:
    """The counts of one stage attempt."""

    __slots__ = ("asked", "ended", "running_ms", "slow", "threshold_ms", "wasted_ms", "won")

    def __init__(self) -> None:
        self.asked = 0
        self.ended = 0
        self.won = 0
        self.wasted_ms = 0
        self.threshold_ms: float | None = None
        self.slow: set[int] = set()
        self.running_ms: dict[int, int] = {}


class CopyCounts:
    """Slow tasks and copies of one application after each record."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, int], _StageCounts] = {}
        self._copied: dict[_Task, bool] = {}  # whether it has finished
        self._detector = ""
        self._seen = False
        self._refused = 0
        self._withdrawn = 0
        self._failed = 0
        self._cancelled = 0
        self._spent_ms = 0
        self._gained_ms: int | None = None
        self._before = CopyTotals()
        self._figures: dict[tuple[int, int], StageSpeculation] = {}

    def apply(self, message: Event | Command) -> None:
        """Take in the next event or command; those that are about other things change nothing."""
        match message:
            case commands.JudgeTasks(verdicts=verdicts):
                self._seen = True
                for one in verdicts:
                    stage = self._stage(one.stage, one.stage_attempt)
                    stage.slow.add(one.index)
                    stage.running_ms[one.index] = one.elapsed_ms
                    if one.threshold_ms is not None:
                        stage.threshold_ms = one.threshold_ms
                    self._detector = one.detector
            case commands.LaunchCopy():
                self._seen = True
                self._stage(message.stage, message.stage_attempt).asked += 1
                self._copied.setdefault((message.stage, message.stage_attempt, message.index), False)
            case commands.WithdrawCopy() | events.CopyRefused():
                self._stage(message.stage, message.stage_attempt).asked -= 1
                self._refused += isinstance(message, events.CopyRefused)
                self._withdrawn += isinstance(message, commands.WithdrawCopy)
            case commands.Summarize():
                # Of running stages the newest verdicts and ends of tasks tell more than the last summary.
                last = [one for one in message.stages if one.state != "RUNNING"]
                self._figures |= {(one.stage, one.stage_attempt): one for one in last}
                while len(self._figures) > _MOST_STAGES:
                    del self._figures[next(iter(self._figures))]
                self._gained_ms = message.ledger.gained_ms if message.ledger is not None else self._gained_ms
            case rc.CarryOver(ledger=LedgerFigures() as ledger):
                self._seen = True
                self._before = msgspec.convert(ledger, CopyTotals, from_attributes=True)
                self._gained_ms = ledger.gained_ms
            case events.TaskFinished():
                self._task_finished(message)
            case events.StageFinished():
                ended = self._stages.get((message.stage, message.stage_attempt))
                if ended is not None:
                    ended.slow.clear()

    def with_metrics(self, stage: StageStatus) -> StageStatus:
        """The stage with what is known of its slow tasks and copies."""
        key = (stage.stage, stage.stage_attempt)
        if stage.state != "RUNNING" and key in self._figures:
            return with_speculation(stage, self._figures[key])
        counts = self._stages.get(key)
        if counts is None:
            return stage
        slow = len(counts.slow) if stage.state == "RUNNING" else 0
        return msgspec.structs.replace(
            stage,
            copies_running=max(0, counts.asked - counts.ended) if stage.state == "RUNNING" else 0,
            wasted_ms=counts.wasted_ms,
            metrics=StageMetrics(
                slow_tasks=slow,
                effective_copies=counts.won,
                finished_executions=stage.finished,
                speculative_executions=max(0, counts.asked),
                speculative_threshold_ms=counts.threshold_ms,
                running_ms_by_index=dict(counts.running_ms),
                fastest_copies=counts.won,
            ),
        )

    def status(self, *, ended: bool) -> SpeculationStatus | None:
        """The counts of the whole application; None when nothing was found slow or copied."""
        if not self._seen:
            return None
        return SpeculationStatus(
            enabled=True,
            detector=self._detector,
            slow_tasks=0 if ended else sum(len(one.slow) for one in self._stages.values()),
            ledger=self._ledger(ended=ended),
        )

    def epoch_over(self) -> None:
        """The driver died, and begins again: its stages' numbers mean others, and its copies have ended."""
        so_far = self._ledger(ended=False)
        cancelled = so_far.copies_cancelled + so_far.copies_running
        before = msgspec.structs.replace(so_far, copies_running=0, copies_cancelled=cancelled)
        seen, detector = self._seen, self._detector
        self.__init__()  # type: ignore[misc]
        self._seen, self._detector = seen, detector
        self._before, self._gained_ms = before, before.gained_ms

    def _ledger(self, *, ended: bool) -> CopyTotals:
        stages = self._stages.values()
        before = self._before
        asked = sum(max(0, one.asked) for one in stages)
        return CopyTotals(
            copies_launched=before.copies_launched + asked,
            copies_running=0 if ended else max(0, asked - sum(one.ended for one in stages)),
            copies_won=before.copies_won + sum(one.won for one in stages),
            copies_failed=before.copies_failed + self._failed,
            copies_cancelled=before.copies_cancelled + self._cancelled,
            copies_refused=before.copies_refused + self._refused,
            copies_withdrawn=before.copies_withdrawn + self._withdrawn,
            gained_ms=self._gained_ms,
            spent_ms=(before.spent_ms or 0) + self._spent_ms,
            wasted_ms=(before.wasted_ms or 0) + sum(one.wasted_ms for one in stages),
        )

    def _task_finished(self, event: TaskFinished) -> None:
        task = (event.stage, event.stage_attempt, event.index)
        if task not in self._copied:
            return
        stage = self._stage(event.stage, event.stage_attempt)
        took_ms = max(0, event.finish_ms - event.launch_ms)
        first = event.state == State.SUCCESS.name and not self._copied[task]
        if first:
            self._copied[task] = True
            stage.slow.discard(event.index)
        if not event.speculative:
            stage.running_ms[event.index] = took_ms
            return
        stage.ended += 1
        self._spent_ms += took_ms
        stage.wasted_ms += 0 if first else took_ms
        stage.won += first
        self._failed += event.state == State.FAILED.name
        self._cancelled += not first and event.state != State.FAILED.name

    def _stage(self, stage: int, stage_attempt: int) -> _StageCounts:
        key = (stage, stage_attempt)
        if key not in self._stages:
            while len(self._stages) >= _MOST_STAGES:
                oldest = next(iter(self._stages))
                del self._stages[oldest]
            self._stages[key] = _StageCounts()
        return self._stages[key]
