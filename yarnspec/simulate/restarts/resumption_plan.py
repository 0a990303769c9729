"""The plan of a driver that dies again and again: its program, the hosts, its luck, and what it leaves behind."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

from yarnspec.core.journal.journalrecords import Determinism, JournalRecord

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Something that is done step by step, and what comes of it: between two of them it may end, or others go on."""


@dataclass(frozen=True)
class ShufflePlan:
    """A shuffle of the program: its number in it, its maps, and the shuffles that it is computed from.

    ``bounded``: it is sorted by bounds that every driver draws anew unless it goes on with a saved one.
    """

    number: int
    maps: int
    determinism: Determinism
    parents: tuple[int, ...]
    bounded: bool


@dataclass(frozen=True)
class Output:
    """The output of a map: where it lies, and a number that stands for its contents."""

    map_id: int
    host: str
    contents: int


@dataclass(frozen=True)
class ResumptionPlan:
    """A program, the hosts, and how often its driver dies.

    ``in_place``: how likely it dies alone, so that its application master starts it again, up to ``restarts`` times.
    ``late``: how likely the next driver begins so late that what the last one left must not be used. ``jobs``: how
    likely a shuffle is computed, by a job of its own, before the program makes the next one.
    """

    seed: int
    shuffles: tuple[ShufflePlan, ...]
    hosts: tuple[str, ...]
    crashes: int
    host_loss: float
    file_loss: float
    output_loss: float
    recording_stops: float
    in_place: float
    restarts: int
    late: float
    jobs: float

    @classmethod
    def draw(cls, seed: int) -> ResumptionPlan:
        """The plan of a seed."""
        rng = random.Random(seed)
        kinds: list[Determinism] = ["determinate", "determinate", "unordered", "indeterminate"]
        family = rng.random()
        if family < 0.6:
            kinds = ["determinate"] if family < 0.3 else ["determinate", "unordered"]
        shuffles: list[ShufflePlan] = []
        # Small programs, whose drivers die at each place sooner, and larger ones.
        small = rng.random() < 0.5
        for number in range(rng.randint(2, 3) if small else rng.randint(1, 6)):
            fewest = 0 if rng.random() < 0.2 else min(1, number)
            parents = tuple(sorted(rng.sample(range(number), rng.randint(fewest, min(2, number)))))
            determinism = rng.choice(kinds)
            # Spark calls all indeterminate that is computed from something indeterminate.
            if any(shuffles[parent].determinism == "indeterminate" for parent in parents):
                determinism = "indeterminate"
            shuffles.append(
                ShufflePlan(number, rng.randint(1, 2 if small else 4), determinism, parents, rng.random() < 0.2)
            )
        return cls(
            seed=seed,
            shuffles=tuple(shuffles),
            hosts=tuple(f"h{number}" for number in range(rng.randint(1, 4))),
            crashes=rng.randint(0, 6),
            host_loss=rng.choice((0.0, 0.0, 0.2)),
            file_loss=rng.choice((0.0, 0.0, 0.1, 0.3)),
            output_loss=rng.choice((0.0, 0.0, 0.05)),
            recording_stops=rng.choice((0.0, 0.0, 0.0, 0.03)),
            in_place=rng.choice((0.0, 0.5, 1.0)),
            restarts=rng.randint(0, 4),
            late=rng.choice((0.0, 0.0, 0.2)),
            jobs=rng.choice((0.0, 0.5)),
        )


@dataclass(frozen=True)
class Crash:
    """The end of an epoch: of the driver alone, or with its application master.

    ``step``: after so many of its steps; of a driver those before its start do not count. ``lives_on``: it was
    only taken for dead, and makes its further steps between those of later epochs.
    """

    step: int
    who: Literal["driver", "master"]
    lives_on: bool = False

    def of(self, plan: ResumptionPlan) -> ResumptionPlan:
        """The plan, with this crash and no other."""
        if self.who == "master":
            return replace(plan, crashes=1, in_place=0.0)
        return replace(plan, crashes=1, in_place=1.0, restarts=max(1, plan.restarts))


@dataclass
class ResumptionResult:
    """The outcome of a plan. ``ideal``: maps that would have run without any crash or loss.

    ``epochs``: how many there were, ``in_place`` of them in the application master of the one before, of which
    there were ``attempts``, and ``late`` of them too late for what that one left. ``beside``: the steps of epochs whose
    journal was sealed while another was under way, ``refused``: the records that they made after the seal, ``fenced``:
    how many of them were told so. ``refused_late``: messages to a negotiator whose driver was another one by then.
    """

    epochs: int = 0
    attempts: int = 0
    in_place: int = 0
    beside: int = 0
    refused: int = 0
    fenced: int = 0
    refused_late: int = 0
    ran: int = 0
    ideal: int = 0
    restored: int = 0
    late: int = 0
    durable: list[int] = field(default_factory=list)
    """How many outputs were saved at the start of each later epoch."""


class Disk:
    """The things that survive a driver: the journal's durable records, and the outputs on hosts."""

    def __init__(
        self, records: Iterable[JournalRecord] = (), outputs: Mapping[tuple[int, int], Output] | None = None
    ) -> None:
        self.records = list(records)
        self.outputs = dict(outputs or {})
        """By shuffle and map id."""

    def suffer(self, plan: ResumptionPlan, rng: random.Random) -> None:
        """Hosts go with all that is on them, and files by themselves."""
        lost = {host for host in plan.hosts if rng.random() < plan.host_loss}
        self.outputs = {
            key: one for key, one in self.outputs.items() if one.host not in lost and rng.random() >= plan.file_loss
        }
