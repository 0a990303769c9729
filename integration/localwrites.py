"""What a negotiator does about the writes of one driver, by its own decisions and without its process."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from yarnspec.am.sources.shuffleevents import shuffle_event
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.messages import commands
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.recovery.savedwork import moved_writes, saved_writes
from yarnspec.core.writes.write_coordinator import WriteCoordinator
from yarnspec.spark.bridge import DriverBridge

Step = Literal["asked", "recorded", "answered"]


class LocalWrites:
    """Records and answers what a driver asks about its writes.

    Args:
        epoch: this life of the driver.
        recorded: what its predecessors recorded; it records there too.
        kill_at: a kind of question, which of them, and how far its answer has come when the driver is to be killed.
        lost_from: a kind of what the driver says, and which of them: from that on nothing gets into the journal.
    """

    def __init__(
        self,
        epoch: int,
        recorded: Recorded,
        kill_at: tuple[str, int, Step] | None,
        lost_from: tuple[str, int] | None = None,
    ) -> None:
        settings = Settings(initial_executors=1, executor_memory_mb=512)
        lifecycle = Lifecycle(settings, Timers(), Bounds(settings))
        lifecycle.begin(epoch)
        self._outputs = WriteCoordinator(lifecycle, lambda _why: [])
        self._outputs.known(saved_writes(recorded), moved_writes(recorded), tuple(recorded.reads))
        self._recorded = recorded
        self._kill_at = kill_at
        self._lost_from = lost_from
        self._lost = False
        self._asked: Counter[str] = Counter()
        self.stopped = ""
        """Why the application cannot go on; empty when it can."""

    def handle(self, bridge: DriverBridge, event: dict[str, Any]) -> bool:
        """Take in what the driver says; True when it is to be killed now."""
        told, kind = shuffle_event(event), event["type"]
        if told is None or type(told) not in self._outputs.routes:
            return False
        self._asked[kind] += 1
        self._lost = self._lost or self._lost_from == (kind, self._asked[kind])
        if self._is_at(kind, "asked"):
            return True
        answers = []
        for command in self._outputs.routes[type(told)](told, 0):
            for record in command.records():
                if not self._lost:
                    self._recorded.apply(record)
            if isinstance(command, rc.AnswerWrite):
                answers.append(command)
            elif isinstance(command, commands.FinishApplication):
                self.stopped = command.reason
        if self.stopped or self._is_at(kind, "recorded"):
            return True
        for answer in answers:
            bridge.answer_write(answer.question, answer)
        return self._is_at(kind, "answered")

    def _is_at(self, kind: str, step: Step) -> bool:
        return self._kill_at == (kind, self._asked[kind], step)
