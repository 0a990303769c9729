"""Epochs whose drivers were only taken for dead: each goes on between the steps of the one that took its place.

How many steps it makes between two of the other is chance, at a pace of its own: it may be done before the other has
come to its driver's start, go along with it, or hardly wake before the other's end. So it goes on until it is refused
something or has ended its program, if need be also beside the epoch after the next.

It shares the hosts with the other: what it computes lies there, and what it loses is gone for both. But its journal is
sealed: none of its steps may bring a record to the disk, and all records that it made since then are refused.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from yarnspec.simulate.restarts.driver import SimulatedEpoch
from yarnspec.simulate.restarts.resumption_plan import Disk, ResumptionPlan, Steps
from yarnspec.simulate.world.rules import BrokenRule

_PACES = (0.1, 0.5, 0.9)
"""How likely one more step is before the other's next."""


@dataclass
class _TakenForDead:
    """An epoch that goes on at its pace, and how many records it had made when its journal was sealed."""

    epoch: SimulatedEpoch
    steps: Steps[None]
    pace: float
    records: int


class Beside:
    """All that go on beside the epoch that counts. ``steps``: how many they made while that was under way."""

    def __init__(self, plan: ResumptionPlan, disk: Disk, rng: random.Random) -> None:
        self._plan = plan
        self._disk = disk
        self._rng = rng
        self._all: list[_TakenForDead] = []
        self.steps = 0

    def add(self, epoch: SimulatedEpoch, steps: Steps[None]) -> None:
        """This one goes on; its journal is sealed."""
        self._all.append(_TakenForDead(epoch, steps, self._rng.choice(_PACES), epoch.records))

    def go_on(self) -> None:
        """The epoch that counts has made a step: some of them make some."""
        for one in list(self._all):
            while self._rng.random() < one.pace and self._step(one):
                self.steps += 1

    def end(self) -> None:
        """The program has ended: they go on alone."""
        for one in list(self._all):
            while self._step(one):
                pass

    def _step(self, one: _TakenForDead) -> bool:
        """Have one make a step; False when it was at its end."""
        on_disk, ended = len(self._disk.records), False
        try:
            next(one.steps)
        except StopIteration:
            ended = True
            self._all.remove(one)
        made = one.epoch.records - one.records
        if len(self._disk.records) != on_disk or one.epoch.journal.refused != made:
            number = one.epoch.master.epoch
            raise BrokenRule(f"seed {self._plan.seed}: epoch {number} has recorded something after its end")
        return not ended
