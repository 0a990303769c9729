"""The events of recovery: the journal's records of earlier epochs, and the driver's messages about shuffles.

They hold no bytes of map outputs. The data that registers a map output again goes past the core, from the driver to the
journal and from there to the next driver.
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
"""The kinds of work that no next driver can go on with: own ways of writing, cached data, streams."""


class SavedShuffle(msgspec.Struct, frozen=True, kw_only=True):
    """A shuffle of an earlier epoch, as the journal has it.

    ``by_host``: how many map outputs were written on each host. ``bounded``: the shuffle is sorted by bounds of its
    own. ``oldest`` and ``newest``: the numbers of the first and the last task that wrote one of its map outputs.
    ``epoch``: the first epoch in which one was written. ``not_reusable``: why nothing of it may be used; empty: nothing
    speaks against it.
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
        carried: what the newest of the earlier epochs knew of hosts and copies.
        carried_problem: which parts of ``carried`` cannot be read, and why; empty when all can.
        changed: for people: how the program differs from the one that made the past.
        shuffles: the recorded shuffles.
        epochs: the earlier epochs that began.
        waits: for each of them and this one, how long after the end of the epoch before it began, if that is known.
        progress: the last earlier epoch that finished anything new; 0: none did.
        jobs: how many jobs of the program have ended in earlier epochs.
        writes: the writes of earlier epochs, in order.
        moved_writes: the writes of which nothing is left at their paths, and whose files may have another name.
        reads: what the program had read before its writes were committed.
        writes_lost: why ``writes`` are not all; empty when they are.
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
    """The journal takes no more records. The job goes on.

    ``fenced``: a later epoch has begun: this attempt is over and has not heard of it.
    """

    why: str
    fenced: bool = False


class EpochRefused(Event, frozen=True):
    """Messages, questions or records in the name of an epoch were refused, because they came after its end.

    ``refused``: how often in all by now, by kind. For a kind that is missing nothing new is known.
    """

    epoch: int
    refused: dict[str, int]


class SavedUnreadable(Event, frozen=True):
    """The driver could not read the saved outputs, and goes on without them."""

    MESSAGE = "saved_unreadable"

    why: str


class ShuffleDeclared(Event, frozen=True):
    """A shuffle is being constructed in the driver, which waits for the answer to its ``question``.

    ``shuffle``: the id that Spark gave it. ``parents``: the ids of the shuffles that it is computed from.
    """

    MESSAGE = "shuffle_declared"

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

    MESSAGE = "shuffle_restored"

    shuffle: int
    wanted: int
    restored: int
    waited_ms: int
    by_host: dict[str, int]
    not_restored: dict[str, int]


class ShuffleForgotten(Event, frozen=True):
    """Spark has forgotten a shuffle, and its files go."""

    MESSAGE = "shuffle_dropped"

    shuffle: int


class RecordingStopped(Event, frozen=True):
    """The driver cannot tell any more of a shuffle's map outputs (``shuffle`` -1: of those of any shuffle)."""

    MESSAGE = "recording_stopped"

    shuffle: int
    why: str


class MapOutputsRecorded(Event, frozen=True):
    """The first map output of this epoch was written to the journal."""


class OutputsDurable(Event, frozen=True):
    """So many map outputs of this epoch are in the journal, on disk, by now. Shuffles dropped since count too."""

    outputs: int


class OutputsReported(Event, frozen=True):
    """An executor has looked for map outputs of earlier epochs on its host, and has taken over those that it found.

    If ``executor_id`` is empty, the host's shuffle service gives out so many outputs (``served``) where they are.
    """

    MESSAGE = "outputs_reported"

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
    """The outputs that ended executors have left on a host have changed.

    ``dropped``: the outputs that there was no room or use for.
    """

    MESSAGE = "outputs_kept"

    executor_id: str
    host: str
    outputs: int = 0
    bytes: int = 0
    dropped: int = 0
    dropped_bytes: int = 0


class AdoptionOff(Event, frozen=True):
    """An executor cannot keep its files for a next driver. If ``executor_id`` is empty, no executor can."""

    MESSAGE = "adoption_off"

    executor_id: str
    host: str
    why: str


class Unrecorded(Event, frozen=True):
    """The program does something that no next driver can go on with; ``why`` names it.

    ``kind`` "writes": the program writes or commits in a way of its own that yarnspec does not know. "cached" and
    "stream", once each: this is the first stage that uses cached data, or belongs to a stream.
    """

    MESSAGE = "unrecorded"

    kind: Unrecoverable
    why: str


class LiveAdoptionBegan(Event, frozen=True):
    """An executor died while its driver lives. Its map outputs wait for another executor on its host."""

    MESSAGE = "live_adoption_began"

    executor_id: str
    host: str
    outputs: int


class LiveAdoptionEnded(Event, frozen=True):
    """The map outputs of a dead executor wait no more.

    ``adopted``: how many were taken over. ``lost``: how many are gone, so that their maps run again.
    """

    MESSAGE = "live_adoption_ended"

    executor_id: str
    host: str
    outputs: int = 0
    adopted: int = 0
    lost: int = 0
    waited_ms: int = 0
    why: str = ""
