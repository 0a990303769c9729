"""A recorded run with one of its hosts made slow: the same tasks, placed again as slots become free.

*An injection.* One host, drawn by lot, is ``factor`` times slower for one unbroken part of the run (drawn from half of
it to all of it; never while the first stage warms up the executors), and in a share of its tasks (drawn from 0.6 to 1;
which ones, by lot). Each task's time on a healthy host is its recorded time with a noise of 10 %. Nothing is copied or
blocked in a stream, so the slow host keeps its tasks until they end.

*What is asked to be found.* A task *feels* the slowness when it took at least twice as long as on a healthy host, and
at least 100 ms longer. A stream counts when at least six tasks felt it; else another part, host or share is drawn, and
when 200 draws give none the run is too short for this factor and has one stream less. Below that a slow host is not to
be told from chance: programs have a few large tasks, two or three of which fall on one host all the time.

*True positive*: the host is called slow for the first time after its slowness began and not later than a second after
the last task that felt it. *Miss*: it is not. *False positive*: every other host that is called slow at any time, and
the slow one when it is first called so before or after that. In streams without a slow host every call is false. Each
host counts once in a stream.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from integration.bench.detection.recordings import Run, Task
from yarnspec.core.messages.observations import Observations, ObservationsBuilder, RowKind, State

SLOTS = 2
NEXT_STAGE_MS = 5
"""A stage that began at most so long before another one ended did not wait for it."""
AFFECTED_MIN = 6
"""So many tasks of the slow host must have felt it: else there is nothing to find."""
FELT_MS = 100
FELT_FACTOR = 2
_TRIES = 200


class Slowness(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a host: from when until when, by how much, and with which share of the tasks it shows."""

    host: str
    factor: float
    begin_ms: int
    end_ms: int
    share: float


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it ran in the stream."""

    task: Task
    host: str
    executor: str
    launch_ms: int
    finish_ms: int
    felt_ms: int
    """How much longer it took than it would have on a healthy host."""

    @property
    def felt(self) -> bool:
        """Whether that is much."""
        took_ms = self.finish_ms - self.launch_ms
        return self.felt_ms >= FELT_MS and took_ms >= FELT_FACTOR * (took_ms - self.felt_ms)


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """What would have been observed, and what was wrong."""

    run: str
    slowness: Slowness | None
    placed: tuple[Placed, ...]
    stages: dict[tuple[int, int], tuple[int, int]]
    inputs_known: bool = True
    """Whether the driver knew, when it launched a task, what the task would read; else it is seen when it has ended."""

    @property
    def felt_until_ms(self) -> int:
        """When the last task ended that the slowness made much longer; 0 without one."""
        return max((placed.finish_ms for placed in self.placed if placed.felt), default=0)

    def batches(self, every_ms: int) -> Iterator[tuple[int, Observations]]:
        """Moments, and what was observed until each since the one before."""
        rows = sorted(self._rows(), key=lambda row: (row[0], row[1]))
        at = 0
        now_ms = 0
        while at < len(rows):
            now_ms += every_ms
            builder = ObservationsBuilder()
            while at < len(rows) and rows[at][0] <= now_ms:
                time_ms, _, fields = rows[at]
                builder.add(**{**fields, "time_ms": time_ms})  # type: ignore[arg-type] # kind, texts and numbers
                at += 1
            yield now_ms, builder.take()

    def _rows(self) -> Iterator[tuple[int, int, dict[str, object]]]:
        first: dict[tuple[int, int], Task] = {}
        for placed in self.placed:
            task = placed.task
            first.setdefault(task.stage_key, task)
            common: dict[str, object] = {
                "stage": task.stage, "stage_attempt": task.stage_attempt, "index": task.index, "attempt": 0,
                "task_id": task.task_id, "host": placed.host, "executor": placed.executor, "speculative": 0,
                "launch_ms": placed.launch_ms,
                "input_bytes": task.bytes_read if self.inputs_known and task.bytes_read > 0 else -1,
            }  # fmt: skip
            yield placed.launch_ms, 1, {"kind": RowKind.TASK_STARTED, "state": State.RUNNING, **common}
            ended = {"bytes_read": task.bytes_read, "records_read": task.records_read, "failure": 0}
            ended |= {"run_ms": placed.finish_ms - placed.launch_ms, "finish_ms": placed.finish_ms}
            yield placed.finish_ms, 2, {"kind": RowKind.TASK_ENDED, "state": State.SUCCESS, **common, **ended}
        for key, (begun_ms, ended_ms) in self.stages.items():
            named = {"stage": key[0], "stage_attempt": key[1]}
            about = {"tasks": first[key].stage_tasks, "flags": first[key].stage_flags, "state": State.RUNNING}
            yield begun_ms, 0, {"kind": RowKind.STAGE_STARTED, "text": "recorded", **named, **about}
            yield ended_ms, 3, {"kind": RowKind.STAGE_ENDED, "state": State.SUCCESS, **named}


def untouched(run: Run) -> Stream:
    """The run as it was."""
    placed = [
        Placed(
            task=task, host=task.host, executor=task.executor, launch_ms=task.launch_ms, finish_ms=task.finish_ms,
            felt_ms=0,
        )
        for task in run.tasks
    ]  # fmt: skip
    stages = {task.stage_key: (task.stage_started_ms, task.stage_ended_ms) for task in run.tasks}
    return Stream(run=run.name, slowness=None, placed=tuple(placed), stages=stages)


def placed_again(run: Run, seed: int) -> Stream:
    """The run with other places for its tasks and some noise, all hosts healthy."""
    return _replay(run, random.Random(f"{run.name} {seed}"), None)  # noqa: S311 - the same each time


def injected(run: Run, factor: float, seed: int) -> Stream | None:
    """The run with a slow host; None when it is too short for one to be felt."""
    chance = random.Random(f"{run.name} {factor} {seed}")  # noqa: S311 - the same each time
    # Not while JVMs and Python workers still start: that is the first stage.
    warm_ms = min(task.stage_ended_ms for task in run.tasks)
    length_ms = max(task.finish_ms for task in run.tasks) - warm_ms
    for _ in range(_TRIES):
        part = chance.uniform(0.5, 1.0)
        begin_ms = warm_ms + int(chance.uniform(0, 1 - part) * length_ms)
        slowness = Slowness(
            host=chance.choice(run.hosts),
            factor=factor,
            begin_ms=begin_ms,
            # A slow host makes the run longer: its time is measured on the run as it is without.
            end_ms=begin_ms + int(part * length_ms * chance.uniform(1, 2)),
            share=chance.uniform(0.6, 1.0),
        )
        stream = _replay(run, chance, slowness)
        if sum(placed.felt for placed in stream.placed) >= AFFECTED_MIN:
            return stream
    return None


def _replay(run: Run, chance: random.Random, slowness: Slowness | None) -> Stream:
    by_stage: dict[tuple[int, int], list[Task]] = defaultdict(list)
    for task in sorted(run.tasks, key=lambda task: (task.launch_ms, task.task_id)):
        by_stage[task.stage_key].append(task)
    recorded = {key: (tasks[0].stage_started_ms, tasks[0].stage_ended_ms) for key, tasks in by_stage.items()}
    before = {
        key: [other for other, (_, ended) in recorded.items() if other != key and ended <= begun + NEXT_STAGE_MS]
        for key, (begun, _) in recorded.items()
    }
    executors = {(task.host, task.executor) for task in run.tasks}
    free = sorted((host, executor, slot) for host, executor in executors for slot in range(SLOTS))
    stages: dict[tuple[int, int], tuple[int, int]] = {}
    begun: dict[tuple[int, int], int] = {}
    left = {key: len(tasks) for key, tasks in by_stage.items()}
    waiting: list[Task] = []
    placed: list[Placed] = []
    # (when, order, what): a stage begins, or a slot becomes free after a task.
    plan: list[tuple[int, int, tuple[int, int], tuple[str, str, int] | None]] = []
    order = 0

    def begin(key: tuple[int, int], at_ms: int) -> None:
        nonlocal order
        order += 1
        begun[key] = at_ms
        heapq.heappush(plan, (at_ms, order, key, None))

    for key, (begun_ms, _) in recorded.items():
        if not before[key]:
            begin(key, begun_ms)
    while plan:
        now_ms, _, key, slot = heapq.heappop(plan)
        if slot is None:
            waiting += by_stage[key]
        else:
            free.append(slot)
            left[key] -= 1
            if not left[key]:
                stages[key] = (begun[key], now_ms)
                for other in sorted(recorded):
                    if other not in begun and all(each in stages for each in before[other]):
                        pause_ms = recorded[other][0] - max(recorded[each][1] for each in before[other])
                        begin(other, max(stages[each][1] for each in before[other]) + max(0, pause_ms))
        while waiting and free:
            slot = free.pop(chance.randrange(len(free)))
            task = waiting.pop(0)
            work_ms = max(1, round(task.took_ms * chance.lognormvariate(0, 0.1)))
            host = slot[0]
            slow = slowness is not None and host == slowness.host and chance.random() < slowness.share
            took_ms = _slowed_ms(now_ms, work_ms, slowness) if slow and slowness is not None else work_ms
            finish_ms = now_ms + took_ms
            placed.append(
                Placed(
                    task=task, host=host, executor=slot[1], launch_ms=now_ms, finish_ms=finish_ms,
                    felt_ms=took_ms - work_ms,
                )
            )  # fmt: skip
            order += 1
            heapq.heappush(plan, (finish_ms, order, task.stage_key, slot))
    return Stream(run=run.name, slowness=slowness, placed=tuple(placed), stages=stages)


def _slowed_ms(launch_ms: int, work_ms: int, slowness: Slowness) -> int:
    """How long so much work takes on the slow host: at full speed before and after its bad time."""
    before_ms = min(work_ms, max(0, slowness.begin_ms - launch_ms))
    left_ms = work_ms - before_ms
    begin_ms = launch_ms + before_ms
    slow_for_ms = max(0, slowness.end_ms - begin_ms)
    done_ms = min(left_ms, slow_for_ms / slowness.factor)
    return round(before_ms + done_ms * slowness.factor + left_ms - done_ms)
