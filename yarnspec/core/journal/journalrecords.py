"""What the journal of an application remembers: one record for each fact that the next driver needs.

An epoch is one run of the driver. *Summary* records are durable before what they tell of takes effect; *detail*
records are written in batches, and losing the last of them only costs repeated work. The core asks for them to be
written and reads them back; `yarnspec/journal` knows how they lie on disk, `docs/journal-format.md` tells it to others.
Fields may be added with a default; a name or a meaning never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec

Determinism = Literal["determinate", "unordered", "indeterminate"]

WriteMode = Literal["replace", "amend", "add", "create", "ignore", "save", "unknown"]
"""What a write does to what is at its path: all of it goes, a part of it does, none does, or nothing may be there.

"save" creates a directory, and all in it is its own, though the names of the files do not tell.
"""

WriteState = Literal["begun", "committing", "committed"]


class JournalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One fact. A subclass is a type of record: its number, never given out twice, and its fields.

    `make docs` renders its line of docs/journal-format.md from its docstring.
    """

    NUMBER: ClassVar[int] = 0


class EpochBegan(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The first record of every epoch: who writes it, since when, and when the one before had ended. Summary.

    ``previous_ended_ms``: when the epoch before had ended, its driver or, by the ResourceManager's clock, its attempt;
    0: not known. Times are since 1970, by the clocks of the hosts that saw it.
    """

    NUMBER = 1

    epoch: int
    attempt: int
    host: str
    time_ms: int
    previous_ended_ms: int = 0


class ApplicationRegistered(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What must be the same for anything to be used again. Summary."""

    NUMBER = 2

    application_id: str
    program_digest: str
    arguments_digest: str
    spark_version: str
    python_version: str
    yarnspec_version: str


class EpochSealed(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """An earlier epoch was shut: of its file only the first ``size_bytes`` count. Summary."""

    NUMBER = 3

    sealed: int
    by: int
    size_bytes: int


class SnapshotBegan(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What follows, to the end of the snapshot, is all that still holds of the epochs before. Summary."""

    NUMBER = 4

    through_epoch: int


class SnapshotEnded(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The snapshot of so many records is complete: earlier epochs need not be read any more. Summary."""

    NUMBER = 5

    records: int


class ShuffleRegistered(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """A shuffle whose map outputs are recorded from now on. ``parents`` are shuffle ids. Summary."""

    NUMBER = 6

    shuffle: int
    signature: str
    maps: int
    reduces: int
    determinism: Determinism
    description: str = ""
    parents: tuple[int, ...] = ()


class ShuffleNotReusable(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """Nothing of this shuffle may be used again, whatever was and will be recorded of it. Summary."""

    NUMBER = 7

    shuffle: int
    why: str


class WriteBegan(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The write of this ordinal is about to change these paths. Summary.

    ``plan`` is the signature of what is written, empty when that is not known. ``job`` is in the names of its files.
    ``existed``: there was something at its path. ``instead``: it took the place of others there, which are forgotten.
    ``defers``: what was there stays until it is about to be committed. A later record of the same ordinal takes the
    place of this one and of its WriteCommitting. All files in the directory of a "save" are its own.
    """

    NUMBER = 8

    ordinal: int
    plan: str
    paths: tuple[str, ...] = ()
    mode: WriteMode = "amend"
    job: str = ""
    epoch: int = 0
    existed: bool = True
    instead: bool = False
    defers: bool = False


class WriteCommitting(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The files of this write are about to be shown: so many, with this digest of their names and lengths (of an RDD's
    that is saved, on HDFS and local disks, of their modification times, too). Summary.

    ``digest`` is empty where it is not known. ``made``: the shuffles that were made for it alone, as a map from their
    signatures without the number at the end to how many of each; ``done_before``: how many writes to its path are known
    to have been done before.
    """

    NUMBER = 10

    ordinal: int
    files: int
    digest: str
    made: dict[str, int] = {}
    done_before: int = 0


class InputsRead(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What the program of this epoch read before the write of this ordinal, and later ones, were committed. Summary.

    Each place is there once in an epoch: a directory for all below it, as ``…/*`` for the files in it, or a file.
    ``ordinal``: the smallest of the writes that were under way then; it holds for that one and all later ones.
    """

    NUMBER = 12

    epoch: int
    ordinal: int
    places: tuple[str, ...]


class WriteForgotten(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """Nothing is left of what the write of this ordinal did. Summary.

    ``moved``: nothing at its path; it was committed or about to be, and the program may have given its files another
    name.
    """

    NUMBER = 11

    ordinal: int
    moved: bool = False


class JobCommitted(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The output of the write of this ordinal is complete. Summary."""

    NUMBER = 9

    ordinal: int
    plan: str
    paths: tuple[str, ...] = ()


class MapFinished(JournalRecord, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One map output: where its files are, and in ``blob`` what the driver's JVM needs to register it again. Detail.

    ``epoch`` is the one in which its files were written; ``stage`` is -1 where it is not known. A later record for the
    same index replaces it.
    """

    NUMBER = 32

    shuffle: int
    index: int
    map_id: int
    stage: int
    executor_id: str
    host: str
    epoch: int
    size_bytes: int
    blob: bytes


class ShuffleFacts(JournalRecord, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the driver's JVM needs to know of a shuffle as a whole, such as range bounds. Detail."""

    NUMBER = 34

    shuffle: int
    blob: bytes


class ShuffleDropped(JournalRecord, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Spark has forgotten this shuffle, and so may we. Detail."""

    NUMBER = 35

    shuffle: int


class Carried(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """State that every epoch hands to the next, such as the blocklist; the newest of a kind holds. Detail."""

    NUMBER = 36

    kind: str
    payload: bytes


class UnknownRecord(JournalRecord, frozen=True, kw_only=True):
    """A record of a type that this version does not know: kept, and told, but without effect."""

    type: int
    payload: bytes


TYPES: Mapping[int, type[JournalRecord]] = {
    kind.NUMBER: kind for kind in sorted(JournalRecord.__subclasses__(), key=lambda one: one.NUMBER) if kind.NUMBER
}
"""Every type of record by its number."""
