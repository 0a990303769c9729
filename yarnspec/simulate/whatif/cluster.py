"""YARN for many hosts: they come, die and are blocked; each container goes to the host with the fewest."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import WantedContainer
from yarnspec.simulate.whatif.plan import HostLife, SimulationPlan
from yarnspec.simulate.world.clock import START_MS, Clock
from yarnspec.simulate.world.cluster import DEATHS, HOST_LOST, RELEASED

_REGISTERS_MS = (300, 2_000)
_DETECTED_BY_SPARK_MS = 2_000
_DETECTED_BY_YARN_MS = 5_000
_ENDS_MS = 300


@dataclass(slots=True)
class Container:
    """A container that is to come or there."""

    executor_id: str
    container_id: str = ""
    host: str = ""
    state: Literal["asked", "starting", "registered", "ending"] = "asked"
    began_ms: int = 0


class ManyHosts:
    """The hosts and their containers. ``came`` and ``gone`` are called with each executor that registers and ends."""

    def __init__(
        self,
        plan: SimulationPlan,
        *,
        clock: Clock,
        rng: random.Random,
        tell: Callable[[ev.Event], None],
        came: Callable[[str, str], None],
        gone: Callable[[str], None],
        host_dies: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._rng = rng
        self._tell = tell
        self._came = came
        self._gone = gone
        self._host_dies = host_dies
        self._lives = {life.plan.name: life for life in plan.hosts}
        self._states: dict[str, str] = {}
        self._blocked: frozenset[str] = frozenset()
        self._taken: dict[str, dict[str, Container]] = {life.plan.name: {} for life in plan.hosts}
        self._free: list[tuple[int, float, str]] = []
        self._placements: dict[str, WantedContainer] = {}
        self._waiting: deque[str] = deque()
        self._numbers = 0
        self._report_due = False
        self._containers: dict[str, Container] = {}
        self.container_ms = 0
        """How long all containers together have been there."""

    def begin(self) -> None:
        """Let hosts come and die when it is their time."""
        first = [life for life in self._plan.hosts if not life.arrives_ms]
        for life in first:
            self._arrive(life, report=False)
        self._report()
        for life in self._plan.hosts:
            if life.arrives_ms:
                self._clock.at(START_MS + life.arrives_ms, partial(self._arrive, life))
            if life.plan.dies_ms is not None:
                self._clock.at(START_MS + life.plan.dies_ms, partial(self._die, life))

    def end(self) -> None:
        """The application is over: what is still there ends now."""
        for one in self._containers.values():
            self._count(one)

    # commands

    def place(self, blocked: Iterable[str], wanted: Iterable[WantedContainer], version: int) -> None:
        """Take a new placement."""
        back = self._blocked.difference(blocked)
        self._blocked = frozenset(blocked)
        self._placements = {one.id: one for one in wanted}
        for host in sorted(back):
            self._offer(host)
        self._tell(ev.PlacementAcknowledged(version=version))
        self._serve()

    def request(self, executor_ids: Iterable[str]) -> None:
        """Containers are asked for; each is given after a while, if there is room."""
        for executor_id in executor_ids:
            self._containers[executor_id] = Container(executor_id)
            if len(self._containers) > 1 and self._rng.random() < self._plan.never_comes:
                continue
            self._clock.after(self._rng.randint(*self._plan.container_ms), partial(self._ready, executor_id))

    def release(self, executor_id: str) -> None:
        """A container is given back, or its request withdrawn."""
        one = self._containers.get(executor_id)
        if one is None:
            return
        if one.state == "asked":
            del self._containers[executor_id]
            return
        one.state = "ending"
        self._clock.after(_ENDS_MS, partial(self._end, one, RELEASED))

    # containers

    def _ready(self, executor_id: str) -> None:
        self._waiting.append(executor_id)
        self._serve()

    def _serve(self) -> None:
        """Give the containers that are due, the oldest first, as long as hosts have room."""
        later: list[str] = []
        while self._waiting and self._free:
            executor_id = self._waiting.popleft()
            one = self._containers.get(executor_id)
            if one is None or one.state != "asked":
                continue
            placement = self._placements.get(executor_id)
            host = self._host_for(placement)
            if host is None:
                later.append(executor_id)
                if placement is None or not (placement.strict or placement.not_hosts):
                    break
            else:
                self._allocate(one, host)
        self._waiting.extendleft(reversed(later))

    def _host_for(self, placement: WantedContainer | None) -> str | None:
        avoided = placement.not_hosts if placement is not None else ()
        if placement is not None and placement.strict and placement.hosts:
            named = [host for host in placement.hosts if host not in avoided and self._has_room(host)]
            return min(named, key=lambda host: len(self._taken[host]), default=None)
        aside = []
        found = None
        while self._free and found is None:
            load, _, host = entry = heapq.heappop(self._free)
            if not self._has_room(host) or load != len(self._taken[host]):
                continue
            if host in avoided:
                aside.append(entry)
            else:
                found = host
        for entry in aside:
            heapq.heappush(self._free, entry)
        return found

    def _allocate(self, one: Container, host: str) -> None:
        self._numbers += 1
        one.host, one.container_id, one.state = host, f"container_{self._numbers}", "starting"
        one.began_ms = self._clock.now_ms
        self._taken[host][one.executor_id] = one
        self._offer(host)
        self._tell(
            ev.ContainerAllocated(executor_id=one.executor_id, container_id=one.container_id, host=host, wanted_id="")
        )
        self._clock.after(self._rng.randint(*_REGISTERS_MS), partial(self._register, one))
        if self._rng.random() < self._plan.container_dies:
            died = partial(self._end, one, self._rng.choice(DEATHS))
            self._clock.after(self._rng.randint(200, 15_000), died)

    def _register(self, one: Container) -> None:
        if one.state != "starting" or self._states.get(one.host) != "RUNNING":
            return
        if self._containers.get(one.executor_id) is not one:
            return
        one.state = "registered"
        self._tell(
            ev.ContainerStarted(
                executor_id=one.executor_id, container_id=one.container_id, host=one.host, cores=self._plan.slots
            )
        )
        self._came(one.executor_id, one.host)

    def _end(self, one: Container, exit_code: int) -> None:
        if self._containers.get(one.executor_id) is not one:
            return
        if self._states.get(one.host) != "RUNNING" and exit_code != HOST_LOST:
            return
        del self._containers[one.executor_id]
        del self._taken[one.host][one.executor_id]
        self._count(one)
        self._gone(one.executor_id)
        self._tell(
            ev.ContainerLost(
                executor_id=one.executor_id, container_id=one.container_id, host=one.host, exit_code=exit_code
            )
        )
        self._offer(one.host)
        self._serve()

    def _count(self, one: Container) -> None:
        if one.began_ms:
            self.container_ms += self._clock.now_ms - one.began_ms

    # hosts

    def _has_room(self, host: str) -> bool:
        return (
            self._states.get(host) == "RUNNING"
            and host not in self._blocked
            and len(self._taken[host]) < self._lives[host].room
        )

    def _offer(self, host: str) -> None:
        if self._has_room(host):
            heapq.heappush(self._free, (len(self._taken[host]), self._rng.random(), host))

    def _arrive(self, life: HostLife, *, report: bool = True) -> None:
        self._states[life.plan.name] = "RUNNING"
        self._offer(life.plan.name)
        if report:
            self._report_soon()
            self._serve()

    def _die(self, life: HostLife) -> None:
        host = life.plan.name
        self._states[host] = "LOST"
        self._host_dies(host)
        self._clock.after(_DETECTED_BY_SPARK_MS, partial(self._given_up, host))
        self._clock.after(_DETECTED_BY_YARN_MS, partial(self._found_lost, host))

    def _given_up(self, host: str) -> None:
        for one in list(self._taken[host].values()):
            if one.state == "registered":
                self._gone(one.executor_id)
                self._tell(ev.ExecutorRemoved(executor_id=one.executor_id, reason="no heartbeat"))

    def _found_lost(self, host: str) -> None:
        self._report_soon()
        for one in list(self._taken[host].values()):
            self._end(one, HOST_LOST)

    def _report_soon(self) -> None:
        """The ResourceManager is asked once a second; hosts that come together are one report."""
        if not self._report_due:
            self._report_due = True
            self._clock.after(1_000, self._report)

    def _report(self) -> None:
        self._report_due = False
        memory_mb = self._plan.settings.executor_memory_mb
        self._tell(
            ev.HostsReported(
                hosts=tuple(
                    ev.HostReport(
                        host=host,
                        state=state,
                        memory_mb=memory_mb * self._lives[host].room,
                        free_memory_mb=memory_mb * (self._lives[host].room - len(self._taken[host])),
                    )
                    for host, state in self._states.items()
                )
            )
        )
