"""The application masters of a program whose driver dies again and again, and which epoch is under which."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from yarnspec.core.lifecycle.refusals import MESSAGES
from yarnspec.core.lifecycle.restarts import RESTART_TIMER, first_epoch
from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.settings import PlacementSettings, RecoverySettings, Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.restarts.resumption_plan import ResumptionPlan, Steps
from yarnspec.simulate.world.rules import BrokenRule


class Tell(Protocol):
    """Hands an event to the negotiator, at that time if one is given, and obeys what it answers."""

    def __call__(self, event: ev.Event, at_ms: int | None = None) -> Steps[list[cm.Command]]:
        """Hand the event over, and return the answer."""


@dataclass
class SimulatedMaster:
    """The application master that an epoch is under. It is the one of the epoch before when ``restarts`` is not 0.

    ``dies_alone``: that epoch's end, if it has one, is not that of its negotiator, which starts the driver again.
    ``late``: how often it turned away what the driver before said in this epoch.
    """

    plan: ResumptionPlan
    negotiator: Negotiator
    attempt: int
    epoch: int
    restarts: int
    dies_alone: bool
    late: int = 0

    def begin(self, tell: Tell) -> Steps[None]:
        """Begin the epoch: the attempt's first, or the one after that which has died."""
        if not self.restarts:
            yield from tell(
                ev.AttemptStarted(
                    application_id="application_1_0001",
                    attempt=self.attempt,
                    epoch=self.epoch,
                    container_id="c",
                    host=self.plan.hosts[0],
                    placement_mode="blacklist",
                )
            )
            return
        answer = yield from tell(ev.DriverLost(exit_code=-9, reason="killed"))
        self.hear_late()
        for one in answer:
            if isinstance(one, cm.SetTimer) and one.name == RESTART_TIMER:
                answer = yield from tell(ev.TimerFired(name=RESTART_TIMER, at_ms=one.at_ms), one.at_ms)
        began = [one.epoch for one in answer if isinstance(one, cm.BeginEpoch)]
        if began != [self.epoch] or not self.negotiator.hears(self.epoch):
            raise BrokenRule(f"seed {self.plan.seed}: after epoch {self.epoch - 1} began {began}")

    def hear_late(self) -> None:
        """The driver before this one, if it died alone, is still there and says something."""
        if not self.restarts:
            return
        if self.negotiator.hears(self.epoch - 1):
            raise BrokenRule(f"seed {self.plan.seed}: the driver of epoch {self.epoch - 1} is heard after its end")
        told = self.negotiator.refuse(ev.DriverStopping(), self.epoch - 1)
        self.late = told.refused[MESSAGES] if told is not None else 0


class Masters:
    """The application masters over the epochs: ``now`` has the running one, ``in_place`` counts those that kept it.

    ``earlier``: attempts that were before.
    """

    def __init__(
        self, plan: ResumptionPlan, rng: random.Random, core: Callable[[Settings], Negotiator], earlier: int = 0
    ) -> None:
        self._plan = plan
        self._rng = rng
        self._core = core
        self.in_place = 0
        self.now = self._attempt(earlier + 1)

    def next_epoch(self) -> None:
        """The driver has died, alone or with its application master, or that is what the next one takes for true."""
        old = self.now
        if old.dies_alone:
            restarts = old.restarts + 1
            self.in_place += 1
            self.now = SimulatedMaster(
                self._plan, old.negotiator, old.attempt, old.epoch + 1, restarts, self._will_die_alone(restarts)
            )
        else:
            self.now = self._attempt(old.attempt + 1)

    def _attempt(self, attempt: int) -> SimulatedMaster:
        epoch = first_epoch(attempt, self._plan.restarts)
        return SimulatedMaster(self._plan, self._core(self._settings()), attempt, epoch, 0, self._will_die_alone(0))

    def _will_die_alone(self, restarts: int) -> bool:
        return restarts < self._plan.restarts and self._rng.random() < self._plan.in_place

    def _settings(self) -> Settings:
        return Settings(
            initial_executors=2,
            executor_memory_mb=1024,
            # Whether it is worth going on is for others to judge.
            placement=PlacementSettings(spread=False),  # it has no hosts to spread over
            recovery=RecoverySettings(enabled=True, fruitless_epochs=100, driver_restarts=self._plan.restarts),
        )
