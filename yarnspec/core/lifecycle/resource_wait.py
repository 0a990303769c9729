"""Decides which executors are enough to start a job, and which are all that it can use: by bounds, or by Spark's rule.

With *bounds* (``resources.min_executors``, ``max_executors``, ``scale``) executors on blocked hosts do not count.
Without bounds, Spark's rule is told in the words of the transition manager. A share of the executors is desired,
anything is sufficient, and the stabilization begins with the SparkContext. A driver keeps the rule that it was started
with: bounds that are given later are the next driver's.
"""

from __future__ import annotations

import math

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.transitions import StateTransitionManager, Timing
from yarnspec.core.messages.settings import Settings


class Bounds:
    """The least and the most executors that the job is to have. Not ``given``: nobody said, and Spark's rule holds."""

    def __init__(self, settings: Settings) -> None:
        least, most = settings.resources.min_executors, settings.resources.max_executors
        self.given = least > 0 or most > 0
        self.hold_start = self.given
        """Whether tasks of the driver that lives start by these bounds. Else they start by Spark's own rule."""
        self.least = max(1, least)
        self.most = most or max(settings.initial_executors, self.least)
        self.dynamic = settings.dynamic_bounds
        """The bounds of dynamic allocation; None when it is off."""
        self._initial = self._asked = settings.initial_executors
        self._changed = False
        self.ran_with = 0
        """With how many executors the job runs, or ran until its driver ended, if it never had the least; else 0."""

    @property
    def to_start(self) -> int:
        """The least to start with. A job that has run starts again with as many as before: its least may never come."""
        return min(self.least, self.ran_with or self.least)

    @property
    def expected(self) -> int:
        """How many executors a SparkContext expects as it begins; the program's code may set the number."""
        return self._asked

    def context_begins(self, dynamic: tuple[int, int] | None) -> None:
        """A SparkContext says the bounds of its dynamic allocation, or zeros when it has none. None: as before."""
        if dynamic is not None:
            self.dynamic = dynamic if dynamic[1] else None

    def driver_starts(self) -> bool:
        """A driver is started. Returns whether it waits for these bounds."""
        self.hold_start = self.given
        return self.hold_start

    def change(self, least: int, most: int, ran_with: int = 0) -> None:
        """Somebody wants others while the application runs."""
        self.least, self.most = least, most
        self.ran_with = ran_with
        self.given = self._changed = True

    def met_by(self, have: int) -> None:
        """The job runs with so many executors."""
        if have >= self.least:
            self.ran_with = 0

    def goal(self, asked: int | None = None) -> int:
        """How many executors to ask for; ``asked``: what Spark wants now."""
        if asked is not None:
            self._asked = asked
        if not self.given:
            return self._asked
        return self.goal_with(self.most) if self._changed or self.dynamic else min(self._asked, self.most)

    def goal_again(self) -> int:
        """How many the next driver begins with: the program's own number, or the initial one of dynamic allocation."""
        return self.goal(self._initial if self.dynamic else None)

    def goal_with(self, most: int) -> int:
        """The goal with another most: the number that Spark asks for with dynamic allocation, else all of ``most``."""
        return min(self._asked, most) if self.dynamic else most


class Supply:
    """The executors that the job has and could have."""

    def __init__(self, settings: Settings, bounds: Bounds, containers: ExecutorTable, blocklist: Blocklist) -> None:
        self._settings = settings
        self._bounds = bounds
        self._containers = containers
        self._blocklist = blocklist

    @property
    def have(self) -> int:
        """How many are registered, with bounds on hosts that are not blocked."""
        if not self._bounds.hold_start or not self._blocklist.hosts:
            return self._containers.count("running")
        return sum(host not in self._blocklist for host in self._containers.running().values())

    @property
    def least(self) -> int:
        """How many the job has to have before it starts."""
        return min(self._bounds.to_start, self._containers.target) if self._bounds.hold_start else 0

    @property
    def most(self) -> int:
        """How many end the wait at once."""
        if self._bounds.hold_start:
            return self.bounded[1]
        return math.ceil(self._bounds.expected * self._settings.registered_ratio)

    @property
    def bounded(self) -> tuple[int, int]:
        """The bounds, as far as executors are asked for; zeros when none are given."""
        target = self._containers.target
        return (min(self._bounds.least, target), min(self._bounds.most, target)) if self._bounds.given else (0, 0)

    def sufficient(self) -> bool:
        """Whether the job may start."""
        return self.have >= self.least

    def desired(self) -> bool:
        """Whether there is no more to wait for."""
        return self.have >= max(self.least, self.most)


def wait_of(settings: Settings, bounds: Bounds, supply: Supply, now_ms: int, *, again: bool) -> StateTransitionManager:
    """The wait of a SparkContext that has just begun.

    ``again``: the job has begun before, and goes on as soon as resources are sufficient.
    """
    if not bounds.hold_start:
        patience_ms = settings.registered_wait_ms
    else:
        patience_ms = 0 if again else settings.resources.submission_stabilization_ms
    manager = StateTransitionManager(Timing(stabilization_ms=patience_ms), supply, now_ms)
    manager.on_change(now_ms)
    return manager
