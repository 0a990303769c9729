"""A world in which stages run: executors with slots, tasks that are launched and end, timers that fire when due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.core.world import HOSTS, World, of
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import AskHeldBlocks, Command, SetTimer
from yarnspec.core.messages.observations import Failure, ObservationsBuilder, RowKind, StageFlag, State
from yarnspec.core.messages.settings import BlockSettings, SpeculationSettings

H2, H3, H4, H5 = HOSTS
NO_FLAGS = StageFlag(0)


@dataclass
class Running:
    stage: int
    stage_attempt: int
    index: int
    attempt: int
    task_id: int
    executor_id: str
    launch_ms: int
    copy: bool


class Stragglers(World):
    """One executor with ``slots`` slots on each host; ids 1, 2, … in the order of ``hosts``."""

    def __init__(
        self,
        hosts: tuple[str, ...] = HOSTS,
        slots: int = 2,
        speculation: dict[str, Any] | None = None,
        detector: dict[str, Any] | None = None,
        blocks: dict[str, Any] | None = None,
        **changes: Any,
    ) -> None:
        super().__init__(
            initial_executors=len(hosts),
            executor_vcores=slots,
            speculation=SpeculationSettings(**(speculation or {})),
            detector=DetectorSettings(
                **{
                    "kind": "execution-time",
                    "baseline_lower_bound_ms": 1_000,
                    "baseline_ratio": 0.5,
                    **(detector or {}),
                }
            ),
            blocks=BlockSettings(**(blocks or {})),
            **changes,
        )
        self.held: dict[str, int] = {}
        """What executors hold, as ``HeldBlocksTold`` counts it."""
        self.silent = False
        """The driver does not answer what executors hold."""
        self.due: dict[str, int] = {}
        self.running: dict[int, Running] = {}
        self.where: dict[str, str] = {}
        self.flags: dict[int, int] = {}
        self._attempts: dict[tuple[int, int, int], int] = {}
        self._next_task_id = 0
        self.start()
        self.driver_ready()
        for number, host in enumerate(hosts, start=1):
            self.executor(str(number), host, slots)

    def executor(self, executor_id: str, host: str, cores: int = 2) -> list[Command]:
        answer = self.allocate(executor_id, host)
        self.where[executor_id] = host
        return answer + self.tell(
            ev.ContainerStarted(executor_id=executor_id, container_id=f"c{executor_id}", host=host, cores=cores)
        )

    def tell_target(self, count: int) -> list[Command]:
        return self.tell(ev.TargetExecutorsChanged(count=count))

    def tell(self, event: ev.Event, after_ms: int = 0) -> list[Command]:
        answer = super().tell(event, after_ms)
        self.due.update({one.name: one.at_ms for one in answer if isinstance(one, SetTimer)})
        for one in () if self.silent else of(AskHeldBlocks, answer):
            told = ev.HeldBlocksTold(executor_id=one.executor_id, count=self.held.get(one.executor_id, 0))
            answer = answer + self.tell(told)
        return answer

    def pass_ms(self, ms: int) -> list[Command]:
        """Let time pass; timers fire when they are due."""
        until_ms = self.now_ms + ms
        answer: list[Command] = []
        while self.due and min(self.due.values()) <= until_ms:
            name = min(self.due, key=lambda one: (self.due[one], one))
            answer += self.fire(name, self.due.pop(name))
        self.now_ms = until_ms
        return answer

    # stages and tasks

    def stage(
        self,
        stage: int,
        tasks: int,
        flags: StageFlag = NO_FLAGS,
        stage_attempt: int = 0,
        name: str = "a stage",
        *,
        profile: int = 0,
    ) -> list[Command]:
        told = {"stage": stage, "stage_attempt": stage_attempt, "tasks": tasks, "flags": int(flags), "text": name}
        return self.rows((RowKind.STAGE_STARTED, told | {"profile": profile}))

    def stage_ends(self, stage: int, state: State = State.SUCCESS, stage_attempt: int = 0) -> list[Command]:
        return self.rows((RowKind.STAGE_ENDED, {"stage": stage, "stage_attempt": stage_attempt, "state": int(state)}))

    def launch(self, stage: int, index: int, executor_id: str, *, copy: bool = False, stage_attempt: int = 0) -> int:
        """Launch an attempt; its task id."""
        task = (stage, stage_attempt, index)
        one = Running(
            stage, stage_attempt, index, self._attempts.get(task, 0), self._next_task_id, executor_id, self.now_ms, copy
        )
        self._attempts[task] = one.attempt + 1
        self._next_task_id += 1
        self.running[one.task_id] = one
        self.rows((RowKind.TASK_STARTED, self._row(one)))
        return one.task_id

    def end(self, task_id: int, state: State = State.SUCCESS, failure: Failure = Failure.NONE) -> list[Command]:
        one = self.running.pop(task_id)
        row = {**self._row(one), "state": int(state), "failure": int(failure), "finish_ms": self.now_ms}
        return self.rows((RowKind.TASK_ENDED, row))

    def fill(self, stage: int, tasks: int, flags: StageFlag = NO_FLAGS) -> list[int]:
        """Start a stage whose tasks go round over the executors, one task in each slot; their ids by index."""
        self.stage(stage, tasks, flags)
        executors = list(self.where)
        return [self.launch(stage, index, executors[index % len(executors)]) for index in range(tasks)]

    def rows(self, *rows: tuple[RowKind, dict[str, Any]]) -> list[Command]:
        builder = ObservationsBuilder()
        for kind, row in rows:
            builder.add(kind, **{"time_ms": self.now_ms, **row})
        return self.tell(ev.Observed(rows=builder.take()))

    def _row(self, one: Running) -> dict[str, Any]:
        return {
            "stage": one.stage,
            "stage_attempt": one.stage_attempt,
            "index": one.index,
            "partition": one.index,
            "attempt": one.attempt,
            "task_id": one.task_id,
            "host": self.where[one.executor_id],
            "executor": one.executor_id,
            "speculative": int(one.copy),
            "launch_ms": one.launch_ms,
        }


def fails_on_h3(world: Stragglers, index: int, failure: Failure, elsewhere: str = "1", at: str = "2") -> list[Command]:
    world.end(world.launch(0, index, at), State.FAILED, failure)
    return world.end(world.launch(0, index, elsewhere))


def others_end_well(world: Stragglers, first: int) -> None:
    for index in range(first, first + 20):
        for number, executor_id in enumerate(("1", "3", "4")):
            world.end(world.launch(0, 20 * number + index, executor_id))
