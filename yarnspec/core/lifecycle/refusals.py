"""Refuses messages in the name of an epoch that is over: they change nothing, and are counted."""

from __future__ import annotations

from collections import Counter, defaultdict

from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr

REGISTRATIONS = "registrations"
WRITES = "writes"
MESSAGES = "messages"
COMMANDS = "commands"
RECORDS = "records"
COMMITS = "commits"
KINDS = (REGISTRATIONS, WRITES, MESSAGES, COMMANDS, RECORDS, COMMITS)
"""The kinds of refusals. Told too late: registrations (of a driver, executors, shuffles, saved map outputs), steps of
writes, all other messages. Asked too late: commands that a driver had not done yet. And of a master that was
replaced: records that it would have added to its journal, and steps of writes (commits) that its driver wanted to go on
to."""

_REGISTRATIONS = (ev.DriverReady, ev.ContainerStarted, rec.ShuffleDeclared, rec.ShuffleRestored, rec.OutputsReported)
_WRITES = (
    wr.WritesAsked, wr.WriteResolved, wr.WriteDeclared, wr.WriteMissing, wr.WriteBeginning, wr.WriteCommitBeginning,
    wr.WriteClearing, wr.WriteDeleting, wr.WriteAborting, wr.WriteFinished,
)  # fmt: skip
_NOT_THE_DRIVERS = (
    ev.DriverStarted, ev.DriverLost, ev.DriverFinished, ev.FeedLagged, rec.JournalReplayed, rec.RecordingEnded,
    rec.RecordingStopped, rec.SavedUnreadable, rec.MapOutputsRecorded, rec.OutputsDurable, wr.WriteRefused,
)  # fmt: skip
"""The master's own findings about its driver and its journal: too late they are of no use, but nobody is refused."""


class Refusals:
    """How often each epoch's driver was refused something after its end."""

    def __init__(self) -> None:
        self._counts: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def refuse(self, event: ev.Event, epoch: int) -> rec.EpochRefused | None:
        """Count a message of this epoch as refused; None if the event is not from a driver."""
        if isinstance(event, _NOT_THE_DRIVERS):
            return None
        if isinstance(event, _REGISTRATIONS):
            kind = REGISTRATIONS
        else:
            kind = WRITES if isinstance(event, _WRITES) else MESSAGES
        self._counts[epoch][kind] += 1
        return rec.EpochRefused(epoch=epoch, refused=dict(self._counts[epoch]))
