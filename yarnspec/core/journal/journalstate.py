"""The state that the records of a journal add up to, and the shortest journal with the same state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from yarnspec.core.journal.journalrecords import (
    ApplicationRegistered,
    Carried,
    EpochBegan,
    InputsRead,
    JobCommitted,
    JournalRecord,
    MapFinished,
    ShuffleDropped,
    ShuffleFacts,
    ShuffleNotReusable,
    ShuffleRegistered,
    SnapshotBegan,
    SnapshotEnded,
    UnknownRecord,
    WriteBegan,
    WriteCommitting,
    WriteForgotten,
)
from yarnspec.core.journal.outputindex import InMemory, OutputIndex, OutputRecords


class RecordedShuffle:
    """One shuffle: what it is, and its map outputs by index."""

    def __init__(self, registered: ShuffleRegistered, records: OutputRecords) -> None:
        self.registered = registered
        self.facts: bytes | None = None
        self.not_reusable = ""
        self.outputs = OutputIndex(registered.maps, records)


class Recorded:
    """A fold over records, in the order in which they were written.

    A record about a shuffle that is not known (its registration precedes it, or it was dropped) does nothing. Nor does
    a snapshot before it is complete; then it stands for everything before it. ``records`` keeps those of map outputs;
    without it they are in memory.
    """

    def __init__(self, records: OutputRecords | None = None) -> None:
        self._records = InMemory() if records is None else records
        self.application: ApplicationRegistered | None = None
        self.epochs: dict[int, EpochBegan] = {}
        self.shuffles: dict[int, RecordedShuffle] = {}
        self.writes: dict[int, WriteBegan] = {}
        self.committing: dict[int, WriteCommitting] = {}
        self.commits: dict[int, JobCommitted] = {}
        self.moved: dict[int, tuple[WriteBegan, WriteCommitting]] = {}
        self.reads: list[InputsRead] = []
        self.carried: dict[str, bytes] = {}
        self.unknown: list[UnknownRecord] = []
        self._snapshot: Recorded | None = None
        self._snapshot_records = 0

    def apply(self, record: JournalRecord) -> None:
        """Take one record in."""
        if self._snapshot is None:
            applied = _APPLIED.get(type(record))
            if applied is not None:
                applied(self, record)
        elif isinstance(record, SnapshotEnded):
            self._end_snapshot(record, self._snapshot)
        else:
            self._snapshot.apply(record)
            self._snapshot_records += 1

    def end_of_epoch(self) -> None:
        """The records of an epoch end here: a snapshot that is not complete by now never will be."""
        self._snapshot = None

    def live(self) -> Iterator[JournalRecord]:
        """The records that, applied to nothing, give this state."""
        yield from self.epochs.values()
        if self.application is not None:
            yield self.application
        yield from (Carried(kind=kind, payload=payload) for kind, payload in self.carried.items())
        for shuffle, known in self.shuffles.items():
            yield known.registered
            if known.not_reusable:
                yield ShuffleNotReusable(shuffle=shuffle, why=known.not_reusable)
            if known.facts is not None:
                yield ShuffleFacts(shuffle=shuffle, blob=known.facts)
            yield from known.outputs.values()
        for ordinal, known_of in self.moved.items():
            yield from known_of
            yield WriteForgotten(ordinal=ordinal, moved=True)
        yield from self.writes.values()
        yield from self.committing.values()
        yield from self.commits.values()
        yield from self.reads
        yield from self.unknown

    def _end_snapshot(self, ended: SnapshotEnded, snapshot: Recorded) -> None:
        self._snapshot = None
        if ended.records != self._snapshot_records:
            return  # not the snapshot that was begun
        self.epochs = {**snapshot.epochs, **self.epochs}
        self.application = snapshot.application
        self.shuffles = snapshot.shuffles
        self.writes = snapshot.writes
        self.committing = snapshot.committing
        self.commits = snapshot.commits
        self.moved = snapshot.moved
        self.reads = snapshot.reads
        self.carried = snapshot.carried
        self.unknown = snapshot.unknown

    def _began(self, record: EpochBegan) -> None:
        self.epochs[record.epoch] = record

    def _application(self, record: ApplicationRegistered) -> None:
        self.application = record

    def _snapshot_began(self, _record: SnapshotBegan) -> None:
        self._snapshot, self._snapshot_records = Recorded(self._records), 0

    def _registered(self, record: ShuffleRegistered) -> None:
        known = self.shuffles.get(record.shuffle)
        if known is None or _identity(known.registered) != _identity(record):
            # Another shuffle has this id now: what was recorded of the former is of no use.
            self.shuffles[record.shuffle] = RecordedShuffle(record, self._records)
        else:
            known.registered = record

    def _not_reusable(self, record: ShuffleNotReusable) -> None:
        known = self.shuffles.get(record.shuffle)
        if known is not None:
            known.not_reusable = record.why
            known.facts = None
            known.outputs.clear()

    def _finished(self, record: MapFinished) -> None:
        known = self.shuffles.get(record.shuffle)
        if known is not None and not known.not_reusable:
            known.outputs.put(record)

    def _facts(self, record: ShuffleFacts) -> None:
        known = self.shuffles.get(record.shuffle)
        if known is not None and not known.not_reusable:
            known.facts = record.blob

    def _dropped(self, record: ShuffleDropped) -> None:
        self.shuffles.pop(record.shuffle, None)

    def _write_began(self, record: WriteBegan) -> None:
        self._forget_write(record.ordinal)  # the number was given anew
        self.writes[record.ordinal] = record

    def _committed(self, record: JobCommitted) -> None:
        self.commits[record.ordinal] = record

    def _committing(self, record: WriteCommitting) -> None:
        self.committing[record.ordinal] = record

    def _forgotten(self, record: WriteForgotten) -> None:
        began, committing = self.writes.get(record.ordinal), self.committing.get(record.ordinal)
        if began is None:
            return  # forgotten before
        self._forget_write(record.ordinal)
        if record.moved and committing is not None:
            self.moved[record.ordinal] = began, committing

    def _forget_write(self, ordinal: int) -> None:
        for known in (self.writes, self.committing, self.commits, self.moved):
            known.pop(ordinal, None)

    def _inputs_read(self, record: InputsRead) -> None:
        self.reads.append(record)

    def _carried(self, record: Carried) -> None:
        self.carried[record.kind] = record.payload

    def _unknown(self, record: UnknownRecord) -> None:
        self.unknown.append(record)


def _identity(registered: ShuffleRegistered) -> tuple[object, ...]:
    return (registered.signature, registered.maps, registered.reduces, registered.determinism)


_APPLIED: dict[type, Callable[[Recorded, Any], None]] = {
    EpochBegan: Recorded._began,
    ApplicationRegistered: Recorded._application,
    SnapshotBegan: Recorded._snapshot_began,
    ShuffleRegistered: Recorded._registered,
    ShuffleNotReusable: Recorded._not_reusable,
    MapFinished: Recorded._finished,
    ShuffleFacts: Recorded._facts,
    ShuffleDropped: Recorded._dropped,
    WriteBegan: Recorded._write_began,
    WriteCommitting: Recorded._committing,
    WriteForgotten: Recorded._forgotten,
    InputsRead: Recorded._inputs_read,
    JobCommitted: Recorded._committed,
    Carried: Recorded._carried,
    UnknownRecord: Recorded._unknown,
}
