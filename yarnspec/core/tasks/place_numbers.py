"""The hosts and executors that tasks ran on: a number for each, and their counts.

An executor is *cold* until its first task has ended well. Until then a task also pays for loading classes, and the
first Python task for starting Python. Tasks on a cold executor say little about its host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from yarnspec.core.tasks.columns import Column, Columns

UNKNOWN = 0
"""The number of a host or executor that a row did not name."""
NEVER = np.iinfo(np.int64).max


class Names:
    """Numbers for strings, in the order in which they were first seen; 0 is the empty string."""

    __slots__ = ("_numbers", "_texts")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": UNKNOWN}
        self._texts: list[str] = [""]

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> str:
        return self._texts[number]

    def number(self, text: str) -> int:
        """The number of ``text``, a new one when it was not seen before."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return found

    def find(self, text: str) -> int | None:
        """The number of ``text``; None when it was never seen."""
        return self._numbers.get(text)

    def translate(self, codes: Column, texts: Sequence[str]) -> Column:
        """The numbers of a batch's codes; a code that the batch has no text for becomes ``UNKNOWN``."""
        own = np.array([*(self.number(text) for text in texts), UNKNOWN], dtype=np.int32)
        return own[np.where((codes >= 0) & (codes < len(texts)), codes, len(texts))]

    def texts(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The strings of these numbers."""
        return tuple(self._texts[number] for number in numbers)


class Places:
    """Hosts and executors by number, with the running attempts of each and when each executor was warm."""

    __slots__ = ("_executors", "_hosts", "executor_names", "host_names")

    def __init__(self) -> None:
        self.host_names = Names()
        self.executor_names = Names()
        self._hosts = Columns({"running": np.int64}, fill=0)
        self._executors = Columns({"running": np.int64, "unwarm": np.int64, "python_unwarm": np.int64}, fill=0)
        self._fit()

    def numbers(
        self, hosts: Column, host_texts: Sequence[str], executors: Column, executor_texts: Sequence[str]
    ) -> tuple[Column, Column]:
        """The numbers of a batch's host and executor codes."""
        found = self.host_names.translate(hosts, host_texts), self.executor_names.translate(executors, executor_texts)
        self._fit()
        return found

    def started(self, hosts: Column, executors: Column) -> None:
        """Attempts began to run here."""
        np.add.at(self._hosts["running"], hosts, 1)
        np.add.at(self._executors["running"], executors, 1)

    def ended(self, hosts: Column, executors: Column) -> None:
        """Attempts that ran here ended."""
        np.subtract.at(self._hosts["running"], hosts, 1)
        np.subtract.at(self._executors["running"], executors, 1)

    def warmed(self, executors: Column, finish_ms: Column, *, python: bool) -> None:
        """Attempts ended well here at these times."""
        # Kept as the time's distance from NEVER, so that a new row (0) means that it never happened.
        np.maximum.at(self._executors["unwarm"], executors, NEVER - finish_ms)
        if python:
            np.maximum.at(self._executors["python_unwarm"], executors, NEVER - finish_ms)

    def warm_since_ms(self, *, python: bool) -> Column:
        """By executor: when its first task (or Python task) ended well; ``NEVER`` when none did."""
        column: Column = NEVER - self._executors["python_unwarm" if python else "unwarm"]
        return column

    def running_on_host(self, host: str) -> int:
        """How many attempts run on a host."""
        number = self.host_names.find(host)
        return 0 if number is None else int(self._hosts["running"][number])

    def running_on(self, executor_id: str) -> int:
        """How many attempts run in an executor."""
        number = self.executor_names.find(executor_id)
        return 0 if number is None else int(self._executors["running"][number])

    def running_by_executor(self) -> dict[str, int]:
        """How many attempts run in each executor."""
        names = self.executor_names.texts(range(len(self.executor_names)))
        return dict(zip(names, self._executors["running"].tolist(), strict=True))

    def _fit(self) -> None:
        self._hosts.reach(len(self.host_names))
        self._executors.reach(len(self.executor_names))
