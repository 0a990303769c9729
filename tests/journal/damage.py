"""One journal of a thousand records, cut and flipped anywhere: what a reader may make of it.

``make test`` tries some places drawn from a seed, ``python -m integration.soak.journal`` all of them.
"""

from __future__ import annotations

import bisect
import random
from functools import cache

from tests.journal.memory import MemoryFiles
from tests.journal.world import PATIENCE_S, began, story
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.errors import JournalDamaged
from yarnspec.journal.records import HEAD, JournalEntry

COUNT = 1_000
LOG = "/journal/epoch-1/log"
SEAL = "/journal/epoch-1/sealed"


@cache
def whole() -> tuple[dict[str, bytes], list[JournalEntry]]:
    """The files of a journal that was ended in order, and its records."""
    files = MemoryFiles()
    directory = JournalDirectory(files, "/journal")
    journal, _ = directory.begin(began(1))
    for record in story(COUNT - 1):
        assert journal.append(record)
    assert journal.close(PATIENCE_S)
    entries = list(directory.entries(1))
    assert len(entries) == COUNT
    return files.contents, entries


def opened(log: bytes, seal: bytes | None) -> JournalDirectory:
    files = MemoryFiles()
    files.make_directories("/journal/epoch-1")
    files.contents[LOG] = log
    if seal is not None:
        files.contents[SEAL] = seal
    return JournalDirectory(files, "/journal")


def read(directory: JournalDirectory) -> tuple[list[JournalEntry], JournalDamaged | None]:
    """What a reader gets before the end, or before the damage."""
    got: list[JournalEntry] = []
    try:
        for entry in directory.entries(1):
            got.append(entry)
    except JournalDamaged as damage:
        return got, damage
    return got, None


def check_cut(end: int) -> None:
    """A log that ends here, whose writer did not seal it, gives the records that are whole and no error."""
    contents, entries = whole()
    got, damage = read(opened(contents[LOG][:end], None))
    assert damage is None, f"cut at {end}: {damage}"
    expected = bisect.bisect_right(entries, end, key=lambda entry: entry.offset + HEAD.size + len(entry.payload))
    assert got == entries[:expected], f"cut at {end}: {len(got)} records, not {expected}"


def check_cut_of_sealed(end: int) -> None:
    """A sealed log that ends before its seal says is damaged, there."""
    contents, entries = whole()
    got, damage = read(opened(contents[LOG][:end], contents[SEAL]))
    assert got == entries[: len(got)]
    assert damage is not None, f"cut at {end} was not noticed"
    assert damage.path == LOG
    assert damage.offset == end


def check_flip(bit: int, *, sealed: bool) -> None:
    """A flipped bit gives the records before it, as they were, and an error that names the record it is in."""
    contents, entries = whole()
    log = bytearray(contents[LOG])
    log[bit // 8] ^= 1 << bit % 8
    got, damage = read(opened(bytes(log), contents[SEAL] if sealed else None))
    which = bisect.bisect_right(entries, bit // 8, key=lambda entry: entry.offset)
    place, before = (entries[which - 1].offset, entries[: which - 1]) if which else (0, [])
    assert damage is not None, f"bit {bit} was not noticed"
    assert got == before, f"bit {bit}: {len(got)} records, not {len(before)}"
    assert (damage.path, damage.offset) == (LOG, place), f"bit {bit}: {damage}"


def check_flip_of_seal(bit: int) -> None:
    """A seal with a flipped bit is refused."""
    contents, _ = whole()
    seal = bytearray(contents[SEAL])
    seal[bit // 8] ^= 1 << bit % 8
    got, damage = read(opened(contents[LOG], bytes(seal)))
    assert not got
    assert damage is not None
    assert damage.path == SEAL


def sizes() -> tuple[int, int]:
    """The bytes of the log and of the seal."""
    contents, _ = whole()
    return len(contents[LOG]), len(contents[SEAL])


def drawn(seed: int, count: int, limit: int) -> list[int]:
    """Places drawn from a seed."""
    return random.Random(seed).sample(range(limit), min(count, limit))  # noqa: S311 - not for secrets
