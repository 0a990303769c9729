"""What has been measured so far: a JSON file that grows by one application at a time, so that a run can be taken up."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from integration.bench.recovery.work import Twice


class Way(StrEnum):
    """What was killed, and who does what about it."""

    RECOVERY = "yarnspec"
    SPARK = "Spark on YARN"
    LIVE = "an executor, live adoption"
    PLAIN = "an executor, without"

    @property
    def master(self) -> bool:
        """Whether it is the application master that is killed."""
        return self in (Way.RECOVERY, Way.SPARK)


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """An application of which something was killed when so much of the job's work was done."""

    way: Way
    share: float
    twice: Twice
    total_s: float
    saved: int = 0
    restored: int = 0
    right: bool


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """The same job with recovery and without, right after each other, without a kill."""

    with_s: float
    without_s: float
    right: bool


class Results(msgspec.Struct, kw_only=True):
    """The content of the file."""

    schema: int = 2
    setup: dict[str, str]
    kills: list[Kill] = []
    pairs: list[Pair] = []

    def of(self, way: Way, share: float) -> list[Kill]:
        """The kills of one kind."""
        return [one for one in self.kills if (one.way, one.share) == (way, share)]


def load(path: Path, setup: dict[str, str], *, keep_others: bool) -> Results:
    """Take up the file again if it was measured with this setup; else begin anew and keep the old one beside it.

    ``keep_others``: whatever it was measured with.
    """
    try:
        results: Results | None = msgspec.json.decode(path.read_bytes(), type=Results)
    except FileNotFoundError:
        return Results(setup=setup)
    except msgspec.ValidationError:
        results = None  # an older yarnspec's
    if results is not None and (keep_others or results.setup == setup):
        return results
    path.replace(path.with_suffix(f".before{path.suffix}"))
    return Results(setup=setup)
