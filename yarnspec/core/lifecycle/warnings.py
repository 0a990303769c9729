"""Warnings at a pace: the same one again and again would fill the event history and the log."""

from __future__ import annotations

from collections import Counter

import msgspec

from yarnspec.core.messages.commands import Command, Warn

PACE_MS = 60_000


class Warnings:
    """Tells a warning at once. The same one within a minute is only counted. The next one after that has the count."""

    def __init__(self) -> None:
        self._told_ms: dict[str, int] = {}
        self._untold: Counter[str] = Counter()

    def paced(self, commands: list[Command], now_ms: int) -> list[Command]:
        """The commands without the warnings that have to wait."""
        return [told for command in commands if (told := self._paced(command, now_ms)) is not None]

    def _paced(self, command: Command, now_ms: int) -> Command | None:
        if not isinstance(command, Warn):
            return command
        key = command.about or command.reason
        told_ms = self._told_ms.get(key)
        if told_ms is not None and now_ms - told_ms < PACE_MS:
            self._untold[key] += command.times
            return None
        self._told_ms[key] = now_ms
        return msgspec.structs.replace(command, times=command.times + self._untold.pop(key, 0))
