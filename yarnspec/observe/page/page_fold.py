"""The fold of an application's records into what its page draws: who ran what, where and when, and what was decided.

It goes beside ``StatusFold``, which says how things are now: this one remembers how they came to be. ``apply`` never
raises, as there. Attempts, decisions and containers are bounded; ``missing`` says what was forgotten or never read.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import TypeVar

import numpy as np

from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import Command, Verdict
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.observations import NONE, Observations, RowKind, State
from yarnspec.observe.forms.records import Record, UnreadableRecordError
from yarnspec.observe.hindsight.offline import Findings
from yarnspec.observe.page.attempts import LOST_WITH_DRIVER, Attempts, AttemptTable, Row, joined, of_rows
from yarnspec.observe.page.missing import FoldedKind, Missing
from yarnspec.observe.page.spans import MASTER, BlockSpan, ContainerSpan, CopyAsked, Moment, StageSpan
from yarnspec.observe.status.blocks import BlockKey, block_key
from yarnspec.observe.status.copies import CopyCounts
from yarnspec.observe.status.early_starts import ContainerEvent, EarlyStarts

_Step = TypeVar("_Step")
_MOST_CONTAINERS = 10_000
_MOST_BLOCKS = 2_000
_MOST_MOMENTS = 200
_MOST_COPIES = 5_000
_MOST_STEPS = 5_000
_MOST_RUNNING = 100_000
SHOWN_EVENTS = 300
_NUMBER_LIMIT, _TIME_LIMIT_MS = 2**31, 2**42
"""Numbers and times from here on are damaged: no stage has such a number, and no task of this century ended then."""
_NOISE = frozenset({
    "TaskFinished", "HostsReported", "UpdatePlacement", "UpdateTaskBlocks", "SetTimer", "TimerFired", "OutputsDurable",
    "PlacementAcknowledged", "RecordShuffle", "ShuffleDeclared", "AnswerShuffle", "ShuffleForgotten", "RecordProgress",
    "RecordState", "HeldBlocksTold", "AskHeldBlocks", "JobStarted", "JobEnded", "StageStarted", "StageFinished",
    "AttemptsStarted",
})  # fmt: skip
"""Records that come often and say little alone. The page has them in other forms, and `yarnspec events` has all."""


class PageFold:
    """The events so far; see the module."""

    def __init__(self) -> None:
        self.missing = Missing()
        self.attempts = AttemptTable(self.missing)
        self.stages: list[StageSpan] = []
        self.hosts: dict[str, int] = {}
        self.executors: dict[str, int] = {}
        self.containers: dict[str, ContainerSpan] = {}
        self.blocks: list[BlockSpan] = []
        self.moments: list[Moment] = []
        self.copies: list[CopyAsked] = []
        self.verdicts: dict[tuple[int, int], tuple[int, Verdict]] = {}
        self.spared: dict[str, str] = {}
        self.would_be_slow: dict[str, tuple[int, str]] = {}
        self.wanted: list[tuple[int, int]] = []
        self.pending: list[tuple[int, str]] = []
        self.phases: list[tuple[int, str, str]] = []
        self.restored: list[tuple[int, rec.ShuffleRestored]] = []
        self.last: deque[Record] = deque(maxlen=SHOWN_EVENTS)
        self.counts: Counter[str] = Counter()
        self.copy_counts = {0: CopyCounts()}
        self.first_ms = self.last_ms = 0
        self.epochs = 0
        self._early_starts = EarlyStarts()
        self._open_blocks: dict[BlockKey, BlockSpan] = {}
        self._carried_blocks: dict[BlockKey, BlockSpan] = {}
        self._told_blocks: set[BlockKey] = set()
        self._now: dict[tuple[int, int], int] = {}
        self._started: dict[tuple[int, int], Row] = {}
        self._epoch = self._seq = self._attempt = self._epoch_before = 0
        self._epoch_ended = True

    def apply(self, record: Record) -> None:
        """Take in the next record."""
        self._follow(record)
        try:
            message = record.message()
        except UnreadableRecordError:
            self.missing.damaged += 1
            return
        self.counts[record.type] += 1
        if record.type not in _NOISE:
            self._event(record)
        self.first_ms = self.first_ms or record.time_ms
        self.last_ms = max(self.last_ms, record.time_ms)
        if message is None:
            return
        self.copy_counts[self._epoch].apply(message)
        if isinstance(message, events.TaskFinished):
            self._task_finished(message)
        elif isinstance(message, Command):
            self._decided(message, record.time_ms)
        else:
            self._happened(message, record.time_ms)

    def observe(self, rows: Observations) -> None:
        """Take in what Spark's own event log tells of stages and tasks."""
        hosts = self._numbers(rows.hosts, self.hosts)
        executors = self._numbers(rows.executors, self.executors)
        for row in np.flatnonzero((rows.kind == RowKind.STAGE_STARTED) | (rows.kind == RowKind.STAGE_ENDED)).tolist():
            key, time_ms = (int(rows.stage[row]), int(rows.stage_attempt[row])), int(rows.time_ms[row])
            text = rows.texts.get(row, "")
            if rows.kind[row] == RowKind.STAGE_STARTED:
                started = events.StageStarted(stage=key[0], stage_attempt=key[1], name=text, tasks=int(rows.tasks[row]))
                self._stage_started(started, time_ms)
            else:
                failure = "" if rows.state[row] == State.SUCCESS else text or "failed"
                self._stage_finished(events.StageFinished(stage=key[0], stage_attempt=key[1], failure=failure), time_ms)
        for row in np.flatnonzero(rows.kind == RowKind.TASK_STARTED).tolist():
            place = self._place(int(rows.stage[row]), int(rows.stage_attempt[row]), int(rows.launch_ms[row]))
            self._started[place, int(rows.task_id[row])] = (
                place, int(rows.index[row]), int(rows.attempt[row]), int(rows.task_id[row]),
                int(hosts[rows.host[row]]), int(executors[rows.executor[row]]), int(State.RUNNING),
                int(rows.speculative[row] == 1), int(rows.launch_ms[row]), NONE, int(rows.input_bytes[row]),
            )  # fmt: skip
        ended = np.flatnonzero(rows.kind == RowKind.TASK_ENDED)
        if len(ended):
            keys = zip(rows.stage[ended].tolist(), rows.stage_attempt[ended].tolist(),
                       rows.launch_ms[ended].tolist(), strict=True)  # fmt: skip
            places = np.array([self._place(*key) for key in keys], dtype=np.int64)
            for place, task_id in zip(places.tolist(), rows.task_id[ended].tolist(), strict=True):
                self._started.pop((place, task_id), None)
            self.attempts.add_rows(rows, ended, places, hosts[rows.host[ended]], executors[rows.executor[ended]])
        times = rows.time_ms[rows.time_ms > 0]
        if len(times):
            self.first_ms = min(self.first_ms or int(times.min()), int(times.min()))
            self.last_ms = max(self.last_ms, int(times.max()), int(rows.finish_ms.max()))

    def found(self, findings: Findings) -> None:
        """Take in what the detectors would have found in a run that nobody watched."""
        for one in findings.tasks:
            place = self._now.get((one.verdict.stage, one.verdict.stage_attempt))
            if place is not None:
                self.verdicts[place, one.verdict.index] = (one.at_ms, one.verdict)
        for host in findings.hosts:
            self.would_be_slow[host.verdict.host] = (host.at_ms, host.verdict.reason)

    def everything(self, now_ms: int, *, over: bool = False) -> Attempts:
        """All attempts: those that have ended, and those that run as of this moment.

        ``over``: the application has ended, so nothing runs. Its end is not among the records if it was killed.
        """
        state = LOST_WITH_DRIVER if over else int(State.RUNNING)
        return joined(self.attempts.table(), of_rows([_until(row, state, now_ms) for row in self._started.values()]))

    @property
    def running(self) -> int:
        """How many attempts run."""
        return len(self._started)

    @property
    def position(self) -> str:
        """Up to which record it is: a later one gives another page."""
        return f"{self._epoch}.{self._seq}"

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.counts.total()

    @property
    def host_names(self) -> list[str]:
        """The hosts by their numbers."""
        return list(self.hosts)

    @property
    def executor_names(self) -> list[str]:
        """The executors by their numbers."""
        return list(self.executors)

    def _follow(self, record: Record) -> None:
        if record.epoch != self._epoch:
            self._next_epoch(record)
        if record.seq > self._seq + 1:
            self.missing.skip_records(record.seq - self._seq - 1, record.time_ms)
        self._seq = record.seq

    def _next_epoch(self, record: Record) -> None:
        if not self._epoch_ended:
            self.missing.skip_end(self._epoch, self.last_ms, record.time_ms)
            text = f"driver epoch {self._epoch} ended, and no record says why"
            self._moment(self.last_ms, "lost", text, until_ms=record.time_ms, died="driver")
        # Nobody told when the application master died, and the next one may begin minutes later.
        self._end_attempts(self.last_ms, LOST_WITH_DRIVER, f"driver epoch {self._epoch} was over")
        self._end_stages(self.last_ms)
        self._now = {}
        self._told_blocks = set()
        self._epoch_before, self._epoch, self._seq, self._epoch_ended = self._epoch, record.epoch, 0, False
        self.epochs += 1
        self.copy_counts[self._epoch] = CopyCounts()

    # what happened

    def _happened(self, event: Event, time_ms: int) -> None:
        match event:
            case events.AttemptStarted():
                self._attempt_started(event, time_ms)
            case events.StageStarted():
                self._stage_started(event, time_ms)
            case events.StageFinished():
                self._stage_finished(event, time_ms)
            case events.ContainerAllocated() | events.ContainerStarted() | events.ContainerLost():
                for each in self._early_starts.in_order(event):
                    self._container(each, time_ms)
            case events.TargetExecutorsChanged(count=count):
                self._step(self.wanted, (time_ms, max(0, count) + event.of_profiles), FoldedKind.WANTED, itemgetter(0))
            case events.PendingExplained(reason=reason):
                self._step(self.pending, (time_ms, reason), FoldedKind.WAITS, itemgetter(0))
            case events.AttemptsStarted(attempts=attempts):
                self._attempts_started(attempts)
            case events.DriverReady():
                # A program may begin a second context. What ran in the first one is over, whether or not that was told.
                self._end_attempts(time_ms, int(State.KILLED), "its Spark context was over")
                self._carried_blocks = {}
                self._moment(time_ms, "ready", "the driver takes executors")
            case events.DriverLost(reason=reason, exit_code=code):
                self._end_attempts(time_ms, LOST_WITH_DRIVER, f"the driver died (exit code {code})")
                self._end_stages(time_ms)
                self._epoch_ended = True
                self._moment(time_ms, "lost", f"the driver died (exit code {code}): {reason}", died="driver")
            case events.CopyRefused():
                self._not_started(event.stage, event.stage_attempt, event.index, event.why)
            case rec.ShuffleRestored():
                self._step(self.restored, (time_ms, event), FoldedKind.RESTORED, itemgetter(0))

    def _attempt_started(self, event: events.AttemptStarted, time_ms: int) -> None:
        # An attempt uses few of the numbers of epochs that it has, so a jump of them alone is no gap.
        if event.attempt > self._attempt + 1:
            self.missing.skip_attempts(self._attempt + 1, event.attempt - 1, time_ms)
        self._attempt = event.attempt
        for known in self.containers.values():
            if known.ended_ms is None:
                known.ended_ms, known.diagnostics = time_ms, known.diagnostics or "its application attempt ended"
        # A block that this attempt told of before it began holds; it may tell of others until its driver is ready.
        self._carried_blocks = {key: one for key, one in self._open_blocks.items() if key not in self._told_blocks}
        for key, block in self._carried_blocks.items():
            block.ended_ms = time_ms
            del self._open_blocks[key]
        why = event.attempt_before
        before = f": attempt {event.attempt - 1} was lost, {why}" if why else ""
        died = MASTER if why else ""
        if self.moments and self.moments[-1].until_ms is not None:
            text = f"the application master died{before}"
            self.moments[-1] = self.moments[-1]._replace(text=text, died=MASTER, why=why)
            before = died = ""
        kind = "attempt" if event.attempt == 1 else "again"
        text = f"application attempt {event.attempt} begins on {event.host}{before}"
        self._moment(time_ms, kind, text, died=died, why=why)
        self.containers[event.container_id] = ContainerSpan(
            id=event.container_id, host=event.host, executor_id="", role="am", attempt=event.attempt,
            began_ms=time_ms, started_ms=time_ms,
        )  # fmt: skip
        self._number(event.host, self.hosts)

    def _container(self, event: ContainerEvent, time_ms: int) -> None:
        known = self.containers.get(event.container_id)
        if isinstance(event, events.ContainerLost):
            if known is not None and known.ended_ms is None:
                known.ended_ms, known.exit_code, known.diagnostics = time_ms, event.exit_code, event.diagnostics
            return
        if known is None:
            attempt = max((one.attempt for one in self.containers.values() if one.role == "am"), default=1)
            known = self.containers[event.container_id] = ContainerSpan(
                id=event.container_id, host=event.host, executor_id=event.executor_id, role="executor",
                attempt=attempt, began_ms=time_ms,
            )  # fmt: skip
            self._number(event.host, self.hosts)
            if len(self.containers) > _MOST_CONTAINERS:
                self._forget_containers()
        if isinstance(event, events.ContainerStarted) and known.started_ms is None:
            known.started_ms, known.cores = time_ms, event.cores

    # attempts

    def _attempts_started(self, attempts: tuple[events.RunningAttempt, ...]) -> None:
        for one in attempts:
            if not _is_sound(one, one.launch_ms):
                self.missing.damaged += 1
                continue
            row = self._row(one, int(State.RUNNING), one.launch_ms)
            self._started[row[0], row[3]] = row
        while len(self._started) > _MOST_RUNNING:
            oldest = self._started.pop(next(iter(self._started)))
            self.missing.forget(FoldedKind.RUNNING, 1, oldest[8])

    def _task_finished(self, event: events.TaskFinished) -> None:
        if not _is_sound(event, event.finish_ms):
            self.missing.damaged += 1
            return
        row = self._row(event, int(State.at_end(event.state)), event.finish_ms)
        self._started.pop((row[0], row[3]), None)
        self.attempts.add(row, event.failure)

    def _row(self, one: events.RunningAttempt | events.TaskFinished, state: int, finish_ms: int) -> Row:
        return (
            self._place(one.stage, one.stage_attempt, one.launch_ms), one.index, one.attempt, one.task_id,
            self._number(one.host, self.hosts), self._number(one.executor_id, self.executors),
            state, int(one.speculative), one.launch_ms, finish_ms, NONE,
        )  # fmt: skip

    def _end_attempts(self, time_ms: int, state: int, why: str) -> None:
        """End all attempts that run, since nobody will tell of their ends."""
        for row in self._started.values():
            self.attempts.add(_until(row, state, time_ms), why)
        self._started = {}

    # stages

    def _stage_started(self, event: events.StageStarted, time_ms: int) -> None:
        key = (event.stage, event.stage_attempt)
        known = self._now.get(key)
        if known is not None and self.stages[known].state == "RUNNING" and not self.stages[known].name:
            self.stages[known].name, self.stages[known].tasks = event.name, event.tasks
            return
        self._now[key] = len(self.stages)
        self.stages.append(
            StageSpan(stage=event.stage, stage_attempt=event.stage_attempt, epoch=self._epoch, name=event.name,
                      tasks=event.tasks, began_ms=time_ms)
        )  # fmt: skip

    def _stage_finished(self, event: events.StageFinished, time_ms: int) -> None:
        known = self._now.get((event.stage, event.stage_attempt))
        if known is not None:
            stage = self.stages[known]
            stage.ended_ms, stage.failure = time_ms, event.failure
            stage.state = "FAILED" if event.failure else "SUCCEEDED"

    def _end_stages(self, time_ms: int) -> None:
        """End all stages that run."""
        for place in self._now.values():
            stage = self.stages[place]
            if stage.ended_ms is None:
                stage.ended_ms, stage.state, stage.failure = time_ms, "FAILED", "its driver died"

    def _place(self, stage: int, stage_attempt: int, time_ms: int) -> int:
        place = self._now.get((stage, stage_attempt))
        if place is None:  # of a stage whose beginning is not among the records
            place = self._now[stage, stage_attempt] = len(self.stages)
            self.stages.append(
                StageSpan(stage=stage, stage_attempt=stage_attempt, epoch=self._epoch, name="", tasks=0,
                          began_ms=time_ms)
            )  # fmt: skip
        return place

    # what was decided

    def _decided(self, command: Command, time_ms: int) -> None:  # noqa: PLR0912 - one for each kind
        match command:
            case commands.BlockHost() | commands.BlockExecutor():
                self._block(command, time_ms)
            case commands.UnblockHost() | commands.UnblockExecutor():
                known = self._open_blocks.pop(block_key(command), None)
                if known is not None:
                    known.ended_ms, known.why_ended = time_ms, command.reason
            case commands.JudgeTasks(verdicts=verdicts):
                for one in verdicts:
                    place = self._place(one.stage, one.stage_attempt, time_ms)
                    self.verdicts.setdefault((place, one.index), (time_ms, one))
                while len(self.verdicts) > _MOST_COPIES:
                    judged_ms, _ = self.verdicts.pop(next(iter(self.verdicts)))
                    self.missing.forget(FoldedKind.VERDICTS, 1, judged_ms)
            case commands.LaunchCopy():
                place = self._place(command.stage, command.stage_attempt, time_ms)
                asked = CopyAsked(stage=place, index=command.index, asked_ms=time_ms, reason=command.reason,
                                  not_hosts=command.not_hosts)  # fmt: skip
                self._step(self.copies, asked, FoldedKind.COPIES, attrgetter("asked_ms"))
            case commands.WithdrawCopy():
                self._not_started(command.stage, command.stage_attempt, command.index, command.reason)
            case commands.CreditCopy():
                copy = self._copy_asked(command.stage, command.stage_attempt, command.index)
                if copy is not None:
                    copy.gained_ms = command.gained_ms
            case commands.SlowHostNotBlocked(host=host, reason=reason) | commands.RefuseBlock(host=host, reason=reason):
                self.spared[host] = reason
            case commands.EnterPhase(phase=phase, waits_for=waits_for):
                # The phase is told again when the application waits for something else in it.
                if not self.phases or self.phases[-1][1] != phase:
                    self._step(self.phases, (time_ms, phase, waits_for), FoldedKind.PHASES, itemgetter(0))
            case commands.BeginEpoch(epoch=epoch):
                if self._epoch > self._epoch_before + 1:
                    self.missing.skip_epochs(self._epoch_before + 1, self._epoch - 1, time_ms)
                self._now = {}
                self._moment(time_ms, "again", f"driver epoch {epoch} begins: {command.reason}", why=command.reason)
            case commands.AbandonAttempt():
                self._epoch_ended = True
                text = f"the application attempt was given up: {command.reason}"
                self._moment(time_ms, "lost", text, died=MASTER, why=command.reason)
            case commands.FinishApplication(status=status):
                self._epoch_ended = True
                self._end_attempts(time_ms, int(State.KILLED), "the application ended")
                for key in list(self._open_blocks):
                    self._open_blocks.pop(key).ended_ms = time_ms
                self._moment(time_ms, "end", f"the end: {status}, {command.reason}")

    def _block(self, command: commands.BlockHost | commands.BlockExecutor, time_ms: int) -> None:
        key = block_key(command)
        self._told_blocks.add(key)
        known = self._open_blocks.get(key) or self._carried_blocks.pop(key, None)
        if known is not None:
            self._open_blocks[key], known.ended_ms = known, None
            known.until_ms, known.reason = command.until_ms, command.reason
            return
        executor = command.executor_id if isinstance(command, commands.BlockExecutor) else ""
        self._open_blocks[key] = BlockSpan(
            host=command.host, executor_id=executor, level=command.level, cause=command.cause, by=command.by,
            reason=command.reason, began_ms=time_ms, until_ms=command.until_ms, stage=command.stage,
            index=command.index,
        )  # fmt: skip
        self.blocks.append(self._open_blocks[key])
        self._number(command.host, self.hosts)
        if len(self.blocks) > _MOST_BLOCKS:
            self._forget_blocks()

    def _not_started(self, stage: int, stage_attempt: int, index: int, why: str) -> None:
        copy = self._copy_asked(stage, stage_attempt, index)
        if copy is not None:
            copy.not_started = why or "it did not start"

    def _copy_asked(self, stage: int, stage_attempt: int, index: int) -> CopyAsked | None:
        """The newest request for a copy of a task, without those that came to nothing."""
        task = self._now.get((stage, stage_attempt)), index
        asked = (one for one in reversed(self.copies) if (one.stage, one.index) == task and not one.not_started)
        return next(asked, None)

    # bounds

    def _event(self, record: Record) -> None:
        if len(self.last) == SHOWN_EVENTS:
            self.missing.forget(FoldedKind.EVENTS, 1, self.last[0].time_ms)
        self.last.append(record)

    def _moment(
        self, time_ms: int, kind: str, text: str, *, until_ms: int | None = None, died: str = "", why: str = ""
    ) -> None:
        moment = Moment(time_ms, kind, text, until_ms, died, why)
        self._step(self.moments, moment, FoldedKind.TURNS, itemgetter(0))

    def _step(self, steps: list[_Step], step: _Step, kind: FoldedKind, time_of: Callable[[_Step], int]) -> None:
        steps.append(step)
        most = _MOST_MOMENTS if kind is FoldedKind.TURNS else _MOST_STEPS
        if len(steps) > most:
            # The first one stays: it says how things stood at the beginning.
            oldest = steps[1 : most // 4]
            del steps[1 : most // 4]
            self.missing.forget(kind, len(oldest), time_of(oldest[-1]))

    def _forget_blocks(self) -> None:
        """Forget the oldest blocks that have ended. Of those that hold, the oldest are forgotten if all hold."""
        ended = [one for one in self.blocks if one.ended_ms is not None] or self.blocks
        oldest = ended[: _MOST_BLOCKS // 4]
        gone = {id(one) for one in oldest}
        self.blocks = [one for one in self.blocks if id(one) not in gone]
        self._carried_blocks = {}
        self.missing.forget(FoldedKind.BLOCKS, len(oldest), max(one.ended_ms or one.began_ms for one in oldest))

    def _forget_containers(self) -> None:
        """Forget the oldest containers of executors that have ended, as for blocks."""
        executors = [one for one in self.containers.values() if one.role == "executor"]
        oldest = ([one for one in executors if one.ended_ms is not None] or executors)[: _MOST_CONTAINERS // 4]
        for one in oldest:
            del self.containers[one.id]
        self.missing.forget(FoldedKind.CONTAINERS, len(oldest), max(one.ended_ms or one.began_ms for one in oldest))

    @staticmethod
    def _number(name: str, names: dict[str, int]) -> int:
        return names.setdefault(name, len(names))

    def _numbers(self, found: tuple[str, ...], names: dict[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        # One more at the end: the code for "not known", -1, finds it.
        return np.array([*(self._number(name, names) for name in found), NONE], dtype=np.int64)


def _until(row: Row, state: int, time_ms: int) -> Row:
    """An attempt that ran up to this moment, as one with this state."""
    return (*row[:6], state, row[7], row[8], max(time_ms, row[8]), row[10])


def _is_sound(one: events.RunningAttempt | events.TaskFinished, last_ms: int) -> bool:
    numbers = (one.stage, one.stage_attempt, one.index, one.attempt, one.task_id)
    times = (one.launch_ms, last_ms)
    return all(0 <= one < _NUMBER_LIMIT for one in numbers) and all(0 <= one < _TIME_LIMIT_MS for one in times)
