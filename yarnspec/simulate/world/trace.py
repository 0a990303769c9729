"""The history of a run as one hash: events and commands in a canonical encoding."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np

from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype("<i8").tobytes()
    raise TypeError(f"{type(value).__name__} has no place in a trace")


# Dicts in the order in which they were filled: one that came out of a set would show as another hash.
_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


class Trace:
    """The sha256 over everything said so far, and how much that was. It keeps no event."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.events = 0
        self.commands = 0

    def add(self, now_ms: int, event: Event, commands: list[Command]) -> None:
        """Take an event and what was answered to it."""
        self.events += 1
        self.commands += len(commands)
        for part in (now_ms, event, commands):
            self._hash.update(_ENCODER.encode(part))
            self._hash.update(b"\n")

    @property
    def digest(self) -> str:
        """The hash, in hexadecimal digits."""
        return self._hash.hexdigest()
