"""Warnings at a pace: the same one again and again would fill the event history and the log."""

from __future__ import annotations

import msgspec

from yarnspec.core.messages.commands import AbandonAttempt, Command, FinishApplication, Warn

PACE_MS = 60_000


class Warnings:
    """Tells a warning at once. The same one within a minute is only counted. The next one after that has the count,
    or the end of the attempt.
    """

    def __init__(self) -> None:
        self._told_ms: dict[str, int] = {}
        self._held: dict[str, Warn] = {}

    def paced(self, commands: list[Command], now_ms: int) -> list[Command]:
        """The commands without the warnings that have to wait. The end of the attempt tells those that waited."""
        if not any(isinstance(command, FinishApplication | AbandonAttempt) for command in commands):
            return [told for command in commands if (told := self._paced(command, now_ms)) is not None]
        held = [*self._held.values()]
        self._held.clear()
        return [*held, *commands]

    def _paced(self, command: Command, now_ms: int) -> Command | None:
        if not isinstance(command, Warn):
            return command
        key = command.about or command.reason
        told_ms = self._told_ms.get(key)
        if told_ms is not None and now_ms - told_ms < PACE_MS:
            self._held[key] = self._with_held(key, command)
            return None
        self._told_ms[key] = now_ms
        return self._with_held(key, command)

    def _with_held(self, key: str, command: Warn) -> Warn:
        held = self._held.pop(key, None)
        return command if held is None else msgspec.structs.replace(command, times=command.times + held.times)
