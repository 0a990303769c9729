"""An application's journal as a directory: epochs that begin, take over from those before, and are read."""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from yarnspec.core.journalrecords import EpochBegan, EpochSealed, JournalRecord, SnapshotBegan, SnapshotEnded
from yarnspec.core.journalstate import Recorded
from yarnspec.journal.errors import EpochTaken, Fenced, JournalDamaged
from yarnspec.journal.records import MAGIC, NUMBERS, Entry, decode, encode, payload_of, type_name
from yarnspec.journal.scan import LogBytes, Scan
from yarnspec.journal.stores import LOG_FILE, AppendStore, JournalFiles, LogWriter, Store, log_files
from yarnspec.journal.writer import Journal, JournalOptions, Stopped, Written

JOURNAL_DIRECTORY = "journal"
"""The name of this directory in that of the application's history."""
SEALED_FILE = "sealed"
STOPPED_FILE = "stopped"
_EPOCH = re.compile(r"epoch-([1-9]\d{0,8})")
_PIECE_BYTES = 1024 * 1024


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """The file that ends an epoch for good: who sealed it, and how much of it counts."""

    schema: int = 1
    epoch: int
    by: int
    size_bytes: int
    records: int
    time_ms: int


class Past(NamedTuple):
    """What earlier epochs left. With a ``problem`` nothing of it may be used again, and ``recorded`` is empty.

    ``before_problem`` is what could be read nevertheless, to tell what may have been written; what it says is true, but
    not all that was. ``cut_bytes`` were left by writers that died; ``ignored_bytes`` were added after their seal.
    """

    recorded: Recorded
    problem: str = ""
    before_problem: Recorded | None = None
    cut_bytes: int = 0
    ignored_bytes: int = 0


class EpochReport(NamedTuple):
    """What ``verify`` found of one epoch. ``unread_bytes`` are on disk but cannot be read before its file is closed."""

    epoch: int
    sealed_by: int | None
    records: int
    size_bytes: int
    types: dict[int, int]
    cut_bytes: int = 0
    ignored_records: int = 0
    ignored_bytes: int = 0
    unread_bytes: int = 0
    stopped: str = ""
    damage: JournalDamaged | None = None


class JournalDirectory:
    """The journal of one application, for the one who writes the next epoch and for those who read."""

    def __init__(self, files: JournalFiles, path: str, store: Store | None = None) -> None:
        self._files = files
        self._path = path.rstrip("/")
        self._store = store or AppendStore()

    @property
    def path(self) -> str:
        """Where it is."""
        return self._path

    def epochs(self) -> list[int]:
        """Those that have begun, first to last."""
        try:
            entries = self._files.list(self._path)
        except FileNotFoundError:
            return []
        return sorted(int(found[1]) for entry in entries if (found := _EPOCH.fullmatch(entry.name)))

    def begin(
        self,
        began: EpochBegan,
        *,
        options: JournalOptions | None = None,
        on_stopped: Callable[[Stopped], None] = lambda _: None,
    ) -> tuple[Journal, Past]:
        """Begin an epoch: shut out the writers of the earlier ones, and take over what they left.

        Takes as long as the file system needs for it, on HDFS some seconds when an earlier writer did not close its
        file. Raises EpochTaken, Fenced, and what the file system raises; nothing is recorded in this epoch then.
        """
        epoch = began.epoch
        self.check(epoch)
        self._files.make_directories(self._directory(epoch))
        try:
            log = self._store.create(self._files, self._directory(epoch))
        except FileExistsError as error:
            raise EpochTaken(f"epoch {epoch} of the journal {self._path} has begun already") from error
        try:
            # Of two epochs that begin at the same time one sees the other here: each first made its directory.
            self.check(epoch)
            earlier = [each for each in self.epochs() if each < epoch]
            sealed = [self._seal_former(each, epoch) for each in earlier]
            past = self._replay(earlier)
            seals = (EpochSealed(sealed=each.epoch, by=epoch, size_bytes=each.size_bytes)
                     for each in sealed if each.by == epoch)  # fmt: skip
            written = _write(log, epoch, [began, *seals, *_snapshot(past.recorded, earlier)])
            self.check(epoch)
        except BaseException:
            with contextlib.suppress(Exception):
                log.close()
            raise
        hold = _Hold(self, epoch)
        return Journal(log, epoch, written, hold=hold, options=options or JournalOptions(), on_stopped=on_stopped), past

    def replay(self) -> Past:
        """What all epochs add up to; nothing is changed."""
        return self._replay(self.epochs())

    def entries(self, epoch: int) -> Iterator[Entry]:
        """The records of one epoch that count; JournalDamaged where they are not what was written."""
        return iter(self._scan(epoch, self.seal_of(epoch)))

    def verify(self) -> list[EpochReport]:
        """Check every byte of every epoch."""
        return [self._report(epoch) for epoch in self.epochs()]

    def close_for_dead_writers(self) -> None:
        """Make all of an application's journal readable after its end, when its last writer died.

        Never to be called while it may still write: that shuts it out.
        """
        for epoch in self.epochs():
            if self.seal_of(epoch) is None:
                self._recover(epoch)

    def check(self, epoch: int) -> None:
        """Fenced when a later epoch has begun."""
        last = max(self.epochs(), default=0)
        if last > epoch:
            raise Fenced(f"epoch {epoch} of the application is over: epoch {last} has begun")

    def seal_of(self, epoch: int) -> Seal | None:
        """How much of an epoch counts; None while it is not sealed."""
        path = f"{self._directory(epoch)}/{SEALED_FILE}"
        try:
            return msgspec.json.decode(self._files.read(path), type=Seal)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise JournalDamaged(path, 0, f"this is no seal: {error}") from error

    def seal(self, epoch: int, by: int, written: Written) -> Seal:
        """Seal an epoch, unless another has done so; returns the seal that holds."""
        seal = Seal(
            epoch=epoch, by=by, size_bytes=written.size_bytes, records=written.records, time_ms=time.time_ns() // 10**6
        )
        path = f"{self._directory(epoch)}/{SEALED_FILE}"
        beside = f"{self._directory(epoch)}/.{SEALED_FILE}.{uuid.uuid4().hex}"
        self._files.write(beside, msgspec.json.encode(seal) + b"\n")
        try:
            self._files.rename(beside, path)
        except FileExistsError:
            self._files.delete(beside)
            return self.seal_of(epoch) or seal
        return seal

    def say_stopped(self, epoch: int, why: str) -> None:
        """Leave word that the records of an epoch are not all."""
        self._files.write(f"{self._directory(epoch)}/{STOPPED_FILE}", why.encode() + b"\n")

    def _directory(self, epoch: int) -> str:
        return f"{self._path}/epoch-{epoch}"

    def _sizes(self, epoch: int) -> dict[str, int]:
        try:
            return {entry.name: entry.size_bytes for entry in self._files.list(self._directory(epoch))}
        except FileNotFoundError:
            return {}

    def _log_bytes(self, sizes: dict[str, int]) -> int:
        return sum(sizes[name] for name in log_files(list(sizes)))

    def _scan(self, epoch: int, seal: Seal | None) -> Scan:
        log = LogBytes(self._files, self._directory(epoch), list(self._sizes(epoch)))
        return Scan(log, epoch, None if seal is None else seal.size_bytes)

    def _recover(self, epoch: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files.recover_log(f"{self._directory(epoch)}/{LOG_FILE}")

    def _seal_former(self, epoch: int, by: int) -> Seal:
        """Its writer cannot write any more, or nothing that it still writes counts."""
        known = self.seal_of(epoch)
        if known is not None:
            return known
        self._recover(epoch)
        scan = self._scan(epoch, None)
        try:
            for _ in scan:
                pass
            size_bytes = scan.size_bytes
        except JournalDamaged:
            size_bytes = self._log_bytes(self._sizes(epoch))  # all of it, so that every reader meets the damage
        return self.seal(epoch, by, Written(scan.records, size_bytes))

    def _replay(self, epochs: list[int]) -> Past:
        recorded, problem = Recorded(), ""
        cut_bytes = ignored_bytes = 0
        for epoch in epochs[self._first_to_read(epochs) :]:
            sizes = self._sizes(epoch)
            try:
                seal = self.seal_of(epoch)
                scan = self._scan(epoch, seal)
                for entry in scan:
                    recorded.apply(self._record(entry))
            except JournalDamaged as damage:
                return Past(Recorded(), damage.message, recorded, cut_bytes, ignored_bytes)
            recorded.end_of_epoch()
            cut_bytes += scan.cut_bytes
            ignored_bytes += 0 if seal is None else self._log_bytes(sizes) - seal.size_bytes
            if STOPPED_FILE in sizes:
                problem = problem or f"the recording of epoch {epoch} stopped: {self._why_stopped(epoch)}"
        if problem:
            return Past(Recorded(), problem, recorded, cut_bytes, ignored_bytes)
        return Past(recorded, cut_bytes=cut_bytes, ignored_bytes=ignored_bytes)

    def _first_to_read(self, epochs: list[int]) -> int:
        """The place of the newest epoch that begins with a whole snapshot; of the first one when there is none."""
        for place in range(len(epochs) - 1, 0, -1):
            with contextlib.suppress(JournalDamaged):
                if _begins_with_snapshot(self.entries(epochs[place])):
                    return place
        return 0

    def _record(self, entry: Entry) -> JournalRecord:
        try:
            return decode(entry)
        except msgspec.DecodeError as error:
            message = f"a payload that fits its checksum is no {type_name(entry.type)}: {error}"
            raise JournalDamaged(f"{self._directory(entry.epoch)}/{LOG_FILE}", entry.offset, message) from error

    def _why_stopped(self, epoch: int) -> str:
        return self._files.read(f"{self._directory(epoch)}/{STOPPED_FILE}").decode(errors="replace").strip()

    def _report(self, epoch: int) -> EpochReport:
        sizes = self._sizes(epoch)
        on_disk = self._log_bytes(sizes)
        stopped = self._why_stopped(epoch) if STOPPED_FILE in sizes else ""
        types: Counter[int] = Counter()
        seal, scan, damage = None, self._scan(epoch, None), None
        try:
            seal = self.seal_of(epoch)
            scan = self._scan(epoch, seal)
            for entry in scan:
                self._record(entry)
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
            cut_bytes=scan.cut_bytes,
            ignored_records=self._ignored_records(epoch, seal) if seal is not None and rest else 0,
            ignored_bytes=rest if seal is not None else 0,
            unread_bytes=rest if seal is None else 0,
            stopped=stopped,
            damage=damage,
        )

    def _ignored_records(self, epoch: int, seal: Seal) -> int:
        """How many whole records a writer added after the seal."""
        found = 0
        with contextlib.suppress(JournalDamaged):
            for entry in self._scan(epoch, None):
                found += entry.offset >= seal.size_bytes
        return found


class _Hold:
    """What a writer may do in its epoch's directory."""

    def __init__(self, directory: JournalDirectory, epoch: int) -> None:
        self._directory = directory
        self._epoch = epoch

    def check(self) -> None:
        """Fenced when a later epoch has begun."""
        self._directory.check(self._epoch)

    def seal(self, written: Written) -> None:
        """Nothing will be added any more."""
        seal = self._directory.seal(self._epoch, self._epoch, written)
        if seal.by != self._epoch:
            raise Fenced(f"epoch {self._epoch} of the application was ended by epoch {seal.by}")

    def say_stopped(self, why: str) -> None:
        """Leave word that the records are not all."""
        self._directory.say_stopped(self._epoch, why)


def _snapshot(recorded: Recorded, earlier: list[int]) -> list[JournalRecord]:
    if not earlier:
        return []
    live = list(recorded.live())
    return [SnapshotBegan(through_epoch=earlier[-1]), *live, SnapshotEnded(records=len(live))]


def _begins_with_snapshot(entries: Iterator[Entry]) -> bool:
    inside = False
    for entry in entries:
        if inside:
            if entry.type == NUMBERS[SnapshotEnded]:
                return True
        elif entry.type == NUMBERS[SnapshotBegan]:
            inside = True
        elif entry.type not in {NUMBERS[EpochBegan], NUMBERS[EpochSealed]}:
            return False
    return False


def _write(log: LogWriter, epoch: int, records: list[JournalRecord]) -> Written:
    """Write the beginning of an epoch's log."""
    waiting, total = bytearray(MAGIC), len(MAGIC)
    for seq, record in enumerate(records, 1):
        data = encode(epoch, seq, *payload_of(record))
        waiting += data
        total += len(data)
        if len(waiting) >= _PIECE_BYTES:
            log.append(bytes(waiting))
            waiting.clear()
    log.append(bytes(waiting))
    log.sync()
    return Written(len(records), total)
