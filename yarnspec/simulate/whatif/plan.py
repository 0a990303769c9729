"""A scenario as plain values: hosts and when they come, the program, what goes wrong, and what somebody asks for."""

from __future__ import annotations

from dataclasses import dataclass

from yarnspec.core.messages.events import Event
from yarnspec.core.messages.settings import Settings
from yarnspec.simulate.world.scenario import HostPlan, JobPlan


@dataclass(frozen=True, slots=True)
class HostLife:
    """A host, when it comes, and how many executors it has room for."""

    plan: HostPlan
    arrives_ms: int = 0
    room: int = 1


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """One scenario. ``wishes`` are what users ask for, at these times; ``spread``: how much tasks differ by chance."""

    name: str
    seed: int
    settings: Settings
    hosts: tuple[HostLife, ...]
    jobs: tuple[JobPlan, ...]
    slots: int = 1
    container_ms: tuple[int, int] = (500, 3_000)
    never_comes: float = 0.0
    container_dies: float = 0.0
    task_fails: float = 0.0
    fetch_fails: float = 0.0
    wishes: tuple[tuple[int, Event], ...] = ()
    spread: float = 0.1
    heartbeat_ms: int = 2_000
    feed_ms: int = 100
    bridge_ms: int = 5

    @property
    def tasks(self) -> int:
        """How many tasks the program has."""
        return sum(len(stage.work_ms) for job in self.jobs for stage in job.stages)
