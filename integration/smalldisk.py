"""A small file system of its own that can be full."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(place: Path, size: str = "256k") -> Iterator[Callable[[bool], None]]:
    """So much memory mounted on a directory; what comes back fills it up (True), and makes room again.

    Where nobody may mount, the test is skipped.
    """
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file systems can be mounted here")
    filler = place / "filler"

    def set_full(full: bool) -> None:
        if not full:
            filler.unlink(missing_ok=True)
            return
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))

    try:
        yield set_full
    finally:
        subprocess.run(["umount", str(place)], check=True)
