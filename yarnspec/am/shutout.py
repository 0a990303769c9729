"""What application masters of earlier attempts, which YARN took for dead, were refused when they went on after all."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from yarnspec.am.watcher import Watcher
from yarnspec.core.events import Event
from yarnspec.core.recoveryevents import EpochRefused

_log = structlog.get_logger()

_LOOK_S = 10.0


class ShutOut:
    """Looks now and then for the word that they leave in the journal, and posts what is new of it.

    ``read`` gives by epoch how often something was refused, by kind; it raises what the file system does.
    """

    def __init__(self, read: Callable[[], dict[int, dict[str, int]]], post: Callable[[Event], None]) -> None:
        self._read = read
        self._told: dict[int, dict[str, int]] = {}
        self.watcher = Watcher("shut-out", lambda: self._look(post), _LOOK_S)

    def finish(self, note: Callable[[Event], None]) -> None:
        """Look for the last time; ``note`` takes what is new."""
        self.watcher.stop()
        try:
            self._look(note)
        except Exception:  # nothing rests on it
            _log.exception("what earlier application masters were refused is not known")

    def _look(self, post: Callable[[Event], None]) -> None:
        for epoch, refused in self._read().items():
            if self._told.get(epoch) != refused:
                self._told[epoch] = refused
                post(EpochRefused(epoch=epoch, refused=refused))
