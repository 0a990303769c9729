"""What the driver tells of shuffles, as the core's events."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.core import recoveryevents as rec
from yarnspec.core.events import Event

_KINDS: dict[str, type[Event]] = {
    "shuffle_declared": rec.ShuffleDeclared,
    "shuffle_restored": rec.ShuffleRestored,
    "shuffle_dropped": rec.ShuffleDropped,
    "recording_stopped": rec.RecordingStopped,
    "saved_unreadable": rec.SavedUnreadable,
    "outputs_reported": rec.OutputsReported,
    "outputs_kept": rec.OutputsKept,
    "adoption_off": rec.AdoptionOff,
}


def shuffle_event(told: dict[str, Any]) -> Event | None:
    """The event of a message that is about shuffles; None for any other."""
    kind = _KINDS.get(told["type"])
    if kind is None:
        return None
    fields = {name: told[name] for name in kind.__struct_fields__ if told.get(name) is not None}
    return msgspec.convert({"type": kind.__name__, **fields}, kind)
