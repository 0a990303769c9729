"""The free slots of many executors: any of them by chance, in no time that depends on how many there are."""

from __future__ import annotations

import random


class FreeSlots:
    """Which executors have a slot free and may take a task."""

    def __init__(self, slots: int, rng: random.Random) -> None:
        self._slots = slots
        self._rng = rng
        self._hosts: dict[str, str] = {}
        self._free: dict[str, int] = {}
        self._open: list[str] = []
        self._at: dict[str, int] = {}
        self._aside: set[str] = set()
        self._off_hosts: frozenset[str] = frozenset()
        self._off: frozenset[str] = frozenset()

    def come(self, executor_id: str, host: str) -> None:
        """An executor has registered."""
        self._hosts[executor_id] = host
        self._free[executor_id] = self._slots
        self._look(executor_id)

    def go(self, executor_id: str) -> None:
        """Take out an executor that is gone."""
        del self._hosts[executor_id], self._free[executor_id]
        self._aside.discard(executor_id)
        self._look(executor_id)

    def take(self, executor_id: str) -> None:
        """A task starts there."""
        self._free[executor_id] -= 1
        self._look(executor_id)

    def give_back(self, executor_id: str) -> None:
        """A task has ended there."""
        self._free[executor_id] += 1
        self._look(executor_id)

    def block(self, hosts: frozenset[str], executors: frozenset[str]) -> None:
        """Let no task start on these any more, and let tasks start again on others that were blocked."""
        changed_hosts, changed = hosts ^ self._off_hosts, executors ^ self._off
        self._off_hosts, self._off = hosts, executors
        for executor_id, host in self._hosts.items():
            if host in changed_hosts or executor_id in changed:
                self._look(executor_id)

    def put_aside(self, executor_id: str) -> None:
        """Leave out an executor that fits nothing that waits."""
        self._aside.add(executor_id)
        self._look(executor_id)

    def put_back(self, executor_id: str) -> None:
        """Look again at an executor that may fit now."""
        self._aside.discard(executor_id)
        self._look(executor_id)

    def any(self) -> tuple[str, str] | None:
        """An executor with a free slot and its host, by chance; None when there is none."""
        if not self._open:
            return None
        executor_id = self._open[int(self._rng.random() * len(self._open))]
        return executor_id, self._hosts[executor_id]

    def some(self, most: int) -> list[tuple[str, str]]:
        """At most so many of them, by chance."""
        found = self._rng.sample(self._open, most) if len(self._open) > most else list(self._open)
        return [(executor_id, self._hosts[executor_id]) for executor_id in found]

    def _look(self, executor_id: str) -> None:
        """Keep the list of open executors up: one that leaves it changes places with the last."""
        is_open = (
            self._free.get(executor_id, 0) > 0
            and executor_id not in self._aside
            and executor_id not in self._off
            and self._hosts[executor_id] not in self._off_hosts
        )
        at = self._at.get(executor_id)
        if is_open and at is None:
            self._at[executor_id] = len(self._open)
            self._open.append(executor_id)
        elif not is_open and at is not None:
            last = self._open.pop()
            if last != executor_id:
                self._open[at] = last
                self._at[last] = at
            del self._at[executor_id]
