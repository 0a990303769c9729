"""The executors that died young on each host, and the tasks that they may have died of instead of their host.

A task whose code or data end the process takes its executor with it. The task does the same to the next executor that
gets it. Another such task may be given to the next executor of the same host. So deaths while tasks ran count as one,
until all tasks that ran in one of them are cleared. A task is cleared once it has ended well, or runs elsewhere for far
longer than it can have run there. If the stage of a task was given up, nobody will ever know.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from yarnspec.core.containers.deaths import YoungDeath

Task = tuple[int, int, int]
"""The stage, its attempt and the index of a task: in another attempt of the stage the index may be another task's."""


@dataclass(slots=True)
class _Death:
    at_ms: int
    executor_id: str
    text: str
    suspects: set[Task] = field(default_factory=set)
    """The tasks that ran in it when it died, any of which may be the cause."""


class HostDeaths:
    """The deaths of executors on each host within a window, in milliseconds."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._deaths: defaultdict[str, list[_Death]] = defaultdict(list)

    def add(self, death: YoungDeath, tasks: AbstractSet[Task]) -> None:
        """One died, while these tasks ran in it."""
        recent = self._recent(death.host, death.at_ms)
        self._deaths[death.host] = [*recent, _Death(death.at_ms, death.executor_id, death.text, set(tasks))]

    def ended_well(self, task: Task, host: str) -> list[str]:
        """A task did, so that no death is its fault; the other hosts whose deaths it could have explained until now."""
        freed = []
        for other, deaths in self._deaths.items():
            suspected = [death for death in deaths if task in death.suspects]
            for death in suspected:
                death.suspects.discard(task)
            if suspected and other != host:
                freed.append(other)
        return freed

    def stage_ended_well(self, stage: int) -> list[str]:
        """All its tasks did, be it in another attempt, where their indices are others; the hosts as above."""
        freed = []
        for host, deaths in self._deaths.items():
            before = [len(death.suspects) for death in deaths]
            for death in deaths:
                death.suspects = {task for task in death.suspects if task[0] != stage}
            if before != [len(death.suspects) for death in deaths]:
                freed.append(host)
        return freed

    def acquit(self, host: str, outlived: Callable[[Task, str], bool]) -> None:
        """Look again at what may explain a host's deaths: not the tasks of which this is true, given the executor."""
        for death in self._deaths.get(host, ()):
            death.suspects = {task for task in death.suspects if not outlived(task, death.executor_id)}

    def count(self, host: str, now_ms: int) -> int:
        """How many deaths speak against a host: those that tasks may explain are one."""
        recent = self._recent(host, now_ms)
        return sum(not death.suspects for death in recent) + any(death.suspects for death in recent)

    def to_try_elsewhere(self, host: str, now_ms: int) -> list[Task]:
        """The tasks that may explain several deaths of a host; those in more of them first, then of the latest."""
        suspected = [death.suspects for death in self._recent(host, now_ms) if death.suspects]
        counts = Counter(task for suspects in suspected for task in suspects)
        latest = {task: number for number, suspects in enumerate(suspected) for task in suspects}
        return sorted(counts, key=lambda task: (-counts[task], -latest[task], task)) if len(suspected) > 1 else []

    def last(self, host: str) -> str:
        """The latest deaths on a host."""
        return self._deaths[host][-1].text

    def drop(self, host: str) -> None:
        """Forget the deaths on a host so far."""
        self._deaths.pop(host, None)

    def context_over(self) -> None:
        """The SparkContext is gone: of deaths that its tasks may explain nothing more will be known."""
        for host, deaths in self._deaths.items():
            self._deaths[host] = [death for death in deaths if not death.suspects]

    def _recent(self, host: str, now_ms: int) -> list[_Death]:
        return [death for death in self._deaths.get(host, ()) if death.at_ms > now_ms - self._window_ms]
