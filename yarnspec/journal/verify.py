"""A check of every byte of a journal."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import NamedTuple

from yarnspec.journal.errors import JournalDamaged
from yarnspec.journal.layout import Layout, Seal


class EpochReport(NamedTuple):
    """The findings of ``verify`` about one epoch.

    ``ignored_bytes`` follow the part that counts. ``ignored_records`` are the whole records in them, which a writer
    added after the seal. ``unread_bytes`` are on disk but cannot be read before the file is closed.
    """

    epoch: int
    sealed_by: int | None
    records: int
    size_bytes: int
    types: dict[int, int]
    ignored_records: int = 0
    ignored_bytes: int = 0
    unread_bytes: int = 0
    stopped: str = ""
    damage: JournalDamaged | None = None


def verify_epoch(layout: Layout, epoch: int) -> EpochReport:
    """Read an epoch from its first byte to its last."""
    sizes = layout.sizes(epoch)
    on_disk = layout.log_bytes(sizes)
    types: Counter[int] = Counter()
    seal, scan, damage = None, layout.scan(epoch, None), None
    try:
        seal = layout.seal_of(epoch)
        scan = layout.scan(epoch, seal)
        for entry in scan:
            layout.record(entry)
            types[entry.type] += 1
    except JournalDamaged as found:
        damage = found
    rest = max(0, on_disk - scan.size_bytes - scan.cut_bytes) if damage is None else 0
    return EpochReport(
        epoch=epoch,
        sealed_by=None if seal is None else seal.by,
        records=sum(types.values()),
        size_bytes=scan.size_bytes,
        types=dict(sorted(types.items())),
        ignored_records=_ignored_records(layout, epoch, seal) if seal is not None and rest else 0,
        ignored_bytes=rest if seal is not None else scan.cut_bytes,
        unread_bytes=rest if seal is None else 0,
        stopped=layout.why_stopped(epoch),
        damage=damage,
    )


def _ignored_records(layout: Layout, epoch: int, seal: Seal) -> int:
    """How many whole records a writer added after the seal."""
    found = 0
    with contextlib.suppress(JournalDamaged):
        for entry in layout.scan(epoch, None):
            found += entry.offset >= seal.size_bytes
    return found
