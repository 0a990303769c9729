"""One stage attempt's task attempts, as columns: a row for each attempt, in the order of their first news."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from yarnspec.core.messages.observations import NONE, Failure, Observations, RowKind, StageFlag, State
from yarnspec.core.tasks.columns import Column, Columns
from yarnspec.core.tasks.place_numbers import NEVER, Names, Places

MAX_TASKS = 10_000_000
"""An index beyond is not believed: columns by index would take the memory of the machine."""
_ALL = slice(None)
_RUNNING = int(State.RUNNING)
"""A number for numpy: to compare with a member of an enumeration it widens the whole column first."""
_ENDS = (State.SUCCESS, State.FAILED, State.KILLED)


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """One attempt of a task, read out of the columns; ``finish_ms`` is None while it runs."""

    task_id: int
    index: int
    attempt: int
    host: str
    executor_id: str
    speculative: bool
    state: State
    failure: Failure
    launch_ms: int
    finish_ms: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of observations, with the numbers of its hosts and executors."""

    rows: Observations
    hosts: Column
    executors: Column


class StageTasks:
    """The attempts of one stage attempt. Columns are read through ``rows`` and belong to the table."""

    __slots__ = (
        "__weakref__",
        "_active",
        "_by_index",
        "_by_task_id",
        "_ended_by_older",
        "_executors",
        "_in_order",
        "_running_tasks",
        "_winners",
        "ended",
        "ended_ms",
        "finished",
        "flags",
        "lost",
        "name",
        "places",
        "profile",
        "rows",
        "running",
        "stage",
        "stage_attempt",
        "started_ms",
        "tasks",
    )

    def __init__(self, stage: int, stage_attempt: int, started_ms: int, places: Places) -> None:
        self.stage = stage
        self.stage_attempt = stage_attempt
        self.started_ms = started_ms
        self.places = places
        self.name = ""
        self.tasks = 0
        self.flags = StageFlag(0)
        self.profile = 0
        """The resource profile of the executors on which Spark starts its tasks; 0: the usual ones."""
        self.ended: State | None = None
        self.ended_ms = NONE
        self.finished = 0
        """Tasks with an attempt that succeeded."""
        self.running = 0
        """Attempts that run."""
        self.lost = 0
        """Successes that were lost again, with the executor that held their output."""
        self.rows = Columns(
            {
                **dict.fromkeys(("task_id", "launch_ms", "finish_ms", "input_bytes", "bytes_read"), np.int64),
                **dict.fromkeys(("counted_ms", "counted_bytes"), np.int64),
                **dict.fromkeys(("index", "partition", "attempt", "host", "executor", "previous"), np.int32),
                **dict.fromkeys(("state", "failure", "speculative"), np.int8),
            }
        )
        # newest: the task's latest row, from which ``previous`` leads to the earlier ones; won: the row that succeeded.
        self._by_index = Columns({"newest": np.int32, "won": np.int32})
        self._active = Columns({"attempts": np.int32}, fill=0)
        self._winners = Columns({"row": np.int32})
        # By executor: its first success's time as the distance from NEVER, so that a new row (0) means there was none.
        self._executors = Columns({"unwarm": np.int64}, fill=0)
        self._in_order = True
        self._by_task_id: Column | None = None
        self._running_tasks: int | None = None
        self._ended_by_older = np.empty(0, dtype=np.int32)

    @property
    def key(self) -> tuple[int, int]:
        """The stage and its attempt."""
        return self.stage, self.stage_attempt

    @property
    def winners(self) -> Column:
        """Rows that succeeded, in the order in which they were heard of; one may be there that has been lost since."""
        return self._winners["row"]

    def first_ended_ms(self) -> Column:
        """By executor: when the first of its tasks of this stage ended well; ``NEVER`` when none did."""
        self._executors.reach(len(self.places.executor_names))
        column: Column = NEVER - self._executors["unwarm"]
        return column

    @property
    def finished_elsewhere(self) -> int:
        """Tasks that an older attempt of the stage has ended meanwhile, and Spark launches here no more.

        A task that had been launched here by then goes on, and counts here.
        """
        if not len(self._ended_by_older):
            return 0
        here = np.isin(self.rows["state"], (State.RUNNING, State.SUCCESS))
        return int(np.count_nonzero(~np.isin(self._ended_by_older, self.rows["partition"][here])))

    def ended_by_older(self, partition: Column) -> None:
        """An older attempt of the stage has ended these partitions; Spark's ``markPartitionCompleted`` tells nobody."""
        self._ended_by_older = np.union1d(self._ended_by_older, partition[partition != NONE])

    @property
    def unlaunched(self) -> int:
        """Tasks that wait for a slot: no attempt runs and none has succeeded."""
        return max(0, self.left - self.running_tasks)

    @property
    def left(self) -> int:
        """Tasks that have not ended well."""
        return max(0, self.tasks - self.finished - self.finished_elsewhere)

    @property
    def running_tasks(self) -> int:
        """Tasks that run: however many attempts of it do, a task is one; none once one of its attempts succeeded."""
        if self._running_tasks is None:
            running = (self._active["attempts"] > 0) & (self._by_index["won"] < 0)
            self._running_tasks = int(np.count_nonzero(running))
        return self._running_tasks

    def active(self, index: Column) -> Column:
        """For each index how many attempts of the task run."""
        found: Column = self._active["attempts"][index]
        return found

    def succeeded(self) -> Column:
        """The rows that stand for the finished tasks, in the order of the tasks."""
        won = self._by_index["won"]
        found: Column = won[won >= 0]
        return found

    def finished_tasks(self, index: Column) -> Column:
        """For each index whether the task has an attempt that succeeded."""
        found: Column = self._by_index["won"][index] >= 0
        return found

    def won(self, index: Column) -> Column:
        """For each index the row that stands for the finished task; -1 for one that has not finished."""
        found: Column = self._by_index["won"][index]
        return found

    def newest(self, index: Column) -> Column:
        """For each index the row of the task's latest attempt."""
        found: Column = self._by_index["newest"][index]
        return found

    def is_running(self, rows: Column | slice = _ALL) -> Column:
        """For each of these rows whether its attempt runs."""
        found: Column = self.rows["state"][rows] == _RUNNING
        return found

    def overdue(self, launched_until_ms: float, hosts: Column | None = None) -> Column:
        """The rows of running attempts launched then or before, whose tasks have not finished by another attempt.

        ``hosts``: only those on one of these.
        """
        old = self.running_since(launched_until_ms, hosts)
        found: Column = old[~self.finished_tasks(self.rows["index"][old])]
        return found

    def running_since(self, launched_until_ms: float, hosts: Column | None = None) -> Column:
        """The rows of running attempts launched then or before; the tasks of some may have finished by others."""
        launch_ms, host = self.rows["launch_ms"], self.rows["host"]
        chosen = (launch_ms <= math.floor(launched_until_ms)) & self.is_running()
        if hosts is not None:
            # Few hosts and many attempts: sorting is for many hosts only, and a table of numbers is slower than either.
            chosen &= np.isin(host, hosts.astype(host.dtype), kind="sort")
        old = np.flatnonzero(chosen)
        found: Column = old[launch_ms[old] != NONE]
        return found

    def runs(self, index: int) -> bool:
        """Whether an attempt of a task runs."""
        return bool(self._active["attempts"][index] > 0)

    def hosts_of(self, index: int) -> tuple[str, ...]:
        """The hosts on which attempts of a task run, sorted."""
        state, host = self.rows["state"], self.rows["host"]
        numbers = {int(host[row]) for row in self.rows_of(index) if state[row] == State.RUNNING}
        return tuple(sorted(filter(None, self.places.host_names.texts(numbers))))

    def attempts_of(self, index: int) -> tuple[TaskAttempt, ...]:
        """The attempts of a task in the order of their launch."""
        return tuple(self.attempt_at(row) for row in self.rows_of(index))

    def rows_of(self, index: int) -> list[int]:
        """The rows of a task's attempts in the order of their launch."""
        found = []
        row = int(self._by_index["newest"][index]) if 0 <= index < len(self._by_index) else NONE
        while row != NONE:
            found.append(row)
            row = int(self.rows["previous"][row])
        return sorted(found, key=lambda each: (int(self.rows["launch_ms"][each]), each))

    def attempt_at(self, row: int) -> TaskAttempt:
        """One row as an object."""
        rows = self.rows
        state = State(int(rows["state"][row]))
        return TaskAttempt(
            task_id=int(rows["task_id"][row]),
            index=int(rows["index"][row]),
            attempt=int(rows["attempt"][row]),
            host=self.places.host_names[int(rows["host"][row])],
            executor_id=self.places.executor_names[int(rows["executor"][row])],
            speculative=bool(rows["speculative"][row] == 1),
            state=state,
            failure=Failure(int(rows["failure"][row])),
            launch_ms=int(rows["launch_ms"][row]),
            finish_ms=None if state is State.RUNNING else int(rows["finish_ms"][row]),
        )

    def succeeded_by_executor(self) -> Counter[str]:
        """How many tasks' successful attempts ran in each executor."""
        return _counted(self.rows["executor"][self.succeeded()], self.places.executor_names)

    def succeeded_by_host(self) -> Counter[str]:
        """How many tasks' successful attempts ran on each host."""
        return _counted(self.rows["host"][self.succeeded()], self.places.host_names)

    def find(self, task_ids: Column) -> Column:
        """The row of each task id; -1 where it is not known."""
        known = self.rows["task_id"]
        if not len(known):
            return np.full(len(task_ids), NONE, dtype=np.int64)
        if self._in_order:
            at = np.minimum(np.searchsorted(known, task_ids), len(known) - 1)
            return np.where(known[at] == task_ids, at, NONE)
        if self._by_task_id is None or len(self._by_task_id) != len(known):
            self._by_task_id = np.argsort(known, kind="stable")
        order = self._by_task_id
        at = order[np.minimum(np.searchsorted(known, task_ids, sorter=order), len(known) - 1)]
        return np.where(known[at] == task_ids, at, NONE)

    # what the table tells: rows are given by their place in the batch

    def describe(self, tasks: int, flags: int, profile: int, name: str) -> None:
        """The stage was submitted."""
        if 0 < tasks <= MAX_TASKS and tasks > self.tasks:
            self.tasks = tasks
            self._reach(tasks)
        self.flags |= StageFlag(max(0, flags))
        self.profile = max(self.profile, profile)
        self.name = name or self.name

    def start(self, batch: Batch, at: Column) -> Column:
        """Attempts were launched; the rows that are new."""
        index, task_id = batch.rows.index[at], batch.rows.task_id[at]
        at = at[(index >= 0) & (index < (self.tasks or MAX_TASKS)) & (task_id >= 0)]
        _, first = np.unique(batch.rows.task_id[at], return_index=True)
        if len(first) != len(at):
            at = at[np.sort(first)]
        found = self.find(batch.rows.task_id[at])
        known = found != NONE
        if known.any():
            self._complete(batch, at[known], found[known])
            at = at[~known]
        return self._append(batch, at)

    def count(self, batch: Observations, at: Column) -> None:
        """Take the counters that heartbeats brought of running attempts, unless newer ones are known."""
        found = self.find(batch.task_id[at])
        at, found = at[found != NONE], found[found != NONE]
        rows = self.rows
        news = self.is_running(found) & (batch.time_ms[at] >= rows["counted_ms"][found])
        at, found = at[news], found[news]
        rows["bytes_read"][found] = batch.bytes_read[at]
        rows["counted_ms"][found] = batch.time_ms[at]
        rows["counted_bytes"][found] = batch.bytes_read[at]

    def end(self, batch: Batch, at: Column) -> tuple[Column, Column]:
        """Attempts ended: the rows that had been running, and those of successes that were lost afterwards."""
        unknown = at[self.find(batch.rows.task_id[at]) == NONE]
        if len(unknown):
            self.start(batch, unknown)
        found = self.find(batch.rows.task_id[at])
        at, found = at[found != NONE], found[found != NONE]
        rows = self.rows
        was = rows["state"][found]
        lost = (was == State.SUCCESS) & (batch.rows.state[at] == State.FAILED)
        ends = was == State.RUNNING
        self._finish(batch.rows, at[ends], found[ends])
        self._lose(found[lost])
        if lost.any():
            rows["failure"][found[lost]] = _failures(batch.rows.failure[at[lost]])
        return found[ends], found[lost]

    def silent(self, since_ms: int) -> Column:
        """The rows of running attempts that nothing was heard of since: neither their launch nor counters."""
        return np.flatnonzero(self.is_running() & (self._heard_ms() < since_ms))

    def running_in(self, executor: int) -> Column:
        """The rows of attempts that run in an executor."""
        return np.flatnonzero(self.is_running() & (self.rows["executor"] == executor))

    def lost_with(self, executor: int) -> list[int]:
        """The tasks whose attempts run in an executor, or ended with it; not those that have ended well elsewhere."""
        rows = self.rows
        with_it = self.is_running() | (rows["failure"] == Failure.EXECUTOR_LOST)
        index = rows["index"][with_it & (rows["executor"] == executor)]
        found: list[int] = index[~self.finished_tasks(index)].tolist()
        return found

    def abandon(self, gone: Column, state: State, failure: Failure) -> None:
        """These attempts do not run any more, and nothing more will be told of them."""
        rows = self.rows
        rows["state"][gone] = state
        rows["failure"][gone] = failure
        rows["finish_ms"][gone] = self._heard_ms()[gone]
        self._stop(gone)

    def _heard_ms(self) -> Column:
        heard_ms: Column = np.maximum(self.rows["launch_ms"], self.rows["counted_ms"])
        return heard_ms

    def _stop(self, found: Column) -> None:
        rows = self.rows
        self.places.ended(rows["host"][found], rows["executor"][found])
        np.subtract.at(self._active["attempts"], rows["index"][found], 1)
        self.running -= len(found)
        self._running_tasks = None

    def _append(self, batch: Batch, at: Column) -> Column:
        if not len(at):
            return at
        rows = self.rows
        last = int(rows["task_id"][-1]) if len(rows) else NONE
        new = rows.grow(len(at))
        task_ids = batch.rows.task_id[at]
        if task_ids[0] <= last or (task_ids[1:] <= task_ids[:-1]).any():
            self._in_order = False
        self._by_task_id = None
        index = batch.rows.index[at]
        rows["task_id"][new] = task_ids
        rows["index"][new] = index
        rows["partition"][new] = batch.rows.partition[at]
        rows["attempt"][new] = batch.rows.attempt[at]
        rows["host"][new] = batch.hosts[at]
        rows["executor"][new] = batch.executors[at]
        rows["speculative"][new] = batch.rows.speculative[at]
        rows["state"][new] = State.RUNNING
        rows["failure"][new] = Failure.NONE
        launch_ms = batch.rows.launch_ms[at]
        told = (launch_ms != NONE) | (batch.rows.kind[at] != RowKind.TASK_STARTED)
        rows["launch_ms"][new] = np.where(told, launch_ms, batch.rows.time_ms[at])
        rows["input_bytes"][new] = batch.rows.input_bytes[at]
        self._reach(int(index.max()) + 1)
        self._link(index, np.arange(new.start, new.stop))
        self.places.started(batch.hosts[at], batch.executors[at])
        np.add.at(self._active["attempts"], index, 1)
        self.running += len(at)
        self._running_tasks = None
        return np.arange(new.start, new.stop)

    def _reach(self, tasks: int) -> None:
        self._by_index.reach(tasks)
        self._active.reach(tasks)

    def _link(self, index: Column, new: Column) -> None:
        newest = self._by_index["newest"]
        previous = self.rows["previous"]
        distinct, first = np.unique(index, return_index=True)
        if len(distinct) == len(index):
            previous[new] = newest[index]
            newest[index] = new
            return
        previous[new[first]] = newest[distinct]
        newest[distinct] = new[first]
        rest = np.ones(len(index), dtype=bool)
        rest[first] = False
        self._link(index[rest], new[rest])

    def _complete(self, batch: Batch, at: Column, found: Column) -> None:
        """Complete attempts whose end was heard of first by what only their launch tells."""
        rows = self.rows
        for name in ("launch_ms", "input_bytes", "partition", "attempt", "speculative"):
            missing = rows[name][found] == NONE
            rows[name][found[missing]] = getattr(batch.rows, name)[at[missing]]
        for name, numbers in (("host", batch.hosts), ("executor", batch.executors)):
            missing = (rows[name][found] == 0) & ~self.is_running(found)
            rows[name][found[missing]] = numbers[at[missing]]

    def _finish(self, batch: Observations, at: Column, found: Column) -> None:
        rows = self.rows
        # An end in a state that is none (not told, or not known here) is no success, and nobody's fault.
        state = np.where(np.isin(batch.state[at], _ENDS), batch.state[at], State.KILLED)
        finish_ms = np.where(batch.finish_ms[at] == NONE, batch.time_ms[at], batch.finish_ms[at])
        rows["state"][found] = state
        rows["failure"][found] = _failures(batch.failure[at])
        rows["finish_ms"][found] = finish_ms
        read = batch.bytes_read[at]
        rows["bytes_read"][found] = np.where(read == NONE, rows["bytes_read"][found], read)
        launch_ms = rows["launch_ms"][found]
        rows["launch_ms"][found] = np.where(launch_ms == NONE, batch.launch_ms[at], launch_ms)
        self._stop(found)
        self._win(found[state == State.SUCCESS])

    def _win(self, rows_won: Column) -> None:
        rows = self.rows
        # If two succeeded, the one that was heard of first stands for the task.
        index, first = np.unique(rows["index"][rows_won], return_index=True)
        won = self._by_index["won"]
        new = won[index] < 0
        winners = np.sort(first[new])
        winners = rows_won[winners]
        won[rows["index"][winners]] = winners
        self.finished += len(winners)
        self._running_tasks = None
        where = self._winners.grow(len(winners))
        self._winners["row"][where] = winners
        executors, finish_ms = rows["executor"][rows_won], rows["finish_ms"][rows_won]
        self._executors.reach(len(self.places.executor_names))
        np.maximum.at(self._executors["unwarm"], executors, NEVER - finish_ms)
        self.places.warmed(executors, finish_ms, python=StageFlag.PYTHON in self.flags)

    def _lose(self, found: Column) -> None:
        if not len(found):
            return
        rows = self.rows
        rows["state"][found] = State.FAILED
        won = self._by_index["won"]
        index = rows["index"][found]
        self.lost += len(found)
        self._running_tasks = None
        standing = won[index] == found
        won[index[standing]] = NONE
        self.finished -= int(np.count_nonzero(standing))
        kept = self._winners["row"][~np.isin(self._winners["row"], found)]
        self._winners = Columns({"row": np.int32})
        where = self._winners.grow(len(kept))
        self._winners["row"][where] = kept


def _counted(numbers: Column, names: Names) -> Counter[str]:
    """How often each name is there."""
    counts = np.bincount(numbers).tolist()
    return Counter({names[number]: count for number, count in enumerate(counts) if count})


def _failures(told: Column) -> Column:
    """Causes of failure; one that is not known here becomes ``OTHER``."""
    known: Column = np.where(told == NONE, Failure.NONE, np.where(np.isin(told, list(Failure)), told, Failure.OTHER))
    return known
