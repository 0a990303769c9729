"""Speculation: from observations of tasks to blocks, copies and containers for them.

    observations ──▶ task table ──▶ detector (each check interval) ──▶ verdicts ──▶ hosts blocked, copies asked for
                         └────────▶ what is learnt of hosts ──────────────┘          └──▶ containers for them

A pass of the detector runs by a timer, and only while a stage runs. The blocks of a pass go out first, then Spark's
list of them, then the copies. So no copy can start on a host that the same pass has blocked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.blocking.taskblocks import TaskBlocks
from yarnspec.core.containers.capacity import Slots
from yarnspec.core.containers.deaths import YoungDeath
from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.copies.handback import Handback
from yarnspec.core.copies.notes import Notes, topic_of
from yarnspec.core.copies.slow_host_policy import SlowHostPolicy
from yarnspec.core.copies.speculative_containers import SpeculativeContainers
from yarnspec.core.copies.stagemetrics import StageMetricsTable, brief
from yarnspec.core.copies.task_copies import TaskCopies, TaskKey, hosts_of
from yarnspec.core.copies.withheld import Withheld
from yarnspec.core.detectors import SlowAttempt, detector_of
from yarnspec.core.faults.faulty_hosts import BY_DEATHS, Faults
from yarnspec.core.lifecycle.driver import Route
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import Command, JudgeTasks, LaunchCopy, Summarize, Warn
from yarnspec.core.messages.guard import Guard
from yarnspec.core.messages.observations import State
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers
from yarnspec.core.slowness.host_speed import HostSpeeds
from yarnspec.core.tasks.running_jobs import Jobs
from yarnspec.core.tasks.stagetasks import StageTasks, TaskAttempt
from yarnspec.core.tasks.task_table import Happened, StageKey, TaskTable

JUDGE_TIMER = "judge-tasks"
SUMMARY_TIMER = "speculation-summary"
EXTRA_CONTAINERS_TIMER = "extra-containers"
SETTLE_TIMER = "ended-jobs"

_TASKS_NOTED = 5_000
_HOSTS_NOTED = 5_000
_AT_ONCE = 25
"""Most verdicts told, and most copies asked for, in one pass, because each costs time. The next passes do the rest."""
IN_ONE_STEP = 50_000
"""If more tasks run, a look at them takes two steps, half an interval apart: nothing else waits for all of it."""
_TIMES_YOUNG = 2
"""A task that runs so many times as long as an executor is young was not what ended one that was."""
_SILENT_MS = 60_000
"""An attempt of an ended job that no heartbeat has named for so long has ended; Spark's own interval is 10 s."""

_ENDS_FIRST = "an attempt of it that runs may end before a further copy would"

_Uncopied = tuple[SlowAttempt, str]
"""A slow attempt whose task gets no copy now, and why."""


class Speculation:
    """Finds slow tasks and slow hosts, and acts on them."""

    def __init__(
        self,
        settings: Settings,
        *,
        timers: Timers,
        hosts: Hosts,
        containers: ExecutorTable,
        blocklist: Blocklist,
        task_blocks: TaskBlocks,
    ) -> None:
        self.settings = settings
        self._timers = timers
        self.containers = containers
        self.blocklist = blocklist
        self._task_blocks = task_blocks
        self.table = TaskTable()
        self.speeds = HostSpeeds(settings.detector)
        self.detector = detector_of(settings.detector, self.speeds)
        self.task_notes: Notes[TaskKey] = Notes(_TASKS_NOTED)
        self.host_notes: Notes[str] = Notes(_HOSTS_NOTED)
        self._slots = Slots(settings, containers, self.table)
        self._jobs = Jobs()
        self.copies = TaskCopies(
            settings.speculation, self.table, self.speeds.factor, self._jobs.readers_beside, self.task_notes.add
        )
        self.metrics = StageMetricsTable(self.table, self.copies, self.detector)
        self.speculative_containers = SpeculativeContainers(
            settings,
            containers=containers,
            slots=self._slots,
            table=self.table,
            hosts=hosts,
            blocklist=blocklist,
            jobs=self._jobs,
        )
        self.slow_hosts = SlowHostPolicy(
            blocklist,
            self._slots,
            self.table,
            self.speeds,
            self.host_notes,
            every_slow_task=settings.blocks.every_slow_task,
        )
        self.faults = Faults(settings, containers.running)
        for listener in (self.slow_hosts, self.faults):
            blocklist.register(listener)
        self._judged: defaultdict[StageKey, set[int]] = defaultdict(set)
        self._untold = 0
        self._withheld = Withheld()
        self._hosts_seen = False
        self._lost_with: set[TaskKey] = set()
        self._guard = Guard(self._stop)
        self._handback = Handback(containers, task_blocks, self._jobs)

    @property
    def routes(self) -> dict[type[ev.Event], Route]:
        """The events that this part handles."""
        return {
            ev.Observed: lambda event, now_ms: self._guard.run(self._observed, event, now_ms),
            ev.JobStarted: lambda event, now_ms: self._guard.run(self._job_started, event, now_ms),
            ev.JobEnded: self._job_over,
            ev.CopyRefused: lambda event, now_ms: self._guard.run(self._copy_refused, event, now_ms),
            ev.HeldBlocksTold: self._held_told,
        }

    @property
    def timers(self) -> dict[str, Callable[[int], list[Command]]]:
        """The actions that are due when timers of these names fire."""
        return {
            JUDGE_TIMER: lambda now_ms: self._guard.run(self._judge, now_ms),
            SUMMARY_TIMER: lambda now_ms: self._guard.run(self._summarize, now_ms),
            EXTRA_CONTAINERS_TIMER: lambda now_ms: self._guard.run(self._look_at_extra_containers, now_ms),
            SETTLE_TIMER: lambda now_ms: self._guard.run(self._settle, now_ms),
        }

    @property
    def stopped(self) -> str:
        """The fault that stopped speculation for good; empty while it works."""
        return self._guard.fault

    # what happens elsewhere

    def executor_came(self, now_ms: int) -> list[Command]:
        """An executor registered: perhaps an extra one, for a copy that nobody waits for any more."""
        return self._guard.run(self._look_at_extra_containers, now_ms)

    def dismiss(self, executor_ids: tuple[str, ...], now_ms: int) -> list[Command]:
        """These executors are too many, and count as extra ones now."""
        if self.stopped:
            return []
        self.speculative_containers.dismiss(executor_ids, now_ms)
        return self._guard.run(self._look_at_extra_containers, now_ms)

    def executor_gone(self, row: Executor, now_ms: int) -> list[Command]:
        """An executor left the table of containers: what was said of it is over."""
        ended = self._guard.run(self._forget_executor, row, now_ms)
        ended += self.blocklist.end(
            f"executor {row.executor_id} is gone", lambda key: key.executor_id == row.executor_id
        )
        return ended + self.blocklist.keep_enough()

    def died_young(self, death: YoungDeath, now_ms: int) -> list[Command]:
        """An executor died young: perhaps its host is faulty."""
        if not self.settings.blocks.enabled:
            return []
        return self._guard.run(self._weigh_death, death, now_ms)

    def _forget_executor(self, row: Executor, now_ms: int) -> list[Command]:
        happened = self.table.forget_executor(row.executor_id)
        self._lost_with = happened.lost_with  # asked for at once, if at all
        self.speculative_containers.lost(row, now_ms, asked=row.state == "releasing")
        return self._follow(happened, now_ms)

    def _weigh_death(self, death: YoungDeath, now_ms: int) -> list[Command]:
        alive, since_ms = self.containers.running(), now_ms - _TIMES_YOUNG * self.settings.executor.young_age_ms

        def outlived(task: TaskKey, executor_id: str) -> bool:
            return self.table.outlived(task, executor_id, since_ms, alive)

        wishes = self.faults.died_young(death, self._lost_with, self._healthy_hosts(now_ms), outlived)
        return self._block_each(wishes, now_ms)

    def _healthy_hosts(self, now_ms: int) -> set[str]:
        """Hosts with an executor that proved healthy."""
        young_ms = self.settings.executor.young_age_ms
        return {row.host for row in self.containers.rows if row.healthy(now_ms, young_ms) and row.state == "running"}

    def _block_each(self, wishes: list[ev.BlockRequested], now_ms: int) -> list[Command]:
        return [command for wish in wishes if self._holds(wish, now_ms) for command in self._block(wish, now_ms)]

    def _holds(self, wish: ev.BlockRequested, now_ms: int) -> bool:
        """Whether a block still serves: its stage runs on, and no executor on that host has proved healthy since."""
        if wish.level in ("stage", "task"):
            return wish.stage in {key[0] for key in self.table.stages}
        healthy = self._healthy_hosts(now_ms)
        return wish.by != BY_DEATHS or bool(healthy - {wish.host} and wish.host not in healthy)

    def forget_host(self, host: str, now_ms: int) -> None:
        """Somebody unblocked a host: what was held against it counts no more."""
        self._guard.run(self._forget_host, host, now_ms)

    def _forget_host(self, host: str, now_ms: int) -> list[Command]:
        self.speeds.forget(host, now_ms)
        self.faults.forget(host)
        self.slow_hosts.forget_host(host)
        self.blocklist.never_blocked.forget(host)
        return []

    def context_over(self, why: str) -> list[Command]:
        """A SparkContext is gone: its stages, tasks and copies with it. Knowledge of hosts stays."""
        last = self._guard.run(self._forget_context)
        for name in (JUDGE_TIMER, EXTRA_CONTAINERS_TIMER, SETTLE_TIMER):
            self._timers.cancel(name)
        return last + self.blocklist.context_over(why)

    def _forget_context(self) -> list[Command]:
        last: list[Command] = []
        if self.copies.total().copies_asked:
            last.append(Summarize(reason=self.summary(), ledger=self.copies.total().figures()))
        self.metrics.settle()
        self.speeds.context_over()
        self.table.forget()
        self.copies.forget()
        self.slow_hosts.forget()
        self._jobs.forget()
        self.faults.context_over()
        self._judged.clear()
        self._untold = 0
        self._withheld.forget()
        self._hosts_seen = False
        self.task_notes.clear()  # the next context's tasks have the same numbers
        return last

    def epoch_over(self) -> None:
        """The driver died with its numbers of stages and tasks: the next driver gives them to others."""
        # After a stop as well: what was known then would be told of the new ones.
        self.table.forget()
        self.metrics.forget()
        self.task_notes.clear()
        self.speculative_containers.total = 0

    def _stop(self) -> list[Command]:
        for name in self.timers:
            self._timers.cancel(name)
        said = f"speculation stopped for the rest of this attempt: {self.stopped}"
        ended = self.blocklist.end(said, lambda key: key.level in ("stage", "task"))
        told = [Warn(reason=said), Summarize(reason=said)]
        return [*told, *ended, *self.copies.withdraw_all(said), *self._handback.begin()]

    # what is told

    def _observed(self, event: ev.Observed, now_ms: int) -> list[Command]:
        return self._follow(self.table.observe(event.rows), now_ms)

    def _follow(self, happened: Happened, now_ms: int) -> list[Command]:
        self.speeds.observe(self.table, happened, now_ms)
        commands: list[Command] = []
        for stage, copy in happened.copies_started:
            commands += self.copies.started(stage, copy, now_ms)
        self.faults.ended_well(happened.succeeded, now_ms)
        for stage, attempt in happened.attempts_ended:
            commands += self.copies.ended(stage, attempt, now_ms)
            if self.settings.blocks.enabled:
                commands += self._faults_of(stage, attempt, now_ms)
        for stage, _ in happened.stages_ended:
            commands += self._stage_ended(stage, now_ms)
        if happened.stages_started and self.settings.speculation.enabled:
            commands += self._begin(happened.stages_started[0], now_ms)
        return commands + self._look_at_extra_containers(now_ms)

    def _faults_of(self, stage: StageTasks, attempt: TaskAttempt, now_ms: int) -> list[Command]:
        commands = self._block_each(self.faults.attempt_ended(stage, attempt, now_ms), now_ms)
        acquitted = self.faults.acquitted(stage, attempt)
        if acquitted:
            how = "has ended well" if attempt.state is State.SUCCESS else "failed on another host as well"
            commands += self.blocklist.end(f"task {stage.stage}.{attempt.index} {how}", acquitted.__contains__)
        return commands

    def _begin(self, stage: StageTasks, now_ms: int) -> list[Command]:
        commands: list[Command] = []
        said = f"stage {stage.stage} runs"
        for name, after_ms in (
            (JUDGE_TIMER, self.settings.detector.check_interval_ms),
            (SUMMARY_TIMER, self.settings.speculation.log_interval_ms),
        ):
            if self.table.stages and not self._timers.wanted(name):
                commands.append(self._timers.set(name, now_ms + after_ms, said))
        return commands

    def _stage_ended(self, stage: StageTasks, now_ms: int) -> list[Command]:
        key = stage.key
        commands = self.copies.stage_ended(key)
        slow_tasks = self.metrics.slow[key]
        figures = self.metrics.stage_ended(stage, now_ms)
        if slow_tasks or figures.speculative_executions:
            said = (
                f"stage {key[0]} ended with {slow_tasks} slow tasks and {figures.speculative_executions} "
                f"copies, {figures.effective_copies} of which won"
            )
            commands.append(Summarize(reason=said, stages=(figures,), ledger=self.copies.total().figures()))
        elif self.settings.speculation.enabled:
            # For the event log alone, and brief: of most stages there is nothing to tell.
            said = f"stage {key[0]} ended without slow tasks and copies"
            commands.append(Summarize(reason=said, stages=(brief(figures),)))
        self.slow_hosts.stage_ended(key)
        if stage.ended is State.SUCCESS and self.settings.blocks.enabled:
            commands += self._block_each(self.faults.stage_ended_well(stage, now_ms), now_ms)
        if not any(other[0] == key[0] for other in self.table.stages):
            commands += self.blocklist.end(f"stage {key[0]} has ended", lambda one: one.stage == key[0])
            self.faults.stage_ended(key[0])
        self._judged.pop(key, None)
        self._withheld.stage_ended(key)
        if not self.table.stages:
            # The next pass comes all the same: stages may be shorter than the time between two.
            self.speculative_containers.plan([], now_ms)
        return commands

    def _job_started(self, event: ev.JobStarted, _now_ms: int) -> list[Command]:
        self._jobs.started(event)
        return []

    def _job_over(self, event: ev.JobEnded, now_ms: int) -> list[Command]:
        if self.stopped:
            return self._handback.job_ended(event.job)
        return self._guard.run(self._job_ended, event, now_ms)

    def _job_ended(self, event: ev.JobEnded, now_ms: int) -> list[Command]:
        self._jobs.ended(event, now_ms)
        return self._settle_later(now_ms) + self._look_at_extra_containers(now_ms)

    def _settle(self, now_ms: int) -> list[Command]:
        happened = self.table.settle(self._jobs.over, now_ms - _SILENT_MS, now_ms)
        return self._follow(happened, now_ms) + self._settle_later(now_ms)

    def _settle_later(self, now_ms: int) -> list[Command]:
        """Look again at what seems to run of ended jobs: killed attempts may end late, and lost rows never come."""
        self._jobs.over &= self.table.unsettled()
        if not self._jobs.over or self._timers.wanted(SETTLE_TIMER):
            return []
        stages = ", ".join(map(str, sorted(self._jobs.over)))
        return [self._timers.set(SETTLE_TIMER, now_ms + _SILENT_MS, f"stages {stages} of ended jobs seem to run")]

    def _copy_refused(self, event: ev.CopyRefused, now_ms: int) -> list[Command]:
        self.copies.refused((event.stage, event.stage_attempt, event.index), event.why, now_ms)
        return []

    def _held_told(self, event: ev.HeldBlocksTold, now_ms: int) -> list[Command]:
        if self.stopped:
            return self._handback.held_told(event)
        return self._guard.run(self._held_by_extra, event, now_ms)

    def _held_by_extra(self, event: ev.HeldBlocksTold, now_ms: int) -> list[Command]:
        told = self.speculative_containers.held_told(event, now_ms)
        # The driver was asked of many at once, perhaps: the last answer is soon enough.
        return told if self.speculative_containers.awaits_answers else told + self._look_at_extra_containers(now_ms)

    # the passes

    def _judge(self, now_ms: int) -> list[Command]:
        if not self.table.stages:
            self._hosts_seen = False
            cleared = self.slow_hosts.cleared(now_ms) if self.settings.blocks.enabled else []
            return [*cleared, *self._look_at_extra_containers(now_ms)]
        until_next_ms = self.settings.detector.check_interval_ms
        between_ms = until_next_ms // 2
        if self._hosts_seen:
            until_next_ms -= between_ms
        else:
            self.speeds.refresh(self.table, now_ms)
            if sum(stage.running for stage in self.table.stages.values()) > IN_ONE_STEP:
                self._hosts_seen = True
                return [self._timers.set(JUDGE_TIMER, now_ms + between_ms, "hosts were looked at, tasks are next")]
        self._hosts_seen = False
        if any(stage.unlaunched for stage in self.table.stages.values()):
            free = self._slots.free_beside(self.blocklist.hosts)
            self.copies.free_slots = lambda stage: free[stage.profile]
        worst, slow = self.detector.judge(self.table, now_ms, self.copies.put_off(now_ms))
        self.metrics.slow = Counter(slow)
        commands: list[Command] = []
        if self.settings.blocks.enabled:
            commands += self.slow_hosts.cleared(now_ms)
            wishes, spared = self.slow_hosts.weigh(worst, now_ms)
            for wish in wishes:
                commands += self._block(wish, now_ms)
            commands += spared
        commands += self.copies.withdraw_needless(now_ms)
        blocks, launches, uncopied = self._copy(worst, now_ms)
        commands += blocks
        commands += self._task_blocks.update(f"{len(worst)} slow attempts")
        commands += launches
        self.speculative_containers.plan(self.copies.waiting, now_ms)
        commands.append(self._timers.set(JUDGE_TIMER, now_ms + until_next_ms, f"{len(self.table.stages)} stages run"))
        told = self._tell(worst, launches) + self._tell_uncopied(uncopied)
        return told + commands + self._look_at_extra_containers(now_ms)

    def _tell(self, worst: list[SlowAttempt], launches: list[LaunchCopy]) -> list[Command]:
        new = [one for one in worst if one.task_id not in self._judged[one.stage.key]]
        cut = max(0, self.metrics.slow_tasks - len(worst))
        if not new:
            if cut <= 2 * self._untold and (cut or not self._untold):
                return []
            self._untold = cut
            said = f"{cut} more of them are not named" if cut else "each was named before"
            said = f"{self.metrics.slow_tasks} tasks are slow, and {said}"
            return [JudgeTasks(verdicts=(), untold=cut, reason=said)]
        copied = {(one.stage, one.stage_attempt, one.index) for one in launches}
        told = sorted(new, key=lambda one: (*one.stage.key, one.index) not in copied)[:_AT_ONCE]
        for one in told:
            self._judged[one.stage.key].add(one.task_id)
        reason = worst[0].verdict.reason
        said = f"{self.metrics.slow_tasks} tasks are slow, {len(new)} attempts newly; the worst: {reason}"
        self._untold = len(new) - len(told) + cut
        return [JudgeTasks(verdicts=tuple(one.verdict for one in told), untold=self._untold, reason=said)]

    def _tell_uncopied(self, uncopied: list[_Uncopied]) -> list[Command]:
        """Why tasks get no copy, of those whose verdicts were told: the others come with theirs."""
        return self._withheld.tell((one, why) for one, why in uncopied if one.task_id in self._judged[one.stage.key])

    def _copy(self, worst: list[SlowAttempt], now_ms: int) -> tuple[list[Command], list[LaunchCopy], list[_Uncopied]]:
        blocks: list[Command] = []
        launches: list[LaunchCopy] = []
        uncopied: list[_Uncopied] = []
        closed: dict[StageKey, str] = {}  # until the next copy is asked for: there may be many verdicts
        for one in worst:
            stage = one.stage
            key = (*stage.key, one.index)
            if stage.key not in closed:
                closed[stage.key] = self.copies.objection_to_more(stage)
            waits = self.copies.waits(key, now_ms)
            why = waits or closed[stage.key]
            attempts = stage.attempts_of(one.index) if not why else ()
            why = why or self.copies.objection(stage, one.index, attempts, now_ms)
            why = why or self.blocklist.nowhere_beside(hosts_of(attempts), stage.stage, one.index)
            why = why or ("" if one.overtaken else _ENDS_FIRST)
            if why:
                self.task_notes.add(key, f"no copy: {topic_of(why)}", f"slow, and not copied: {why}", now_ms)
                if not waits and not self.copies.has_live(key):  # of copies that were asked for the records tell
                    uncopied.append((one, why))
            elif len(launches) < _AT_ONCE:
                verdict = one.verdict
                if self.settings.blocks.enabled:
                    blocks += self._block(self.slow_hosts.of_task(verdict), now_ms)
                launches.append(self.copies.launch(verdict, attempts, now_ms))
                closed.clear()
            self.copies.expect(key, one.task_id, one.remaining_ms, now_ms)
        return blocks, launches, uncopied

    def _summarize(self, now_ms: int) -> list[Command]:
        """Say what was done; again after the interval while stages run."""
        commands: list[Command] = []
        if self.table.stages or self.copies.total().copies_asked or self.blocklist.blocks:
            stages, ledger = self.metrics.running(now_ms), self.copies.total().figures()
            commands.append(Summarize(reason=self.summary(), stages=stages, ledger=ledger))
        if self.table.stages:
            after_ms = self.settings.speculation.log_interval_ms
            commands.append(self._timers.set(SUMMARY_TIMER, now_ms + after_ms, "stages run"))
        return commands

    def summary(self) -> str:
        """The results of speculation so far, in a sentence or two."""
        blocks = self.blocklist.blocks
        hosts = ", ".join(f"{block.host}{block.key.reach}" for block in blocks if block.level != "task") or "none"
        return (
            f"{self.copies.total().summary}; blocked: {hosts}; {len(self.containers.extra_executors)} extra containers"
        )

    def notes_of_task(self, stage: int, index: int, now_ms: int) -> tuple[str, ...]:
        """The notes about a task in the newest attempt of its stage: in others the index may be another task's."""
        running = {key for key in self.table.stages if key[0] == stage}
        keys = [key for key in self.task_notes if key[0] == stage and key[2] == index]
        newest = max((key[1] for key in (*keys, *running)), default=0)
        return self.task_notes.of((stage, newest, index), now_ms)

    # what both do

    def _block(self, wish: ev.BlockRequested | None, now_ms: int) -> list[Command]:
        if wish is None:
            return []
        commands = self.blocklist.request(wish, now_ms)
        if wish.level != "task" and commands:
            said = "; ".join(f"{type(command).__name__}: {command.reason}" for command in commands[:1])
            self.host_notes.add(wish.host, f"answer {wish.level} {wish.stage}", said, now_ms)
        return commands

    def _look_at_extra_containers(self, now_ms: int) -> list[Command]:
        if not self.containers.extra_executors:
            return []
        commands = self.speculative_containers.look(self.copies.waiting, now_ms)
        # While stages run each pass looks.
        next_ms = None if self._timers.wanted(JUDGE_TIMER) else self.speculative_containers.next_look_ms(now_ms)
        due_ms = self._timers.due_ms(EXTRA_CONTAINERS_TIMER)
        if next_ms is not None and (due_ms is None or next_ms < due_ms):
            commands.append(self._timers.set(EXTRA_CONTAINERS_TIMER, next_ms, "an extra container is idle"))
        return commands
