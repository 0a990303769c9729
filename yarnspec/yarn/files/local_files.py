"""Local directories behind the protocol of cluster_files.py."""

from __future__ import annotations

import os
import pwd
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from yarnspec.errors import NotAllowed
from yarnspec.yarn.files.cluster_files import LEASE_TIMEOUT_S, FileInfo, chunks


class LocalLog:
    """A growing local file."""

    def __init__(self, path: Path, mode: int) -> None:
        self._descriptor: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, mode)

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._open(), view) :]

    def sync(self) -> None:
        """Bring everything to the disk."""
        os.fsync(self._open())

    def close(self) -> None:
        """Finish the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            raise ValueError("The log is closed.")
        return self._descriptor


class LocalFiles:
    """This machine's files."""

    def __init__(self, *, home: Path | None = None, user: str | None = None) -> None:
        self._home = home
        self._user = user

    @property
    def home(self) -> str:
        """The user's home directory."""
        return str(self._home or Path.home())

    def url(self, path: str) -> str:
        """The ``file:`` URL of a path."""
        return Path(path).as_uri()

    def info(self, path: str) -> FileInfo:
        """Size, times, owner and mode."""
        return _info(Path(path))

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        return Path(path).exists()

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a directory."""
        return [_info(entry) for entry in sorted(Path(path).iterdir())]

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        """The bytes from ``offset`` on."""
        with Path(path).open("rb") as stream:
            stream.seek(offset)
            return stream.read(-1 if size_bytes is None else size_bytes)

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Replace a whole small file in one step."""
        _write(Path(path), [data], mode)

    def write_in_order(self, contents: Mapping[str, bytes], *, mode: int = 0o600) -> None:
        """Replace several small files, one after the other."""
        for path, data in contents.items():
            self.write(path, data, mode=mode)

    def upload(self, local: Path, path: str, *, mode: int = 0o600) -> None:
        """Copy a file."""
        _write(Path(path), chunks(local), mode)

    def make_directories(self, path: str, *, mode: int = 0o700) -> None:
        """Make a directory and the missing ones above it."""
        Path(path).mkdir(mode=mode, parents=True, exist_ok=True)

    def set_mode(self, path: str, mode: int) -> None:
        """Change the permissions."""
        Path(path).chmod(mode)

    def rename(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Move a file or directory in one step."""
        if overwrite or Path(source).is_dir():
            if not overwrite and Path(target).exists():
                raise FileExistsError(target)
            Path(source).replace(target)
            return
        # A link is made only where no file is, whoever else tries at the same time.
        os.link(source, target)
        Path(source).unlink()

    def delete(self, path: str) -> bool:
        """Delete a file or a whole directory."""
        target = Path(path)
        try:
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()
        except FileNotFoundError:
            return False
        return True

    def open_log(self, path: str, *, mode: int = 0o600) -> LocalLog:
        """Begin a new growing file."""
        return LocalLog(Path(path), mode)

    def recover_log(self, path: str, *, timeout_s: float = LEASE_TIMEOUT_S) -> None:  # noqa: ARG002
        """Check that the log is there: no lease has to be recovered. (A writer that lives goes on.)"""
        if not Path(path).exists():
            raise FileNotFoundError(path)


def _info(path: Path) -> FileInfo:
    status = path.stat()
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    return FileInfo(
        path=str(path),
        is_directory=path.is_dir(),
        size_bytes=0 if path.is_dir() else status.st_size,
        modified_ms=int(status.st_mtime * 1000),
        owner=owner,
        mode=status.st_mode & 0o7777,
    )


def _write(path: Path, data: Iterable[bytes], mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except PermissionError as error:
        raise NotAllowed(f"Cannot write {path}: {error.strerror}.") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for piece in data:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
