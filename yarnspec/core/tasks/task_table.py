"""All task attempts of the application's running stages, kept up to date from batches of observations.

Rows may come in surprising order: a task before its stage, an end before its start, the same row twice. Counters may
come after the end, and anything after the end of the stage. Each row is applied as far as it is new, and never counted
twice. The columns of a stage are dropped once the stage and its last attempt have ended.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Container
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from yarnspec.core.messages.observations import NONE, Failure, Observations, RowKind, StageFlag, State
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.place_numbers import UNKNOWN, Places
from yarnspec.core.tasks.stagetasks import Batch, StageTasks, TaskAttempt

_ENDED_KEYS_KEPT = 10_000

StageKey = tuple[int, int]
TaskKey = tuple[int, int, int]
"""The stage, its attempt and the index."""


@dataclass(slots=True)
class Happened:
    """The news in a batch that need a reaction. Everything frequent stays in the columns."""

    stages_started: list[StageTasks] = field(default_factory=list)
    stages_ended: list[tuple[StageTasks, State]] = field(default_factory=list)
    attempts_ended: list[tuple[StageTasks, TaskAttempt]] = field(default_factory=list)
    """Failed attempts, copies, and attempts of tasks that have or had several; in their order by stage."""
    copies_started: list[tuple[StageTasks, TaskAttempt]] = field(default_factory=list)
    succeeded: Counter[str] = field(default_factory=Counter)
    """How many attempts succeeded on each host."""
    rows_ended: list[tuple[StageTasks, Column]] = field(default_factory=list)
    """The rows of all attempts that ended, by stage."""
    lost_with: set[TaskKey] = field(default_factory=set)
    """The tasks that ran in an executor that is gone, without those that have ended well."""


class TaskTable:
    """Task attempts by stage attempt. Times are milliseconds since the Unix epoch."""

    def __init__(self) -> None:
        self.places = Places()
        self.stages: dict[StageKey, StageTasks] = {}
        """The stage attempts that run."""
        self.batches = 0
        self._ending: dict[StageKey, StageTasks] = {}
        self._ended: OrderedDict[StageKey, State] = OrderedDict()

    @property
    def running(self) -> int:
        """How many attempts run, those included that outlive their stage."""
        return sum(stage.running for stage in (*self.stages.values(), *self._ending.values()))

    def running_on(self, executor_id: str) -> int:
        """How many attempts run in an executor."""
        return self.places.running_on(executor_id)

    def running_by_executor(self) -> dict[str, int]:
        """How many attempts run in each executor that was heard of."""
        return self.places.running_by_executor()

    def running_on_host(self, host: str) -> int:
        """How many attempts run on a host."""
        return self.places.running_on_host(host)

    def forget(self) -> None:
        """A new SparkContext begins: ids of stages and tasks start again, and executors are new."""
        self.__init__()  # type: ignore[misc]

    def forget_executor(self, executor_id: str) -> Happened:
        """An executor is gone, and with it attempts of ended stages: what Spark may say of them later says nothing."""
        happened = Happened()
        number = self.places.executor_names.find(executor_id)
        if number is not None:
            happened.lost_with = self._lost_with(number)
        for stage in list(self._ending.values()):
            if number is not None:
                gone = stage.running_in(number)
                stage.abandon(gone, State.FAILED, Failure.EXECUTOR_LOST)
                self._tell(stage, gone, happened)
            self._drop(stage)
        return happened

    def _lost_with(self, executor: int) -> set[TaskKey]:
        stages = [*self.stages.values(), *self._ending.values()]
        lost = {(*stage.key, index) for stage in stages for index in stage.lost_with(executor)}
        if not lost:
            return lost
        well: dict[int, int] = {}  # the last attempt of each stage that did
        for (stage, attempt), state in self._ended.items():
            if state is State.SUCCESS:
                well[stage] = max(attempt, well.get(stage, NONE))
        return {task for task in lost if well.get(task[0], NONE) < task[1]}

    def outlived(self, task: TaskKey, executor_id: str, since_ms: int, alive: Container[str]) -> bool:
        """Whether a task of an executor was launched again in another one by then, and runs there.

        ``alive``: the executors that live. Attempts in others have ended, though nobody has told so yet.
        """
        stage = self.stages.get(task[:2])
        attempts = () if stage is None else stage.attempts_of(task[2])
        ran_there = max((one.task_id for one in attempts if one.executor_id == executor_id), default=None)
        later = [one for one in attempts if ran_there is not None and one.task_id > ran_there]
        return any(
            one.state is State.RUNNING and one.executor_id in alive and NONE < one.launch_ms <= since_ms
            for one in later
        )

    def knows(self, stage: StageKey) -> bool:
        """Whether a stage attempt runs, or has run not too long ago."""
        return stage in self.stages or stage in self._ended

    def unsettled(self) -> set[int]:
        """The stages that have an attempt that has not ended, or of which a task's attempt runs."""
        return {stage.stage for stage in (*self.stages.values(), *self._ending.values())}

    def settle(self, stages: AbstractSet[int], silent_since_ms: int, now_ms: int) -> Happened:
        """End the attempts of these stages of which nothing was heard since their jobs ended.

        The rows of their ends are lost when Spark's listener bus or the feed had to drop rows that it could not hold.
        """
        happened = Happened()
        for stage in [*self.stages.values(), *self._ending.values()]:
            if stage.stage not in stages:
                continue
            gone = stage.silent(silent_since_ms)
            stage.abandon(gone, State.KILLED, Failure.KILLED)
            self._tell(stage, gone, happened)
            if not stage.running and stage.ended is None:
                whole = stage.tasks > 0 and not stage.left
                self._close(stage, State.SUCCESS if whole else State.KILLED, now_ms, happened)
            self._drop(stage)
        return happened

    def observe(self, rows: Observations) -> Happened:
        """Apply a batch."""
        happened = Happened()
        self.batches += 1
        if not len(rows):
            return happened
        hosts, executors = self.places.numbers(rows.host, rows.hosts, rows.executor, rows.executors)
        batch = Batch(rows, hosts, executors)
        for key, at in _by_stage(rows):
            stage = self._stage(key, rows, at, happened)
            if stage is not None:
                self._apply(stage, batch, at, happened)
        for stage, ended in happened.rows_ended:
            self._finish_elsewhere(stage, ended)
        return happened

    def _stage(self, key: StageKey, rows: Observations, at: Column, happened: Happened) -> StageTasks | None:
        stage = self.stages.get(key) or self._ending.get(key)
        if stage is not None or key in self._ended or min(key) < 0:
            return stage
        kinds = rows.kind[at]
        submitted = at[kinds == RowKind.STAGE_STARTED]
        # Counters and ends without anything before them: a feed that began in the middle of a stage.
        started_ms = int(rows.time_ms[submitted[0]] if len(submitted) else rows.time_ms[at].min())
        stage = self.stages[key] = StageTasks(*key, started_ms, self.places)
        happened.stages_started.append(stage)
        return stage

    def _apply(self, stage: StageTasks, batch: Batch, at: Column, happened: Happened) -> None:
        rows = batch.rows
        kinds = rows.kind[at]
        for row in at[kinds == RowKind.STAGE_STARTED].tolist():
            stage.started_ms = int(rows.time_ms[row])
            text = rows.texts.get(row, "")
            stage.describe(int(rows.tasks[row]), int(rows.flags[row]), int(rows.profile[row]), text)
        launched = at[kinds == RowKind.TASK_STARTED]
        if len(launched):
            new = stage.start(batch, launched)
            copies = new[stage.rows["speculative"][new] == 1]
            happened.copies_started += [(stage, stage.attempt_at(row)) for row in copies.tolist()]
        counted = at[kinds == RowKind.TASK_COUNTERS]
        if len(counted):
            stage.count(rows, counted)
        for ends in _distinct(rows, at[kinds == RowKind.TASK_ENDED]):
            self._end(stage, batch, ends, happened)
        for row in at[kinds == RowKind.STAGE_ENDED].tolist():
            self._end_stage(stage, rows, row, happened)
        if stage.ended is not None:
            self._drop(stage)

    def _end(self, stage: StageTasks, batch: Batch, ends: Column, happened: Happened) -> None:
        known = len(stage.rows)
        ended, lost = stage.end(batch, ends)
        # If the launch of an attempt was lost on its way, its end tells of it.
        copies = known + np.flatnonzero(stage.rows["speculative"][known:] == 1)
        happened.copies_started += [(stage, stage.attempt_at(row)) for row in copies.tolist()]
        self._tell(stage, ended, happened)
        happened.attempts_ended += [(stage, stage.attempt_at(row)) for row in lost.tolist()]

    def _tell(self, stage: StageTasks, ended: Column, happened: Happened) -> None:
        """Tell of attempts that ran and have ended."""
        if len(ended):
            happened.rows_ended.append((stage, ended))
        columns = stage.rows
        hosts, counts = np.unique(columns["host"][ended[columns["state"][ended] == State.SUCCESS]], return_counts=True)
        for host, count in zip(hosts.tolist(), counts.tolist(), strict=True):
            if host != UNKNOWN:
                happened.succeeded[self.places.host_names[host]] += count
        index = columns["index"][ended]
        several = (columns["previous"][ended] != NONE) | (stage.newest(index) != ended)
        several |= columns["speculative"][ended] == 1
        told = ended[several | (columns["state"][ended] == State.FAILED)]
        happened.attempts_ended += [(stage, stage.attempt_at(row)) for row in told.tolist()]

    def _finish_elsewhere(self, stage: StageTasks, ended: Column) -> None:
        """Take a task that an older attempt of a stage ended off the running attempt, unless all of it must be new."""
        rows = stage.rows
        won = ended[rows["state"][ended] == int(State.SUCCESS)]
        for one in self.stages.values():
            newer = one.stage == stage.stage and one.stage_attempt > stage.stage_attempt
            if newer and StageFlag.INDETERMINATE not in one.flags:
                one.ended_by_older(rows["partition"][won[rows["finish_ms"][won] >= one.started_ms]])

    def _end_stage(self, stage: StageTasks, rows: Observations, row: int, happened: Happened) -> None:
        if stage.ended is not None:
            return
        said = int(rows.state[row])
        state = State(said) if said in (State.SUCCESS, State.FAILED, State.KILLED) else State.SUCCESS
        self._close(stage, state, int(rows.time_ms[row]), happened)

    def _close(self, stage: StageTasks, state: State, ended_ms: int, happened: Happened) -> None:
        stage.ended = state
        stage.ended_ms = ended_ms
        happened.stages_ended.append((stage, state))
        self.stages.pop(stage.key, None)
        self._ending[stage.key] = stage
        self._ended[stage.key] = state
        if len(self._ended) > _ENDED_KEYS_KEPT:
            self._ended.popitem(last=False)

    def _drop(self, stage: StageTasks) -> None:
        if not stage.running:
            self._ending.pop(stage.key, None)


def _by_stage(rows: Observations) -> list[tuple[StageKey, Column]]:
    """The rows of each stage attempt, in the order in which the stages come up."""
    stage, attempt = rows.stage, rows.stage_attempt
    if (stage == stage[0]).all() and (attempt == attempt[0]).all():
        return [((int(stage[0]), int(attempt[0])), np.arange(len(rows)))]
    order = np.lexsort((attempt, stage))
    changes = (np.diff(stage[order]) != 0) | (np.diff(attempt[order]) != 0)
    groups = np.split(order, np.flatnonzero(changes) + 1)
    # lexsort is stable: within a group the rows are in their order, the first one first.
    groups.sort(key=lambda group: int(group[0]))
    return [((int(stage[group[0]]), int(attempt[group[0]])), group) for group in groups]


def _distinct(rows: Observations, at: Column) -> list[Column]:
    """The rows in rounds, so that no round has a task id twice: what came later is applied later."""
    rounds = []
    while len(at):
        _, first = np.unique(rows.task_id[at], return_index=True)
        if len(first) == len(at):
            rounds.append(at)
            break
        first.sort()
        rounds.append(at[first])
        rest = np.ones(len(at), dtype=bool)
        rest[first] = False
        at = at[rest]
    return rounds
