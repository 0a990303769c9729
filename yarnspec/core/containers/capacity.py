"""Slots: how many tasks an executor takes at once, where one is free, and whether a slow host is better than none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.messages.settings import Settings, slots_of
from yarnspec.core.tasks.task_table import TaskTable

WORTH_IT = 0.05
"""A slow host is kept when the work ends sooner with it by at least this share: below, its tasks only cost slots."""
_TAIL = 2.0
"""A straggler at the end costs this many ordinary tasks' time at most: it is found, and a copy runs instead."""


class Slots:
    """The slots of the executors that run now."""

    def __init__(self, settings: Settings, containers: ExecutorTable, table: TaskTable) -> None:
        self._task_cpus = settings.task_cpus
        self._most = settings.executor_tasks_max
        self._containers = containers
        self._table = table

    @property
    def of_new_executor(self) -> int:
        """How many slots a new executor brings."""
        return self._containers.profiles.usual.slots

    def of(self, row: Executor) -> int:
        """How many tasks an executor takes at once."""
        size = self._containers.profiles.of(row.profile)
        if row.profile or row.cores in (0, size.cores):
            return size.slots
        return slots_of(row.cores, self._task_cpus, self._most)

    def running(self) -> list[Executor]:
        """The executors that are registered and stay."""
        return [row for row in self._containers.rows if row.state == "running"]

    def free(self) -> dict[str, int]:
        """The free slots by executor."""
        taken = self._table.running_by_executor()
        return {row.executor_id: max(0, self.of(row) - taken.get(row.executor_id, 0)) for row in self.running()}

    def free_beside(self, hosts: Iterable[str]) -> Counter[int]:
        """How many slots are free on other hosts than these, by the executors' profile."""
        beside, free = set(hosts), self.free()
        by_profile: Counter[int] = Counter()
        for row in self.running():
            if row.host not in beside:
                by_profile[row.profile] += free[row.executor_id]
        return by_profile

    def by_host(self, profile: int) -> Counter[str]:
        """All slots of a profile's executors by host."""
        slots: Counter[str] = Counter()
        for row in self.running():
            if row.profile == profile:
                slots[row.host] += self.of(row)
        return slots


class Comparison(NamedTuple):
    """Whether work ends sooner without a host; the times are in ordinary tasks' durations."""

    sooner_without: bool
    text: str


def compare(tasks_left: int, slots_elsewhere: int, slots_here: int, factor: float) -> Comparison:
    """Compare how long the tasks that are left take with a host that is ``factor`` times as slow, and without.

    With the host, all slots share the work in proportion to their speed. But the last task of the slow host ends late,
    or is copied. If few tasks are left, that late end decides. If many waves are left, the additional slots decide.
    """
    if slots_elsewhere <= 0:
        return Comparison(sooner_without=False, text="no slot is left elsewhere")
    without = math.ceil(tasks_left / slots_elsewhere)
    with_it = tasks_left / (slots_elsewhere + slots_here / factor) + min(factor, _TAIL)
    sooner = with_it > (1 - WORTH_IT) * without
    text = (
        f"{tasks_left} tasks are left; {slots_elsewhere} slots elsewhere need {without:g} task times for them, "
        f"together with the {slots_here} slots here ({factor:.1f} times as slow) {with_it:.1f}"
    )
    return Comparison(sooner_without=sooner, text=text)
