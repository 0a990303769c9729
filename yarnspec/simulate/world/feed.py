"""News of stages and tasks from Spark's listener: rows in batches, a moment later, and counters with heartbeats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from yarnspec.core.messages.events import Event, Observed
from yarnspec.core.messages.observations import NONE, Failure, ObservationsBuilder, RowKind, StageFlag, State
from yarnspec.simulate.world.clock import Clock
from yarnspec.simulate.world.stagerun import SimulatedAttempt, StageRun

_RECORDS = 1_000
_READ_AHEAD = 3.0
"""The JVM reads so many times as fast as Python has worked off."""


class Feed:
    """Collects rows and tells them in batches. ``least_ms``: heartbeats are no closer together than this now."""

    def __init__(
        self,
        after_ms: int,
        heartbeat_ms: int,
        clock: Clock,
        tell: Callable[[Event], None],
        least_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        self._after_ms = after_ms
        self._heartbeat_ms = heartbeat_ms
        self._clock = clock
        self._tell = tell
        self._least_ms = least_ms
        self._rows = ObservationsBuilder()
        self._flushes = False
        self._beat_ms: int | None = None
        self._runs: list[StageRun] = []

    def runs(self) -> list[StageRun]:
        """The stage attempts that run, and those that attempts have outlived."""
        return list(self._runs)

    def stage_started(self, run: StageRun) -> None:
        """A stage was submitted."""
        self._runs.append(run)
        self._add(RowKind.STAGE_STARTED, run, tasks=len(run.partitions), flags=int(run.plan.flags))

    def stage_ended(self, run: StageRun, state: State) -> None:
        """A stage attempt ended; attempts of it may still run."""
        self._add(RowKind.STAGE_ENDED, run, state=int(state))
        self._forget(run)

    def started(self, run: StageRun, attempt: SimulatedAttempt) -> None:
        """An attempt was launched."""
        self._of_task(RowKind.TASK_STARTED, run, attempt)
        self._beat_soon()

    def ended(self, run: StageRun, attempt: SimulatedAttempt, state: State, failure: Failure) -> None:
        """An attempt ended, or its success was lost."""
        self._of_task(
            RowKind.TASK_ENDED,
            run,
            attempt,
            state=int(state),
            failure=int(failure),
            finish_ms=self._clock.now_ms,
            **self._counters(run, attempt),
        )
        self._forget(run)

    def _forget(self, run: StageRun) -> None:
        if run.over and not run.running and run in self._runs:
            self._runs = [one for one in self._runs if one is not run]

    def _beat_soon(self) -> None:
        due_ms = self._clock.now_ms + max(self._heartbeat_ms, self._least_ms())
        if self._beat_ms is None or due_ms < self._beat_ms:
            self._beat_ms = due_ms
            self._clock.at(due_ms, partial(self._beat, due_ms))

    def _beat(self, due_ms: int) -> None:
        if due_ms != self._beat_ms:
            return
        self._beat_ms = None
        running = [(run, one) for run in self._runs for one in run.running.values()]
        for run, attempt in running:
            self._of_task(RowKind.TASK_COUNTERS, run, attempt, **self._counters(run, attempt))
        if running:
            self._beat_soon()

    def _counters(self, run: StageRun, attempt: SimulatedAttempt) -> dict[str, int]:
        ran_ms = self._clock.now_ms - attempt.launch_ms
        counters = {"run_ms": ran_ms, "gc_ms": 0, "spill_bytes": 0}
        size = run.plan.input_bytes[run.partitions[attempt.index]]
        if size != NONE:
            share = ran_ms / max(1, attempt.end_ms - attempt.launch_ms)
            if StageFlag.PYTHON in run.plan.flags:
                share *= _READ_AHEAD
            share = min(1.0, share)
            counters |= {"bytes_read": round(size * share), "records_read": round(_RECORDS * share)}
        return counters

    def _of_task(self, kind: RowKind, run: StageRun, attempt: SimulatedAttempt, **numbers: int) -> None:
        self._add(
            kind,
            run,
            index=attempt.index,
            partition=run.partitions[attempt.index],
            attempt=attempt.number,
            task_id=attempt.task_id,
            host=attempt.host,
            executor=attempt.executor_id,
            speculative=int(attempt.copy),
            launch_ms=attempt.launch_ms,
            input_bytes=run.plan.input_bytes[run.partitions[attempt.index]],
            **numbers,
        )

    def _add(
        self, kind: RowKind, run: StageRun, host: str | None = None, executor: str | None = None, **numbers: int
    ) -> None:
        self._rows.add(
            kind,
            host=host,
            executor=executor,
            text="",
            time_ms=self._clock.now_ms,
            stage=run.plan.stage,
            stage_attempt=run.stage_attempt,
            **numbers,
        )
        if not self._flushes:
            self._flushes = True
            self._clock.after(self._after_ms, self._flush)

    def _flush(self) -> None:
        self._flushes = False
        self._tell(Observed(rows=self._rows.take()))
