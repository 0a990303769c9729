"""How the records of an epoch get onto a file system, with and without files that grow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

LOG_FILE = "log"
_MOST_WAITING_BYTES = 8 * 1024 * 1024
_PART = re.compile(re.escape(LOG_FILE) + r"\.([1-9]\d{0,8})")


class Listed(Protocol):
    """One file or directory in a listing."""

    @property
    def name(self) -> str:
        """The last part of its path."""

    @property
    def size_bytes(self) -> int:
        """How long the file is."""


class LogWriter(Protocol):
    """A file that grows: what ``sync`` has returned for is on disk."""

    def append(self, data: bytes, /) -> None:
        """Add bytes at the end; they may stay in memory until ``sync``."""

    def sync(self) -> None:
        """Bring everything appended so far to the disk."""

    def close(self) -> None:
        """Finish the file."""


class JournalFiles(Protocol):
    """A file system as the journal needs it. A missing file is FileNotFoundError, an existing one FileExistsError."""

    def list(self, path: str) -> Sequence[Listed]:
        """The names in a directory."""

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        """Bytes of a file."""

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Replace a small file as a whole."""

    def rename(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Move a file; without ``overwrite`` only one of several can have the name."""

    def delete(self, path: str) -> bool:
        """Delete a file."""

    def make_directories(self, path: str, *, mode: int = 0o700) -> None:
        """Make a directory and those above it."""

    def open_log(self, path: str, *, mode: int = 0o600) -> LogWriter:
        """Begin a new growing file. Only one of several who try succeeds."""

    def recover_log(self, path: str) -> None:
        """Take a growing file from a writer that is gone; where the file system can, shut it out."""


class Store(Protocol):
    """Where the writer of an epoch puts its records."""

    def create(self, files: JournalFiles, directory: str) -> LogWriter:
        """Take an epoch's directory for oneself; FileExistsError when another has it."""


class AppendStore:
    """One file that grows, for file systems that can append and sync."""

    def create(self, files: JournalFiles, directory: str) -> LogWriter:
        """The file whose creation is the claim."""
        return files.open_log(f"{directory}/{LOG_FILE}")


class PerFlushStore:
    """One file per sync, or several, for stores whose files appear when they are closed (s3a and the like)."""

    def create(self, files: JournalFiles, directory: str) -> LogWriter:
        """An empty file is the claim; the records follow in numbered ones."""
        files.open_log(f"{directory}/{LOG_FILE}").close()
        return PartsLog(files, directory)


class PartsLog:
    """The numbered files of an epoch whose ``log`` is there, and empty."""

    def __init__(self, files: JournalFiles, directory: str) -> None:
        self._files = files
        self._path = f"{directory}/{LOG_FILE}"
        self._number = 0
        self._waiting = bytearray()

    def append(self, data: bytes) -> None:
        """Keep bytes for the next file, as far as there is room for them."""
        self._waiting += data
        if len(self._waiting) >= _MOST_WAITING_BYTES:
            self.sync()

    def sync(self) -> None:
        """Write the next file."""
        if self._waiting:
            self._number += 1
            self._files.write(f"{self._path}.{self._number}", bytes(self._waiting))
            self._waiting.clear()

    def close(self) -> None:
        """Write what is left."""
        self.sync()


def log_files(names: Sequence[str]) -> list[str]:
    """The files of a directory that hold its records, in their order, whichever store wrote them."""
    parts = sorted((int(found[1]), name) for name in names if (found := _PART.fullmatch(name)))
    return ([LOG_FILE] if LOG_FILE in names else []) + [name for _, name in parts]
