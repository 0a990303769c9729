"""The containers that are asked for, by the rule behind their place, and the rules that gave way."""

from __future__ import annotations

from collections import Counter, deque

from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command, PlacementRule, WantedContainer
from yarnspec.core.messages.events import Event
from yarnspec.observe.forms.document import AskStatus, Relaxation

_RELAXATIONS = 20


class AsksFold:
    """The open asks after each record."""

    def __init__(self) -> None:
        self._wanted: dict[str, WantedContainer] = {}
        self._relaxations: deque[Relaxation] = deque(maxlen=_RELAXATIONS)

    def apply(self, message: Event | Command, time_ms: int) -> None:
        """Take in the next event or command; those that are about other things change nothing."""
        match message:
            case commands.UpdatePlacement(wanted=wanted):
                self._wanted = {one.id: one for one in wanted}
            case commands.RelaxPlacement():
                self._relaxations.append(
                    Relaxation(
                        time_ms=time_ms, rule=message.rule, containers=len(message.wanted), reason=message.reason
                    )
                )
            case events.AttemptStarted() | events.DriverFinished() | commands.FinishApplication():
                self._wanted.clear()

    def came(self, event: events.ContainerAllocated) -> PlacementRule:
        """A container is not asked for any more; the rule by which it was."""
        ask = self._wanted.pop(event.wanted_id or event.executor_id, None)
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
        return tuple(self._relaxations)
