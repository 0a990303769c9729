"""The calls that a sink needs of a file system whose renames are atomic, and the local one; HDFS is in ``hadoop``."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Protocol

from yarnspec.errors import UsageError

MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class SinkFiles(Protocol):
    """A file system with an atomic rename; paths are text, with ``/`` between names."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory."""
        ...

    def names(self, directory: str) -> dict[str, int]:
        """The entries of a directory, none when it is not there: name and size in bytes, -1 for a directory."""
        ...

    def read(self, path: str) -> bytes | None:
        """All of a small file; None when it is not there."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a small file in a directory that is there, in the place of one that may be there. Not atomic."""
        ...

    def make_directories(self, path: str) -> None:
        """Make a directory, and those above it."""
        ...

    def rename(self, source: str, target: str) -> bool:
        """Give a file or a directory another name, at once or not at all; False when somebody has the name.

        Raises:
            FileNotFoundError: there is no source, or no directory to put it in.
        """
        ...

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that it holds; nothing happens when it is not there."""
        ...

    def remove_empty(self, directory: str) -> None:
        """Delete a directory if it is there and empty."""
        ...

    def why_fixed(self, path: str, parent: str, *, replaced: bool) -> str | None:
        """Say what the directory is if no rename leads between it and others below ``parent``, else None.

        ``replaced``: the directory itself is to be renamed, not only files into it. Links are followed.
        """
        ...


class LocalSinkFiles:
    """The files of this machine, or a directory that all machines have mounted."""

    def exists(self, path: str) -> bool:
        """See ``SinkFiles``. Where nobody can tell, as a mount does not answer, that is an error."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def is_directory(self, path: str) -> bool:
        """See ``SinkFiles``."""
        return Path(path).is_dir()

    def names(self, directory: str) -> dict[str, int]:
        """See ``SinkFiles``."""
        found = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(directory) as entries:
            for each in entries:
                # One that goes while it is looked at must not hide the others.
                with contextlib.suppress(FileNotFoundError):
                    found[each.name] = -1 if each.is_dir() else each.stat().st_size
        return found

    def read(self, path: str) -> bytes | None:
        """See ``SinkFiles``."""
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """See ``SinkFiles``."""
        Path(path).write_bytes(data)

    def make_directories(self, path: str) -> None:
        """See ``SinkFiles``."""
        while not Path(path).is_dir():
            try:
                Path(path).mkdir(parents=True)
            except FileExistsError:
                # Somebody was quicker, and may remove it at any moment; a file is in the way for good.
                with contextlib.suppress(FileNotFoundError):
                    if not stat.S_ISDIR(os.lstat(path).st_mode) and not Path(path).is_dir():
                        raise

    def rename(self, source: str, target: str) -> bool:
        """See ``SinkFiles``. A file is linked and unlinked, as rename(2) would replace another one.

        An empty directory that comes to have the name in the last moment is replaced.
        """
        if Path(source).is_dir():
            if os.path.lexists(target):
                return False
            try:
                os.rename(source, target)  # noqa: PTH104 - Path.rename is this
            except OSError:
                if os.path.lexists(target) and os.path.lexists(source):
                    return False
                raise
            return True
        try:
            os.link(source, target)
        except FileExistsError:
            # An earlier try may have ended between the two.
            if not (os.path.lexists(source) and os.path.samefile(source, target)):  # noqa: PTH121
                return False
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise UsageError(
                    f"{target}: no hard link can be made ({error.strerror}), and without one there is no rename here "
                    "that leaves alone what has the name already: write to another file system"
                ) from None
            raise
        os.unlink(source)  # noqa: PTH108
        return True

    def delete(self, path: str) -> None:
        """See ``SinkFiles``."""
        with contextlib.suppress(FileNotFoundError):
            if Path(path).is_dir():
                shutil.rmtree(path)
            else:
                os.unlink(path)  # noqa: PTH108

    def remove_empty(self, directory: str) -> None:
        """See ``SinkFiles``."""
        with contextlib.suppress(OSError):
            os.rmdir(directory)  # noqa: PTH106

    def why_fixed(self, path: str, parent: str, *, replaced: bool) -> str | None:  # noqa: ARG002 - holds for both
        """See ``SinkFiles``. A link that leads nowhere can be renamed."""
        with contextlib.suppress(FileNotFoundError):
            if Path(path).stat().st_dev != Path(parent).stat().st_dev or _is_mounted(path):
                return f"a mount point, or a link that leads into another file system than that of {parent}"
        return None


def _is_mounted(path: str) -> bool:
    """Whether something is mounted there, be it a directory of the same file system."""
    with contextlib.suppress(OSError):
        fields = (line.split(" ") for line in os.fsdecode(MOUNTS.read_bytes()).split("\n"))
        mounts = (_ESCAPED.sub(lambda code: chr(int(code[1], 8)), each[4]) for each in fields if len(each) > 4)  # noqa: PLR2004
        return os.path.realpath(path) in mounts
    return False


def split(path: str) -> tuple[str, str]:
    """The directory and the last name of a path."""
    parent, _, name = path.rpartition("/")
    above = parent.rpartition("://")[2]
    return parent if "/" in above else f"{parent}/", name
