"""The containers that are asked for, by the rule behind their place, and the rules that gave way."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command, PlacementRule, WantedContainer
from yarnspec.core.messages.events import Event
from yarnspec.observe.forms.document import AskStatus, Relaxation

_RELAXATIONS = 20
_FIRST_RULES = ("spread", "prefer", "require")
"""The rules by which a container is asked for at first, and again when there is new room."""


@dataclass(slots=True)
class _Told:
    """A rule that gave way, and the asks for which nothing else was told since then.

    Of each ask: how it was asked for after that; None until the next placement.
    """

    relaxation: Relaxation
    asks: dict[str, tuple[PlacementRule, tuple[str, ...]] | None]

    def placed(self, wanted: dict[str, WantedContainer]) -> None:
        """A new placement says how containers are asked for now."""
        for wanted_id, before in list(self.asks.items()):
            ask = wanted.get(wanted_id)
            if ask is None or (ask.rule in _FIRST_RULES and before not in (None, (ask.rule, ask.hosts))):
                del self.asks[wanted_id]
            else:
                self.asks[wanted_id] = ask.rule, ask.hosts


class AsksFold:
    """The open asks after each record."""

    def __init__(self) -> None:
        self._wanted: dict[str, WantedContainer] = {}
        self._told: deque[_Told] = deque(maxlen=_RELAXATIONS)

    def apply(self, message: Event | Command, time_ms: int) -> None:
        """Take in the next event or command; those that are about other things change nothing."""
        match message:
            case commands.UpdatePlacement(wanted=wanted):
                self._wanted = {one.id: one for one in wanted}
                for told in self._told:
                    told.placed(self._wanted)
            case commands.RelaxPlacement(wanted=wanted):
                self._over(wanted)
                relaxation = Relaxation(
                    time_ms=time_ms, rule=message.rule, containers=len(wanted), reason=message.reason
                )
                self._told.append(_Told(relaxation, dict.fromkeys(wanted)))
            case events.AttemptStarted() | events.DriverFinished() | commands.FinishApplication():
                self._wanted.clear()
                for told in self._told:
                    told.asks.clear()

    def _over(self, wanted: Iterable[str]) -> None:
        """What was told of these asks holds no more."""
        for told in self._told:
            for wanted_id in wanted:
                told.asks.pop(wanted_id, None)

    def came(self, event: events.ContainerAllocated) -> PlacementRule:
        """A container is not asked for any more; the rule by which it was."""
        wanted_id = event.wanted_id or event.executor_id
        self._over((wanted_id,))
        ask = self._wanted.pop(wanted_id, None)
        return "" if ask is None else ask.rule

    def status(self) -> tuple[AskStatus, ...]:
        """The containers that are asked for now, the most first."""
        alike = Counter((one.rule, one.hosts, one.profile) for one in self._wanted.values())
        return tuple(
            AskStatus(rule=rule, hosts=hosts, profile=profile, containers=count)
            for (rule, hosts, profile), count in alike.most_common()
        )

    def relaxations(self) -> tuple[Relaxation, ...]:
        """The newest rules that gave way, the oldest first."""
        return tuple(msgspec.structs.replace(told.relaxation, holds=bool(told.asks)) for told in self._told)
