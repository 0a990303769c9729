"""`python -m integration.bench decisions`: how long a look at many running tasks takes, and how fast rows are taken in.

No cluster: columns as the feed brings them, the core's own negotiator, and a clock. A look is all that the negotiator
does at a check: what is learnt of the hosts' speed, the detector, blocks, copies, containers for them, and the commands
that follow. Of so many tasks it takes two steps, half an interval apart. While a step lasts nothing else can be done:
the longer one of each look is held against the aim; the whole look is printed beside. Before each, not measured, a
thousand tasks end and a thousand start, so that nothing can be kept from the look before. One host in a hundred is
slow, so that each look has verdicts to give: on all that runs there from the beginning, and on what starts there and is
late later on. Of all others none is, as each has as much input as goes with the time that it will have.

Then looks that act: ten hosts in a hundred are slow and only one of them may be blocked as a whole, so that each asks
for copies of slow tasks, which start, and keeps each of these tasks off its host by a block of its own.

Machines that are shared are not as quick each day: what a sort takes, which is printed as well, tells days apart.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from integration.bench.measured import machine
from yarnspec.core.copies.speculation import IN_ONE_STEP, JUDGE_TIMER
from yarnspec.core.detectors.registry import KINDS, DetectorSettings
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import Command, LaunchCopy, SetTimer
from yarnspec.core.messages.observations import COLUMNS, NONE, Observations, RowKind, State
from yarnspec.core.messages.settings import PlacementSettings, Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.core.tasks.task_table import TaskTable

STAGES = (1, 20)
AIMS_MS = {100_000: 10.0, 1_000_000: 50.0}
AIM_ROWS_PER_S = 200_000
LOOKS = {100_000: 300, 1_000_000: 100}
HOSTS, SLOTS = 100, 4
SLOW_HOST = 7
ACTING_RUNNING, ACTING_SLOW_HOSTS, ACTING_LOOKS = 100_000, 10, 10
AIM_ACTING_MS = 100.0
BATCH = 8_192
TASK_MS = 10_000
INPUT_BYTES = 10 << 20
CHURN = 1_000
CHECK_MS = 20
T0 = 1_700_000_000_000

_HOST_NAMES = tuple(f"host-{each}" for each in range(HOSTS))
_EXECUTOR_NAMES = tuple(str(each) for each in range(HOSTS * SLOTS))


def batch(count: int, **columns: Any) -> Observations:
    """A batch of rows of which these columns say something."""
    full: dict[str, Any] = {name: np.full(count, NONE, dtype=np.int64) for name in COLUMNS}
    for name, values in columns.items():
        full[name][:] = values
    return Observations(**full, hosts=_HOST_NAMES, executors=_EXECUTOR_NAMES)


class Crowd:
    """A negotiator that watches many running tasks: a tenth as many have ended, and the counters of all are known."""

    def __init__(self, running: int, stages: int, kind: str, slow_hosts: int = 1, share: float = 0.33) -> None:
        detector = DetectorSettings(
            kind=kind, baseline_ratio=0.01, baseline_lower_bound_ms=5_000, check_interval_ms=CHECK_MS
        )
        self.negotiator = Negotiator(
            Settings(
                initial_executors=HOSTS,
                executor_memory_mb=1024,
                detector=detector,
                placement=PlacementSettings(max_blocked_share=share),
            )
        )
        self._slow = SLOW_HOST + np.arange(slow_hosts)
        self._all_run = slow_hosts > 1  # no copy is asked for while tasks of its stage wait
        self.table = TaskTable()
        """The same once more, to choose from what runs."""
        self.now_ms = T0 + 3 * TASK_MS
        self._due_ms = 0
        self._next = running // stages + running // stages // 10
        self._ids = 100_000_000
        self._stages = stages
        self._ended = running // stages // 10
        self._begun_ms = self.now_ms
        self._start()
        for stage in range(stages):
            self._fill(stage, self._next, self._ended)

    def _start(self) -> None:
        self._tell(
            ev.AttemptStarted(
                application_id="application_1_0001", attempt=1, epoch=1, container_id="c0", host=_HOST_NAMES[0],
                placement_mode="blacklist",
            )
        )  # fmt: skip
        self._tell(ev.HostsReported(hosts=tuple(ev.HostReport(host=host, state="RUNNING") for host in _HOST_NAMES)))
        self._tell(ev.DriverReady(driver_url="spark://driver:1"))
        for number, executor in enumerate(_EXECUTOR_NAMES):
            where = {"executor_id": executor, "container_id": f"c{executor}", "host": _HOST_NAMES[number % HOSTS]}
            self._tell(ev.ContainerAllocated(wanted_id="", **where))
            self._tell(ev.ContainerStarted(cores=1, **where))

    def _tell(self, event: ev.Event) -> list[Command]:
        commands = self.negotiator.handle(event, self.now_ms)
        for command in commands:
            if isinstance(command, SetTimer) and command.name == JUDGE_TIMER:
                self._due_ms = command.at_ms
        return commands

    def _observe(self, rows: Observations) -> None:
        self.table.observe(rows)
        self._tell(ev.Observed(rows=rows))

    def _fill(self, stage: int, tasks: int, ended: int) -> None:
        index = np.arange(tasks)
        ids = index + stage * tasks
        late = np.isin(ids % HOSTS, self._slow)
        # Those that run began within the last five seconds, but for those on the slow host, which began long ago.
        launch_ms = np.where(
            index < ended, T0, self.now_ms - np.where(late, 2 * TASK_MS, index * 7919 % (TASK_MS // 2))
        )
        whole = {"stage": stage, "stage_attempt": 0}
        self._observe(
            batch(
                1,
                kind=RowKind.STAGE_STARTED,
                tasks=tasks if self._all_run else 2 * tasks + (max(LOOKS.values()) + 1) * CHURN // self._stages,
                flags=0,
                time_ms=T0,
                **whole,
            ),
        )
        self._observe(self._starts(stage, ids, index, launch_ms))
        done = index[:ended]
        self._observe(self._ends(stage, ids[done], done, T0 + TASK_MS + done * 31 % 500))
        run = index[ended:]
        counted_ms = self.now_ms - 500
        speed = np.where(late[run], 0.1, 1.0) * INPUT_BYTES / TASK_MS
        read = np.clip((counted_ms - launch_ms[run]) * speed, 1, INPUT_BYTES)
        self._observe(
            batch(len(run), kind=RowKind.TASK_COUNTERS, task_id=ids[run], time_ms=counted_ms, bytes_read=read, **whole)
        )

    def _starts(self, stage: int, ids: Any, index: Any, launch_ms: Any) -> Observations:
        return batch(
            len(ids), kind=RowKind.TASK_STARTED, stage=stage, stage_attempt=0, time_ms=launch_ms, index=index,
            attempt=0, task_id=ids, host=ids % HOSTS, executor=ids % (HOSTS * SLOTS), speculative=0,
            launch_ms=launch_ms, input_bytes=self._input_bytes(index, launch_ms),
        )  # fmt: skip

    def _input_bytes(self, index: Any, launch_ms: Any) -> Any:
        """What a task reads until its turn to end has come; all but those of the slow host end in their order."""
        turn = (index - self._ended) * (HOSTS - len(self._slow)) // (HOSTS * (CHURN // self._stages))
        end_ms = np.where(index < self._ended, T0 + TASK_MS, self._begun_ms + turn * CHECK_MS)
        return np.maximum(end_ms - np.maximum(launch_ms, end_ms - TASK_MS), 1) * (INPUT_BYTES // TASK_MS)

    def _ends(self, stage: int, ids: Any, index: Any, finish_ms: Any) -> Observations:
        return batch(
            len(ids), kind=RowKind.TASK_ENDED, stage=stage, stage_attempt=0, time_ms=finish_ms, index=index, attempt=0,
            task_id=ids, host=ids % HOSTS, executor=ids % (HOSTS * SLOTS), state=State.SUCCESS, failure=0,
            finish_ms=finish_ms, bytes_read=INPUT_BYTES,
        )  # fmt: skip

    def churn(self) -> None:
        """A thousand tasks end and a thousand start."""
        count = CHURN // self._stages
        for stage in range(self._stages):
            tasks = self.table.stages[stage, 0]
            columns, rows = tasks.rows, np.flatnonzero(tasks.is_running())
            rows = rows[~np.isin(columns["host"][rows], 1 + self._slow)][:count]
            ends = self._ends(stage, columns["task_id"][rows], columns["index"][rows], np.full(count, self.now_ms))
            # As much as fits the time that they had: counters that do not track the work would not be looked at.
            ends.bytes_read[:] = np.maximum(self.now_ms - columns["launch_ms"][rows], 1) * INPUT_BYTES // TASK_MS
            self._observe(ends)
            ids = np.arange(self._ids, self._ids + count)
            self._ids += count
            self._observe(self._starts(stage, ids, self._next + np.arange(count), np.full(count, self.now_ms)))
        self._next += count
        self.now_ms += CHECK_MS

    def look(self) -> tuple[list[float], int]:
        """One look at all tasks: the milliseconds of its steps, and how many attempts it found slow."""
        took_ms, _ = self._look()
        return took_ms, self.negotiator.speculation_view(self.now_ms).slow_tasks

    def act(self) -> tuple[list[float], int, int]:
        """A look whose copies start: its steps' milliseconds, how many it asked for, and how many tasks are blocked."""
        took_ms, commands = self._look()
        copies = [one for one in commands if isinstance(one, LaunchCopy)]
        blocks = self.negotiator.speculation_view(self.now_ms).blocks
        self._observe(
            batch(
                len(copies), kind=RowKind.TASK_STARTED, stage=[one.stage for one in copies], stage_attempt=0,
                time_ms=self.now_ms, index=[one.index for one in copies], attempt=1,
                task_id=self._ids + np.arange(len(copies)), host=0, executor=0, speculative=1, launch_ms=self.now_ms,
            )
        )  # fmt: skip
        self._ids += len(copies)
        self.now_ms += CHECK_MS
        return took_ms, len(copies), sum(block.level == "task" for block in blocks)

    def _look(self) -> tuple[list[float], list[Command]]:
        steps = 2 if sum(stage.running for stage in self.table.stages.values()) > IN_ONE_STEP else 1
        took_ms: list[float] = []
        commands: list[Command] = []
        for _ in range(steps):
            self.now_ms = max(self.now_ms, self._due_ms)
            fired = ev.TimerFired(name=JUDGE_TIMER, at_ms=self._due_ms)
            begin = time.perf_counter()
            commands += self._tell(fired)
            took_ms.append((time.perf_counter() - begin) * 1000)
        return took_ms, commands


@dataclass(frozen=True)
class Measured:
    """One detector on one crowd."""

    kind: str
    running: int
    stages: int
    look_p50_ms: float
    look_p99_ms: float
    """Of whole looks."""
    step_p50_ms: float
    """Of the longest step of each look."""
    step_p99_ms: float
    verdicts: int


def measure(kind: str, running: int, stages: int, looks: int) -> Measured:
    """Look ``looks`` times at so many running tasks."""
    crowd = Crowd(running, stages, kind)
    crowd.look()
    gc.collect()
    took: list[list[float]] = []
    verdicts = 0
    for _ in range(looks):
        crowd.churn()
        took_ms, verdicts = crowd.look()
        took.append(took_ms)
    longest, whole = [max(steps) for steps in took], [sum(steps) for steps in took]
    return Measured(
        kind=kind,
        running=running,
        stages=stages,
        look_p50_ms=statistics.median(whole),
        look_p99_ms=float(np.percentile(whole, 99)),
        step_p50_ms=statistics.median(longest),
        step_p99_ms=float(np.percentile(longest, 99)),
        verdicts=verdicts,
    )


@dataclass(frozen=True)
class Acted:
    """One detector whose looks ask for copies; the times are of each look's longest step."""

    kind: str
    median_ms: float
    worst_ms: float
    copies: int
    blocks: int


def measure_acting(kind: str) -> Acted:
    """Look while many hosts are slow that are not blocked."""
    crowd = Crowd(ACTING_RUNNING, 1, kind, ACTING_SLOW_HOSTS, share=0.0)
    gc.collect()
    looks = [crowd.act() for _ in range(ACTING_LOOKS)]
    took_ms = [max(steps) for steps, *_ in looks]
    copies, blocks = sum(one[1] for one in looks), max(one[2] for one in looks)
    return Acted(kind, statistics.median(took_ms), max(took_ms), copies, blocks)


def rows_per_s(tasks: int) -> float:
    """How fast the table takes in starts, counters and ends of a stage, in batches as the feed makes them."""
    batches = []
    whole = {"stage": 0, "stage_attempt": 0}
    for begin in range(0, tasks, BATCH // 2):
        ids = np.arange(begin, min(tasks, begin + BATCH // 2))
        place = {"host": ids % HOSTS, "executor": ids % (HOSTS * SLOTS)}
        task = {"task_id": ids, "index": ids, "attempt": 0, "launch_ms": T0 + ids, **place, **whole}
        count = len(ids)
        batches += [
            batch(count, kind=RowKind.TASK_STARTED, time_ms=T0 + ids, speculative=0, input_bytes=INPUT_BYTES, **task),
            batch(count, kind=RowKind.TASK_COUNTERS, time_ms=T0 + ids + 100, bytes_read=1, task_id=ids, **whole),
            batch(count, kind=RowKind.TASK_ENDED, time_ms=T0 + ids + 200, state=1, finish_ms=T0 + ids + 200, **task),
        ]
    table = TaskTable()
    table.observe(batch(1, kind=RowKind.STAGE_STARTED, tasks=tasks, flags=0, time_ms=T0, **whole))
    begin_s = time.perf_counter()
    for rows in batches:
        table.observe(rows)
    passed_s = time.perf_counter() - begin_s
    assert table.stages[0, 0].finished == tasks
    return 3 * tasks / passed_s


def sort_ms() -> float:
    """What tells how quick the machine is at work of this kind just now."""
    took = []
    for seed in range(15):
        values = np.random.default_rng(seed).random(1_000_000)
        begin = time.perf_counter()
        np.sort(values)
        took.append((time.perf_counter() - begin) * 1000)
    return statistics.median(took)


def run(console: Console) -> bool:
    """Measure everything and print it; tell whether the aims are met."""
    console.print(f"decisions on {machine()}; sorting 1,000,000 random numbers takes {sort_ms():.1f} ms")
    shown = Table(title="A look at all running tasks, whose p99 the aim is for, and its longest step")
    for column in (
        "detector",
        "running tasks",
        "stages",
        "look, p50",
        "look, p99",
        "step, p50",
        "step, p99",
        "aim",
        "verdicts",
    ):
        shown.add_column(column, justify="left" if column == "detector" else "right")
    met = True
    for running, aim_ms in AIMS_MS.items():
        for stages in STAGES:
            for kind in sorted(KINDS):
                found = measure(kind, running, stages, LOOKS[running])
                met = met and found.look_p99_ms <= aim_ms
                shown.add_row(
                    kind, f"{running:,}", str(stages), f"{found.look_p50_ms:.1f} ms", f"{found.look_p99_ms:.1f} ms",
                    f"{found.step_p50_ms:.1f} ms", f"{found.step_p99_ms:.1f} ms", f"{aim_ms:g} ms",
                    f"{found.verdicts:,}",
                )  # fmt: skip
    console.print(shown)
    acting = Table(title=f"The longest step of a look that asks for copies; {ACTING_RUNNING:,} tasks run")
    for column in ("detector", "median", "worst", f"aim for the worst of {ACTING_LOOKS}", "copies", "tasks blocked"):
        acting.add_column(column, justify="left" if column == "detector" else "right")
    for kind in sorted(KINDS):
        acted = measure_acting(kind)
        met = met and acted.copies > 0 and acted.worst_ms <= AIM_ACTING_MS
        acting.add_row(
            kind, f"{acted.median_ms:.1f} ms", f"{acted.worst_ms:.1f} ms", f"{AIM_ACTING_MS:g} ms",
            f"{acted.copies:,}", f"{acted.blocks:,}",
        )  # fmt: skip
    console.print(acting)
    console.print(f"after that the sort takes {sort_ms():.1f} ms")
    rates = sorted(rows_per_s(200_000) for _ in range(5))
    console.print(
        f"rows into the table: {rates[2]:,.0f}/s, median of 5 ({rates[0]:,.0f} to {rates[-1]:,.0f}); "
        f"aim {AIM_ROWS_PER_S:,}"
    )
    return met and rates[2] >= AIM_ROWS_PER_S
