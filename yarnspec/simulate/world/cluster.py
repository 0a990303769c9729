"""YARN as far as the core knows it: hosts that live and die, containers that come late, never, or end too soon."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import ReleaseContainer, RequestContainers, UpdatePlacement, WantedContainer
from yarnspec.simulate.world.clock import START_MS, Clock
from yarnspec.simulate.world.rules import Rules
from yarnspec.simulate.world.scenario import HostPlan, Scenario
from yarnspec.simulate.world.spark import Spark

_AGAIN_MS = 500
_AGAIN_MAX_MS = 30_000
_DETECTED_BY_SPARK_MS = 2_000
_DETECTED_BY_YARN_MS = 5_000
_ENDS_MS = 300
_DROPPED_SHARE = 0.1
RELEASED, HOST_LOST = -105, -100
DEATHS = (1, 137, 143, -102, -104)
"""Exit codes that YARN tells of containers, and those of executors that die."""


@dataclass(slots=True)
class SimulatedContainer:
    """A container that is to come or there."""

    executor_id: str
    container_id: str = ""
    host: str = ""
    state: Literal["wanted", "starting", "registered", "ending"] = "wanted"
    again_ms: int = _AGAIN_MS


class SimulatedCluster:
    """The hosts and the containers on them. It obeys the three commands about containers."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        clock: Clock,
        rng: random.Random,
        rules: Rules,
        spark: Spark,
        tell: Callable[[ev.Event], None],
    ) -> None:
        self._scenario = scenario
        self._clock = clock
        self._rng = rng
        self._rules = rules
        self._spark = spark
        self._tell = tell
        self._dead: set[str] = set()
        self._blocked: tuple[str, ...] = ()
        self._placements: dict[str, WantedContainer] = {}
        self._came = 0
        self.containers: dict[str, SimulatedContainer] = {}

    def begin(self) -> None:
        """Report the hosts, and let those die whose time comes."""
        self._report()
        for host in self._scenario.hosts:
            if host.dies_ms is not None:
                self._clock.at(START_MS + host.dies_ms, partial(self._die, host))

    @property
    def live(self) -> int:
        """Containers that are to come or there, those not counted that are about to end."""
        return sum(one.state != "ending" for one in self.containers.values())

    # commands

    def place(self, command: UpdatePlacement) -> None:
        """Take a new placement."""
        self._blocked = command.blocked_hosts
        self._placements.update({one.id: one for one in command.wanted})
        self._tell(ev.PlacementAcknowledged(version=command.version))

    def request(self, command: RequestContainers) -> None:
        """Containers are asked for."""
        for executor_id in command.executor_ids:
            if executor_id in self.containers or executor_id not in self._placements:
                self._rules.broken(f"container {executor_id} was asked for before, or has no placement")
            self.containers[executor_id] = SimulatedContainer(executor_id)
            some_there = sum(one.state != "wanted" for one in self.containers.values()) > 0
            if some_there and self._rng.random() < self._scenario.never_comes:
                continue
            delay_ms = self._rng.randint(*self._scenario.container_ms)
            self._clock.after(delay_ms, partial(self._allocate, executor_id))

    def release(self, command: ReleaseContainer) -> None:
        """A container is given back, or its request withdrawn."""
        container = self.containers.get(command.executor_id)
        if container is None:
            return
        if container.state == "wanted":
            del self.containers[command.executor_id]
            return
        container.state = "ending"
        self._clock.after(_ENDS_MS, lambda: self._end(container, RELEASED))

    # what happens to containers

    def _allocate(self, executor_id: str) -> None:
        container = self.containers.get(executor_id)
        if container is None or container.state != "wanted":
            return
        placement = self._placements[executor_id]
        not_hosts = placement.not_hosts
        taken = [one.host for one in self.containers.values() if one.host]
        room = [
            (taken.count(host.name), self._rng.random(), host.name)
            for host in self._scenario.hosts
            if host.name not in self._dead
            and host.name not in self._blocked
            and host.name not in not_hosts
            and (not placement.strict or host.name in placement.hosts)
            and taken.count(host.name) < self._scenario.executors_per_host
        ]
        if not room:
            self._clock.after(container.again_ms, lambda: self._allocate(executor_id))
            container.again_ms = min(2 * container.again_ms, _AGAIN_MAX_MS)
            return
        self._came += 1
        if self._blocked and self._rng.random() < _DROPPED_SHARE:
            # YARN placed the container before the block reached it: the AM gives it back before launch and asks again.
            self._tell(ev.ContainerDropped(container_id=f"container_{self._came}", host=self._blocked[0]))
            self._clock.after(_AGAIN_MS, lambda: self._allocate(executor_id))
            return
        container.host = min(room)[2]
        container.container_id = f"container_{self._came}"
        container.state = "starting"
        self._rules.container_comes(executor_id, container.host, not_hosts)
        self._tell(
            ev.ContainerAllocated(
                executor_id=executor_id, container_id=container.container_id, host=container.host, wanted_id=""
            )
        )
        self._clock.after(self._rng.randint(300, 2_000), lambda: self._register(container))
        if self._rng.random() < self._scenario.container_dies:
            exit_code = self._rng.choice(DEATHS)
            self._clock.after(self._rng.randint(200, 15_000), lambda: self._end(container, exit_code))

    def _register(self, container: SimulatedContainer) -> None:
        if container.state != "starting" or container.host in self._dead or not self._there(container):
            return
        container.state = "registered"
        self._tell(
            ev.ContainerStarted(
                executor_id=container.executor_id,
                container_id=container.container_id,
                host=container.host,
                cores=self._scenario.slots,
            )
        )
        self._spark.executor_comes(container.executor_id, container.host)

    def _end(self, container: SimulatedContainer, exit_code: int) -> None:
        if not self._there(container) or (container.host in self._dead and exit_code != HOST_LOST):
            return
        del self.containers[container.executor_id]
        self._spark.executor_goes(container.executor_id)
        self._tell(
            ev.ContainerLost(
                executor_id=container.executor_id,
                container_id=container.container_id,
                host=container.host,
                exit_code=exit_code,
            )
        )

    def _there(self, container: SimulatedContainer) -> bool:
        return self.containers.get(container.executor_id) is container

    # hosts

    def _report(self) -> None:
        self._tell(
            ev.HostsReported(
                hosts=tuple(
                    ev.HostReport(
                        host=host.name,
                        state="LOST" if host.name in self._dead else "RUNNING",
                        free_memory_mb=self._free_mb(host.name),
                    )
                    for host in self._scenario.hosts
                )
            )
        )

    def _free_mb(self, host: str) -> int:
        taken = sum(one.host == host for one in self.containers.values())
        return (self._scenario.executors_per_host - taken) * self._scenario.settings.executor_memory_mb

    def _die(self, host: HostPlan) -> None:
        self._dead.add(host.name)
        self._spark.host_dies(host.name)
        self._clock.after(_DETECTED_BY_SPARK_MS, lambda: self._given_up(host.name))
        self._clock.after(_DETECTED_BY_YARN_MS, lambda: self._found_lost(host.name))

    def _on(self, host: str) -> list[SimulatedContainer]:
        return [one for one in self.containers.values() if one.host == host]

    def _given_up(self, host: str) -> None:
        for container in self._on(host):
            if container.state == "registered":
                self._spark.executor_goes(container.executor_id)
                self._tell(ev.ExecutorRemoved(executor_id=container.executor_id, reason="no heartbeat"))

    def _found_lost(self, host: str) -> None:
        self._report()
        for container in self._on(host):
            self._end(container, HOST_LOST)
