"""The driver's messages about shuffles and about the program's writes, as the core's events."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.core.messages.all_messages import EVENTS
from yarnspec.core.messages.events import Event

_KINDS = {kind.MESSAGE: kind for kind in EVENTS if kind.MESSAGE}


def shuffle_event(told: dict[str, Any]) -> Event | None:
    """The event of a message that is about these; None for any other."""
    kind = _KINDS.get(told["type"])
    if kind is None:
        return None
    fields = {name: told[name] for name in kind.__struct_fields__ if told.get(name) is not None}
    return msgspec.convert({"type": kind.__name__, **fields}, kind)
