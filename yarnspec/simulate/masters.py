"""The application masters of a program whose driver dies again and again, and which life of it is under which."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from yarnspec.core import commands as cm
from yarnspec.core import events as ev
from yarnspec.core.negotiator import Negotiator
from yarnspec.core.restarts import RESTART_TIMER, first_epoch
from yarnspec.core.settings import RecoverySettings, Settings
from yarnspec.simulate.lives import Plan
from yarnspec.simulate.rules import BrokenRule


class Tell(Protocol):
    """Hands an event to the negotiator, at that time if one is given, and obeys what it answers."""

    def __call__(self, event: ev.Event, at_ms: int | None = None) -> list[cm.Command]:
        """What it answered."""


class Masters:
    """One negotiator for each attempt, and the number of the life that runs; ``earlier``: attempts that were before.

    ``dies_alone``: that life's end, if it has one, is not that of its negotiator, which starts the driver again.
    """

    def __init__(
        self, plan: Plan, rng: random.Random, core: Callable[[Settings], Negotiator], earlier: int = 0
    ) -> None:
        self._plan = plan
        self._rng = rng
        self._core = core
        self._restarts = 0
        self.attempt = earlier
        self.epoch = 0
        self.in_place = 0
        self.late = 0
        self.dies_alone = False
        self.next_life()

    def next_life(self) -> None:
        """The driver has died, alone or with its application master."""
        if self.dies_alone:
            self._restarts += 1
            self.epoch += 1
            self.in_place += 1
        else:
            self._restarts = 0
            self.attempt += 1
            self.epoch = first_epoch(self.attempt, self._plan.restarts)
            self.negotiator = self._core(self._settings())
        self.dies_alone = self._restarts < self._plan.restarts and self._rng.random() < self._plan.in_place

    def begin(self, tell: Tell) -> None:
        """Begin the life: the attempt's first, or the one after that which has died."""
        if not self._restarts:
            tell(
                ev.AttemptStarted(
                    application_id="application_1_0001",
                    attempt=self.attempt,
                    epoch=self.epoch,
                    container_id="c",
                    host=self._plan.hosts[0],
                    placement_mode="blacklist",
                )
            )
            return
        answer = tell(ev.DriverLost(exit_code=-9, reason="killed"))
        self.hear_late()
        for one in answer:
            if isinstance(one, cm.SetTimer) and one.name == RESTART_TIMER:
                answer = tell(ev.TimerFired(name=RESTART_TIMER, at_ms=one.at_ms), one.at_ms)
        began = [one.epoch for one in answer if isinstance(one, cm.BeginEpoch)]
        if began != [self.epoch] or not self.negotiator.hears(self.epoch):
            raise BrokenRule(f"seed {self._plan.seed}: after epoch {self.epoch - 1} began {began}")

    def hear_late(self) -> None:
        """The driver before this one, if it died alone, is still there and says something."""
        if not self._restarts:
            return
        before = self.negotiator.refused_late
        if self.negotiator.hears(self.epoch - 1):
            raise BrokenRule(f"seed {self._plan.seed}: the driver of epoch {self.epoch - 1} is heard after its end")
        self.late += self.negotiator.refused_late - before

    def _settings(self) -> Settings:
        return Settings(
            initial_executors=2,
            executor_memory_mb=1024,
            # Whether it is worth going on is for others to judge.
            recovery=RecoverySettings(enabled=True, fruitless_epochs=100, driver_restarts=self._plan.restarts),
        )
