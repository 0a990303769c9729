"""What happened that recovery is about: what the journal holds of earlier epochs, what the driver tells of shuffles.

Bytes are nobody's business here: what is needed to register a map output again goes past the core, from the driver to
the journal and from the journal to the next driver.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.core.journal.journalrecords import Determinism, InputsRead
from yarnspec.core.journal.overdue import Wait
from yarnspec.core.messages.carried import CarriedPart
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.writeevents import SavedWrite

ALL_SHUFFLES = -1

Unrecoverable = Literal["writes", "cached", "stream"]
"""What programs do that no next driver can go on with: write by themselves, use cached data, run a stream."""


class SavedShuffle(msgspec.Struct, frozen=True, kw_only=True):
    """A shuffle of an earlier epoch, as the journal has it. ``by_host``: on which hosts its map outputs were written.

    ``bounded``: it is sorted by bounds of its own. ``oldest`` and ``newest``: the numbers of the first and the last of
    the tasks that wrote its map outputs, ``epoch``: the first epoch in which one was written. ``not_reusable`` says why
    nothing of it may be used; empty: nothing is known against it.
    """

    shuffle: int
    signature: str
    maps: int
    reduces: int
    determinism: Determinism
    description: str = ""
    parents: tuple[int, ...] = ()
    by_host: dict[str, int]
    bounded: bool = False
    oldest: int = 0
    newest: int = 0
    epoch: int = 0
    not_reusable: str = ""

    @property
    def outputs(self) -> int:
        """How many of its map outputs were recorded."""
        return sum(self.by_host.values())


class JournalReplayed(Event, frozen=True):
    """The journal of this epoch is open, and those of the epochs before were read; once for each epoch.

    Args:
        off: why nothing can be recorded; empty when it can.
        problem: why nothing of the past may be used; empty when it may.
        carried: what the newest of them knew of hosts and copies.
        carried_problem: which of that cannot be read, and why; empty when all can.
        changed: what differs from the program that the past was made by, for people.
        shuffles: what was recorded.
        epochs: the earlier epochs that began.
        waits: how long they and this one were waited for, where the end of the one before is known.
        progress: the last of them that finished anything new; 0: none did.
        jobs: how many jobs of the program have ended in them.
        writes: what they wrote, in order.
        moved_writes: those of which nothing is left at their paths, and whose files may have another name.
        reads: what the program had read before its writes were committed.
        writes_lost: why those are not all; empty when they are.
    """

    off: str = ""
    problem: str = ""
    carried: tuple[CarriedPart, ...] = ()
    carried_problem: str = ""
    changed: tuple[str, ...] = ()
    shuffles: tuple[SavedShuffle, ...] = ()
    epochs: tuple[int, ...] = ()
    waits: tuple[Wait, ...] = ()
    progress: int = 0
    jobs: int = 0
    writes: tuple[SavedWrite, ...] = ()
    moved_writes: tuple[SavedWrite, ...] = ()
    reads: tuple[InputsRead, ...] = ()
    writes_lost: str = ""


class RecordingEnded(Event, frozen=True):
    """Nothing more can be written to the journal; the job goes on.

    ``fenced``: because a later epoch has begun, which means that this attempt is over and has not heard of it.
    """

    why: str
    fenced: bool = False


class EpochRefused(Event, frozen=True):
    """So much was refused by now of what was told, asked for or recorded in the name of an epoch after its end.

    ``refused``: how often, by kind (``refusals.KINDS``), in all; of a kind that is missing nothing new is known.
    """

    epoch: int
    refused: dict[str, int]


class SavedUnreadable(Event, frozen=True):
    """The driver could not read what was saved for it; it goes on without any of it."""

    why: str


class ShuffleDeclared(Event, frozen=True):
    """A shuffle is being constructed in the driver, which waits for the answer to its ``question``.

    ``shuffle`` is the id that Spark gave it, ``parents`` are the ids of the shuffles that it is computed from.
    """

    question: int
    shuffle: int
    signature: str
    maps: int
    reduces: int
    determinism: Determinism
    description: str = ""
    parents: tuple[int, ...] = ()
    reusable: bool = True
    why_not: str = ""


class ShuffleRestored(Event, frozen=True):
    """The wait for a saved shuffle's map outputs is over: ``restored`` of the ``wanted`` ones are registered again."""

    shuffle: int
    wanted: int
    restored: int
    waited_ms: int
    by_host: dict[str, int]
    not_restored: dict[str, int]


class ShuffleForgotten(Event, frozen=True, tag="ShuffleDropped"):
    """Spark has forgotten a shuffle, and its files go."""

    shuffle: int


class RecordingStopped(Event, frozen=True):
    """The driver cannot tell any more what becomes of a shuffle's map outputs (``ALL_SHUFFLES``: of all)."""

    shuffle: int
    why: str


class MapOutputsRecorded(Event, frozen=True):
    """The first map output of this epoch was written to the journal."""


class OutputsDurable(Event, frozen=True):
    """So many map outputs of this epoch are in the journal, on disk, by now; also those of shuffles dropped since."""

    outputs: int


class OutputsReported(Event, frozen=True):
    """An executor has looked for the map outputs of earlier epochs on its host, and has taken over what it found.

    Without an executor: the host's shuffle service gives out so many of them (``served``) where they are.
    """

    executor_id: str
    host: str
    refused: dict[str, int]
    found: int = 0
    adopted: int = 0
    garbage: int = 0
    served: int = 0
    bytes: int = 0
    duration_ms: int = 0


class OutputsKept(Event, frozen=True):
    """What lies on a host of executors that are gone has changed; ``dropped``: what there was no room or use for."""

    executor_id: str
    host: str
    outputs: int = 0
    bytes: int = 0
    dropped: int = 0
    dropped_bytes: int = 0


class AdoptionOff(Event, frozen=True):
    """An executor cannot keep its files for a next driver; without an executor: none of them can."""

    executor_id: str
    host: str
    why: str


class Unrecorded(Event, frozen=True):
    """The program does something that no next driver can go on with; ``why`` names it.

    ``writes``: it writes or commits in a way of its own, of which nothing is known here. ``cached`` and ``stream``,
    once each: this is the first stage that uses cached data, or belongs to a stream.
    """

    kind: Unrecoverable
    why: str


class LiveAdoptionBegan(Event, frozen=True):
    """An executor died while its driver lives, and its map outputs wait for another one on its host."""

    executor_id: str
    host: str
    outputs: int


class LiveAdoptionEnded(Event, frozen=True):
    """They wait no more: ``adopted`` of them were taken over, the maps of the ``lost`` ones run again."""

    executor_id: str
    host: str
    outputs: int = 0
    adopted: int = 0
    lost: int = 0
    waited_ms: int = 0
    why: str = ""
