"""Why a task or a host was, or was not, acted on, out of an application's records.

While an application runs the core explains what it knows; of what it has forgotten, and after the end, this does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.detectors import SlownessExplanation as Judged
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.detectors.words import seconds
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command, Verdict
from yarnspec.core.messages.events import Event, TaskFinished
from yarnspec.core.messages.observations import State
from yarnspec.observe.forms.records import Record, UnreadableRecordError
from yarnspec.observe.forms.told import why_failed
from yarnspec.observe.hindsight.replay import Replay

_SAME_MS = 1_000
"""The next attempt learns of a block from the events first, which tell its end less exactly."""
_AGAIN = "judged again by time alone, without inputs"
_ABOUT_TASKS = frozenset({"StageStarted", "StageFinished", "TaskFinished"})


def explain_task(records: Iterable[Record], stage: int, index: int, settings: DetectorSettings) -> Explanation | None:
    """Why a task of the newest attempt of a stage was copied or not; None when there was no such task."""
    story = _TaskStory(stage, index, settings)
    for record in records:
        story.take(record)
    return story.told()


def explain_host(records: Iterable[Record], host: str, settings: DetectorSettings) -> Explanation | None:
    """Why a host was blocked or not; None when the records do not know it."""
    story = _HostStory(host, settings)
    for record in records:
        story.take(record)
    return story.told()


class _TaskStory:
    def __init__(self, stage: int, index: int, settings: DetectorSettings) -> None:
        self._stage = stage
        self._index = index
        self._settings = settings
        self._epoch = 0
        self._begin(None, 0)

    def _begin(self, started: events.StageStarted | None, time_ms: int) -> None:
        """Forget an older attempt of the stage."""
        self._started = started
        self._started_ms = time_ms
        self._replay = Replay(self._settings)
        self._attempts: list[TaskFinished] = []
        self._verdicts: list[Verdict] = []
        self._untold = 0
        self._untold_until_ms = -math.inf
        self._slow_beside_it = 0
        self._launched = 0
        self._not_started = ""
        self._withheld = ""
        self._lines: list[tuple[int, str]] = []
        self._ended = False
        if started is not None:
            self._replay.stage_started(started, time_ms)

    def take(self, record: Record) -> None:
        if record.epoch != self._epoch:
            self._epoch = record.epoch
            self._begin(None, 0)
        if record.type in _ABOUT_TASKS and record.fields.get("stage") != self._stage:
            return
        message = _message(record)
        if message is not None:
            self._apply(message, record.time_ms)

    def _apply(self, message: Event | Command, time_ms: int) -> None:
        match message:
            case events.StageStarted():
                self._begin(message, time_ms)
            case events.StageFinished():
                self._ended = True
            case TaskFinished():
                self._replay.task_finished(message, time_ms)
                if message.index == self._index:
                    self._attempt_ended(message, time_ms)
            case commands.JudgeTasks() | commands.WithholdCopies():
                self._found_slow(message, time_ms)
            case commands.BlockHost() | commands.BlockExecutor():
                if message.stage == self._stage and message.index in (None, self._index):
                    self._note(time_ms, f"{message.host} was blocked for the {message.level}: {message.reason}")
            case commands.CreditCopy():
                if (message.stage, message.index) == (self._stage, self._index):
                    self._note(time_ms, message.reason)
            case commands.LaunchCopy() | commands.WithdrawCopy() | commands.KillAttempt() | events.CopyRefused():
                if (message.stage, message.index) == (self._stage, self._index):
                    self._copy(message, time_ms)

    def _attempt_ended(self, task: TaskFinished, time_ms: int) -> None:
        if all(one.task_id != task.task_id for one in self._attempts):
            self._attempts.append(task)
            if task.launch_ms <= self._untold_until_ms:
                self._slow_beside_it = self._untold
            self._note(task.launch_ms, f"{_who(task)} began")
            self._note(task.finish_ms, f"{_who(task)} ended: {_how(task)}")
        elif task.state != State.SUCCESS.name:
            self._note(time_ms, f"what {_who(task)} had put out was lost")

    def _found_slow(self, message: commands.JudgeTasks | commands.WithholdCopies, time_ms: int) -> None:
        match message:
            case commands.JudgeTasks():
                self._count_untold(message, time_ms)
                for one in message.verdicts:
                    if (one.stage, one.index) == (self._stage, self._index):
                        self._verdicts.append(one)
                        self._note(time_ms, f"attempt {one.attempt} on {one.host} was found slow: {one.reason}")
            case commands.WithholdCopies():
                if message.stage == self._stage and self._index in message.indexes:
                    self._withheld = message.reason
                    self._note(time_ms, f"slow, and not copied: {message.reason}")

    def _count_untold(self, message: commands.JudgeTasks, time_ms: int) -> None:
        """Keep how many tasks were slow at once without a verdict in the records, and until when that was so."""
        if message.untold:
            self._untold, self._untold_until_ms = message.untold, math.inf
        else:
            self._untold_until_ms = min(self._untold_until_ms, time_ms)

    def _copy(
        self,
        message: commands.LaunchCopy | commands.WithdrawCopy | commands.KillAttempt | events.CopyRefused,
        time_ms: int,
    ) -> None:
        match message:
            case commands.LaunchCopy():
                self._launched += 1
                hosts = f", not on {', '.join(message.not_hosts)}" if message.not_hosts else ""
                self._note(time_ms, f"a copy was asked for{hosts}: {message.reason}")
            case commands.WithdrawCopy():
                self._launched -= 1
                self._not_started = message.reason
                self._note(time_ms, f"the copy was withdrawn: {message.reason}")
            case events.CopyRefused():
                self._launched -= 1
                self._not_started = message.why
                self._note(time_ms, f"the copy did not start: {message.why}")
            case commands.KillAttempt():
                self._note(time_ms, f"attempt with task id {message.task_id} was ended: {message.reason}")

    def _note(self, time_ms: int, text: str) -> None:
        self._lines.append((time_ms, text))

    def told(self) -> Explanation | None:
        started = self._started
        if started is None or not 0 <= self._index < max(started.tasks, 1):
            return None
        judged = self._judged_before_its_end()
        lines = [
            f"at {(time_ms - self._began_ms()) / 1000:.1f} s: {text}"
            for time_ms, text in sorted(self._lines, key=_time)
        ]
        if judged is not None:
            lines.append(f"{_AGAIN}, as of just before it ended: {judged.text}")
        return Explanation(
            subject=f"task {self._stage}.{self._index}",
            verdict=self._verdict(),
            numbers=self._numbers(judged),
            lines=tuple(lines),
            ended=self._ended,
        )

    def _began_ms(self) -> int:
        return min([self._started_ms, *(one.launch_ms for one in self._attempts)])

    def _verdict(self) -> str:
        if self._launched > 0:
            winner = next((one for one in self._attempts if one.state == State.SUCCESS.name), None)
            if winner is None:
                return "it was copied, and no attempt of it finished"
            return f"it was copied, and the {'copy' if winner.speculative else 'original'} finished first"
        if self._not_started:
            return f"a copy was asked for and did not start: {self._not_started}"
        if self._verdicts:
            return "it was found slow and not copied" + (f": {self._withheld}" if self._withheld else "")
        return self._without_verdict()

    def _without_verdict(self) -> str:
        if not self._attempts:
            return "the records have no end of it" if self._ended else "it has not ended, as far as the records go"
        if not self._slow_beside_it:
            return "it was never found slow"
        crowd = f"{self._slow_beside_it} slow tasks of the stages that ran then"
        return f"the records have no verdict on it, nor on all of {crowd}"

    def _numbers(self, judged: Judged | None) -> dict[str, float | str]:
        numbers: dict[str, float | str] = {}
        if self._verdicts:
            numbers |= self._verdicts[-1].numbers
        elif judged is not None:
            numbers |= judged.numbers
        winner = next((one for one in self._attempts if one.state == State.SUCCESS.name), None)
        if winner is not None:
            numbers |= {"took_ms": float(winner.finish_ms - winner.launch_ms), "finished_on": winner.host}
        return numbers

    def _judged_before_its_end(self) -> Judged | None:
        ends = [one.finish_ms for one in self._attempts]
        if self._started is None or not ends:
            return None
        return self._replay.explain_task(self._stage, self._started.stage_attempt, self._index, min(ends) - 1)


class _HostStory:
    def __init__(self, host: str, settings: DetectorSettings) -> None:
        self._host = host
        self._settings = settings
        self._replay = Replay(settings)
        self._epoch = 0
        self._known = False
        self._blocks = 0
        self._spared = ""
        self._blocked: dict[str, int | None] = {}  # by level, until when
        self._before: dict[str, int | None] = {}  # those of the attempt before
        self._slow: set[tuple[int, int, int]] = set()
        self._ended: Counter[str] = Counter()
        self._first_ms: int | None = None
        self._lines: list[str] = []

    def take(self, record: Record) -> None:
        if record.epoch != self._epoch:
            self._epoch = record.epoch
            self._replay = Replay(self._settings)  # stages are numbered anew
        if self._first_ms is None:
            self._first_ms = record.time_ms
        message = _message(record)
        if message is not None:
            self._apply(message, record.time_ms)

    def _apply(self, message: Event | Command, time_ms: int) -> None:
        match message:
            case events.StageStarted():
                self._replay.stage_started(message, time_ms)
            case events.StageFinished():
                self._replay.stage_finished(message, time_ms)
            case TaskFinished():
                self._replay.task_finished(message, time_ms)
                if message.host == self._host:
                    self._ended[message.state] += 1
            case events.AttemptStarted():
                self._before, self._blocked = self._before | self._blocked, {}
            case events.HostsReported():
                self._known = self._known or any(one.host == self._host for one in message.hosts)
            case commands.RelaxPlacement() if self._host in message.hosts:
                self._note(time_ms, f"placement relaxed ({message.rule}): {message.reason}")
            case commands.JudgeTasks():
                self._slow |= {
                    (self._epoch, one.stage, one.index) for one in message.verdicts if one.host == self._host
                }
            case _:
                if getattr(message, "host", None) == self._host:
                    self._decided(message, time_ms)

    def _decided(self, message: Any, time_ms: int) -> None:
        match message:
            case commands.BlockHost() | commands.BlockExecutor():
                if isinstance(message, commands.BlockHost) and message.level in ("application", "cluster"):
                    # A block that is extended, or that the next attempt goes on with, is still the same one.
                    self._blocks += not (message.level in self._blocked or self._went_on(message))
                    self._blocked[message.level] = message.until_ms
                what = f"executor {message.executor_id}" if isinstance(message, commands.BlockExecutor) else "blocked"
                self._note(time_ms, f"{what} ({_reach(message)}, {message.cause}) by {message.by}: {message.reason}")
            case commands.UnblockHost():
                self._blocked.pop(message.level, None)
                self._before.pop(message.level, None)
                self._note(time_ms, f"unblocked ({message.level}): {message.reason}")
            case commands.RefuseBlock():
                self._note(time_ms, f"not {message.kind}ed: {message.reason}")
            case commands.SlowHostNotBlocked():
                self._spared = f"{message.cause}: {message.reason}"
                self._note(time_ms, f"{message.cause}, but not blocked: {message.reason}")

    def _went_on(self, block: commands.BlockHost) -> bool:
        if block.level not in self._before:
            return False
        until_ms = self._before[block.level]
        if until_ms is None or block.until_ms is None:
            return until_ms is block.until_ms
        return abs(until_ms - block.until_ms) < _SAME_MS

    def _note(self, time_ms: int, text: str) -> None:
        self._lines.append(f"at {(time_ms - (self._first_ms or time_ms)) / 1000:.1f} s: {text}")

    def told(self) -> Explanation | None:
        if not (self._known or self._ended or self._lines):
            return None
        speeds = self._replay.host_speeds()
        done = ", ".join(f"{count} {state.lower()}" for state, count in sorted(self._ended.items())) or "none"
        return Explanation(
            subject=f"host {self._host}",
            verdict=self._verdict(),
            numbers={
                "factor_by_time_alone": round(speeds.factor(self._host), 3),
                "slow_tasks": float(len(self._slow)),
                "ended_attempts": float(self._ended.total()),
            },
            lines=(*self._lines, f"attempts that ended there: {done}", f"{_AGAIN}: {speeds.explain(self._host)}"),
        )

    def _verdict(self) -> str:
        if not self._blocks:
            return "it was never blocked" + (f", although it was {self._spared}" if self._spared else "")
        times = "once" if self._blocks == 1 else f"{self._blocks} times"
        return f"it was blocked {times}{', and was at the end' if self._blocked else ''}"


def _time(line: tuple[int, str]) -> int:
    return line[0]


def _message(record: Record) -> Event | Command | None:
    try:
        return record.message()
    except UnreadableRecordError:
        return None


def _reach(block: commands.BlockHost | commands.BlockExecutor) -> str:
    """Return the level of a block, and the stage or the task that it is for; ``alike`` looks for the task."""
    named = ".".join(str(part) for part in (block.stage, block.index) if part is not None)
    return f"{block.level} {named}" if named else block.level


def _who(task: TaskFinished) -> str:
    kind = "copy" if task.speculative else "attempt"
    return f"{kind} {task.attempt} on {task.host} (executor {task.executor_id})"


def _how(task: TaskFinished) -> str:
    why = f", {why_failed(task.failure)[:200]}" if task.failure.strip() else ""
    return f"{task.state.lower()} after {seconds(task.finish_ms - task.launch_ms)}{why}"
