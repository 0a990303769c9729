"""The cluster's files: one protocol over HDFS, and over local directories where a cluster has none (and in tests).

Paths are absolute and without a scheme. A missing file is FileNotFoundError, an existing one FileExistsError; a file
system that does not answer in time is ClusterUnreachable, one that refuses is NotAllowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from yarnspec.errors import UsageError
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

TIMEOUT_S = 25.0
LEASE_TIMEOUT_S = 60.0
UPLOAD_CHUNK_BYTES = 4 * 1024 * 1024


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One file or directory, as the file system tells of it."""

    path: str
    is_directory: bool
    size_bytes: int
    modified_ms: int
    owner: str
    mode: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]


class GrowingFile(Protocol):
    """A file that grows: what ``sync`` has returned for is on disk and can be read by others."""

    def append(self, data: bytes) -> None:
        """Add bytes at the end; they may stay in memory until ``sync``."""

    def sync(self) -> None:
        """Bring everything appended so far to the disks of the cluster."""

    def close(self) -> None:
        """Finish the file. Closing again does nothing."""


class Files(Protocol):
    """A file system of the cluster, seen by one user."""

    @property
    def home(self) -> str:
        """The user's home directory."""

    def url(self, path: str) -> str:
        """The full URL of a path, as other programs take it."""

    def info(self, path: str) -> FileInfo:
        """Size, times, owner and mode."""

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a directory, by name; FileNotFoundError for a directory that does not exist."""

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        """The bytes from ``offset`` on, at most ``size_bytes``.

        On HDFS the last block of a growing file cannot be read until its writer closed it or it was recovered.
        """

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Replace a whole small file: a reader sees the old one or the new one, never half of one."""

    def write_in_order(self, contents: Mapping[str, bytes], *, mode: int = 0o600) -> None:
        """Replace several small files in the time of one: who sees one of them new sees those before it new as well."""

    def upload(self, local: Path, path: str, *, mode: int = 0o600) -> None:
        """Copy a local file of any size; it appears under its name when it is complete."""

    def make_directories(self, path: str, *, mode: int = 0o700) -> None:
        """Make a directory and the missing ones above it; one that exists is left as it is."""

    def set_mode(self, path: str, mode: int) -> None:
        """Change the permissions."""

    def rename(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Move a file or directory in one step."""

    def delete(self, path: str) -> bool:
        """Delete a file, or a directory with everything in it; False when there was none."""

    def open_log(self, path: str, *, mode: int = 0o600) -> GrowingFile:
        """Begin a new growing file; one that exists already is FileExistsError."""

    def recover_log(self, path: str, *, timeout_s: float = LEASE_TIMEOUT_S) -> None:
        """Take a growing file from a writer that died, so that everything it synced can be read.

        The former writer, should it still live, cannot write any more.
        """


def open_files(conf: HadoopConf, url: str | None = None, *, timeout_s: float = TIMEOUT_S) -> Files:
    """The file system that a URL (default: ``fs.defaultFS``) is on."""
    # Imported here: each knows this module's protocol.
    from yarnspec.yarn.files.hdfs_files import SCHEMES, HdfsFiles
    from yarnspec.yarn.files.local_files import LocalFiles

    parsed = urlsplit(url if url and "://" in url else conf.default_fs)
    if parsed.scheme == "file":
        return LocalFiles(user=conf.user)
    if parsed.scheme in SCHEMES:
        return HdfsFiles(conf, f"{parsed.scheme}://{parsed.netloc}", timeout_s=timeout_s)
    raise UsageError(
        f"yarnspec reads and writes HDFS and local directories, not {parsed.scheme}:// "
        f"({url or 'fs.defaultFS of the Hadoop configuration'})."
    )


def path_of(url: str) -> str:
    """The path of a URL, or the path itself."""
    return unquote(urlsplit(url).path) if "://" in url or url.startswith("file:") else url


def chunks(local: Path) -> Iterator[bytes]:
    """A local file's bytes, piece by piece."""
    with local.open("rb") as stream:
        while data := stream.read(UPLOAD_CHUNK_BYTES):
            yield data
