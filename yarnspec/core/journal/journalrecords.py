"""The records of an application's journal: one for each fact that the next driver needs.

An epoch is one run of the driver. A *summary* record is durable before the fact that it tells takes effect. *Detail*
records are written in batches, and losing the last of them only costs repeated work. The core asks for records to be
written and reads them back. `yarnspec/journal` knows their form on disk, and `docs/journal-format.md` describes it.
Fields may be added with a default; a name or a meaning never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec

Determinism = Literal["determinate", "unordered", "indeterminate"]

WriteMode = Literal["replace", "amend", "add", "create", "ignore", "save", "unknown"]
"""How a write treats the files at its path: it replaces all of them, a part or none, or the path must be empty.

"save" creates a directory. All files in it belong to the write, though their names do not tell.
"""

WriteState = Literal["begun", "committing", "committed"]


class JournalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One fact. A subclass is a type of record: its number, never given out twice, and its fields.

    `make docs` renders its line of docs/journal-format.md from its docstring.
    """

    NUMBER: ClassVar[int] = 0


class EpochBegan(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The first record of every epoch: who writes it, since when, and when the epoch before had ended. Summary.

    ``previous_ended_ms``: when the driver of the epoch before ended, or its attempt by the ResourceManager's clock; 0:
    not known. Times are since 1970, by the clocks of the hosts that saw the end.
    """

    NUMBER = 1

    epoch: int
    attempt: int
    host: str
    time_ms: int
    previous_ended_ms: int = 0


class ApplicationRegistered(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The facts that must be the same for anything to be used again. Summary."""

    NUMBER = 2

    application_id: str
    program_digest: str
    arguments_digest: str
    spark_version: str
    python_version: str
    yarnspec_version: str


class EpochSealed(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """An earlier epoch was sealed: only the first ``size_bytes`` of its file count. Summary."""

    NUMBER = 3

    sealed: int
    by: int
    size_bytes: int


class SnapshotBegan(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """A snapshot begins: to its end follows everything that still holds of the epochs before. Summary."""

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
    """A later epoch may use nothing of this shuffle, even if outputs of it were or will be recorded. Summary."""

    NUMBER = 7

    shuffle: int
    why: str


class WriteBegan(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The write of this ordinal is about to change these paths. Summary.

    ``plan``: the signature of the data written; empty when not known. ``job`` is in the names of its files.
    ``existed``: there was something at its path. ``instead``: it took the place of other writes there, which are
    forgotten. ``defers``: the files that were there stay until the write is about to be committed. A later record of
    the same ordinal takes the place of this one and of its WriteCommitting. All files in the directory of a "save"
    belong to it.
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
    """The files of this write are about to be shown: their number, and a digest of names and lengths. Summary.

    For an RDD that is saved on HDFS or a local disk, the digest is also of their modification times. An empty digest is
    one that is not known. ``made`` counts the shuffles that were made for this write alone, by their signatures without
    the number at the end. ``done_before``: how many writes to its path are known to have been done before.
    """

    NUMBER = 10

    ordinal: int
    files: int
    digest: str
    made: dict[str, int] = {}
    done_before: int = 0


class InputsRead(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The program of this epoch read these places before the write of this ordinal was committed. Summary.

    The same holds for all later writes: ``ordinal`` is the smallest of the writes that were under way then. Each place
    is there once in an epoch: a directory with all below it, ``…/*`` for the files in a directory, or a file.
    """

    NUMBER = 12

    epoch: int
    ordinal: int
    places: tuple[str, ...]


class WriteForgotten(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """The files of the write with this ordinal are gone. Summary.

    ``moved``: nothing is left at its path. The write was committed or about to be, and the program may have given its
    files another name.
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
    """One map output: where its files are, and in ``blob`` the data to register it again in the driver. Detail.

    ``epoch``: the epoch in which its files were written. ``stage``: -1 when not known. A later record for the same
    index replaces this one.
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
    """Facts about a shuffle as a whole for the driver's JVM, such as range bounds. Detail."""

    NUMBER = 34

    shuffle: int
    blob: bytes


class ShuffleDropped(JournalRecord, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Spark has forgotten this shuffle. Nothing of it is needed any more. Detail."""

    NUMBER = 35

    shuffle: int


class Carried(JournalRecord, frozen=True, kw_only=True, omit_defaults=True):
    """State that every epoch hands to the next, such as the blocklist. The newest of a kind holds. Detail."""

    NUMBER = 36

    kind: str
    payload: bytes


class UnknownRecord(JournalRecord, frozen=True, kw_only=True):
    """A record of a type that this version does not know: kept and told, but without effect."""

    type: int
    payload: bytes


TYPES: Mapping[int, type[JournalRecord]] = {
    kind.NUMBER: kind for kind in sorted(JournalRecord.__subclasses__(), key=lambda one: one.NUMBER) if kind.NUMBER
}
"""Every type of record by its number."""
