"""Building, joining and naming the rows of ``Observations``; no file, socket or Arrow in here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yarnspec.core.messages.observations import COLUMNS, NONE, IntColumn, Observations

_CODES = ("host", "executor")


class Rows:
    """Collects rows one by one, for sources that have them one by one, and gives them as columns."""

    def __init__(self) -> None:
        self._columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self._names: dict[str, dict[str, int]] = {name: {} for name in _CODES}
        self._texts: dict[int, str] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, *, host: str | None = None, executor: str | None = None, text: str = "", **numbers: int) -> int:
        """Add a row; a column that is not named says nothing. Returns the row's place."""
        codes = {"host": self._code("host", host), "executor": self._code("executor", executor)}
        for name, column in self._columns.items():
            column.append(codes[name] if name in codes else numbers.pop(name, NONE))
        if numbers:
            message = f"there is no column {', '.join(numbers)}"
            raise TypeError(message)
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
            hosts=tuple(self._names["host"]),
            executors=tuple(self._names["executor"]),
            texts=dict(self._texts),
        )

    def _code(self, column: str, name: str | None) -> int:
        if name is None:
            return NONE
        names = self._names[column]
        return names.setdefault(name, len(names))


def join(batches: Sequence[Observations]) -> Observations:
    """One batch with the rows of all of them, in order."""
    if len(batches) == 1:
        return batches[0]
    columns = {
        name: np.concatenate([getattr(each, name) for each in batches]) for name in COLUMNS if name not in _CODES
    }
    hosts, host_codes = _recoded([(each.hosts, each.host) for each in batches])
    executors, executor_codes = _recoded([(each.executors, each.executor) for each in batches])
    texts: dict[int, str] = {}
    before = 0
    for each in batches:
        texts |= {before + row: text for row, text in each.texts.items()}
        before += len(each)
    return Observations(
        **columns, host=host_codes, executor=executor_codes, hosts=hosts, executors=executors, texts=texts
    )


def _recoded(parts: Sequence[tuple[tuple[str, ...], IntColumn]]) -> tuple[tuple[str, ...], IntColumn]:
    """The names of all parts, and the codes into them."""
    names: dict[str, int] = {}
    recoded = []
    for part_names, codes in parts:
        # One more at the end: the code for "not known", -1, finds itself.
        table = np.array([*(names.setdefault(name, len(names)) for name in part_names), NONE], dtype=np.int64)
        recoded.append(table[codes])
    return tuple(names), np.concatenate(recoded)
