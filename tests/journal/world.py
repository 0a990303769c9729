"""Journals in a local directory, and records to put into them."""

from __future__ import annotations

import threading
from pathlib import Path

from yarnspec.core.journal.journalrecords import (
    ApplicationRegistered,
    Carried,
    EpochBegan,
    JobCommitted,
    JournalRecord,
    MapFinished,
    ShuffleDropped,
    ShuffleFacts,
    ShuffleNotReusable,
    ShuffleRegistered,
    UnknownRecord,
    WriteBegan,
)
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.stores import Store
from yarnspec.journal.writer import Journal, JournalOptions, Stopped
from yarnspec.yarn.files.local_files import LocalFiles

PATIENCE_S = 60.0
AT_ONCE = JournalOptions(flush_interval_s=0.0)
NEVER = JournalOptions(flush_interval_s=3600.0)

APPLICATION = ApplicationRegistered(
    application_id="application_1700000000000_0001",
    program_digest="p",
    arguments_digest="a",
    spark_version="4.3.0",
    python_version="3.11.7",
    yarnspec_version="0.1.0",
)


class Told:
    """Waits for a journal to say that it has stopped, which it says once."""

    def __init__(self) -> None:
        self._stopped: list[Stopped] = []
        self._said = threading.Event()

    def __call__(self, stopped: Stopped) -> None:
        self._stopped.append(stopped)
        self._said.set()

    def wait(self) -> Stopped:
        assert self._said.wait(PATIENCE_S)
        (stopped,) = self._stopped
        return stopped


def directory_in(path: Path, store: Store | None = None) -> JournalDirectory:
    return JournalDirectory(LocalFiles(), str(path / "journal"), store)


def began(epoch: int) -> EpochBegan:
    return EpochBegan(epoch=epoch, attempt=epoch, host=f"host-{epoch}", time_ms=1_700_000_000_000 + epoch)


def begin(directory: JournalDirectory, epoch: int, options: JournalOptions | None = None) -> Journal:
    return directory.begin(began(epoch), options=options)[0]


def registered(shuffle: int, signature: str = "s", maps: int = 100) -> ShuffleRegistered:
    return ShuffleRegistered(
        shuffle=shuffle, signature=signature, maps=maps, reduces=8, determinism="determinate", parents=(0,)
    )


def finished(shuffle: int, index: int, *, map_id: int | None = None, epoch: int = 1, blob: bytes = b"") -> MapFinished:
    return MapFinished(
        shuffle=shuffle,
        index=index,
        map_id=100 + index if map_id is None else map_id,
        stage=shuffle,
        executor_id=str(index % 4),
        host=f"host-{index % 3}",
        epoch=epoch,
        size_bytes=1_000 * index,
        blob=blob or bytes((index + each) % 256 for each in range(index % 40)),
    )


def story(count: int) -> list[JournalRecord]:
    """So many records of all types, as a job might have them."""
    records: list[JournalRecord] = [APPLICATION, registered(0), registered(1), WriteBegan(ordinal=0, plan="w")]
    number = 0
    while len(records) < count:
        number += 1
        shuffle = number % 7
        match number % 50:
            case 1:
                records.append(registered(shuffle, signature=f"s{number // 350}"))
            case 2:
                records.append(ShuffleFacts(shuffle=shuffle, blob=b"bounds" * (number % 5)))
            case 4:
                records.append(ShuffleDropped(shuffle=shuffle))
            case 5:
                records.append(Carried(kind="blocks", payload=bytes([number % 256])))
            case 6:
                records.append(JobCommitted(ordinal=number // 50, plan="p", paths=("hdfs://out",)))
            case 7:
                records.append(ShuffleNotReusable(shuffle=shuffle, why="indeterminate"))
            case 8:
                records.append(UnknownRecord(type=1_000, payload=b"\x80"))
            case _:
                records.append(finished(shuffle, number % 90))
    return records[:count]


def write(path: Path, records: list[JournalRecord], *, epoch: int = 1, close: bool = True) -> JournalDirectory:
    """A journal of one epoch with these records; without ``close`` its writer just stopped."""
    directory = directory_in(path)
    journal = begin(directory, epoch)
    for record in records[:-1]:
        journal.append(record)
    journal.append_durable(records[-1]).result(PATIENCE_S)
    assert journal.close(PATIENCE_S)
    if not close:
        (path / "journal" / f"epoch-{epoch}" / "sealed").unlink()
    return directory


def fold(records: list[JournalRecord]) -> list[JournalRecord]:
    """What records add up to."""
    recorded = Recorded()
    for record in records:
        recorded.apply(record)
    return list(recorded.live())
