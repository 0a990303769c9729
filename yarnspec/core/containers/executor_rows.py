"""The rows of the table of executors, counted as they change: a cluster may have ten thousand of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["wanted", "allocated", "running", "releasing"]


@dataclass(slots=True)
class Executor:
    """One executor and its container."""

    executor_id: str
    state: State
    container_id: str = ""
    host: str = ""
    cores: int = 0
    registered_ms: int | None = None
    why: str = ""
    of_earlier_context: bool = False
    """The executor served a SparkContext that has stopped. The present one never knew it."""
    preemption_announced: bool = False
    told_to_leave: bool = False
    """Spark was told that YARN decommissions its host."""
    decommissioned: bool = False
    """Spark lets it finish; it then ends with exit code 0."""
    extra: bool = False
    leaving: bool = False
    """It takes no new task, as it is about to be given back. Only an extra one leaves."""
    profile: int = 0
    """Spark's number of its resource profile; 0: it is of the usual size."""

    moves_to: str = ""
    """The host on which it comes before another executor leaves for it."""

    @property
    def ordinary(self) -> bool:
        """Whether it counts towards the target."""
        return not self.extra and self.profile == 0

    def healthy(self, now_ms: int, young_ms: int) -> bool:
        """Whether it has been registered for so long that its start cannot be called a failure."""
        return self.registered_ms is not None and now_ms - self.registered_ms >= young_ms


class ExecutorRows(dict[str, Executor]):
    """The rows by executor id, and how many of them are in each state.

    A row that is in here changes its state by ``become``, ``be_extra`` and ``leave`` only.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[tuple[State, bool, int]] = Counter()
        self._running: dict[str, str] | None = None
        self._leaving: frozenset[str] | None = frozenset()
        self.changes = 0
        """Grows with every change of a row's state."""

    def __setitem__(self, executor_id: str, row: Executor) -> None:
        if executor_id in self:
            del self[executor_id]
        super().__setitem__(executor_id, row)
        self._count(row, 1)
        self._running = None

    def __delitem__(self, executor_id: str) -> None:
        row = self[executor_id]
        super().__delitem__(executor_id)
        self._count(row, -1)
        self._running = None

    def _count(self, row: Executor, by: int) -> None:
        self._counts[row.state, row.extra, row.profile] += by
        self.changes += 1

    def become(self, row: Executor, state: State) -> None:
        """A row gets another state."""
        self._count(row, -1)
        row.state = state
        self._count(row, 1)
        self._running = None

    def be_extra(self, row: Executor, *, extra: bool) -> None:
        """A row counts towards the target, or beside it. One that counts takes tasks."""
        self._count(row, -1)
        row.extra = extra
        self._count(row, 1)
        if not extra:
            self.leave(row, leaving=False)

    def leave(self, row: Executor, *, leaving: bool) -> None:
        """An extra executor takes no new task from now on, or takes tasks again."""
        if row.leaving != leaving:
            row.leaving, self._leaving = leaving, None

    def count(self, *states: State, extra: bool | None = None, profile: int = 0) -> int:
        """How many rows of a profile are in one of these states.

        ``extra``: only those beside the target, or only the others.
        """
        kinds = (False, True) if extra is None else (extra,)
        return sum(self._counts[state, kind, profile] for state in states for kind in kinds)

    def leaving(self) -> frozenset[str]:
        """The executors that take no new task. The same object until one more leaves or one stays.

        So it may name some that have gone meanwhile: nobody needs to hear of that.
        """
        if self._leaving is None:
            self._leaving = frozenset(row.executor_id for row in self.values() if row.leaving)
        return self._leaving

    @property
    def any_running(self) -> bool:
        """Whether an executor of any size is registered and stays."""
        return any(count and state == "running" for (state, _, _), count in self._counts.items())

    def running(self) -> Mapping[str, str]:
        """The executors that are registered and stay, with their hosts."""
        if self._running is None:
            self._running = {row.executor_id: row.host for row in self.values() if row.state == "running"}
        return self._running
