"""Observations of Spark's stages and tasks, as columns: one row for each, in the order in which they happened.

A batch holds many rows and few objects. Strings are codes into tables of the batch; a column that says nothing about a
row's kind holds ``NONE``. Times are milliseconds since the Unix epoch, as Spark's driver stamped them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum, IntFlag

import numpy as np
import numpy.typing as npt

NONE = -1
"""A number that is not known."""


class RowKind(IntEnum):
    """The kind of a row."""

    STAGE_STARTED = 1  # tasks, flags, profile, text (the stage's name)
    TASK_STARTED = 2  # launch_ms, input_bytes
    TASK_COUNTERS = 3  # the counters, as an executor's heartbeat brought them
    TASK_ENDED = 4  # state, failure, finish_ms, the counters, text (of the failure)
    STAGE_ENDED = 5  # state, text (of the failure)


class State(IntEnum):
    """How a task attempt or a stage attempt stands."""

    RUNNING = 0
    SUCCESS = 1
    FAILED = 2
    KILLED = 3

    @classmethod
    def at_end(cls, name: str) -> State:
        """The state that a record of a task's end names. A name that no state has counts as a failure."""
        return _ENDS.get(name, cls.FAILED)


_ENDS = {state.name: state for state in (State.SUCCESS, State.KILLED)}


class Failure(IntEnum):
    """Why a task attempt ended without success, as far as blame depends on it."""

    NONE = 0
    EXCEPTION = 1  # the task's own code or data, or its host
    FETCH_FAILED = 2  # a lost map output: the producer's, not this host's
    EXECUTOR_LOST = 3
    COMMIT_DENIED = 4  # another attempt was allowed to commit
    KILLED = 5  # another attempt won, or the stage was cancelled
    OTHER = 6
    COPY_FAILED = 7  # a copy failed while another attempt went on; Spark did not count it
    OUT_OF_MEMORY = 8  # an exception for want of memory, of the JVM or of Python: never the host's fault


class StageFlag(IntFlag):
    """Facts about a stage from before its tasks start: whether they may be copied, and whether outputs are kept."""

    MAP = 1  # its tasks write map outputs
    BARRIER = 2  # its tasks run together or not at all
    COMMITS = 4  # it writes through Spark's output commit coordinator
    WRITES = 8  # it writes in another way: two attempts of a task may both leave output
    PYTHON = 16  # its tasks run Python, and the JVM reads ahead of it
    INDETERMINATE = 32  # its tasks may give other records when they run again
    STREAM = 64  # it belongs to a stream
    CACHED = 128  # it makes or reads records that are cached, or kept as a checkpoint
    READS = 256  # it asks a source that is no file, or a command: two attempts of a task would both ask
    NO_COPIES = 512  # the program wants no copies of its tasks
    KEEPS = 1024  # it caches records for later jobs: two attempts of a task might leave different ones


IntColumn = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Observations:
    """A batch of rows; every column is an int64 array of the same length."""

    kind: IntColumn
    time_ms: IntColumn
    stage: IntColumn
    stage_attempt: IntColumn
    index: IntColumn  # the task's place in its stage attempt: 0 to tasks - 1
    partition: IntColumn  # what it computes, the same in each attempt of the stage
    attempt: IntColumn  # the attempt's number within its task
    task_id: IntColumn  # unique in a driver epoch
    host: IntColumn  # code into ``hosts``
    executor: IntColumn  # code into ``executors``
    speculative: IntColumn  # 1: a copy
    state: IntColumn
    failure: IntColumn
    launch_ms: IntColumn
    finish_ms: IntColumn
    input_bytes: IntColumn  # the whole input of the task, known or estimated before it reads
    records_read: IntColumn
    bytes_read: IntColumn
    records_written: IntColumn
    bytes_written: IntColumn
    run_ms: IntColumn  # time that the executor ran the task
    gc_ms: IntColumn
    spill_bytes: IntColumn
    tasks: IntColumn
    flags: IntColumn
    profile: IntColumn  # the resource profile of the executors that the stage's tasks run on; 0: the usual ones
    hosts: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    texts: dict[int, str] = field(default_factory=dict)
    """Texts of the few rows that have one, by row."""

    def __len__(self) -> int:
        return len(self.kind)


COLUMNS = tuple(each.name for each in fields(Observations) if each.name not in ("hosts", "executors", "texts"))
"""The names of the columns, in the order in which they travel."""
_NAMES = frozenset(COLUMNS)


class ObservationsBuilder:
    """Makes a batch row by row, for sources that have rows one by one: Spark's event log, the simulator, tests.

    A column that a row leaves out is not known (``NONE``). Hosts, executors and text are given as strings.
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self._appends = [(name, column.append) for name, column in self._columns.items()]
        self._hosts: dict[str, int] = {}
        self._executors: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self, kind: RowKind, *, host: str | None = None, executor: str | None = None, text: str = "", **numbers: int
    ) -> int:
        """Add a row; ``numbers`` by the names of the columns. Returns the row's place.

        Raises:
            KeyError: a name is no column's.
        """
        if not numbers.keys() <= _NAMES:
            raise KeyError(f"no such column: {', '.join(sorted(numbers.keys() - _NAMES))}")
        numbers["kind"] = int(kind)
        numbers["host"] = _code(self._hosts, host)
        numbers["executor"] = _code(self._executors, executor)
        get = numbers.get
        for name, append in self._appends:
            append(get(name, NONE))
        if text:
            self._texts[self._count] = text
        self._count += 1
        return self._count - 1

    def put(self, row: int, **numbers: int) -> None:
        """Change what a row says, once more is known."""
        for name, number in numbers.items():
            self._columns[name][row] = number

    def observations(self) -> Observations:
        """The rows so far."""
        return Observations(
            **{name: np.array(column, dtype=np.int64) for name, column in self._columns.items()},
            hosts=tuple(self._hosts),
            executors=tuple(self._executors),
            texts=dict(self._texts),
        )

    def take(self) -> Observations:
        """The rows so far; the builder is empty afterwards."""
        batch = self.observations()
        self.__init__()  # type: ignore[misc]
        return batch


def _code(codes: dict[str, int], name: str | None) -> int:
    return NONE if name is None else codes.setdefault(name, len(codes))
