"""When a run has come to a standstill: no task runs, and nothing that is planned or waited for is still to come."""

from __future__ import annotations

import msgspec

from yarnspec.core.messages import events as ev
from yarnspec.simulate.whatif.plan import SimulationPlan
from yarnspec.simulate.world.clock import START_MS

_HOUR_MS = 3_600_000
_TIMES = 50
_OWN = (ev.TimerFired, ev.HeldBlocksTold, ev.PlacementAcknowledged)
"""Events that the core brings about itself: they may come for ever and change nothing."""


class Standstill:
    """Knows since when nothing has happened. The patience is an hour more than all waits of the options together."""

    def __init__(self, plan: SimulationPlan) -> None:
        self._patience_ms = _HOUR_MS + plan.container_ms[1] + _waits_ms(plan.settings)
        moments = [life.arrives_ms for life in plan.hosts]
        moments += [life.plan.dies_ms or 0 for life in plan.hosts]
        moments += [at_ms for at_ms, _ in plan.wishes]
        self._planned_ms = START_MS + max(moments, default=0)
        self._since_ms = START_MS

    def heard(self, event: ev.Event, now_ms: int) -> None:
        """The core is told something."""
        if not isinstance(event, _OWN):
            self._since_ms = now_ms

    def least_ms(self, now_ms: int) -> int:
        """While no task runs, what is periodic comes no sooner than after this time."""
        return (now_ms - self._since_ms) // _TIMES

    def certain(self, now_ms: int) -> bool:
        """Whether what does not happen while no task runs will not happen any more."""
        return now_ms - max(self._since_ms, self._planned_ms) > self._patience_ms


def _waits_ms(settings: msgspec.Struct) -> int:
    """All times of the options together: waits follow one another."""
    waits_ms = 0
    for name, value in msgspec.structs.asdict(settings).items():
        if isinstance(value, msgspec.Struct):
            waits_ms += _waits_ms(value)
        elif name.endswith("_ms"):
            waits_ms += max(0, value)
    return waits_ms
