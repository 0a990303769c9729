"""What has been measured so far: a JSON file that grows by one application at a time, so that a run can be taken up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

import msgspec

from integration.bench.stragglers.arms import ORACLE

ENOUGH = 5
ENOUGH_WHEN_SLOW = 2
MUCH_SLOWER = 3


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the job."""

    arm: str
    workload: str
    seconds: float
    right: bool
    slot_seconds: float
    executor_seconds: float
    attempts: int
    copies: int
    copies_won: int
    am_host: str
    slow_host: str = ""
    slowdown: dict[str, float] = {}
    """By host: how long a wait of 10 ms took there, in multiples of 10 ms."""
    decided: dict[str, int] = {}
    """How many of yarnspec's decisions of each type fell into the time of the job."""


class Results(msgspec.Struct, kw_only=True):
    """The content of the file."""

    schema: int = 1
    setup: dict[str, str]
    samples: list[Sample] = []
    elapsed_s: float = 0.0
    """How long all this has taken to measure, clusters and starts included."""

    def of(self, arm: str, workload: str) -> list[Sample]:
        """The runs of an arm."""
        return [one for one in self.samples if (one.arm, one.workload) == (arm, workload)]

    def seconds(self, arm: str, workload: str) -> list[float]:
        """Their times."""
        return [one.seconds for one in self.of(arm, workload)]

    def enough(self, arm: str, workload: str) -> int:
        """How many runs are enough: fewer for an arm that is much slower than the oracle."""
        mine, best = self.seconds(arm, workload), self.seconds(ORACLE, workload)
        slow = mine and best and median(mine) > MUCH_SLOWER * median(best)
        return ENOUGH_WHEN_SLOW if slow else ENOUGH

    def missing(self, arm: str, workload: str, at_once: int) -> int:
        """How many runs are still to be made; `at_once` at most."""
        return max(0, min(at_once, self.enough(arm, workload) - len(self.of(arm, workload))))


def load(path: Path, setup: dict[str, str], *, keep_others: bool = False) -> Results:
    """Take up the file again if it was measured with this setup; else begin anew and keep the old one beside it.

    ``keep_others``: whatever it was measured with.
    """
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Results)
    except FileNotFoundError:
        return Results(setup=setup)
    if keep_others or results.setup == setup:
        return results
    path.replace(path.with_suffix(f".before{path.suffix}"))
    return Results(setup=setup)


def store(path: Path, results: Results, samples: Iterable[Sample]) -> None:
    """Add runs, and write the file by rename."""
    results.samples.extend(samples)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
    new.replace(path)
