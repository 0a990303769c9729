"""A file system in memory whose calls can be made to fail: files by path, directories by their files."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import NamedTuple


class Listed(NamedTuple):
    name: str
    size_bytes: int


class MemoryLog:
    def __init__(self, files: MemoryFiles, path: str) -> None:
        self._files = files
        self._path = path

    def append(self, data: bytes) -> None:
        self._files.before("append", self._path)
        self._files.contents[self._path] += data

    def sync(self) -> None:
        self._files.before("sync", self._path)

    def close(self) -> None:
        self._files.before("close", self._path)


class MemoryFiles:
    """`before` is called with the name of an operation and its path, and may raise."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.directories: set[str] = set()
        self.recovered: list[str] = []
        self.before: Callable[[str, str], None] = lambda *_: None

    def fail(self, operation: str, path_end: str = "") -> None:
        """From now on this operation fails as on a full disk."""

        def before(called: str, path: str) -> None:
            if called == operation and path.endswith(path_end):
                raise OSError(errno.ENOSPC, "No space left on device")

        self.before = before

    def list(self, path: str) -> list[Listed]:
        self.before("list", path)
        if path not in self.directories:
            raise FileNotFoundError(path)
        inside = len(path) + 1
        files = [Listed(each[inside:], len(data)) for each, data in self.contents.items() if _parent(each) == path]
        return files + [Listed(each[inside:], 0) for each in self.directories if _parent(each) == path]

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        self.before("read", path)
        if path not in self.contents:
            raise FileNotFoundError(path)
        return self.contents[path][offset : None if size_bytes is None else offset + size_bytes]

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:  # noqa: ARG002
        self.before("write", path)
        self.contents[path] = data

    def rename(self, source: str, target: str, *, overwrite: bool = False) -> None:
        self.before("rename", target)
        if target in self.contents and not overwrite:
            raise FileExistsError(target)
        self.contents[target] = self.contents.pop(source)

    def delete(self, path: str) -> bool:
        return self.contents.pop(path, None) is not None

    def make_directories(self, path: str, *, mode: int = 0o700) -> None:  # noqa: ARG002
        while path:
            self.directories.add(path)
            path = _parent(path)

    def open_log(self, path: str, *, mode: int = 0o600) -> MemoryLog:  # noqa: ARG002
        self.before("open", path)
        if path in self.contents:
            raise FileExistsError(path)
        self.contents[path] = b""
        return MemoryLog(self, path)

    def recover_log(self, path: str) -> None:
        self.before("recover", path)
        if path not in self.contents:
            raise FileNotFoundError(path)
        self.recovered.append(path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
