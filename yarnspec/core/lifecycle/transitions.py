"""Decides when to go over to other resources: one state machine for the start and for changes while a job runs.

 Cooldown ──over, nothing changed──▶ Idling ──change, sufficient──▶ Stabilizing ──over──▶ Stabilized ──trigger or──▶ Transitioning
     │                                 ▲                              │      │                 │       max-delay,          ▲
     │                                 ├──────over, not sufficient────┘      │                 │       sufficient          │
     │                                 └──────not sufficient any more────────│─────────────────┘                           │
     └──over, a change was seen, sufficient──▶ Stabilizing                   └──desired resources: trigger or max-delay────┘

*Sufficient* is the least that the job goes on with, *desired* is all that it can use. The wait at the start has no
cooldown and a max-delay of 0, so it ends at once with desired resources. The states and their names are those of the
proposal "align the resource timeouts of the adaptive scheduler" (FLIP-472).
"""  # noqa: E501 - the drawing

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol


class Resources(Protocol):
    """The questions that the manager asks whenever it has to decide. It keeps no answer."""

    def sufficient(self) -> bool:
        """Whether there is the least that the job needs. While it runs: and a transition would change something."""

    def desired(self) -> bool:
        """Whether there is all that the job can use. Then it is sufficient as well."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the phases last. ``max_delay_ms`` None: only a trigger ends the wait for a good moment."""

    cooldown_ms: int = 0
    stabilization_ms: int = 0
    max_delay_ms: int | None = 0


@dataclass(frozen=True, slots=True)
class Cooldown:
    """The last transition is so young that nothing leads to another one; a change is remembered."""

    end_ms: int
    changed: bool = False

    @property
    def due_ms(self) -> int:
        """When it is over."""
        return self.end_ms

    def on_change(self, _now_ms: int, resources: Resources, _timing: Timing) -> Phase:
        """Remember a change that leads somewhere."""
        return replace(self, changed=self.changed or resources.sufficient())

    def on_trigger(self, _resources: Resources) -> Phase:
        """No good moment while it lasts."""
        return self

    def on_time(self, _now_ms: int, _resources: Resources, timing: Timing) -> Phase:
        """The cooldown is over. A change that was seen meanwhile counts from now on, not from when it was seen."""
        return Stabilizing.begin(self.end_ms, timing) if self.changed else Idling()


@dataclass(frozen=True, slots=True)
class Idling:
    """The phase in which nothing has changed."""

    @property
    def due_ms(self) -> None:
        """Never."""
        return

    def on_change(self, now_ms: int, resources: Resources, timing: Timing) -> Phase:
        """The first change that leads somewhere begins the stabilization."""
        return Stabilizing.begin(now_ms, timing) if resources.sufficient() else self

    def on_trigger(self, _resources: Resources) -> Phase:
        """A good moment for nothing."""
        return self

    def on_time(self, _now_ms: int, _resources: Resources, _timing: Timing) -> Phase:
        """No time of its own."""
        return self


@dataclass(frozen=True, slots=True)
class Stabilizing:
    """More may come: only desired resources end it early.

    ``since_ms``: the first change. ``look_ms``: when to look for desired resources without a trigger.
    """

    since_ms: int
    end_ms: int
    look_ms: int | None

    @classmethod
    def begin(cls, now_ms: int, timing: Timing) -> Stabilizing:
        """The phase that a change begins."""
        return cls(now_ms, now_ms + timing.stabilization_ms, _after(now_ms, timing.max_delay_ms))

    @property
    def due_ms(self) -> int:
        """When it has to look, or is over."""
        return self.end_ms if self.look_ms is None else min(self.end_ms, self.look_ms)

    def on_change(self, now_ms: int, _resources: Resources, timing: Timing) -> Phase:
        """A further change does not prolong the stabilization; after max-delay it is looked at."""
        return replace(self, look_ms=_after(now_ms, timing.max_delay_ms)) if self.look_ms is None else self

    def on_trigger(self, resources: Resources) -> Phase:
        """A good moment: go, if nothing more can come."""
        return Transitioning() if resources.desired() else self

    def on_time(self, now_ms: int, resources: Resources, timing: Timing) -> Phase:
        """Look for desired resources, or end with what there is."""
        if self.look_ms is not None and self.look_ms <= now_ms and resources.desired():
            return Transitioning()
        if self.end_ms <= now_ms:
            return Stabilized(_after(self.since_ms, timing.max_delay_ms)) if resources.sufficient() else Idling()
        return replace(self, look_ms=None)


@dataclass(frozen=True, slots=True)
class Stabilized:
    """Sufficient resources have to do: the next good moment is taken, or ``due_ms``."""

    due_ms: int | None

    def on_change(self, _now_ms: int, _resources: Resources, _timing: Timing) -> Phase:
        """Stay: the transition uses all resources that are there then."""
        return self

    def on_trigger(self, resources: Resources) -> Phase:
        """A good moment: go, if it is still worth it."""
        return Transitioning() if resources.sufficient() else Idling()

    def on_time(self, _now_ms: int, resources: Resources, _timing: Timing) -> Phase:
        """No good moment came in time."""
        return self.on_trigger(resources)


@dataclass(frozen=True, slots=True)
class Transitioning:
    """The transition is decided. Nothing leads out of here but a new beginning, or its owner gives it up."""

    @property
    def due_ms(self) -> None:
        """Never."""
        return

    def on_change(self, _now_ms: int, _resources: Resources, _timing: Timing) -> Phase:
        """Too late."""
        return self

    def on_trigger(self, _resources: Resources) -> Phase:
        """Too late."""
        return self

    def on_time(self, _now_ms: int, _resources: Resources, _timing: Timing) -> Phase:
        """No time of its own."""
        return self


Phase = Cooldown | Idling | Stabilizing | Stabilized | Transitioning


class StateTransitionManager:
    """The machine from its beginning to one transition; ``begin`` starts it anew, and ``drop`` without a cooldown.

    Its owner tells it of changes, triggers and time, and looks after each whether the phase is ``Transitioning``. Which
    timer rings does not matter: a time that nothing is due at changes nothing.
    """

    def __init__(self, timing: Timing, resources: Resources, now_ms: int) -> None:
        self._timing = timing
        self._resources = resources
        self.since_ms = now_ms
        self.phase: Phase = Idling()
        self.begin(now_ms)

    def begin(self, now_ms: int) -> None:
        """Begin with the cooldown, as after a transition."""
        self._enter(Cooldown(now_ms + self._timing.cooldown_ms), now_ms)
        self.on_time(now_ms)

    def drop(self, now_ms: int) -> None:
        """Give the transition up that was decided: nothing has changed, and no cooldown follows."""
        self._enter(Idling(), now_ms)

    def look_again(self, now_ms: int) -> None:
        """A transition that was given up may be worth it by now: only a good moment is waited for."""
        if isinstance(self.phase, Idling) and self._resources.sufficient():
            self._enter(Stabilized(_after(now_ms, self._timing.max_delay_ms)), now_ms)

    @property
    def transitioning(self) -> bool:
        """Whether it is decided."""
        return isinstance(self.phase, Transitioning)

    def on_change(self, now_ms: int) -> None:
        """Resources or requirements may have changed."""
        self.on_time(now_ms)
        self._enter(self.phase.on_change(now_ms, self._resources, self._timing), now_ms)
        self.on_time(now_ms)

    def on_trigger(self, now_ms: int) -> None:
        """This is a good moment for a transition."""
        self.on_time(now_ms)
        self._enter(self.phase.on_trigger(self._resources), now_ms)

    def on_time(self, now_ms: int) -> None:
        """Time has passed."""
        while self.phase.due_ms is not None and self.phase.due_ms <= now_ms:
            self._enter(self.phase.on_time(now_ms, self._resources, self._timing), now_ms)

    def _enter(self, phase: Phase, now_ms: int) -> None:
        if type(phase) is not type(self.phase):
            self.since_ms = now_ms
        self.phase = phase


def _after(at_ms: int, delay_ms: int | None) -> int | None:
    return None if delay_ms is None else at_ms + delay_ms
