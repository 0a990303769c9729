"""Spark's scheduler for many tasks: jobs, stages, free slots, first finisher wins, what is lost runs again."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import KillAttempt, LaunchCopy, UpdateTaskBlocks, WithdrawCopy
from yarnspec.core.messages.observations import Failure, StageFlag, State
from yarnspec.simulate.whatif.pace import Pace
from yarnspec.simulate.whatif.plan import SimulationPlan
from yarnspec.simulate.whatif.slots import FreeSlots
from yarnspec.simulate.world.clock import START_MS, Clock
from yarnspec.simulate.world.feed import Feed
from yarnspec.simulate.world.scenario import JobPlan, StagePlan
from yarnspec.simulate.world.stagerun import SimulatedAttempt, StageRun

_FAILURES_MAX = 3  # of a task: the fourth would end the job, and is spared
_FETCHES_FAIL_TIMES = 2  # of a stage by chance, so that it ends some time
_KILL_MS = (20, 200)
_RESUBMIT_MS = 400
_COLD_MS = 300
_FETCH_FAILS_MS = 100
_BETWEEN_JOBS_MS = 500
_LOOKS = 20  # at so many waiting tasks, or executors, that do not fit


@dataclass(slots=True)
class ManyTasks(StageRun):
    """A stage attempt with its tasks by index."""

    queue: deque[int] = field(default_factory=deque)
    of_index: dict[int, list[SimulatedAttempt]] = field(default_factory=dict)
    place: dict[int, int] = field(default_factory=dict)
    """The index of each partition."""

    def of(self, index: int) -> list[SimulatedAttempt]:
        """The running attempts of a task."""
        return self.of_index.get(index, [])

    def again(self, index: int) -> None:
        """A task has to run again, unless an attempt of it still may end it."""
        if not self.over and index not in self.won and not self.of(index):
            self.queue.append(index)


class Scheduler:
    """The driver's scheduler. It obeys the commands about tasks and copies."""

    def __init__(
        self,
        plan: SimulationPlan,
        *,
        clock: Clock,
        rng: random.Random,
        tell: Callable[[ev.Event], None],
        over: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._rng = rng
        self._tell = tell
        self._over = over
        self._by_id: dict[int, tuple[ManyTasks, SimulatedAttempt]] = {}
        self.pace = Pace(self._by_id)
        self._feed = Feed(plan.feed_ms, plan.heartbeat_ms, clock, tell, self.pace.least_ms)
        self._hosts = {life.plan.name: life.plan for life in plan.hosts}
        self._stages = {stage.stage: stage for job in plan.jobs for stage in job.stages}
        self._dead: set[str] = set()
        self._slots = FreeSlots(plan.slots, rng)
        self._warm: set[str] = set()
        self._off: dict[tuple[int, int | None], tuple[frozenset[str], frozenset[str]]] = {}
        self._jobs = deque(plan.jobs)
        self._job: JobPlan | None = None
        self._runs: dict[int, ManyTasks] = {}
        self._stage_attempts: Counter[int] = Counter()
        self._task_ids = 0
        self._done: dict[int, dict[int, str]] = {stage: {} for stage in self._stages}
        self._holds: dict[str, set[tuple[int, int]]] = {}
        self._running: dict[str, dict[int, tuple[ManyTasks, SimulatedAttempt]]] = {}
        self.copies = 0
        self.failures = 0
        self.first_task_ms: int | None = None
        self.hosts_used: set[str] = set()

    @property
    def runs_tasks(self) -> bool:
        """Whether an attempt runs."""
        return bool(self._by_id)

    @property
    def waiting(self) -> int:
        """How many tasks wait for a slot."""
        return sum(len(run.queue) for run in self._runs.values())

    # jobs and stages

    def next_job(self) -> None:
        """Start the next action of the program, or end it."""
        self._job = self._jobs.popleft() if self._jobs else None
        if self._job is None:
            self._over()
            return
        stages = self._job.stages
        parents = tuple((stage.stage, stage.parents) for stage in stages if stage.parents)
        self._tell(ev.JobStarted(job=self._job.job, stages=tuple(one.stage for one in stages), parents=parents))
        self._advance()

    def _advance(self) -> None:
        if self._job is None:
            return
        results = [stage for stage in self._job.stages if not stage.maps]
        for stage in results:
            self._submit(stage)
        if not all(self._complete(stage) for stage in results):
            self._fill()
            return
        for run in list(self._runs.values()):  # a stage that nobody reads any more
            self._end_run(run, State.FAILED)
        self._tell(ev.JobEnded(job=self._job.job))
        self._job = None
        self._clock.after(_BETWEEN_JOBS_MS, self.next_job)

    def _complete(self, stage: StagePlan) -> bool:
        return len(self._done[stage.stage]) == len(stage.work_ms)

    def _submit(self, stage: StagePlan) -> None:
        if self._complete(stage) or stage.stage in self._runs:
            return
        missing = [self._stages[one] for one in stage.parents if not self._complete(self._stages[one])]
        for parent in missing:
            self._submit(parent)
        if missing:
            return
        done = self._done[stage.stage]
        partitions = tuple(n for n in range(len(stage.work_ms)) if n not in done)
        run = ManyTasks(
            stage, self._stage_attempts[stage.stage], partitions,
            queue=deque(range(len(partitions))), place={n: index for index, n in enumerate(partitions)},
        )  # fmt: skip
        self._stage_attempts[stage.stage] += 1
        self._runs[stage.stage] = run
        self._runs = dict(sorted(self._runs.items()))  # the order in which FIFO offers them slots
        self._feed.stage_started(run)

    def _end_run(self, run: ManyTasks, state: State) -> None:
        run.over = True
        del self._runs[run.plan.stage]
        for index in list(run.copies):
            self._refuse(run, index, "its stage has ended")
        self._feed.stage_ended(run, state)
        for attempt in list(run.running.values()):
            self._kill_soon(attempt)

    # executors

    def executor_comes(self, executor_id: str, host: str) -> None:
        """An executor registers."""
        self._running[executor_id] = {}
        self._slots.come(executor_id, host)
        self._fill()

    def host_dies(self, host: str) -> None:
        """Let nothing end on a host any more; Spark does not know yet."""
        self._dead.add(host)

    def executor_goes(self, executor_id: str) -> None:
        """An executor is gone, with what runs in it and the map outputs that it held."""
        running = self._running.pop(executor_id, None)
        if running is None:
            return
        self._slots.go(executor_id)
        for run, attempt in list(running.values()):
            self._ended(run, attempt, State.FAILED, Failure.EXECUTOR_LOST)
        self._lose_outputs(executor_id)
        self._fill()

    def held(self, executor_id: str) -> int:
        """The data that an executor holds, as ``HeldBlocksTold`` counts it: nothing but map outputs."""
        return ev.ONLY_MAP_OUTPUTS if self._holds.get(executor_id) else 0

    def _lose_outputs(self, executor_id: str) -> None:
        """Lose an executor's outputs. Their readers fail to fetch, and start anew once the lost maps ran again."""
        for stage, partition in sorted(self._holds.pop(executor_id, ())):
            self._done[stage].pop(partition, None)
            run = self._runs.get(stage)
            if run is None:
                continue
            index = run.place.get(partition)
            if index is None:  # an attempt before had done it
                self._end_run(run, State.FAILED)
            elif won := run.won.pop(index, None):
                self._feed.ended(run, won, State.FAILED, Failure.EXECUTOR_LOST)
                run.again(index)
        for run in list(self._runs.values()):
            if any(not self._complete(self._stages[one]) for one in run.plan.parents):
                self._fetch_failed(run)
        self._clock.after(_RESUBMIT_MS, self._advance)

    def _fetch_failed(self, run: ManyTasks) -> None:
        attempt = next(iter(run.running.values()), None)
        if attempt is not None:
            self._ended(run, attempt, State.FAILED, Failure.FETCH_FAILED)
        if not run.over:
            self._end_run(run, State.FAILED)

    # commands

    def block(self, command: UpdateTaskBlocks) -> None:
        """Take a new list of where no task starts."""
        self._slots.block(frozenset(command.hosts), frozenset(command.executors))
        self._off = {(one.stage, one.index): (frozenset(one.hosts), frozenset(one.executors)) for one in command.stages}
        self._fill()

    def copy(self, command: LaunchCopy) -> None:
        """Start a copy as soon as a slot is free, or refuse it."""
        run = self._run_of(command.stage, command.stage_attempt)
        running = run.of(command.index) if run is not None else []
        if run is None or command.index in run.won or not 0 < len(running) < command.attempts_max:
            self._refused(command.stage, command.stage_attempt, command.index, "its task has ended")
            return
        run.copies[command.index] = command
        self._fill()

    def withdraw(self, command: WithdrawCopy) -> None:
        """Forget a copy that has not started."""
        run = self._run_of(command.stage, command.stage_attempt)
        if run is not None:
            run.copies.pop(command.index, None)

    def kill(self, command: KillAttempt) -> None:
        """End one attempt."""
        if command.task_id in self._by_id:
            self._kill_soon(self._by_id[command.task_id][1])

    def _run_of(self, stage: int, stage_attempt: int) -> ManyTasks | None:
        run = self._runs.get(stage)
        return run if run is not None and run.stage_attempt == stage_attempt else None

    def _refuse(self, run: ManyTasks, index: int, why: str) -> None:
        if run.copies.pop(index, None) is not None:
            self._refused(run.plan.stage, run.stage_attempt, index, why)

    def _refused(self, stage: int, stage_attempt: int, index: int, why: str) -> None:
        event = ev.CopyRefused(stage=stage, stage_attempt=stage_attempt, index=index, why=why)
        self._clock.after(self._plan.bridge_ms, partial(self._tell, event))

    # slots

    def _fill(self) -> None:
        """Fill the free slots with waiting tasks, then with copies."""
        for run in list(self._runs.values()):
            self._fill_with(run)
        for run in list(self._runs.values()):
            for index, copy in list(run.copies.items()):
                running = run.of(index)
                if not 0 < len(running) < copy.attempts_max or index in run.won:
                    self._refuse(run, index, "its task has ended")
                    continue
                taken = {one.host for one in running}.union(copy.not_hosts)
                for executor_id, host in self._slots.some(_LOOKS):
                    if host not in taken and self._allowed(run.plan.stage, executor_id, host, index):
                        del run.copies[index]
                        self._launch(run, index, executor_id, host, copy=True)
                        break

    def _fill_with(self, run: ManyTasks) -> None:
        aside: list[str] = []
        while run.queue and (found := self._slots.any()):
            executor_id, host = found
            for _ in range(min(_LOOKS, len(run.queue))):
                if self._allowed(run.plan.stage, executor_id, host, run.queue[0]):
                    self._launch(run, run.queue.popleft(), executor_id, host)
                    break
                run.queue.rotate(-1)
            else:
                self._slots.put_aside(executor_id)
                aside.append(executor_id)
        for executor_id in aside:
            self._slots.put_back(executor_id)

    def _allowed(self, stage: int, executor_id: str, host: str, index: int) -> bool:
        if not self._off:
            return True
        for key in ((stage, None), (stage, index)):
            hosts, executors = self._off.get(key, ((), ()))
            if host in hosts or executor_id in executors:
                return False
        return True

    # attempts

    def _launch(self, run: ManyTasks, index: int, executor_id: str, host: str, *, copy: bool = False) -> None:
        now_ms = self._clock.now_ms
        if self.first_task_ms is None:
            self.first_task_ms = now_ms - START_MS
        chance = self._plan.spread
        work_ms = run.plan.work_ms[run.partitions[index]] * self._rng.uniform(1 - chance, 1 + chance)
        if executor_id not in self._warm:
            self._warm.add(executor_id)
            work_ms += _COLD_MS
        failure = self._fate(run, index, host)
        if failure is Failure.FETCH_FAILED:
            work_ms = _FETCH_FAILS_MS
        elif failure is not Failure.NONE:
            work_ms *= self._rng.random()
        end_ms = START_MS + self._hosts[host].end_ms(now_ms - START_MS, work_ms)
        attempt = SimulatedAttempt(self._task_ids, index, run.launched[index], executor_id, host, copy, now_ms, end_ms)
        self._task_ids += 1
        self.copies += copy
        self.hosts_used.add(host)
        run.launched[index] += 1
        run.running[attempt.task_id] = attempt
        run.of_index.setdefault(index, []).append(attempt)
        self._by_id[attempt.task_id] = self._running[executor_id][attempt.task_id] = (run, attempt)
        self.pace.started(attempt.task_id, run.plan.work_ms[run.partitions[index]])
        self._slots.take(executor_id)
        self._feed.started(run, attempt)
        self._clock.at(end_ms, partial(self._comes_to_its_end, run, attempt, failure))

    def _fate(self, run: ManyTasks, index: int, host: str) -> Failure:
        if run.failed[index] >= _FAILURES_MAX:
            return Failure.NONE
        fetches = run.plan.parents and run.stage_attempt < _FETCHES_FAIL_TIMES
        if fetches and self._plan.fetch_fails and self._rng.random() < self._plan.fetch_fails:
            return Failure.FETCH_FAILED
        fails = self._plan.task_fails + self._hosts[host].fails
        return Failure.EXCEPTION if fails and self._rng.random() < fails else Failure.NONE

    def _comes_to_its_end(self, run: ManyTasks, attempt: SimulatedAttempt, failure: Failure) -> None:
        if attempt.task_id not in run.running or attempt.host in self._dead:
            return
        if failure is Failure.FETCH_FAILED:
            self._ended(run, attempt, State.FAILED, failure)
            self._parent_lost(run)
        elif failure is not Failure.NONE:
            if len(run.of(attempt.index)) == 1:
                run.failed[attempt.index] += 1
            elif attempt.copy:
                failure = Failure.COPY_FAILED
            self._ended(run, attempt, State.FAILED, failure)
        elif attempt.index in run.won:
            self._ended(run, attempt, *_second(run))
        else:
            self._succeeded(run, attempt)
        self._fill()

    def _parent_lost(self, run: ManyTasks) -> None:
        """An output could not be read: Spark gives up all that its executor held."""
        holders = sorted({holder for parent in run.plan.parents for holder in self._done[parent].values()})
        if holders and not run.over:
            self._lose_outputs(self._rng.choice(holders))

    def _succeeded(self, run: ManyTasks, attempt: SimulatedAttempt) -> None:
        stage, partition = run.plan, run.partitions[attempt.index]
        if run.over:
            self._ended(run, attempt, State.SUCCESS, Failure.NONE)
            return
        self._done[stage.stage][partition] = attempt.executor_id
        if stage.maps:
            self._holds.setdefault(attempt.executor_id, set()).add((stage.stage, partition))
        run.won[attempt.index] = attempt
        self._ended(run, attempt, State.SUCCESS, Failure.NONE)
        for other in run.of(attempt.index):
            self._kill_soon(other)
        if self._complete(stage):
            self._end_run(run, State.SUCCESS)
            self._advance()

    def _kill_soon(self, attempt: SimulatedAttempt) -> None:
        self._clock.after(self._rng.randint(*_KILL_MS), partial(self._killed, attempt))

    def _killed(self, attempt: SimulatedAttempt) -> None:
        found = self._by_id.get(attempt.task_id)
        if found is not None and attempt.host not in self._dead:
            self._ended(found[0], attempt, State.KILLED, Failure.KILLED)
            self._fill()

    def _ended(self, run: ManyTasks, attempt: SimulatedAttempt, state: State, failure: Failure) -> None:
        del run.running[attempt.task_id], self._by_id[attempt.task_id]
        run.of_index[attempt.index].remove(attempt)
        on_executor = self._running.get(attempt.executor_id)
        if on_executor is not None:
            on_executor.pop(attempt.task_id, None)
            self._slots.give_back(attempt.executor_id)
        self.failures += state is State.FAILED
        self._feed.ended(run, attempt, state, failure)
        if state is not State.SUCCESS:
            run.again(attempt.index)


def _second(run: ManyTasks) -> tuple[State, Failure]:
    """How an attempt ends whose task another one has ended."""
    commits = StageFlag.COMMITS in run.plan.flags
    return (State.FAILED, Failure.COMMIT_DENIED) if commits else (State.KILLED, Failure.KILLED)
