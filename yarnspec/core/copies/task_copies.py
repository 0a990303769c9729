"""Copies of slow tasks: how many there may be, which are asked for, run, won or failed.

A copied task's record, and what moves a copy along:

    asked ──started──▶ running ──▶ won | cancelled (another attempt won) | failed
      └── withdrawn (its task or stage ended, a map output was lost) or refused by Spark's scheduler

Failures follow the three rules of the speculative execution proposal (FLINK-10644). While any attempt of a task can
still finish, the others just go on. Spark restarts a task only when none can, and a copy's failure does not count
against the task. A lost map output is restarted at its producer: the copies in all stages that consume it are
cancelled, and only originals come back. Spark ends the attempt of the stage that could not fetch, and leaves the other
consumers alone: a task that has fetched already goes on. A copy there would begin to fetch now, and its failure would
end the attempt of that stage as well. A failed copy is taken off the record. This makes room for another one, up to a
number of copies for each task.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from yarnspec.core.copies.ledger import Ledger, gained_ms
from yarnspec.core.copies.uncopied_stages import reasons
from yarnspec.core.detectors import PutOff
from yarnspec.core.detectors.words import seconds
from yarnspec.core.messages.commands import Command, CreditCopy, KillAttempt, LaunchCopy, Verdict, WithdrawCopy
from yarnspec.core.messages.figures import LedgerFigures
from yarnspec.core.messages.observations import Failure, State
from yarnspec.core.messages.settings import SpeculationSettings
from yarnspec.core.tasks.attemptstate import representative
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks, TaskAttempt
from yarnspec.core.tasks.task_table import StageKey, TaskTable

TaskKey = tuple[int, int, int]

_REST_MS = 1_000
"""How long a task rests after a copy was refused, twice as long after each further one."""
_REST_MAX_MS = 60_000


@dataclass(slots=True)
class CopiedTask:
    """A task that has or had copies. ``asked_ms``: since when a copy is asked for that has not started.

    ``asked``: copies that started or wait. ``denied``: a copy was denied its commit, as another attempt commits.
    ``rests_until_ms``: Spark refused a copy ``refusals`` times in a row, and is not asked for one before then.
    """

    key: TaskKey
    asked_ms: int | None = None
    asked: int = 0
    running: dict[int, TaskAttempt] = field(default_factory=dict)
    original_end_ms: int | None = None
    denied: bool = False
    refusals: int = 0
    rests_until_ms: int = 0

    @property
    def live(self) -> int:
        """Copies that run or are asked for."""
        return len(self.running) + (self.asked_ms is not None)


class TaskCopies:
    """The copied tasks of running stages, and the ledger of all.

    ``factor`` gives a host's slowdown; ``readers_beside`` the stages that read what a stage reads; ``note`` takes what
    happened to a task's copies.
    """

    def __init__(
        self,
        settings: SpeculationSettings,
        table: TaskTable,
        factor: Callable[[str], float],
        readers_beside: Callable[[int], AbstractSet[int]],
        note: Callable[[TaskKey, str, str, int], None],
    ) -> None:
        self._settings = settings
        self._table = table
        self._factor = factor
        self._readers_beside = readers_beside
        self._note = note
        self._tasks: dict[TaskKey, CopiedTask] = {}
        self._live: Counter[StageKey] = Counter()
        self._reasons = reasons(settings)
        self._banned: dict[StageKey, str] = {}
        self.stage_ledgers: dict[StageKey, Ledger] = {}
        self.before = Ledger()
        """The ledger of stages that are forgotten."""
        self.free_slots: Callable[[StageTasks], int] = lambda _: 0
        """How many slots were free at the last pass, and took any task of a stage."""

    # what there is

    @property
    def waiting(self) -> list[CopiedTask]:
        """Tasks with a copy that was asked for and has not started, the oldest first."""
        return _oldest_first(task for task in self._tasks.values() if task.asked_ms is not None)

    @property
    def live(self) -> int:
        """Copies that run or are asked for, in all stages."""
        return sum(self._live.values())

    def ledger_of(self, key: StageKey) -> Ledger:
        """The ledger of one stage attempt."""
        return self.stage_ledgers.setdefault(key, Ledger())

    def total(self) -> Ledger:
        """The ledger of everything so far."""
        total = Ledger()
        for ledger in (self.before, *self.stage_ledgers.values()):
            total.add(ledger)
        return total

    def carry_over(self, figures: LedgerFigures) -> LedgerFigures:
        """Count on from what copies of earlier attempts did; those that ran then have ended with their driver."""
        ledger = Ledger.of(figures)
        ledger.settle()
        self.before.add(ledger)
        return ledger.figures()

    # the limits

    def _limit(self, share: float, running: int) -> int:
        # The small subtraction undoes binary fractions, so that 0.1 x 30 allows 3 and not 4.
        return max(self._settings.min_copies, math.ceil(share * running - 1e-9))

    def _running_tasks(self, key: StageKey | None = None) -> int:
        """Tasks that run now, in one stage attempt or in all; one with copies is one task."""
        stages = self._table.stages
        if key is None:
            return sum(stage.running_tasks for stage in stages.values())
        return stages[key].running_tasks if key in stages else 0

    def objection_to_stage(self, stage: StageTasks) -> str:
        """Why no task of a stage is copied at all, or an empty string."""
        for flag, why in self._reasons:
            if flag in stage.flags:
                return why
        return self._banned.get(stage.key, "")

    def withheld_from(self, stage: StageTasks) -> str:
        """``objection_to_stage``, but empty where yarnspec copies no tasks: Spark's own copies are another matter."""
        return self.objection_to_stage(stage) if self._settings.enabled else ""

    def objection_to_more(self, stage: StageTasks) -> str:
        """Why no more tasks of a stage are copied at the moment, whichever they are, or an empty string."""
        return self.objection_to_stage(stage) or self.behind(stage) or self.too_many(stage.key)

    def behind(self, stage: StageTasks) -> str:
        """A clause that a stage's copies could not start because its own tasks wait for slots, or an empty string.

        Spark gives a copy a slot only if no other task of the stage may have it. If slots are free for all waiting
        tasks, these wait for something else: for a local slot, or the rows of their starts were lost.
        """
        waiting = stage.unlaunched
        return f"{waiting} tasks of its stage wait for slots before it" if waiting > self.free_slots(stage) else ""

    def objection(self, stage: StageTasks, index: int, attempts: tuple[TaskAttempt, ...], now_ms: int) -> str:
        """Why no copy of this task is started now, or an empty string."""
        why = self.objection_to_stage(stage)
        if why:
            return why
        running = sum(one.state is State.RUNNING for one in attempts)
        if any(one.state is State.SUCCESS for one in attempts) or not running:
            return "it does not run any more"
        why = self._task_is_full(stage.key, index, running) or self.waits((*stage.key, index), now_ms)
        return why or self.behind(stage) or self.too_many(stage.key)

    def _task_is_full(self, key: StageKey, index: int, running: int) -> str:
        task = self._tasks.get((*key, index))
        limit = self._settings.max_concurrent_executions
        pending = task is not None and task.asked_ms is not None
        if running + pending >= limit:
            also = ", one of them waits for a slot" if pending else ""
            return f"{running + pending} attempts are there{also}, and {limit} may be at once"
        if task is not None and task.denied:
            return "a copy of it was denied its commit: another attempt commits"
        if task is not None and task.asked >= self._settings.copies_ever:
            return f"it was copied {task.asked} times, which is the limit for one task"
        return ""

    def too_many(self, key: StageKey) -> str:
        """The limit on live copies that a stage attempt or the application has reached, or an empty string."""
        settings = self._settings
        for live, share, running, where in (
            (self._live[key], settings.max_share_of_stage, self._running_tasks(key), "its stage"),
            (self.live, settings.max_share_of_application, self._running_tasks(), "the application"),
        ):
            limit = self._limit(share, running)
            if live >= limit:
                return (
                    f"{live} copies are live in {where}, and {limit} may be ({share:g} of the {running} tasks that run "
                    f"now, at least {settings.min_copies})"
                )
        return ""

    def waits(self, key: TaskKey, now_ms: int) -> str:
        """A clause that a copy of a task waits for a slot or was refused a moment ago, or an empty string."""
        task = self._tasks.get(key)
        if task is None:
            return ""
        if task.asked_ms is not None:
            return "a copy of it waits for a slot"
        return "a copy of it was refused a moment ago" if now_ms < task.rests_until_ms else ""

    def has_live(self, key: TaskKey) -> bool:
        """Whether a copy of a task runs, or is asked for."""
        task = self._tasks.get(key)
        return task is not None and task.live > 0

    def put_off(self, now_ms: int) -> PutOff:
        """The tasks that get no copy at the moment, for reasons that others do not share."""
        most = self._settings.copies_ever
        tasks: defaultdict[StageKey, list[int]] = defaultdict(list)
        for task in self._tasks.values():
            if task.asked_ms is not None or task.denied or task.asked >= most or now_ms < task.rests_until_ms:
                tasks[task.key[:2]].append(task.key[2])

        def of(stage: StageTasks, index: Column) -> Column:
            if self.objection_to_more(stage):
                return np.ones(len(index), dtype=bool)
            found: Column = np.isin(index, tasks[stage.key])
            return found

        return of

    # what is done

    def launch(self, verdict: Verdict, attempts: tuple[TaskAttempt, ...], now_ms: int) -> LaunchCopy:
        """Ask for a copy, on none of the hosts where the task runs."""
        key = (verdict.stage, verdict.stage_attempt, verdict.index)
        task = self._tasks.setdefault(key, CopiedTask(key))
        task.asked_ms = now_ms
        task.asked += 1
        self._live[key[:2]] += 1
        self.ledger_of(key[:2]).copies_asked += 1
        hosts = hosts_of(attempts)
        self._note(key, "asked", f"a copy was asked for, not on {', '.join(hosts)}: {verdict.reason}", now_ms)
        return LaunchCopy(
            stage=verdict.stage,
            stage_attempt=verdict.stage_attempt,
            index=verdict.index,
            not_hosts=hosts,
            attempts_max=self._settings.max_concurrent_executions,
            reason=verdict.reason,
        )

    def expect(self, key: TaskKey, task_id: int, remaining_ms: float, now_ms: int) -> None:
        """Renew the estimate of when a copied task's original would end; a verdict on its copy says nothing of that.

        ``remaining_ms``: of the attempt ``task_id``; NaN when the detector makes no estimate.
        """
        task = self._tasks.get(key)
        if task is not None and remaining_ms >= 0 and task_id not in task.running:
            task.original_end_ms = now_ms + int(remaining_ms)

    # what happened

    def started(self, stage: StageTasks, copy: TaskAttempt, now_ms: int) -> list[Command]:
        """A copy runs: one that was asked for, or one that Spark started by itself.

        Where a map output was lost meanwhile, its start has crossed its withdrawal.
        """
        key = (*stage.key, copy.index)
        task = self._tasks.setdefault(key, CopiedTask(key))
        if task.asked_ms is None:
            self._live[stage.key] += 1
            task.asked += 1
        task.asked_ms = None
        task.refusals = 0
        task.running[copy.task_id] = copy
        ledger = self.ledger_of(stage.key)
        ledger.copies_launched += 1
        ledger.copies_running += 1
        self._note(key, f"started {copy.task_id}", f"a copy started on {copy.host} ({copy.executor_id})", now_ms)
        banned = self._banned.get(stage.key)
        return [_kill(key, copy, banned)] if banned and copy.state is State.RUNNING else []

    def ended(self, stage: StageTasks, attempt: TaskAttempt, now_ms: int) -> list[Command]:
        """An attempt ended; what follows for the copies of its task, or of its stage."""
        commands: list[Command] = []
        # Where speculation is off the copies are Spark's own, and its own rules hold for them.
        lost = self._settings.enabled and attempt.failure is Failure.FETCH_FAILED
        if lost:
            commands += self._map_output_lost(stage, attempt)
        key = (*stage.key, attempt.index)
        task = self._tasks.get(key)
        if task is None:
            return commands
        was_copy = task.running.pop(attempt.task_id, None)
        won = attempt.state is State.SUCCESS
        if was_copy is not None:
            self._live[stage.key] -= 1
            self.ledger_of(stage.key).copy_ended(attempt, won=won, failed=attempt.state is State.FAILED)
        if attempt.failure is Failure.COMMIT_DENIED:
            task.denied |= was_copy is not None
        elif not won:
            task.denied = False  # perhaps the one that was allowed to commit: it did not
        if won:
            commands += self._won(stage, task, attempt, now_ms)
        elif was_copy is not None:
            said = "failed" if attempt.state is State.FAILED else "was cancelled"
            text = f"the copy on {attempt.host} {said} ({attempt.failure.name.lower().replace('_', ' ')})"
            self._note(key, f"ended {attempt.task_id}", text, now_ms)
        return commands

    def refused(self, key: TaskKey, why: str, now_ms: int) -> None:
        """Spark will not start a copy that was asked for."""
        task = self._tasks.get(key)
        if task is not None and task.asked_ms is not None:
            self._drop_asked(task)
            task.rests_until_ms = now_ms + min(_REST_MS << min(task.refusals, 16), _REST_MAX_MS)
            task.refusals += 1
            self.ledger_of(key[:2]).copies_refused += 1
            self._note(key, "refused", f"Spark did not start the copy: {why}", now_ms)

    def withdraw_needless(self, now_ms: int) -> list[Command]:
        """Withdraw copies that still wait for a slot although their tasks have ended."""
        commands: list[Command] = []
        # Many may wait, and few of them in vain: only these need be in order.
        needless = [task for task in self._tasks.values() if task.asked_ms is not None and not self._runs(task.key)]
        for task in _oldest_first(needless):
            commands.append(self._withdraw(task, "its task does not run any more"))
            self._note(task.key, "withdrawn", "the copy had not started when the task ended", now_ms)
        return commands

    def _runs(self, key: TaskKey) -> bool:
        stage = self._table.stages.get(key[:2])
        return stage is not None and stage.runs(key[2])

    def stage_ended(self, key: StageKey) -> list[Command]:
        """A stage attempt is over: nothing of it starts any more. Its ledger stays."""
        commands: list[Command] = []
        for task in [task for task in self._tasks.values() if task.key[:2] == key]:
            if task.asked_ms is not None:
                commands.append(self._withdraw(task, "its stage is over"))
            if not task.running:
                del self._tasks[task.key]
        self._banned.pop(key, None)
        return commands

    def withdraw_all(self, why: str) -> list[Command]:
        """Withdraw every copy that has not started."""
        return [self._withdraw(task, why) for task in self.waiting]

    def forget_stage(self, key: StageKey) -> None:
        """Keep of a stage that ended long ago only what the whole ledger needs."""
        for task in [task for task in self._tasks.values() if task.key[:2] == key]:
            del self._tasks[task.key]
        self._live.pop(key, None)
        self._banned.pop(key, None)
        ledger = self.stage_ledgers.pop(key, None)
        if ledger is not None:
            ledger.settle()
            self.before.add(ledger)

    def forget(self) -> None:
        """The SparkContext is gone with all its stages."""
        for key in list(self.stage_ledgers):
            self.forget_stage(key)
        self._tasks.clear()
        self._live.clear()
        self._banned.clear()

    def _won(self, stage: StageTasks, task: CopiedTask, attempt: TaskAttempt, now_ms: int) -> list[Command]:
        commands: list[Command] = []
        if attempt.speculative:
            originals = [one for one in stage.attempts_of(attempt.index) if not one.speculative]
            original = representative(originals)
            factor = self._factor(original.host) if original is not None else 1.0
            gain_ms = gained_ms(original, attempt, task.original_end_ms, factor)
            self.ledger_of(stage.key).gained_ms += gain_ms
            sooner = f"about {seconds(gain_ms)} before the original would have"
            said = f"the copy on {attempt.host} ended first, {sooner}"
            commands.append(
                CreditCopy(
                    stage=stage.stage, stage_attempt=stage.stage_attempt, index=attempt.index, task_id=attempt.task_id,
                    gained_ms=gain_ms, reason=said,
                )
            )  # fmt: skip
        else:
            said = f"the original on {attempt.host} ended first"
        self._note(task.key, "won", said, now_ms)
        if task.asked_ms is not None:
            commands.append(self._withdraw(task, "its task has ended"))
        return commands

    def _map_output_lost(self, stage: StageTasks, attempt: TaskAttempt) -> list[Command]:
        if self._table.knows((stage.stage, stage.stage_attempt + 1)):
            return []  # a newer attempt reads the output, which is there again: Spark ignores the failure as well
        said = (
            f"task {stage.stage}.{attempt.index} could not fetch a map output, which was lost: only originals come back"
        )
        # A further attempt of the stage itself may run already: it waited until the output was there again.
        others = self._readers_beside(stage.stage) - {stage.stage}
        keys = {stage.key, *(key for key in self._table.stages if key[0] in others)} - self._banned.keys()
        self._banned.update(dict.fromkeys(keys, said))
        commands: list[Command] = []
        for task in self._tasks.values():
            if task.key[:2] not in keys:
                continue
            if task.asked_ms is not None:
                commands.append(self._withdraw(task, said))
            commands += [
                _kill(task.key, copy, said) for copy in task.running.values() if copy.task_id != attempt.task_id
            ]
        return commands

    def _withdraw(self, task: CopiedTask, why: str) -> WithdrawCopy:
        stage, stage_attempt, index = task.key
        self._drop_asked(task)
        self.ledger_of(task.key[:2]).copies_withdrawn += 1
        return WithdrawCopy(stage=stage, stage_attempt=stage_attempt, index=index, reason=why)

    def _drop_asked(self, task: CopiedTask) -> None:
        task.asked_ms = None
        task.asked -= 1
        self._live[task.key[:2]] -= 1


def _oldest_first(waiting: Iterable[CopiedTask]) -> list[CopiedTask]:
    return sorted(waiting, key=attrgetter("asked_ms", "key"))


def _kill(task: TaskKey, copy: TaskAttempt, why: str) -> KillAttempt:
    stage, stage_attempt, index = task
    return KillAttempt(stage=stage, stage_attempt=stage_attempt, index=index, task_id=copy.task_id, reason=why)


def hosts_of(attempts: tuple[TaskAttempt, ...]) -> tuple[str, ...]:
    """The hosts on which attempts run, sorted."""
    return tuple(sorted({one.host for one in attempts if one.state is State.RUNNING and one.host}))
