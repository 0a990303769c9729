"""The commands of recovery: records for the next driver, and answers about the work of earlier ones."""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.core.journal.carriedtexts import lost_record
from yarnspec.core.journal.journalrecords import (
    Determinism,
    InputsRead,
    JobCommitted,
    JournalRecord,
    WriteBegan,
    WriteCommitting,
    WriteForgotten,
    WriteMode,
)
from yarnspec.core.messages.carried import CarriedPart
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.figures import LedgerFigures
from yarnspec.core.messages.recoveryevents import Unrecoverable
from yarnspec.core.messages.writeevents import SavedWrite


class OfferSaved(Command, frozen=True):
    """Offer the driver the saved outputs of these shuffles. The driver asks for each shuffle before it uses it.

    If the list is empty, nothing is of use, and the driver's executors delete the outputs that they find of earlier
    epochs.
    """

    IN_JOURNAL = True

    shuffles: tuple[int, ...]


class RecordProgram(Command, frozen=True):
    """Write to the journal which program this is: the program made everything that follows in the journal."""

    IN_JOURNAL = True


class RecordShuffle(Command, frozen=True):
    """Write to the journal that the map outputs of a shuffle are recorded from now on."""

    IN_JOURNAL = True

    shuffle: int
    signature: str
    maps: int
    reduces: int
    determinism: Determinism
    description: str = ""
    parents: tuple[int, ...] = ()


class RefuseShuffles(Command, frozen=True):
    """Write to the journal that nothing of these shuffles may be used again; ``reason`` says why."""

    IN_JOURNAL = True

    shuffles: tuple[int, ...]


class ForgetShuffle(Command, frozen=True):
    """Write to the journal that nothing of a shuffle is of use any more."""

    IN_JOURNAL = True

    shuffle: int


class RecordProgress(Command, frozen=True):
    """Write to the journal that this epoch was not fruitless; ``jobs`` have ended in all epochs together.

    The epoch has finished something new, or somebody outside has ended its driver.
    """

    IN_JOURNAL = True

    epoch: int
    jobs: int


class RecordState(Command, frozen=True):
    """Write to the journal what the next attempt's negotiator must know. The event log leaves out the ``parts``."""

    IN_JOURNAL = True

    parts: tuple[CarriedPart, ...] = ()


class CarryOver(Command, frozen=True):
    """Tell what this attempt knows from those before, for the log and the status: nothing is to be done.

    ``ledger``: the copies of all epochs before; null: it began anew. ``failed``: something is not carried over.
    """

    ledger: LedgerFigures | None = None
    failed: bool = False


class AnswerShuffle(Command, frozen=True):
    """Answer the driver's question about a shuffle, once everything before this is durable in the journal.

    ``shuffle``: the saved shuffle to use; null: none, so the driver uses Spark's own id. ``restore``: wait for its map
    outputs. ``whole``: take over all of them or none. ``record``: tell of outputs that finish. ``declared``: Spark's
    own id. ``waited_ms``: how long the driver has waited for the answer. ``unused``: saved shuffles of the same
    computation that are not used, each with the reason.
    """

    IN_JOURNAL = True

    question: int
    shuffle: int | None
    restore: bool = False
    whole: bool = False
    record: bool = False
    declared: int = 0
    waited_ms: int = 0
    unused: tuple[tuple[int, str], ...] = ()


class RecordWrite(Command, frozen=True):
    """Write to the journal that the program is about to change a path; see ``journalrecords.WriteBegan``."""

    IN_JOURNAL = True

    ordinal: int
    signature: str
    path: str
    mode: WriteMode
    job: str
    epoch: int
    existed: bool
    instead: bool = False
    defers: bool = False

    def records(self) -> tuple[JournalRecord, ...]:
        """The record that the write has begun."""
        return (
            WriteBegan(
                ordinal=self.ordinal,
                plan=self.signature,
                paths=(self.path,),
                mode=self.mode,
                job=self.job,
                epoch=self.epoch,
                existed=self.existed,
                instead=self.instead,
                defers=self.defers,
            ),
        )


class RecordCommitting(Command, frozen=True):
    """Write to the journal that the files of a write are about to be shown, and what the program has read until now.

    ``earliest``: the first of the writes that are under way. ``made`` and ``done_before``: as in ``SavedWrite``.
    """

    IN_JOURNAL = True

    ordinal: int
    files: int
    digest: str
    epoch: int
    earliest: int
    made: dict[str, int]
    done_before: int = 0
    read: tuple[str, ...] = ()

    def records(self) -> tuple[JournalRecord, ...]:
        """Records of what the program has read, if anything, and that the write is about to commit."""
        shown = msgspec.convert(self, WriteCommitting, from_attributes=True)
        if not self.read:
            return (shown,)
        return InputsRead(epoch=self.epoch, ordinal=self.earliest, places=self.read), shown


class RecordCommit(Command, frozen=True):
    """Write to the journal that a write is complete."""

    IN_JOURNAL = True

    ordinal: int
    signature: str
    path: str

    def records(self) -> tuple[JournalRecord, ...]:
        """The record that the write is committed."""
        return (JobCommitted(ordinal=self.ordinal, plan=self.signature, paths=(self.path,)),)


class ForgetWrites(Command, frozen=True):
    """Write to the journal that nothing is left of these writes at their paths.

    ``moved``: those whose files are elsewhere.
    """

    IN_JOURNAL = True

    ordinals: tuple[int, ...]
    moved: tuple[int, ...] = ()

    def records(self) -> tuple[JournalRecord, ...]:
        """One record for each write."""
        return tuple(WriteForgotten(ordinal=one, moved=one in self.moved) for one in self.ordinals)


class RecordLost(Command, frozen=True):
    """Write to the journal that it lacks some writes of earlier epochs to files, and why."""

    IN_JOURNAL = True

    def records(self) -> tuple[JournalRecord, ...]:
        """The record that some writes are lost."""
        return (lost_record(self.reason),)


class AnswerWrite(Command, frozen=True):
    """Answer the driver's question about a write or a read, once everything before this is durable.

    ``action``: go on ("run"), take the files that are there instead ("skip"), or end ("stop"). ``fenced``: go on only
    if the journal shows that no later epoch has begun. ``unrecorded``: the journal takes nothing any more; go on only
    if a later epoch can know that. ``saved``: the write whose files are there. ``check``: compare these files first.
    ``unfinished``: the writes that the driver must look at. ``pending``: whether the driver must ask about inputs.
    """

    IN_JOURNAL = True

    question: int
    action: Literal["run", "skip", "stop"] = "run"
    fenced: bool = False
    unrecorded: bool = False
    check: bool = False
    saved: SavedWrite | None = None
    unfinished: tuple[SavedWrite, ...] = ()
    pending: bool = False


class GiveUpHost(Command, frozen=True):
    """Tell the driver that the saved outputs on a host will not come back: nobody waits for them any more."""

    host: str


class ReportRecoveryLimit(Command, frozen=True):
    """Tell which finished work is not kept or not used again, for the log and the status: nothing is to be done.

    ``recording``: whether work that finishes from now on is kept for a next driver. ``about``: the one kind of work
    that is not kept, or the work of earlier epochs ("past"). Empty: all recorded work is meant.
    """

    recording: bool
    about: Unrecoverable | Literal["past", ""] = ""
