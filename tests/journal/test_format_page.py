"""`docs/journal-format.md` is what a stranger writes a reader by: it names the records, and what they add up to."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.journal import stranger
from tests.journal.world import PATIENCE_S, begin, directory_in, finished, registered, story
from yarnspec.core.journal.journalrecords import (
    TYPES,
    InputsRead,
    JobCommitted,
    JournalRecord,
    SnapshotBegan,
    SnapshotEnded,
    UnknownRecord,
    WriteBegan,
    WriteCommitting,
    WriteForgotten,
)
from yarnspec.journal.directory import JournalDirectory


def committing(ordinal: int) -> WriteCommitting:
    return WriteCommitting(ordinal=ordinal, files=2, digest=f"d{ordinal}")


WRITES: tuple[JournalRecord, ...] = (
    *(WriteBegan(ordinal=ordinal, plan=f"p{ordinal}") for ordinal in range(20, 26)),
    *(committing(ordinal) for ordinal in range(20, 24)),
    JobCommitted(ordinal=20, plan="p20"),
    JobCommitted(ordinal=21, plan="p21"),
    WriteBegan(ordinal=21, plan="anew"),
    WriteForgotten(ordinal=22, moved=True),
    WriteForgotten(ordinal=23),
    WriteForgotten(ordinal=24, moved=True),  # nothing of it was shown
    InputsRead(epoch=1, ordinal=20, places=("hdfs://n/in/*",)),
    InputsRead(epoch=1, ordinal=20, places=("hdfs://n/more",)),
    registered(8),
    finished(8, 3),
    finished(8, 100),  # it has 0 to 99
    msgspec.structs.replace(finished(8, 99), stage=-1),
    msgspec.structs.replace(registered(8), description="the same, made again", parents=()),
)


def what_holds(journal: Path) -> list[JournalRecord]:
    """By the reader that knows the page alone."""
    return _sorted(msgspec.convert(fields, TYPES[kind]) for kind, fields in stranger.adds_up(journal))


def replayed(directory: JournalDirectory) -> list[JournalRecord]:
    return _sorted(one for one in directory.replay().recorded.live() if not isinstance(one, UnknownRecord))


def _sorted(records: Iterable[JournalRecord]) -> list[JournalRecord]:
    return sorted(records, key=repr)


def test_who_reads_by_the_page_comes_to_what_the_next_driver_is_told(tmp_path: Path) -> None:
    directory, journal = directory_in(tmp_path), tmp_path / "journal"
    unfinished = (SnapshotBegan(through_epoch=1), registered(9))
    wrong = (SnapshotBegan(through_epoch=1), registered(10), SnapshotEnded(records=2))
    for epoch, records in ((1, (*story(400), *WRITES)), (2, (*wrong, *story(60), *unfinished)), (3, story(30))):
        writer = begin(directory, epoch)
        for record in records:
            writer.append(record)
        assert writer.close(PATIENCE_S)
        expected = replayed(directory)
        assert len(expected) > 30
        assert what_holds(journal) == expected
    # The newest snapshot is enough.
    shutil.rmtree(journal / "epoch-1")
    assert what_holds(journal) == expected
