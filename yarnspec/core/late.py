"""What is told or asked for in the name of an epoch that is over: it changes nothing, and is counted."""

from __future__ import annotations

from collections import Counter, defaultdict

from yarnspec.core import events as ev
from yarnspec.core import recoveryevents as rec
from yarnspec.core import writeevents as wr

REGISTRATIONS = "registrations"
WRITES = "writes"
MESSAGES = "messages"
RECORDS = "records"
KINDS = (REGISTRATIONS, WRITES, MESSAGES, RECORDS)
"""Of a driver, executors, shuffles and map outputs; steps of writes, commits among them; all else that a driver told;
what a master would have added to the journal."""

_REGISTERS = (ev.DriverReady, ev.ContainerStarted, rec.ShuffleDeclared, rec.ShuffleRestored, rec.OutputsReported)
_WRITES = (
    wr.WritesAsked, wr.WriteDeclared, wr.WriteBeginning, wr.WriteCommitting, wr.WriteDeleting, wr.WriteAborting,
    wr.WriteFinished,
)  # fmt: skip


class Late:
    """How often each epoch's driver was refused something after its end."""

    def __init__(self) -> None:
        self._refused: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def refuse(self, event: ev.Event, epoch: int) -> rec.EpochRefused:
        """What this epoch's driver tells is not taken; how much of it has not been so far."""
        kind = REGISTRATIONS if isinstance(event, _REGISTERS) else WRITES if isinstance(event, _WRITES) else MESSAGES
        self._refused[epoch][kind] += 1
        return rec.EpochRefused(epoch=epoch, refused=dict(self._refused[epoch]))
