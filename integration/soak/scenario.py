"""What a seed stands for: a program, how it is submitted, and which faults come when. Pure: the same seed, the same."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

JobName = Literal["shuffles", "frames", "tpch"]
Mode = Literal["blacklist", "constraints"]
Kind = Literal[
    "kill executor",
    "kill driver",
    "kill program",
    "kill negotiator",
    "kill AM",
    "stop host",
    "kill host",
    "start host",
    "restart RM",
    "kill RM",
    "block",
    "block for a while",
    "unblock",
    "yarnspec kill",
    "pause HDFS",
]

# How often each is drawn; "pause HDFS" comes in chaos only. What needs something before it (a host to start, a block to
# lift) is drawn when it is there.
WEIGHTS: dict[Kind, int] = {
    "kill executor": 4,
    "kill driver": 3,
    "kill program": 2,
    "kill negotiator": 2,
    "kill AM": 3,
    "stop host": 2,
    "kill host": 2,
    "start host": 4,
    "restart RM": 2,
    "kill RM": 1,
    "block": 3,
    "block for a while": 2,
    "unblock": 4,
    "yarnspec kill": 1,
}
FIRST_S, LAST_S = 1.0, 26.0
MOST_HOSTS_GONE = 2
EXCLUSION_SHARE = 0.3
RECOVERY_SHARE = 0.5
QUERIES_OF_TPCH = 22
QUERIES_DRAWN = 5


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong, or comes back, `at_s` seconds after the application was submitted.

    `pick` chooses the victim among those that there are at that moment.
    """

    kind: Kind
    at_s: float
    pick: int


@dataclass(frozen=True)
class Scenario:
    """One run. `excluded` is the number of the host that is excluded at submit; with `recovery` or without."""

    seed: int
    job: JobName
    queries: tuple[int, ...]
    mode: Mode
    executors: int
    excluded: int | None
    faults: tuple[Fault, ...]
    recovery: bool


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    job: JobName = dice.choice(["shuffles", "shuffles", "frames", "frames", "tpch"])
    queries = sorted(dice.sample(range(1, QUERIES_OF_TPCH + 1), QUERIES_DRAWN))
    mode: Mode = dice.choice(["blacklist", "constraints"])
    executors = dice.choice([2, 2, 3])
    excluded = dice.randrange(1000) if dice.random() < EXCLUSION_SHARE else None
    moments = sorted(round(dice.uniform(FIRST_S, LAST_S), 1) for _ in range(dice.choice([1, 2, 2, 3])))
    faults: list[Fault] = []
    for at_s in moments:
        possible = _possible([fault.kind for fault in faults])
        kind = dice.choices(possible, [WEIGHTS[each] for each in possible])[0]
        faults.append(Fault(kind, at_s, dice.randrange(1000)))
    return Scenario(
        seed=seed,
        job=job,
        queries=tuple(queries) if job == "tpch" else (),
        mode=mode,
        executors=executors,
        excluded=excluded,
        faults=tuple(faults),
        recovery=dice.random() < RECOVERY_SHARE,
    )


def _possible(before: list[Kind]) -> list[Kind]:
    """What may come after these."""
    gone = sum(kind in ("stop host", "kill host") for kind in before) - before.count("start host")
    blocked = "block" in before and "unblock" not in before
    possible = set(WEIGHTS)
    if not gone:
        possible.discard("start host")
    if gone >= MOST_HOSTS_GONE:
        possible -= {"stop host", "kill host"}
    if not blocked:
        possible.discard("unblock")
    return [kind for kind in WEIGHTS if kind in possible]
