"""The containers that are asked for and have not come: the rules of each, and how it is asked for now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from yarnspec.core.containers.placement_model import STEPS, Step
from yarnspec.core.messages.commands import WantedContainer


@dataclass(slots=True)
class Ask:
    """One container that is asked for.

    ``avoid`` and ``required`` are its rules beside those that hold for all. ``moves``: it comes on the required host
    before another executor leaves for it. ``step`` says how far spreading is relaxed for it. At ``due_ms`` it is
    relaxed further, if none of those comes meanwhile that are due with it; with None it is not. ``waits``: it will be
    relaxed, and its time begins when the ResourceManager has been told. ``placeless``: no host is below the limit, and
    nothing is asked for until one is.
    """

    wanted: WantedContainer
    extra: bool = False
    avoid: tuple[str, ...] = ()
    required: str = ""
    moves: bool = False
    step: Step = STEPS[0]
    due_ms: int | None = None
    waits: bool = False
    placeless: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """The hosts on one of which alone it may come; empty: on any."""
        return self.wanted.hosts if self.wanted.strict else ()


class Asks:
    """All asks by id, in the order in which they were made. A new ask first has to get a place."""

    def __init__(self) -> None:
        self._by_id: dict[str, Ask] = {}
        self._unplaced: dict[str, Ask] = {}
        self.changed = False
        """Whether the desired placement is another one than in the last version that was sent."""
        self.came_of: set[int] = set()
        """The times at which asks are due of which a container has come."""
        self.overdrawn = False
        """Whether a container came on a host that its ask did not name, which others may name now too often."""

    @property
    def all(self) -> tuple[Ask, ...]:
        """Every ask."""
        return tuple(self._by_id.values())

    @property
    def wanted(self) -> tuple[WantedContainer, ...]:
        """How each is asked for now that has a place."""
        return tuple(ask.wanted for ask in self._by_id.values() if not ask.placeless)

    @property
    def required(self) -> frozenset[str]:
        """The hosts for which a container is asked for because it is required there."""
        return frozenset(ask.required for ask in self._by_id.values() if ask.required)

    def add(self, ask: Ask) -> None:
        """Ask for a container."""
        self._by_id[ask.wanted.id] = self._unplaced[ask.wanted.id] = ask
        self.changed = True

    def came(self, wanted_id: str, profile: int, host: str) -> None:
        """A container of this profile came on a host."""
        ask = self.drop(wanted_id, profile)
        self.overdrawn |= ask is None or host not in ask.named
        if ask is not None and ask.due_ms is not None:
            self.came_of.add(ask.due_ms)

    def drop(self, wanted_id: str, profile: int) -> Ask | None:
        """One container less is to come for executors of this profile; the ask that goes.

        YARN's answer to one request may have been placed as another one of the same kind. If the named ask is gone
        already, the newest one of the profile goes, so that there are as many asks as requests. If there is none of the
        profile, none goes.
        """
        if wanted_id not in self._by_id:
            same = (one for one in reversed(self._by_id) if self._by_id[one].wanted.profile == profile)
            wanted_id = next(same, wanted_id)
        self._unplaced.pop(wanted_id, None)
        return self._by_id.pop(wanted_id, None)

    def take_unplaced(self) -> list[Ask]:
        """The asks that need a place, once; those beside the target come last."""
        unplaced, self._unplaced = self._unplaced, {}
        return sorted(unplaced.values(), key=lambda ask: ask.extra)

    def place_again(self, which: Callable[[Ask], bool]) -> list[Ask]:
        """Give those asks a new place of which this holds; returns them."""
        found = [ask for ask in self._by_id.values() if which(ask)]
        self._unplaced.update((ask.wanted.id, ask) for ask in found)
        return found

    def put(self, ask: Ask, **form: object) -> bool:
        """Ask for it in this form from now on; False: it was so before, and there is nothing to tell."""
        now = msgspec.structs.replace(ask.wanted, **form)
        if now == ask.wanted and not ask.placeless:
            return False
        ask.wanted, ask.placeless = now, False
        self.changed = True
        return True

    def put_off(self, ask: Ask) -> None:
        """Do not ask for it until it has a place."""
        if not ask.placeless:
            ask.wanted, ask.placeless = msgspec.structs.replace(ask.wanted, hosts=(), strict=False, rule=""), True
            self.changed = True
