"""A cluster made of plain values: feeds a negotiator by hand-held time and keeps what it answered."""

from __future__ import annotations

from typing import Any, TypeVar

from tests.core.view import View, view_of
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import Command, UpdatePlacement, Warn
from yarnspec.core.messages.settings import PlacementSettings, ResourcesSettings, Settings
from yarnspec.core.negotiator import Negotiator

START_MS = 1_700_000_000_000
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")

C = TypeVar("C", bound=Command)


def settings(**changes: Any) -> Settings:
    """The core's settings; ``blocked_share`` and ``resource_wait_ms`` are short for options of a group."""
    if "blocked_share" in changes:
        changes["placement"] = PlacementSettings(max_blocked_share=changes.pop("blocked_share"))
    if "resource_wait_ms" in changes:
        changes["resources"] = ResourcesSettings(wait_timeout_ms=changes.pop("resource_wait_ms"))
    return Settings(**{"initial_executors": 2, "executor_memory_mb": 1408, **changes})


def hosts(*names: str, **states: str) -> ev.HostsReported:
    """A report of these hosts; ``h2="LOST"`` gives the host whose name ends with 2 that state.

    What they have free is not told, so that containers are not spread.
    """
    return ev.HostsReported(
        hosts=tuple(ev.HostReport(host=name, state=states.get(f"h{name[-1]}", "RUNNING")) for name in names or HOSTS)
    )


class World:
    def __init__(self, **changes: Any) -> None:
        self.negotiator = Negotiator(settings(**changes))
        self.now_ms = START_MS
        self.commands: list[Command] = []

    def tell(self, event: ev.Event, after_ms: int = 0) -> list[Command]:
        self.now_ms += after_ms
        answer = self.negotiator.handle(event, self.now_ms)
        self.commands += answer
        return answer

    @property
    def warnings(self) -> list[str]:
        return [one.reason for one in self.commands if isinstance(one, Warn)]

    def view(self) -> View:
        return view_of(self.negotiator)

    def start(
        self, epoch: int = 1, *, report: bool = True, application_id: str = "application_1_0001"
    ) -> list[Command]:
        answer = self.tell(
            ev.AttemptStarted(
                application_id=application_id,
                attempt=1,
                epoch=epoch,
                container_id="container_1_0001_01_000001",
                host=HOSTS[0],
                placement_mode="blacklist",
            )
        )
        return answer + (self.tell(hosts()) if report else [])

    def driver_ready(self, **fields: Any) -> list[Command]:
        return self.tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@127.0.0.2:1", **fields))

    def allocate(self, executor_id: str, host: str = HOSTS[1], wanted_id: str = "") -> list[Command]:
        return self.tell(
            ev.ContainerAllocated(
                executor_id=executor_id, container_id=f"c{executor_id}", host=host, wanted_id=wanted_id
            )
        )

    def register(self, executor_id: str, host: str = HOSTS[1], after_ms: int = 0) -> list[Command]:
        return self.tell(
            ev.ContainerStarted(executor_id=executor_id, container_id=f"c{executor_id}", host=host, cores=1), after_ms
        )

    def run(self, *executor_ids: str, host: str = HOSTS[1]) -> list[Command]:
        answer: list[Command] = []
        for executor_id in executor_ids:
            answer += self.allocate(executor_id, host) + self.register(executor_id, host)
        return answer

    def lose(
        self, executor_id: str, exit_code: int, diagnostics: str = "", after_ms: int = 0, host: str = HOSTS[1]
    ) -> list[Command]:
        return self.tell(
            ev.ContainerLost(
                executor_id=executor_id,
                container_id=f"c{executor_id}",
                host=host,
                exit_code=exit_code,
                diagnostics=diagnostics,
            ),
            after_ms,
        )

    def block(self, host: str, **fields: Any) -> list[Command]:
        return self.tell(ev.BlockRequested(**{"host": host, "reason": "slow", "by": "user", **fields}))

    def fire(self, name: str, at_ms: int) -> list[Command]:
        """Fire a timer when it is due."""
        self.now_ms = max(self.now_ms, at_ms)
        return self.tell(ev.TimerFired(name=name, at_ms=at_ms))

    def wanted(self) -> tuple[str, ...]:
        """The ids in the newest placement."""
        placements = of(UpdatePlacement, self.commands)
        return tuple(one.id for one in placements[-1].wanted) if placements else ()


def of(kind: type[C], commands: list[Command]) -> list[C]:
    return [command for command in commands if isinstance(command, kind)]


def only(kind: type[C], commands: list[Command]) -> C:
    found = of(kind, commands)
    assert len(found) == 1, f"not one {kind.__name__}: {commands}"
    return found[0]


def names(commands: list[Command]) -> list[str]:
    return [type(command).__name__ for command in commands]
