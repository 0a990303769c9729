"""The driver's messages about shuffles and about the program's writes, as the core's events."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.events import Event

_KINDS: dict[str, type[Event]] = {
    "shuffle_declared": rec.ShuffleDeclared,
    "shuffle_restored": rec.ShuffleRestored,
    "shuffle_dropped": rec.ShuffleForgotten,
    "recording_stopped": rec.RecordingStopped,
    "saved_unreadable": rec.SavedUnreadable,
    "outputs_reported": rec.OutputsReported,
    "outputs_kept": rec.OutputsKept,
    "adoption_off": rec.AdoptionOff,
    "unrecorded": rec.Unrecorded,
    "live_adoption_began": rec.LiveAdoptionBegan,
    "live_adoption_ended": rec.LiveAdoptionEnded,
    "writes_asked": wr.WritesAsked,
    "write_resolved": wr.WriteResolved,
    "write_declared": wr.WriteDeclared,
    "write_missing": wr.WriteMissing,
    "write_beginning": wr.WriteBeginning,
    "write_clearing": wr.WriteClearing,
    "write_deleting": wr.WriteDeleting,
    "write_committing": wr.WriteCommitBeginning,
    "write_aborting": wr.WriteAborting,
    "write_finished": wr.WriteFinished,
    "input_read": wr.InputRead,
}


def shuffle_event(told: dict[str, Any]) -> Event | None:
    """The event of a message that is about these; None for any other."""
    kind = _KINDS.get(told["type"])
    if kind is None:
        return None
    fields = {name: told[name] for name in kind.__struct_fields__ if told.get(name) is not None}
    return msgspec.convert({"type": kind.__name__, **fields}, kind)
