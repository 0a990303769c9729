"""The files of an application's journal: which epochs there are, their records, and what ends an epoch for good.

::

    epoch-<n>/log       the records; in PerFlushStore also log.1, log.2, …
              sealed    a Seal in a frame: the epoch is over, and how much of its log counts
              stopped   why what it recorded is not all; stopped.d, a directory, where not even that could be written
    refused-<n>         a Refused in a frame: what the writer of epoch n was refused after its end
"""

from __future__ import annotations

import contextlib
import io
import re
import time
import uuid

import msgspec

from yarnspec.core.journal.journalrecords import JournalRecord
from yarnspec.errors import YarnspecError
from yarnspec.ids import epoch_directory, epochs_among
from yarnspec.journal.errors import Fenced, JournalDamaged, JournalGone
from yarnspec.journal.frames import encode_frame, read_frames
from yarnspec.journal.records import JournalEntry, NotOfItsTypeError, decode
from yarnspec.journal.scan import LogBytes, Scan
from yarnspec.journal.stores import LOG_FILE, JournalFiles, log_files
from yarnspec.journal.writer import Written

SEALED_FILE = "sealed"
STOPPED_FILE = "stopped"
STOPPED_DIRECTORY = "stopped.d"
_REFUSED = re.compile(r"refused-([1-9]\d{0,8})")


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """The file that ends an epoch for good: who sealed it, and how much of it counts."""

    schema: int = 1
    epoch: int
    by: int
    size_bytes: int
    records: int
    time_ms: int


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a writer leaves when a later epoch has shut it out: how often it was refused something, by kind."""

    schema: int = 1
    epoch: int
    refused: dict[str, int]


class Layout:
    """The directory, file by file."""

    def __init__(self, files: JournalFiles, path: str) -> None:
        self.files = files
        self.path = path.rstrip("/")

    def epochs(self) -> list[int]:
        """The epochs that have begun, first to last."""
        try:
            entries = self.files.list(self.path)
        except FileNotFoundError:
            return []
        return epochs_among(entry.name for entry in entries)

    def check(self, epoch: int, *, begun: bool = False) -> None:
        """Fenced when a later epoch has begun; JournalGone when this one has ``begun`` and its directory is gone."""
        epochs = self.epochs()
        last = max(epochs, default=0)
        if last > epoch:
            raise Fenced(f"driver epoch {last} has begun")
        if begun and epoch not in epochs:
            raise JournalGone(f"somebody has deleted {self.directory(epoch)}")

    def directory(self, epoch: int) -> str:
        """Where an epoch is."""
        return f"{self.path}/{epoch_directory(epoch)}"

    def seal_of(self, epoch: int) -> Seal | None:
        """How much of an epoch counts; None while it is not sealed."""
        path = f"{self.directory(epoch)}/{SEALED_FILE}"
        try:
            frames = list(read_frames(io.BytesIO(self.files.read(path)).read))
            seal = msgspec.convert(frames[0].header, Seal) if len(frames) == 1 else None
        except FileNotFoundError:
            return None
        except (ValueError, EOFError) as error:
            raise JournalDamaged(path, 0, f"this is no seal: {error}") from error
        if seal is None or seal.epoch != epoch:
            raise JournalDamaged(path, 0, f"this is no seal of epoch {epoch}")
        return seal

    def seal(self, epoch: int, by: int, written: Written) -> Seal:
        """Seal an epoch, unless another has done so; returns the seal that holds."""
        seal = Seal(
            epoch=epoch, by=by, size_bytes=written.size_bytes, records=written.records, time_ms=time.time_ns() // 10**6
        )
        path = f"{self.directory(epoch)}/{SEALED_FILE}"
        beside = f"{self.directory(epoch)}/.{SEALED_FILE}.{uuid.uuid4().hex}"
        self.files.write(beside, encode_frame(msgspec.to_builtins(seal)))
        try:
            self.files.rename(beside, path)
        except FileExistsError:
            self.files.delete(beside)
            return self.seal_of(epoch) or seal
        return seal

    def say_stopped(self, epoch: int, why: str) -> None:
        """Leave word that the records of an epoch are not all."""
        try:
            self.files.write(f"{self.directory(epoch)}/{STOPPED_FILE}", why.encode() + b"\n")
        except (YarnspecError, OSError):
            # Where there is room for nothing, there is room for a name.
            self.files.make_directories(f"{self.directory(epoch)}/{STOPPED_DIRECTORY}")

    def why_stopped(self, epoch: int) -> str:
        """Why an epoch's writer stopped, in its own words; empty when the records are all."""
        names = self.sizes(epoch)
        if STOPPED_FILE in names:
            return self.files.read(f"{self.directory(epoch)}/{STOPPED_FILE}").decode(errors="replace").strip()
        return "nothing could be written" if STOPPED_DIRECTORY in names else ""

    def say_refused(self, epoch: int, refused: dict[str, int]) -> None:
        """Leave word of what the writer of an epoch was refused."""
        word = Refused(epoch=epoch, refused=refused)
        self.files.write(f"{self.path}/refused-{epoch}", encode_frame(msgspec.to_builtins(word)))

    def refused(self) -> dict[int, dict[str, int]]:
        """How often each epoch was refused something, by kind, as far as this can be read."""
        words: dict[int, dict[str, int]] = {}
        try:
            entries = self.files.list(self.path)
        except FileNotFoundError:
            return words
        for entry in entries:
            if found := _REFUSED.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError, ValueError, EOFError):
                    (frame,) = read_frames(io.BytesIO(self.files.read(f"{self.path}/{entry.name}")).read)
                    words[int(found[1])] = msgspec.convert(frame.header, Refused).refused
        return words

    def sizes(self, epoch: int) -> dict[str, int]:
        """The files of an epoch, and how long they are."""
        try:
            return {entry.name: entry.size_bytes for entry in self.files.list(self.directory(epoch))}
        except FileNotFoundError:
            return {}

    def log_bytes(self, sizes: dict[str, int]) -> int:
        """How many bytes of them are records, or parts of some."""
        return sum(sizes[name] for name in log_files(list(sizes)))

    def scan(self, epoch: int, seal: Seal | None) -> Scan:
        """A way through the records of an epoch that count by this seal."""
        log = LogBytes(self.files, self.directory(epoch), list(self.sizes(epoch)))
        return Scan(log, epoch, None if seal is None else seal.size_bytes)

    def record(self, entry: JournalEntry) -> JournalRecord:
        """The record of an entry. Raises JournalDamaged if its payload is none of its type."""
        try:
            return decode(entry)
        except NotOfItsTypeError as error:
            raise JournalDamaged(f"{self.directory(entry.epoch)}/{LOG_FILE}", entry.offset, str(error)) from error

    def recover(self, epoch: int) -> None:
        """Shut the writer of an epoch out, where the file system can, and make all that it synced readable."""
        with contextlib.suppress(FileNotFoundError):
            self.files.recover_log(f"{self.directory(epoch)}/{LOG_FILE}")
