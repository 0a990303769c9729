"""HDFS behind the protocol of cluster_files.py, without a JVM (hdfs-native).

Closing a *new* file takes hdfs-native about 0.4 s, ``hsync`` of an open one 1 ms: hence the growing logs. A file whose
writer never closed it reads as if it ended before the last block until its lease is recovered.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import hdfs_native
import tenacity

from yarnspec.errors import ClusterUnreachable, NotAllowed
from yarnspec.yarn.files.cluster_files import LEASE_TIMEOUT_S, TIMEOUT_S, FileInfo, chunks
from yarnspec.yarn.files.hdfs_user import UserClaim, connecting_as
from yarnspec.yarn.hadoop.deadlines import RunningCall, run_with_deadline
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf, check_the_cluster

SCHEMES = frozenset({"hdfs", "viewfs"})
_USED_PREFIXES = ("fs.", "dfs.", "hadoop.")
_LEASE_POLL_S = 0.2
# How long a call is made again that can be: a NameNode that fails over answers again within this time. It is well below
# the deadline of a call, after which a user waits no longer.
_AGAIN_S = 15.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
# Java's exceptions that pass: the NameNode starts, fails over, or has not heard of its DataNodes yet.
_PASSING = ("SafeMode", "Standby", "Retriable", "NotReplicatedYet", "could only be written", "ServerTooBusy")
# Create, write, close.
_STEPS = 3

Result = TypeVar("Result")


class _Passing(ClusterUnreachable):
    """An error that another try may not meet."""


class HdfsFiles:
    """One HDFS (or viewfs) as one user sees it.

    Calls that may be made twice are tried again for a while: all except creating and appending to a log, and renaming.
    """

    def __init__(self, conf: HadoopConf, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._user = conf.user
        self._claim: UserClaim | None = None
        if conf.proxy_user is not None:
            self._claim = UserClaim("HADOOP_PROXY_USER" if conf.secure else "HADOOP_USER_NAME", conf.proxy_user)
        self._home_prefix = conf.get("dfs.user.home.dir.prefix", "/user") or "/user"
        settings = {key: value for key, value in conf.items() if key.startswith(_USED_PREFIXES)}
        # The settings as we resolved them, not read again by the library: one reading of the configuration, ours.
        self._client = self._call("connect", lambda: hdfs_native.Client(self._url, settings))

    @property
    def home(self) -> str:
        """The user's home directory."""
        return f"{self._home_prefix.rstrip('/')}/{self._user}"

    def url(self, path: str) -> str:
        """The full URL of a path."""
        return self._url + path

    def info(self, path: str) -> FileInfo:
        """Size, times, owner and mode."""
        return _info(self._repeat(f"info {path}", lambda: self._client.get_file_info(path)), path)

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a directory."""
        self.info(path)  # listing what does not exist may be an empty answer
        found = self._repeat(f"list {path}", lambda: list(self._client.list_status(path)))
        entries = (_info(status, status.path) for status in found)
        return sorted(entries, key=lambda entry: entry.path)

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        """The bytes from ``offset`` on."""

        def read() -> bytes:
            reader = self._client.read(path)
            left = max(0, len(reader) - offset)
            wanted = left if size_bytes is None else min(size_bytes, left)
            return bytes(reader.read_range(offset, wanted)) if wanted else b""

        return self._repeat(f"read {path}", read)

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Replace a whole small file in one step."""
        self._write(path, lambda: [data], mode)

    def write_in_order(self, contents: Mapping[str, bytes], *, mode: int = 0o600) -> None:
        """Replace several small files: their contents are written at the same time, then they get their names."""
        self._again(lambda: self._write_in_order(contents, mode))

    def _write_in_order(self, contents: Mapping[str, bytes], mode: int) -> None:
        running = {
            path: RunningCall(lambda path=path, data=data: self._write_beside(path, [data], mode), f"write {path}")  # type: ignore[misc]
            for path, data in contents.items()
        }
        for path, call in running.items():
            # Each step of the call has a deadline of its own.
            self._put_in_place(call.result(_STEPS * self._timeout_s), path)

    def upload(self, local: Path, path: str, *, mode: int = 0o600) -> None:
        """Copy a local file of any size."""
        self._write(path, lambda: chunks(local), mode)

    def make_directories(self, path: str, *, mode: int = 0o700) -> None:
        """Make a directory and the missing ones above it."""
        self._repeat(f"make directory {path}", lambda: self._client.mkdirs(path, mode, create_parent=True))

    def set_mode(self, path: str, mode: int) -> None:
        """Change the permissions."""
        self._repeat(f"set mode of {path}", lambda: self._client.set_permission(path, mode))

    def rename(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Move a file or directory in one step."""
        self._call(f"rename {source}", lambda: self._client.rename(source, target, overwrite))

    def delete(self, path: str) -> bool:
        """Delete a file or a whole directory."""
        try:
            return bool(self._repeat(f"delete {path}", lambda: self._client.delete(path, True)))
        except FileNotFoundError:
            return False

    def open_log(self, path: str, *, mode: int = 0o600) -> HdfsLog:
        """Begin a new growing file."""
        options = hdfs_native.WriteOptions(permission=mode, overwrite=False, create_parent=True)
        return HdfsLog(self._call(f"create {path}", lambda: self._client.create(path, options)), path, self._call)

    def recover_log(self, path: str, *, timeout_s: float = LEASE_TIMEOUT_S) -> None:
        """Take a growing file from a writer that died: its lease is recovered."""
        deadline = time.monotonic() + timeout_s
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda closed: not closed),
            wait=tenacity.wait_fixed(_LEASE_POLL_S),
            stop=tenacity.stop_after_delay(timeout_s),
        )
        try:
            retrying(
                lambda: self._repeat(
                    f"recover {path}",
                    lambda: self._client.recover_lease(path),
                    timeout_s=max(1.0, deadline - time.monotonic()),
                )
            )
        except tenacity.RetryError as error:
            raise ClusterUnreachable(
                f"HDFS did not recover the lease of {path} within {timeout_s:g} s; are its DataNodes up?"
            ) from error

    def _write(self, path: str, data: Callable[[], Iterable[bytes]], mode: int) -> None:
        self._again(lambda: self._put_in_place(self._write_beside(path, data(), mode), path))

    def _write_beside(self, path: str, data: Iterable[bytes], mode: int) -> str:
        """Write a file under a temporary name in the same directory; returns that name."""
        directory, _, name = path.rpartition("/")
        temporary = f"{directory}/.{name}.{uuid.uuid4().hex}"
        options = hdfs_native.WriteOptions(permission=mode, overwrite=True, create_parent=True)
        writer = self._call(f"create {path}", lambda: self._client.create(temporary, options))
        try:
            for piece in data:
                # The deadline is for each piece: a large file may take as long as it needs while it moves on.
                self._call(f"write {path}", lambda piece=piece: writer.write(piece))  # type: ignore[misc]
            self._call(f"close {path}", writer.close)
        except BaseException:
            self._forget(temporary)
            raise
        return temporary

    def _put_in_place(self, temporary: str, path: str) -> None:
        try:
            self._call(f"rename to {path}", lambda: self._client.rename(temporary, path, True))
        except BaseException:
            self._forget(temporary)
            raise

    def _forget(self, path: str) -> None:
        try:
            self._call(f"delete {path}", lambda: self._client.delete(path, True))
        except (ClusterUnreachable, NotAllowed, OSError):
            return  # the error that led here is the one to tell

    def _repeat(self, what: str, call: Callable[[], Result], *, timeout_s: float | None = None) -> Result:
        """Make a call that may be made twice, within the deadline of one."""
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        return self._again(lambda: self._call(what, call, timeout_s=max(0.1, deadline - time.monotonic())))

    def _again(self, call: Callable[[], Result]) -> Result:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Passing),
            wait=tenacity.wait_exponential(multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S),
            stop=tenacity.stop_after_delay(min(_AGAIN_S, self._timeout_s)),
            reraise=True,
        )
        return retrying(call)

    def _call(self, what: str, call: Callable[[], Result], *, timeout_s: float | None = None) -> Result:
        deadline_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            with connecting_as(self._claim, deadline_s):
                return run_with_deadline(call, deadline_s, what)
        except TimeoutError as error:
            raise ClusterUnreachable(f"HDFS at {self._url} does not answer: {error}. {check_the_cluster()}") from error
        except (FileNotFoundError, FileExistsError, IsADirectoryError) as error:
            raise type(error)(_first_line(error)) from error  # without the NameNode's Java stack
        except PermissionError as error:
            raise NotAllowed(f"HDFS at {self._url} refuses {self._user} to {what}: {_first_line(error)}") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise self._translated(what, error) from error

    def _translated(self, what: str, error: Exception) -> Exception:
        text = str(error)
        line = _first_line(error)
        if "AccessControlException" in text or "Permission denied" in text:
            return NotAllowed(f"HDFS at {self._url} refuses {self._user} to {what}: {line}")
        if "FileAlreadyExistsException" in text or "AlreadyExists" in text or "already exists" in text:
            return FileExistsError(line)
        # Replicas, blocks and servers are "not found", too, while the file is there.
        if "FileNotFoundException" in text or "file not found" in text.lower():
            return FileNotFoundError(line)
        java = "org.apache.hadoop." in text or "java." in text
        kind = ClusterUnreachable if java and not any(word in text for word in _PASSING) else _Passing
        return kind(f"HDFS at {self._url} could not {what}: {line}")


class HdfsLog:
    """A growing file in HDFS: one open file, ``hsync`` at each sync."""

    def __init__(self, writer: Any, path: str, call: Callable[[str, Callable[[], Any]], Any]) -> None:
        self._writer = writer
        self._path = path
        self._call = call

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        writer = self._open()
        self._call(f"append to {self._path}", lambda: writer.write(data))

    def sync(self) -> None:
        """Bring everything to the DataNodes' disks."""
        self._call(f"sync {self._path}", self._open().hsync)

    def close(self) -> None:
        """Finish the file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self._call(f"close {self._path}", writer.close)

    def _open(self) -> Any:
        if self._writer is None:
            raise ValueError("The log is closed.")
        return self._writer


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _info(status: Any, path: str) -> FileInfo:
    return FileInfo(
        path=path,
        is_directory=bool(status.isdir),
        size_bytes=int(status.length),
        modified_ms=int(status.modification_time),
        owner=str(status.owner),
        mode=int(status.permission) & 0o7777,
    )
