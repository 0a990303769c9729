"""Healthy hosts and tasks of different sizes: how often one is called slow, and what is copied for nothing.

The real negotiator with the shipped settings in the simulator of ``yarnspec.simulate``: jobs one after the other, each
one stage whose tasks differ by 20 % (log-normal) while a share of them is ``larger`` times as large. Of that the
detector is told nothing (``unknown``), or something wrong (``equal`` bytes), or the truth (``proportional``). The same
jobs beside a host that is really slow show that nothing of this is bought by looking away.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Literal

import msgspec

from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.commands import BlockHost, Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.observations import NONE, StageFlag
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate.world.clock import START_MS
from yarnspec.simulate.world.run import Run
from yarnspec.simulate.world.scenario import HostPlan, JobPlan, Scenario, StagePlan

Input = Literal["unknown", "equal", "proportional"]
INPUTS: tuple[Input, ...] = ("unknown", "equal", "proportional")


class Shape(msgspec.Struct, frozen=True):
    """Jobs on some hosts. ``share`` of the tasks are ``larger`` times as large as the others."""

    hosts: int
    slots: int
    stages: int
    tasks: int
    task_ms: int
    share: float = 0.0
    larger: int = 1
    spread: float = 0.2

    def __str__(self) -> str:
        size = f"{self.hosts} x {self.slots} slots, {self.stages} x {self.tasks} tasks of {self.task_ms / 1000:g} s"
        return size + (f", {self.share:.0%} {self.larger} x as large" if self.share else "")


SHAPES = (
    Shape(4, 2, 4, 60, 2_000, 0.1, 6),
    Shape(4, 2, 6, 24, 2_000, 0.1, 6),
    Shape(4, 2, 6, 16, 1_000, 0.15, 8),
    Shape(4, 2, 4, 60, 2_000, 0.05, 4),
    Shape(8, 2, 4, 100, 2_000, 0.1, 6),
    Shape(20, 2, 3, 200, 2_000, 0.1, 6),
    Shape(4, 2, 6, 24, 2_000),
)
SLOW = (
    (Shape(4, 2, 6, 8, 2_000, spread=0.02), 10.0),
    (Shape(4, 2, 6, 64, 500, spread=0.02), 10.0),
    (Shape(4, 2, 6, 24, 2_000), 5.0),
    (Shape(4, 2, 6, 24, 2_000), 3.0),
    (Shape(4, 2, 4, 60, 2_000, 0.1, 6), 10.0),
    (Shape(4, 2, 4, 60, 2_000, 0.1, 6), 5.0),
    (Shape(8, 2, 4, 100, 2_000, 0.1, 6), 5.0),
)
"""Beside a host that is so many times slower."""
SHIPPED = DetectorSettings()
RULES = {
    "progress, as shipped": SHIPPED,
    "execution-time, the proposal's defaults": DetectorSettings(kind="execution-time", check_interval_ms=1_000),
    "execution-time, lower bound 1 s": DetectorSettings(kind="execution-time", baseline_lower_bound_ms=1_000),
    "input-weighted, lower bound 1 s": DetectorSettings(kind="input-weighted", baseline_lower_bound_ms=1_000),
}
"""The three detectors; a lower bound of a minute is longer than most tasks here."""


class Outcome(msgspec.Struct, frozen=True):
    """What one simulated program came to. ``blocked``: healthy hosts that were blocked for being slow."""

    blocked: int
    found_ms: int
    """When the slow host was blocked; -1: never, or there is none."""
    tasks: int
    copies: int
    won: int
    took_ms: int


class _Watched(Negotiator):
    """The negotiator, and which hosts it blocked for slowness at application level, and when."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.blocked: dict[str, int] = {}

    def handle(self, event: Event, now_ms: int) -> list[Command]:
        commands = super().handle(event, now_ms)
        for each in commands:
            if isinstance(each, BlockHost) and each.cause == "slow" and each.level == "application":
                self.blocked.setdefault(each.host, now_ms)
        return commands


def scenario(
    shape: Shape,
    known: Input,
    seed: int,
    *,
    slow: float = 1.0,
    without: bool = False,
    detector: DetectorSettings = SHIPPED,
) -> Scenario:
    """The scenario of a seed; ``slow``: how slow the last host is; ``without``: it is not there at all."""
    chance = random.Random(seed)  # noqa: S311 - the same each time
    jobs = []
    for stage in range(shape.stages):
        work = tuple(
            round(
                shape.task_ms
                * chance.lognormvariate(0, shape.spread)
                * (shape.larger if chance.random() < shape.share else 1)
            )
            for _ in range(shape.tasks)
        )
        told = {"unknown": (NONE,) * len(work), "equal": (1_000_000,) * len(work)}.get(
            known, tuple(1_000 * each for each in work)
        )
        jobs.append(JobPlan(stage, (StagePlan(stage, work, told, StageFlag.PYTHON),)))
    hosts = [HostPlan(f"host{number}") for number in range(1, shape.hosts + 1)]
    hosts[-1] = HostPlan(hosts[-1].name, speeds=((0, slow),))
    hosts = hosts[:-1] if without else hosts
    settings = Settings(
        initial_executors=len(hosts), executor_memory_mb=1408, executor_vcores=shape.slots, detector=detector
    )
    return Scenario(
        seed=seed, settings=settings, hosts=tuple(hosts), jobs=tuple(jobs), slots=shape.slots, executors_per_host=1
    )


def simulate(made: Scenario) -> Outcome:
    """Run one."""
    watched: list[_Watched] = []

    def negotiator(settings: Settings) -> Negotiator:
        watched.append(_Watched(settings))
        return watched[-1]

    run = Run(made, negotiator)
    result = run.to_the_end()
    slow = {host.name for host in made.hosts if host.speeds != ((0, 1.0),)}
    blocked = watched[0].blocked
    return Outcome(
        blocked=len(blocked.keys() - slow),
        found_ms=min((at for host, at in blocked.items() if host in slow), default=-1),
        tasks=result.tasks,
        copies=result.copies,
        won=result.copies_won,
        took_ms=result.took_ms,
    )


def simulate_all(made: Iterable[Scenario]) -> Sequence[Outcome]:
    """Run some, on all cores."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(simulate, made, chunksize=2))


class Healthy(msgspec.Struct, frozen=True):
    """Jobs on healthy hosts, summed up: in all of them every block and every copy is needless."""

    jobs: int
    blocked_jobs: int
    blocked_hosts: int
    tasks: int
    copies: int


class Beside(msgspec.Struct, frozen=True):
    """Jobs beside a slow host, summed up. ``ratio``: time over that without the host; ``found_s``: the median."""

    jobs: int
    found: int
    found_s: float
    ratio: float
    ratio_max: float
    blocked_hosts: int


def on_healthy_hosts(seeds: int, detector: DetectorSettings = SHIPPED) -> dict[tuple[Shape, Input], Healthy]:
    """All shapes with all inputs."""
    made = [(shape, known) for shape in SHAPES for known in INPUTS]
    outcomes = simulate_all(
        scenario(shape, known, seed, detector=detector) for shape, known in made for seed in range(seeds)
    )
    found = {}
    for number, key in enumerate(made):
        own = outcomes[number * seeds : (number + 1) * seeds]
        found[key] = Healthy(
            jobs=len(own),
            blocked_jobs=sum(each.blocked > 0 for each in own),
            blocked_hosts=sum(each.blocked for each in own),
            tasks=sum(each.tasks for each in own),
            copies=sum(each.copies for each in own),
        )
    return found


def beside_a_slow_host(seeds: int, detector: DetectorSettings = SHIPPED) -> dict[tuple[Shape, float, Input], Beside]:
    """The same with a slow host, inputs unknown or equal; the oracle is the same jobs without that host."""
    made = [(shape, slow, known) for shape, slow in SLOW for known in INPUTS[:2]]
    each_twice = [
        scenario(shape, known, seed, slow=slow, without=without, detector=detector)
        for shape, slow, known in made
        for seed in range(seeds)
        for without in (False, True)
    ]
    outcomes = simulate_all(each_twice)
    found = {}
    for number, key in enumerate(made):
        own = outcomes[number * 2 * seeds : (number + 1) * 2 * seeds]
        ratios = sorted(one.took_ms / oracle.took_ms for one, oracle in zip(own[::2], own[1::2], strict=True))
        found_ms = sorted(each.found_ms - START_MS for each in own[::2] if each.found_ms >= 0)
        found[key] = Beside(
            jobs=seeds,
            found=len(found_ms),
            found_s=found_ms[len(found_ms) // 2] / 1000 if found_ms else float("nan"),
            ratio=ratios[len(ratios) // 2],
            ratio_max=ratios[-1],
            blocked_hosts=sum(each.blocked for each in own[::2]),
        )
    return found
