"""Where the tasks of a stage failed, and how they ended elsewhere.

A failure alone says nothing about its host: bad data fail wherever they are read, and they may all lie on one host. The
evidence against a host is a task that failed there and on no other host, and ended well elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple


class Evidence(NamedTuple):
    """The evidence against a host in a stage, or against one executor of several there; tasks by their index."""

    executor_id: str
    """The executor; empty where the whole host is meant."""
    proven: AbstractSet[int]
    """The tasks that failed there and on no other host, and ended well elsewhere."""
    waiting: AbstractSet[int]
    """The tasks that failed there and on no other host, and have not ended well yet."""
    shared: int
    """How many tasks failed there and on another host as well."""
    others: int
    """How many tasks failed on other hosts."""


@dataclass(slots=True)
class _Host:
    """The tasks that failed on a host, and the executors in which they did."""

    executors: set[str] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)
    ended_well: set[int] = field(default_factory=set)  # like those that wait, on no other host
    shared: set[int] = field(default_factory=set)


class StageFaults:
    """The failures of one stage attempt. Tasks are their indices."""

    def __init__(self) -> None:
        self._failed: dict[int, dict[str, set[str]]] = {}  # where each task failed: host, executors
        self._well: dict[int, tuple[str, str]] = {}  # where those that failed ended well after all: host, executor
        self._hosts: defaultdict[str, _Host] = defaultdict(_Host)

    def failed(self, index: int, host: str, executor_id: str) -> None:
        """A task failed."""
        where = self._failed.setdefault(index, {})
        where.setdefault(host, set()).add(executor_id)
        self._hosts[host].executors.add(executor_id)
        self._sort(index)

    def ended_well(self, index: int, host: str, executor_id: str) -> tuple[str, ...]:
        """A task did; the hosts on which it had failed before."""
        if index not in self._failed:
            return ()
        self._well[index] = (host, executor_id)
        self._sort(index)
        return tuple(self._failed[index])

    def against(self, host: str, *, several: bool) -> Evidence:
        """The evidence against a host. ``several``: more than one executor runs there."""
        here = self._hosts[host]
        executor_id = next(iter(here.executors)) if several and len(here.executors) == 1 else ""
        return Evidence(
            executor_id=executor_id,
            proven={index for index in here.ended_well if self._well_beside(index, host, executor_id)},
            waiting=here.waiting,
            shared=len(here.shared),
            others=len(self._failed) - len(here.waiting) - len(here.ended_well),
        )

    def waiting(self, host: str) -> int:
        """How many tasks failed on a host and on no other, and have not ended well yet."""
        return len(self._hosts[host].waiting)

    def by_host(self) -> Counter[str]:
        """How many tasks failed on each host."""
        return Counter(host for where in self._failed.values() for host in where)

    def by_executor(self) -> Counter[str]:
        """How many tasks failed in each executor."""
        return Counter(one for where in self._failed.values() for executors in where.values() for one in executors)

    def forget(self, host: str) -> None:
        """Forget the tasks that failed on a host so far."""
        there = self._hosts.pop(host, _Host())
        for index in (*there.waiting, *there.ended_well):
            del self._failed[index]
            self._well.pop(index, None)
        for index in there.shared:
            del self._failed[index][host]
            self._sort(index)

    def _sort(self, index: int) -> None:
        """Put a task where it belongs on each host on which it failed."""
        where = self._failed[index]
        for host in where:
            here = self._hosts[host]
            for tasks in (here.waiting, here.ended_well, here.shared):
                tasks.discard(index)
            belongs = here.shared if len(where) > 1 else here.ended_well if index in self._well else here.waiting
            belongs.add(index)

    def _well_beside(self, index: int, host: str, executor_id: str) -> bool:
        """Whether a task ended well outside of an executor, or outside of a host where none is named."""
        on_host, in_executor = self._well[index]
        return in_executor != executor_id if executor_id else on_host != host
