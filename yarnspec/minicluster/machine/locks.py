"""A lock between processes, with a deadline."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from yarnspec.errors import ClusterUnreachable
from yarnspec.minicluster.machine.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO


@contextmanager
def locked(path: Path, *, timeout_s: float, doing: str) -> Iterator[None]:
    """Hold the lock file while the block runs; the kernel lets go of it when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if not wait_until(lambda: _try(file), timeout_s, poll_s=0.1):
            raise ClusterUnreachable(f"another process holds {path} for more than {timeout_s:.0f} s ({doing})")
        yield


def _try(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
