"""Follow a file that another process appends to."""

from __future__ import annotations

import os
from pathlib import Path


class FileTail:
    """Whole lines of a growing file, each returned once. For one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._rest = b""

    def lines(self) -> list[bytes]:
        """The complete lines that came since the last call; none while the file does not exist."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDONLY)
            except FileNotFoundError:
                return []
        data = self._rest
        while chunk := os.read(self._descriptor, 1 << 16):
            data += chunk
        *lines, self._rest = data.split(b"\n")
        return lines
