"""Refused steps of application masters of earlier attempts, which YARN took for dead and which went on after all."""

from __future__ import annotations

from collections.abc import Callable

from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoveryevents import EpochRefused

_LOOK_S = 10.0


class EarlierRefusals:
    """Looks now and then for the word that they leave beside the journal, and posts what is new of it.

    ``read`` gives by epoch how often something was refused, by kind; it raises what the file system does.
    """

    def __init__(self, read: Callable[[], dict[int, dict[str, int]]], post: Callable[[Event], None]) -> None:
        self._read = read
        self._post = post
        self._told: dict[int, dict[str, int]] = {}
        self.watcher = Watcher("earlier-refusals", self.look, _LOOK_S)

    def look(self) -> None:
        """Look now."""
        for epoch, refused in self._read().items():
            if self._told.get(epoch) != refused:
                self._told[epoch] = refused
                self._post(EpochRefused(epoch=epoch, refused=refused))
