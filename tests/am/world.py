"""What stands around the negotiator's shell, made of plain values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from yarnspec.core.messages.commands import LaunchCopy, UpdateTaskBlocks, WithdrawCopy
from yarnspec.yarn.skein.am_client import ALL_STATES, ContainerServiceError, ContainerState, SkeinContainerStatus

APP = "application_1700000000000_0001"


class HandMadeService:
    """Skein's AM: a test says which container an instance got."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.killed: list[int] = []
        self.booked: dict[int, str] = {}
        self.refuses = False
        self.answers_late = False
        self.before_answer: Callable[[], object] = lambda: None
        self.before_add_answers: Callable[[], object] = lambda: None

    def add_container(self, environment: Mapping[str, str]) -> int:
        if self.refuses:
            raise ContainerServiceError("Skein's AM: gone")
        self.asked.append(dict(environment))
        self.before_add_answers()
        if self.answers_late:
            raise ContainerServiceError("Skein's AM: no answer in time")
        return len(self.asked) - 1

    def containers(self, states: tuple[ContainerState, ...] = ALL_STATES) -> dict[int, SkeinContainerStatus]:  # noqa: ARG002
        self.before_answer()
        return {
            number: SkeinContainerStatus(
                instance=number, state="RUNNING", yarn_container_id=self.booked.get(number, ""), host="h"
            )
            for number in range(len(self.asked))
        }

    def kill(self, instance: int) -> None:
        if self.refuses:
            raise ContainerServiceError("Skein's AM: gone")
        self.killed.append(instance)


class HandMadeBridge:
    """The driver's end, which remembers what it was told."""

    def __init__(self, *polls: list[dict[str, object]]) -> None:
        self.told: list[tuple[object, ...]] = []
        self.polls = list(polls)
        self.after: list[int] = []
        self.broken = False
        self.hangs = threading.Event()
        self.hangs.set()
        self.refusals: dict[int, str] = {}
        self.held: dict[str, int] = {}
        self.deaf = 0
        """So many lists of what is blocked get lost."""

    def poll(self, after: int, timeout_s: float) -> list[dict[str, object]]:  # noqa: ARG002
        self.after.append(after)
        if not self.polls:
            raise ConnectionResetError("the JVM has gone")
        return self.polls.pop(0)

    def set_blocks(self, blocks: UpdateTaskBlocks) -> None:
        if self.deaf:
            self.deaf -= 1
            raise ConnectionResetError("it did not hear")
        self._tell("blocked", blocks.hosts, *((blocks.executors, blocks.stages) if blocks.stages else ()))

    def declare_ready(self) -> None:
        if self.deaf:
            self.deaf -= 1
            raise ConnectionResetError("it did not hear")
        self._tell("ready")

    def launch_copies(self, copies: Sequence[LaunchCopy]) -> list[str]:
        self._tell("copies", *(copy.index for copy in copies))
        return [self.refusals.get(copy.index, "") for copy in copies]

    def withdraw_copies(self, copies: Sequence[WithdrawCopy]) -> None:
        self._tell("withdrawn", *(copy.index for copy in copies))

    def held_blocks(self, executor_id: str) -> int:
        self._tell("held", executor_id)
        return self.held.get(executor_id, 0)

    def kill_attempt(self, task_id: int, reason: str) -> None:
        self._tell("killed", task_id, reason)

    def remove_executor(self, executor_id: str, exit_code: int, caused_by_app: bool, reason: str) -> None:
        self._tell("removed", executor_id, exit_code, caused_by_app, reason)

    def decommission_host(self, host: str) -> None:
        self._tell("host decommissioned", host)

    def host_gone(self, host: str) -> None:
        self._tell("host gone", host)

    def _tell(self, *what: object) -> None:
        assert self.hangs.wait(10)
        if self.broken:
            raise ConnectionResetError("the JVM has gone")
        self.told.append(what)

    def close(self) -> None:
        self.told.append(("closed",))

    def running_tasks(self) -> int:
        if self.broken:
            raise ConnectionResetError("the JVM has gone")
        return 3
