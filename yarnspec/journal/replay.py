"""Adds up the epochs of a journal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from yarnspec.core.journal.carriedtexts import lost_record, progress_of, progress_record
from yarnspec.core.journal.journalrecords import EpochBegan, EpochSealed, SnapshotBegan, SnapshotEnded
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.journal.errors import JournalDamaged
from yarnspec.journal.layout import Layout
from yarnspec.journal.records import JournalEntry
from yarnspec.journal.spool import Spool


class Past(NamedTuple):
    """The work that earlier epochs recorded. With a ``problem`` none of it may be used again: ``recorded`` is empty.

    An epoch that could not record to its end is no problem: it left what a driver leaves that dies at that moment. Only
    the files that the program wrote afterwards are not known, as ``recorded`` says (``lost_of``).
    """

    recorded: Recorded
    problem: str = ""


def replay(layout: Layout, epochs: list[int], scratch: Path | None = None) -> Past:
    """Read these epochs, first to last, from the newest snapshot on.

    ``scratch`` is a local directory with room for the map outputs (None: that for temporary files), which are read from
    there later. OSError when there is none.
    """
    recorded = Recorded(Spool(scratch))
    apply, record_of = recorded.apply, layout.record
    for epoch in epochs[_first_to_read(layout, epochs) :]:
        try:
            for entry in layout.scan(epoch, layout.seal_of(epoch)):
                apply(record_of(entry))
        except JournalDamaged as damage:
            return Past(Recorded(), damage.message)
        recorded.end_of_epoch()
        if why := layout.why_stopped(epoch):
            apply(lost_record(f"the recording of epoch {epoch} stopped: {why}"))
            # Nobody knows which work it finished after that.
            apply(progress_record(progress_of(recorded)._replace(epoch=epoch)))
    return Past(recorded)


def _first_to_read(layout: Layout, epochs: list[int]) -> int:
    """The place of the newest epoch that begins with a whole snapshot; of the first one when there is none."""
    for place in range(len(epochs) - 1, 0, -1):
        with contextlib.suppress(JournalDamaged):
            if _begins_with_snapshot(layout, iter(layout.scan(epochs[place], layout.seal_of(epochs[place])))):
                return place
    return 0


def _begins_with_snapshot(layout: Layout, entries: Iterator[JournalEntry]) -> bool:
    for entry in entries:
        if entry.type == SnapshotBegan.NUMBER:
            break
        if entry.type not in {EpochBegan.NUMBER, EpochSealed.NUMBER}:
            return False
    for count, entry in enumerate(entries):
        if entry.type == SnapshotEnded.NUMBER:
            return layout.record(entry) == SnapshotEnded(records=count)
    return False
