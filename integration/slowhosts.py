"""What tests beside a slow host share."""

from __future__ import annotations

from pathlib import Path

# Two executors do not fit on one host.
SPREAD = ("--executor-memory", "4g")
SLOWER = 10


def write_sizes(directory: Path, sizes: list[int]) -> None:
    """Say how large the tasks of the next rounds of `waits.py` are: some milliseconds each."""
    scratch = directory / "sizes.new"
    scratch.write_text(" ".join(map(str, sizes)))
    scratch.rename(directory / "sizes")
