"""Every task attempt that has ended, as columns: a page of 100,000 of them is made without an object for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from yarnspec.core.messages.observations import IntColumn, Observations, RowKind, State
from yarnspec.observe.forms.told import why_failed
from yarnspec.observe.page.missing import FoldedKind, Missing

BoolColumn = npt.NDArray[np.bool_]

_FIELDS = (
    "stage", "index", "attempt", "task_id", "host", "executor", "state", "speculative", "launch_ms", "finish_ms",
    "input_bytes",
)  # fmt: skip
_FLUSH_ROWS = 8_192
MOST_ATTEMPTS = 400_000
_MOST_TEXTS = 5_000
LOST_WITH_DRIVER = 4
"""How an attempt ended that ran when its driver died. Spark has no such state: nobody told of its end."""


@dataclass(frozen=True)
class Attempts:
    """Task attempts, one row each. ``stage`` is a place in the fold's list of stages, not Spark's number.

    ``state`` is a ``State`` or ``LOST_WITH_DRIVER``. A running attempt's ``finish_ms`` is the moment of the page.
    """

    stage: IntColumn
    index: IntColumn
    attempt: IntColumn
    task_id: IntColumn
    host: IntColumn
    executor: IntColumn
    state: IntColumn
    speculative: IntColumn
    launch_ms: IntColumn
    finish_ms: IntColumn
    input_bytes: IntColumn

    def __len__(self) -> int:
        """How many there are."""
        return len(self.stage)

    def __getitem__(self, chosen: npt.NDArray[np.intp] | BoolColumn) -> Attempts:
        """The chosen rows."""
        return Attempts(**{name: getattr(self, name)[chosen] for name in _FIELDS})

    @cached_property
    def took_ms(self) -> IntColumn:
        """How long each ran."""
        took: IntColumn = np.maximum(self.finish_ms - self.launch_ms, 0)
        return took

    @cached_property
    def running(self) -> BoolColumn:
        """Which run."""
        found: BoolColumn = self.state == State.RUNNING
        return found

    @cached_property
    def succeeded(self) -> BoolColumn:
        """Which finished their task."""
        found: BoolColumn = self.state == State.SUCCESS
        return found

    @cached_property
    def failed(self) -> BoolColumn:
        """Which failed."""
        found: BoolColumn = self.state == State.FAILED
        return found

    @cached_property
    def lost(self) -> BoolColumn:
        """Which ran when their driver died."""
        found: BoolColumn = self.state == LOST_WITH_DRIVER
        return found

    @cached_property
    def killed(self) -> BoolColumn:
        """Which were ended early, as no longer needed."""
        found: BoolColumn = self.state == State.KILLED
        return found

    @cached_property
    def copies(self) -> BoolColumn:
        """Which are copies."""
        found: BoolColumn = self.speculative == 1
        return found

    @cached_property
    def task_keys(self) -> IntColumn:
        """One number for each task: the same for all its attempts."""
        keys: IntColumn = (self.stage << 32) | np.maximum(self.index, 0)
        return keys


Row = tuple[int, int, int, int, int, int, int, int, int, int, int]
"""The fields of one attempt, in the order of ``Attempts``."""


class AttemptTable:
    """Collects attempts as they end. Of very many the newest are kept, and ``missing`` learns of the others."""

    def __init__(self, missing: Missing, most: int = MOST_ATTEMPTS) -> None:
        self._missing = missing
        self._most = most
        self._blocks: list[npt.NDArray[np.int64]] = []
        self._rows: list[Row] = []
        self._texts: dict[int, tuple[int, str]] = {}

    def add(self, row: Row, text: str = "") -> None:
        """Take in an attempt that has ended, and the words of its failure."""
        self._rows.append(row)
        if text:
            self._put_text(row[3], row[0], row[9], text)
        if len(self._rows) >= _FLUSH_ROWS:
            self._flush()

    def add_rows(
        self, rows: Observations, ended: IntColumn, stages: IntColumn, hosts: IntColumn, names: IntColumn
    ) -> None:
        """Take in the attempts that ended by these rows, whose stages, hosts and executors have these numbers here."""
        self._flush()
        inputs = np.where(rows.input_bytes[ended] > 0, rows.input_bytes[ended], rows.bytes_read[ended])
        columns = (
            stages, rows.index[ended], rows.attempt[ended], rows.task_id[ended], hosts, names, rows.state[ended],
            (rows.speculative[ended] == 1).astype(np.int64), rows.launch_ms[ended], rows.finish_ms[ended], inputs,
        )  # fmt: skip
        self._blocks.append(np.stack(columns, axis=1).astype(np.int64))
        for row, text in rows.texts.items():
            if rows.kind[row] == RowKind.TASK_ENDED:
                place = int(np.searchsorted(ended, row))
                self._put_text(int(rows.task_id[row]), int(stages[place]), int(rows.finish_ms[row]), text)
        self._forget()

    def table(self) -> Attempts:
        """All that is kept, in the order in which they ended. An output that was lost later is no further end."""
        self._flush()
        if not self._blocks:
            return Attempts(**{name: np.zeros(0, dtype=np.int64) for name in _FIELDS})
        whole = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
        self._blocks = [whole]
        # A task id is unique in a driver epoch only, and the stage's place tells epochs apart.
        _, first = np.unique((whole[:, 0] << 40) | (whole[:, 3] & 0xFFFFFFFFFF), return_index=True)
        known = whole[:, 3] >= 0
        if len(first) < np.count_nonzero(known) and known.all():
            whole = whole[np.sort(first)]
        return Attempts(**{name: whole[:, place] for place, name in enumerate(_FIELDS)})

    def text(self, stage: int, task_id: int) -> str:
        """Why an attempt failed or was killed; empty where nothing is known."""
        _, text = self._texts.get((stage << 40) | task_id, (0, ""))
        return text

    def _put_text(self, task_id: int, stage: int, finish_ms: int, text: str) -> None:
        self._texts.setdefault((stage << 40) | task_id, (finish_ms, why_failed(text)[:300]))
        while len(self._texts) > _MOST_TEXTS:
            ended_ms, _ = self._texts.pop(next(iter(self._texts)))
            self._missing.forget(FoldedKind.FAILURES, 1, ended_ms)

    def _flush(self) -> None:
        if self._rows:
            self._blocks.append(np.array(self._rows, dtype=np.int64))
            self._rows = []
            self._forget()

    def _forget(self) -> None:
        while len(self._blocks) > 1 and sum(map(len, self._blocks)) - len(self._blocks[0]) >= self._most:
            oldest = self._blocks.pop(0)
            self._missing.forget(FoldedKind.ATTEMPTS, len(oldest), int(oldest[:, 9].max()))


def joined(ended: Attempts, running: Attempts) -> Attempts:
    """Both, one after the other."""
    if not len(running):
        return ended
    return Attempts(**{name: np.concatenate([getattr(ended, name), getattr(running, name)]) for name in _FIELDS})


def of_rows(rows: list[Row]) -> Attempts:
    """A few attempts."""
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(_FIELDS))
    return Attempts(**{name: columns[:, place] for place, name in enumerate(_FIELDS)})
