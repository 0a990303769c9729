"""Spark's scheduler as far as the core knows it: jobs, stages, slots, first finisher wins, what is lost runs again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import KillAttempt, LaunchCopy, UpdateTaskBlocks, WithdrawCopy
from yarnspec.core.messages.observations import Failure, StageFlag, State
from yarnspec.simulate.world.awaited_outputs import Waits
from yarnspec.simulate.world.clock import START_MS, Clock
from yarnspec.simulate.world.feed import Feed
from yarnspec.simulate.world.rules import Rules
from yarnspec.simulate.world.scenario import JobPlan, Scenario, StagePlan
from yarnspec.simulate.world.stagerun import SimulatedAttempt, StageRun

_FAILURES_MAX = 3  # of a task: the fourth would end the job, and is spared
_KILL_MS = (20, 200)
_RESUBMIT_MS = 400  # longer than a kill takes
_COLD_MS = 300
_FETCH_FAILS_MS = 100
_FETCHES_FAIL_TIMES = 2  # of a stage by chance, so that it ends some time


class Spark:
    """The driver's scheduler. It obeys the commands about tasks and copies."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        clock: Clock,
        rng: random.Random,
        rules: Rules,
        tell: Callable[[ev.Event], None],
        over: Callable[[], None],
    ) -> None:
        self._scenario = scenario
        self._clock = clock
        self._rng = rng
        self._rules = rules
        self._tell = tell
        self._over = over
        self._feed = Feed(scenario.feed_ms, scenario.heartbeat_ms, clock, tell)
        self._hosts = {host.name: host for host in scenario.hosts}
        self._dead: set[str] = set()
        self._executors: dict[str, str] = {}
        self._warm: set[str] = set()
        self._blocks = UpdateTaskBlocks(hosts=(), reason="nothing is blocked at first")
        self._jobs = list(scenario.jobs)
        self._job: JobPlan | None = None
        self._runs: list[StageRun] = []
        self._stage_attempts: Counter[int] = Counter()
        self._task_ids = 0
        self.done: dict[int, dict[int, str]] = {stage.stage: {} for job in scenario.jobs for stage in job.stages}
        """Which partitions of each stage are there, and in which executor."""
        self.successes: Counter[tuple[int, int]] = Counter()
        self.losses: Counter[tuple[int, int]] = Counter()
        self.cancelled = False
        self._leaving: set[str] = set()
        self._forgotten: set[int] = set()
        self.waits = Waits(
            scenario,
            clock=clock,
            rng=rng,
            tell=tell,
            done=self.done,
            lose=partial(self._lose_outputs, failure=Failure.EXECUTOR_LOST),
            alive=lambda executor_id: executor_id in self._executors,
            over=self._offer,
        )

    # jobs and stages

    def next_job(self) -> None:
        """Start the next action of the program, or end it."""
        self._job = self._jobs.pop(0) if self._jobs and not self.cancelled else None
        if self._job is None:
            self._over()
            return
        stages = self._job.stages
        parents = tuple((stage.stage, stage.parents) for stage in stages if stage.parents)
        self._tell(ev.JobStarted(job=self._job.job, stages=tuple(stage.stage for stage in stages), parents=parents))
        self._rules.job_started()
        self._advance()

    def cancel(self) -> None:
        """Somebody cancels the running job."""
        self.cancelled = True
        for run in list(self._runs):
            self._end_run(run, State.FAILED)
        self._end_job("cancelled")

    def _advance(self) -> None:
        if self._job is None:
            return
        results = [stage for stage in self._job.stages if not stage.maps]
        for stage in results:
            self._submit(stage)
        if all(self._complete(stage) for stage in results):
            self._end_job("")
        else:
            self._offer()

    def _end_job(self, failure: str) -> None:
        if self._job is None:
            return
        for run in list(self._runs):  # a stage that nobody reads any more
            self._end_run(run, State.FAILED)
        self._tell(ev.JobEnded(job=self._job.job, failure=failure))
        self._rules.job_ended()
        if self._scenario.forgets_ms is not None:
            stages = [stage.stage for stage in self._job.stages]
            self._clock.after(self._scenario.forgets_ms, partial(self._forgotten.update, stages))
        self._job = None
        self._clock.after(self._rng.randint(50, 1_000), self.next_job)

    def _complete(self, stage: StagePlan) -> bool:
        return len(self.done[stage.stage]) == len(stage.work_ms)

    def _submit(self, stage: StagePlan) -> None:
        """Run a stage, or first the stages whose outputs it misses."""
        if self._complete(stage) or any(run.plan is stage for run in self._runs):
            return
        missing = [parent for parent in self._parents(stage) if not self._complete(parent)]
        for parent in missing:
            self._submit(parent)
        if missing:
            return
        partitions = tuple(n for n in range(len(stage.work_ms)) if n not in self.done[stage.stage])
        run = StageRun(stage, self._stage_attempts[stage.stage], partitions, pending=list(range(len(partitions))))
        self._stage_attempts[stage.stage] += 1
        self._runs.append(run)
        self._runs.sort(key=lambda each: each.plan.stage)  # the order in which FIFO offers them slots
        self._feed.stage_started(run)

    def _parents(self, stage: StagePlan) -> list[StagePlan]:
        return [one for job in self._scenario.jobs for one in job.stages if one.stage in stage.parents]

    def _end_run(self, run: StageRun, state: State) -> None:
        run.over = True
        self._runs.remove(run)
        for index in sorted(run.copies):
            self._refuse(run, index, "its stage has ended")
        self._feed.stage_ended(run, state)
        for attempt in list(run.running.values()):
            self._kill_soon(run, attempt)

    # executors

    def executor_comes(self, executor_id: str, host: str) -> None:
        """An executor registers."""
        self._executors[executor_id] = host
        self.waits.comes(executor_id, host)
        self._offer()

    def let_go(self, count: int) -> tuple[str, ...]:
        """Take out the executors beyond this number that have no task: no task starts there any more."""
        busy = {one.executor_id for run in self._feed.runs() for one in run.running.values()}
        idle = [one for one in self._executors if one not in busy and one not in self._leaving]
        found = tuple(idle[: max(0, len(self._executors) - len(self._leaving) - count)])
        self._leaving.update(found)
        return found

    def held(self, executor_id: str) -> int:
        """The data that an executor holds, as ``HeldBlocksTold`` counts it: nothing but map outputs."""
        maps = (one.stage for job in self._scenario.jobs for one in job.stages if one.maps)
        known = any(executor_id in self.done[stage].values() for stage in maps if stage not in self._forgotten)
        return ev.ONLY_MAP_OUTPUTS if known else 0

    def given_back(self, executor_id: str) -> None:
        """A container is given back: by Spark's own wish, or because the negotiator has no use for it."""
        if executor_id in self._leaving:
            return
        running = [one for run in self._feed.runs() for one in run.running.values() if one.executor_id == executor_id]
        self._rules.goes_with_tasks(executor_id, len(running))
        if self.held(executor_id):
            self._rules.outputs_go(executor_id)

    def host_dies(self, host: str) -> None:
        """Let nothing end on a host any more; Spark does not know yet."""
        self._dead.add(host)

    def executor_goes(self, executor_id: str) -> None:
        """An executor is gone, with what runs in it and the map outputs that it held."""
        host = self._executors.pop(executor_id, None)
        if host is None:
            return
        sent_away = executor_id in self._leaving
        self._leaving.discard(executor_id)
        for run in self._feed.runs():
            lost = [one for one in run.running.values() if one.executor_id == executor_id]
            for attempt in lost:
                self._ended(run, attempt, State.FAILED, Failure.EXECUTOR_LOST)
            if lost and StageFlag.BARRIER in run.plan.flags and not run.over:
                self._barrier_broken(run)
        if sent_away or host in self._blocks.hosts or not self.waits.died(executor_id, host):
            self._lose_outputs(executor_id, Failure.EXECUTOR_LOST)
        self._offer()

    def _barrier_broken(self, run: StageRun) -> None:
        self._end_run(run, State.FAILED)
        for partition in list(self.done[run.plan.stage]):
            self._lose(run.plan, partition)
        self._clock.after(_RESUBMIT_MS, self._advance)

    def _lose_outputs(self, executor_id: str, failure: Failure) -> None:
        for stage in (one for job in self._scenario.jobs for one in job.stages if one.maps):
            gone = sorted(n for n, holder in self.done[stage.stage].items() if holder == executor_id)
            for partition in gone:
                self._lose(stage, partition)
            for run in self._runs:
                if run.plan is not stage:
                    continue
                for index in [run.partitions.index(n) for n in gone if n in run.partitions]:
                    if won := run.won.pop(index, None):
                        self._feed.ended(run, won, State.FAILED, failure)
                        run.again(index)
                own = {n for index, n in enumerate(run.partitions) if index not in run.elsewhere}
                if not own.issuperset(gone) and not run.over:
                    # Outputs of an earlier attempt are gone as well: this one cannot complete the stage.
                    self._end_run(run, State.FAILED)
                    self._clock.after(_RESUBMIT_MS, self._advance)
                    break

    def _lose(self, stage: StagePlan, partition: int) -> None:
        del self.done[stage.stage][partition]
        self.losses[stage.stage, partition] += 1

    # commands

    def block(self, command: UpdateTaskBlocks) -> None:
        """Take a new list of where no task starts."""
        self._blocks = command
        self._offer()

    def copy(self, command: LaunchCopy) -> None:
        """Start a copy as soon as a slot is free, or refuse it."""
        run = self._run_of(command.stage, command.stage_attempt)
        running = run.of(command.index) if run is not None else []
        if run is None or run.has_finished(command.index) or not running or len(running) >= command.attempts_max:
            why = "its stage has ended" if run is None else "its task has ended, or has attempts enough"
            self._tell(ev.CopyRefused(
                stage=command.stage, stage_attempt=command.stage_attempt, index=command.index, why=why
            ))  # fmt: skip
            return
        run.copies[command.index] = command
        self._offer()

    def withdraw(self, command: WithdrawCopy) -> None:
        """Forget a copy that has not started."""
        run = self._run_of(command.stage, command.stage_attempt)
        if run is not None:
            run.copies.pop(command.index, None)

    def kill(self, command: KillAttempt) -> None:
        """End one attempt."""
        for run in self._feed.runs():
            if command.task_id in run.running:
                self._kill_soon(run, run.running[command.task_id])

    def _refuse(self, run: StageRun, index: int, why: str) -> None:
        if run.copies.pop(index, None) is not None:
            refused = ev.CopyRefused(stage=run.plan.stage, stage_attempt=run.stage_attempt, index=index, why=why)
            self._clock.after(self._scenario.refused_ms, partial(self._tell, refused))

    def _run_of(self, stage: int, stage_attempt: int) -> StageRun | None:
        return next((run for run in self._runs if (run.plan.stage, run.stage_attempt) == (stage, stage_attempt)), None)

    # slots

    def _offer(self) -> None:
        """Fill the free slots, then refuse the copies that cannot start any more."""
        if any(run.pending or run.copies for run in self._runs):
            self._fill()
        for run in self._runs:
            for index, copy in list(run.copies.items()):
                if not 0 < len(run.of(index)) < copy.attempts_max or run.has_finished(index):
                    self._refuse(run, index, "its task has ended, or has attempts enough")

    def _fill(self) -> None:
        """One task each in turn; the order of the executors is chance, as in Spark."""
        load = Counter(one.executor_id for run in self._feed.runs() for one in run.running.values())
        executors = [
            (executor_id, host)
            for executor_id, host in self._executors.items()
            if host not in self._blocks.hosts and executor_id not in self._blocks.executors
            if executor_id not in self._leaving
        ]
        self._rng.shuffle(executors)
        started = True
        while started:
            started = False
            for executor_id, host in executors:
                if load[executor_id] >= self._scenario.slots:
                    continue
                for run in self._runs:
                    launched = self._offer_to(run, executor_id, host, self._scenario.slots - load[executor_id])
                    if launched:
                        load[executor_id] += launched
                        started = True
                        break

    def _offer_to(self, run: StageRun, executor_id: str, host: str, free: int) -> int:
        if self.waits.hold_back(run.plan.parents):
            return 0
        allowed = partial(self._allowed, run.plan.stage, executor_id, host)
        if StageFlag.BARRIER in run.plan.flags:
            indexes = list(run.pending)
            if not indexes or len(indexes) > free or not all(map(allowed, indexes)):
                return 0
            for index in indexes:
                self._launch(run, index, executor_id, host)
            return len(indexes)
        for index in run.pending:
            if allowed(index):
                self._launch(run, index, executor_id, host)
                return 1
        for index, copy in run.copies.items():
            running = run.of(index)
            if (
                allowed(index)
                and host not in copy.not_hosts
                and all(one.host != host for one in running)
                and 0 < len(running) < copy.attempts_max
            ):
                del run.copies[index]
                self._launch(run, index, executor_id, host, copy=True)
                return 1
        return 0

    def _allowed(self, stage: int, executor_id: str, host: str, index: int) -> bool:
        return not any(
            block.stage == stage
            and block.index in (None, index)
            and (host in block.hosts or executor_id in block.executors)
            for block in self._blocks.stages
        )

    # attempts

    def _launch(self, run: StageRun, index: int, executor_id: str, host: str, *, copy: bool = False) -> None:
        if not copy:
            run.pending.remove(index)
        others = [one.host for one in run.of(index)]
        copy_id = self._task_ids if copy else None
        self._rules.task_starts(
            run.plan.stage, index, executor_id=executor_id, host=host, others=others, copy_id=copy_id
        )
        plan, now_ms = self._hosts[host], self._clock.now_ms
        work_ms = run.plan.work_ms[run.partitions[index]] * self._rng.uniform(0.9, 1.1)
        if executor_id not in self._warm:
            self._warm.add(executor_id)
            work_ms += _COLD_MS
        failure = self._fate(run, index, host)
        if failure is Failure.FETCH_FAILED:
            work_ms = _FETCH_FAILS_MS
        elif failure is not Failure.NONE:
            work_ms *= self._rng.random()
        end_ms = START_MS + plan.end_ms(now_ms - START_MS, work_ms)
        attempt = SimulatedAttempt(self._task_ids, index, run.launched[index], executor_id, host, copy, now_ms, end_ms)
        self._task_ids += 1
        run.launched[index] += 1
        run.running[attempt.task_id] = attempt
        self._feed.started(run, attempt)
        self._clock.at(end_ms, partial(self._comes_to_its_end, run, attempt, failure))

    def _fate(self, run: StageRun, index: int, host: str) -> Failure:
        parents = self._parents(run.plan)
        for parent in parents:
            if not set(self.done[parent.stage].values()) <= self._executors.keys():
                self._rules.broken(f"a task of stage {run.plan.stage} starts, and nobody gives out all that it reads")
        if any(not self._complete(parent) for parent in parents):
            return Failure.FETCH_FAILED
        if StageFlag.BARRIER in run.plan.flags or run.failed[index] >= _FAILURES_MAX:
            return Failure.NONE
        if (
            run.plan.parents
            and run.stage_attempt < _FETCHES_FAIL_TIMES
            and self._rng.random() < self._scenario.fetch_fails
        ):
            return Failure.FETCH_FAILED
        if self._rng.random() < self._scenario.task_fails + self._hosts[host].fails:
            return Failure.EXCEPTION
        return Failure.NONE

    def _comes_to_its_end(self, run: StageRun, attempt: SimulatedAttempt, failure: Failure) -> None:
        if attempt.task_id not in run.running or attempt.host in self._dead:
            return
        partition = run.partitions[attempt.index]
        if failure is Failure.FETCH_FAILED:
            self._fetch_failed(run, attempt)
        elif failure is not Failure.NONE:
            if len(run.of(attempt.index)) == 1:
                run.failed[attempt.index] += 1
            elif attempt.copy:
                failure = Failure.COPY_FAILED
            self._ended(run, attempt, State.FAILED, failure)
        elif partition in self.done[run.plan.stage]:
            self._ended(run, attempt, *_second(run, attempt))
        else:
            self._succeeded(run, attempt, partition)
        self._offer()

    def _succeeded(self, run: StageRun, attempt: SimulatedAttempt, partition: int) -> None:
        stage = run.plan
        if StageFlag.BARRIER in stage.flags and run.over:
            self._ended(run, attempt, State.KILLED, Failure.KILLED)
            return
        self.successes[stage.stage, partition] += 1
        self.done[stage.stage][partition] = attempt.executor_id
        run.won[attempt.index] = attempt
        self._ended(run, attempt, State.SUCCESS, Failure.NONE)
        for other in run.of(attempt.index):
            self._kill_soon(run, other)
        for newer in [one for one in self._runs if one.plan is stage and one is not run]:
            newer.finish_elsewhere(partition)
        if self._complete(stage):
            for each in [one for one in self._runs if one.plan is stage]:
                self._end_run(each, State.SUCCESS)
            self._advance()

    def _fetch_failed(self, run: StageRun, attempt: SimulatedAttempt) -> None:
        parents = self._parents(run.plan)
        holders = sorted({holder for parent in parents for holder in self.done[parent.stage].values()})
        self._ended(run, attempt, State.FAILED, Failure.FETCH_FAILED)
        if run.over:
            return
        self._end_run(run, State.FAILED)
        if all(self._complete(parent) for parent in parents) and holders:
            self._lose_outputs(self._rng.choice(holders), Failure.FETCH_FAILED)
        self._clock.after(_RESUBMIT_MS, self._advance)

    def _kill_soon(self, run: StageRun, attempt: SimulatedAttempt) -> None:
        self._clock.after(self._rng.randint(*_KILL_MS), partial(self._killed, run, attempt))

    def _killed(self, run: StageRun, attempt: SimulatedAttempt) -> None:
        if attempt.task_id in run.running and attempt.host not in self._dead:
            self._ended(run, attempt, State.KILLED, Failure.KILLED)
            self._offer()

    def _ended(self, run: StageRun, attempt: SimulatedAttempt, state: State, failure: Failure) -> None:
        del run.running[attempt.task_id]
        self._rules.attempt_ended(attempt.task_id)
        self._feed.ended(run, attempt, state, failure)
        run.again(attempt.index)


def _second(run: StageRun, attempt: SimulatedAttempt) -> tuple[State, Failure]:
    """How an attempt ends whose partition another one has ended: one of the same task, or of an older stage attempt."""
    if StageFlag.COMMITS in run.plan.flags:
        return State.FAILED, Failure.COMMIT_DENIED
    if attempt.index in run.won:
        return State.KILLED, Failure.KILLED
    return State.SUCCESS, Failure.NONE
