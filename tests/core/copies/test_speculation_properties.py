"""What holds of copies, blocks and extra containers, whatever stages, tasks and containers do."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.core.stragglers import H2, H3, H4, H5, Running, Stragglers
from tests.core.world import of
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockExecutor,
    BlockHost,
    Command,
    KillAttempt,
    LaunchCopy,
    ReleaseContainer,
    RequestContainers,
    UpdatePlacement,
    UpdateTaskBlocks,
    WithdrawCopy,
)
from yarnspec.core.messages.observations import Failure, StageFlag, State

HOSTS = (H2, H3, H4, H5)
NEVER_COPIED = StageFlag.BARRIER | StageFlag.WRITES | StageFlag.READS | StageFlag.NO_COPIES
FLAGS = (StageFlag(0), StageFlag.MAP, StageFlag.INDETERMINATE, *NEVER_COPIED)
SHARE = 0.5
SHARE_OF_ALL = 0.4
MIN_COPIES = 1
ATTEMPTS = 2
COPIES_EVER = 3
HOUR_MS = 3_600_000

Task = tuple[int, int]


class Stages(RuleBasedStateMachine):
    """A cluster that does what it is told: Spark starts copies as asked, YARN gives containers where they may be."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Stragglers(
            hosts=(H2, H3, H4),
            slots=2,
            speculation={
                "max_share_of_stage": SHARE,
                "max_share_of_application": SHARE_OF_ALL,
                "min_copies": MIN_COPIES,
                "max_concurrent_executions": ATTEMPTS,
                "max_copies_of_task": COPIES_EVER,
            },
            blocked_share=SHARE,
        )
        self.tell_past = len(self.world.commands)
        self.tasks: dict[int, int] = {}  # of the running stages
        self.flags: dict[int, StageFlag] = {}
        self.finished: set[Task] = set()
        self.asked: dict[Task, LaunchCopy] = {}
        self.ever: Counter[Task] = Counter()
        self.wanted: dict[str, tuple[str, ...]] = {}
        self.extra: set[str] = set()
        self.no_tasks = UpdateTaskBlocks(hosts=(), reason="at first")
        self.blocked: tuple[str, ...] = ()
        self.stages = 0

    # what the commands since the last look ask for

    def obey(self) -> None:
        commands, self.tell_past = self.world.commands[self.tell_past :], len(self.world.commands)
        for command in commands:
            self.obey_one(command)

    def obey_one(self, command: Command) -> None:
        assert command.reason.strip()
        match command:
            case UpdateTaskBlocks():
                self.no_tasks = command
            case LaunchCopy():
                self.check_copy(command)
                self.asked[command.stage, command.index] = command
                self.ever[command.stage, command.index] += 1
            case WithdrawCopy():
                del self.asked[command.stage, command.index]
                self.ever[command.stage, command.index] -= 1  # it never started
            case KillAttempt():
                assert self.world.running[command.task_id].copy
            case BlockHost() | BlockExecutor():
                assert command.until_ms is not None or command.by == "user"
            case UpdatePlacement():
                self.blocked = command.blocked_hosts
                self.wanted = {one.id: one.not_hosts for one in command.wanted}
            case RequestContainers():
                assert set(command.executor_ids) <= self.wanted.keys()
                self.extra.update(command.executor_ids)
            case ReleaseContainer():
                self.release(command.executor_id)

    def check_copy(self, copy: LaunchCopy) -> None:
        task = (copy.stage, copy.index)
        assert self.flags[copy.stage] & NEVER_COPIED == StageFlag(0)
        assert task not in self.asked
        assert task not in self.finished
        attempts = self.attempts(task)
        assert 1 <= len(attempts) < ATTEMPTS == copy.attempts_max
        assert copy.not_hosts == tuple(sorted({self.world.where[one.executor_id] for one in attempts}))
        assert self.ever[task] < COPIES_EVER
        running = {(one.stage, one.index) for one in self.world.running.values()} - self.finished
        of_stage = sum(stage == copy.stage for stage, _ in running)
        of_all = sum(stage in self.tasks for stage, _ in running)
        assert self.live(copy.stage) < max(MIN_COPIES, math.ceil(SHARE * of_stage))
        assert sum(self.live(stage) for stage in self.tasks) < max(MIN_COPIES, math.ceil(SHARE_OF_ALL * of_all))

    def release(self, executor_id: str) -> None:
        self.extra.discard(executor_id)
        if executor_id not in self.world.where:
            return
        # It was told first that no task may start there, and none runs.
        assert executor_id in self.no_tasks.executors
        assert not [one for one in self.world.running.values() if one.executor_id == executor_id]
        host = self.world.where.pop(executor_id)
        self.world.lose(executor_id, -105, host=host)

    def attempts(self, task: Task) -> list[Running]:
        return [one for one in self.world.running.values() if (one.stage, one.index) == task]

    def live(self, stage: int) -> int:
        copies = sum(one.copy and one.stage == stage for one in self.world.running.values())
        return copies + sum(task[0] == stage for task in self.asked)

    def free(self, task: Task, not_hosts: tuple[str, ...] = ()) -> list[str]:
        """The executors on which Spark would start an attempt of a task."""
        narrow = [one for one in self.no_tasks.stages if one.stage == task[0] and one.index in (None, task[1])]
        hosts = {*self.no_tasks.hosts, *not_hosts, *(host for one in narrow for host in one.hosts)}
        executors = {*self.no_tasks.executors, *(one for each in narrow for one in each.executors)}
        load = Counter(one.executor_id for one in self.world.running.values())
        return [
            executor_id
            for executor_id, host in self.world.where.items()
            if load[executor_id] < 2 and host not in hosts and executor_id not in executors
        ]

    def waiting(self) -> list[Task]:
        started = {(one.stage, one.index) for one in self.world.running.values()} | self.finished
        return [
            (stage, index)
            for stage, tasks in self.tasks.items()
            for index in range(tasks)
            if (stage, index) not in started
        ]

    # what happens

    @initialize()
    def begin(self) -> None:
        self.world.tell(ev.JobStarted(job=0, stages=tuple(range(20))))
        self.obey()

    @precondition(lambda self: len(self.tasks) < 3)
    @rule(tasks=st.integers(1, 8), flags=st.sampled_from(FLAGS))
    def stage_starts(self, tasks: int, flags: StageFlag) -> None:
        stage, self.stages = self.stages, self.stages + 1
        self.tasks[stage], self.flags[stage] = tasks, flags
        self.world.stage(stage, tasks, flags)
        self.obey()

    @precondition(lambda self: len(self.tasks) < 3)
    @rule(tasks=st.integers(4, 8), late=st.integers(1, 3), flags=st.sampled_from(FLAGS), busy=st.booleans())
    def a_stage_has_stragglers(self, tasks: int, late: int, flags: StageFlag, busy: bool) -> None:
        """Most tasks of a stage end after a second, some go on; other tasks may have taken the slots meanwhile."""
        stage = self.stages
        self.stage_starts(tasks, flags)
        for rest in (tasks - late, 0):
            for task in [task for task in self.waiting() if task[0] == stage and len(self.waiting()) > rest]:
                if free := self.free(task):
                    self.world.launch(*task, free[0])
                    self.obey()
            self.time_passes(1_000)
            done = [one for one in self.world.running.values() if one.stage == stage][: tasks - late]
            for one in done if rest else ():
                self.succeed(one)
        if busy and stage in self.tasks:
            other = self.stages
            self.stage_starts(8, StageFlag(0))
            for task in [task for task in self.waiting() if task[0] == other]:
                if free := self.free(task):
                    self.world.launch(*task, free[0])
                    self.obey()
        self.time_passes(4_000)

    @precondition(lambda self: any(self.free(task) for task in self.waiting()))
    @rule(data=st.data(), most=st.integers(1, 6))
    def tasks_start(self, data: st.DataObject, most: int) -> None:
        for task in self.waiting()[:most]:
            free = self.free(task)
            if free:
                self.world.launch(*task, data.draw(st.sampled_from(free)))
                self.obey()

    @precondition(lambda self: any(self.free(task, one.not_hosts) for task, one in self.asked.items()))
    @rule(data=st.data())
    def a_copy_starts(self, data: st.DataObject) -> None:
        able = [task for task, one in self.asked.items() if self.free(task, one.not_hosts)]
        task = data.draw(st.sampled_from(able))
        executor_id = data.draw(st.sampled_from(self.free(task, self.asked[task].not_hosts)))
        del self.asked[task]
        host = self.world.where[executor_id]
        assert host not in self.no_tasks.hosts
        self.world.launch(*task, executor_id, copy=True)
        self.obey()

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def a_copy_is_refused(self, data: st.DataObject) -> None:
        stage, index = data.draw(st.sampled_from(sorted(self.asked)))
        del self.asked[stage, index]
        self.ever[stage, index] -= 1
        self.world.tell(ev.CopyRefused(stage=stage, stage_attempt=0, index=index, why="its task has ended"))
        self.obey()

    @precondition(lambda self: self.world.running)
    @rule(share=st.floats(0, 1))
    def tasks_end(self, share: float) -> None:
        running = sorted(self.world.running)
        for task_id in running[: max(1, int(share * len(running)))]:
            if task_id in self.world.running:
                self.succeed(self.world.running[task_id])

    def succeed(self, one: Running) -> None:
        self.finished.add((one.stage, one.index))
        self.world.end(one.task_id)
        for other in self.attempts((one.stage, one.index)):
            self.world.end(other.task_id, State.KILLED, Failure.KILLED)
        self.obey()
        if one.stage in self.tasks and all((one.stage, i) in self.finished for i in range(self.tasks[one.stage])):
            self.end_stage(one.stage, State.SUCCESS)

    @precondition(lambda self: self.world.running)
    @rule(data=st.data(), failure=st.sampled_from([Failure.EXCEPTION, Failure.COPY_FAILED, Failure.COMMIT_DENIED]))
    def a_task_fails(self, data: st.DataObject, failure: Failure) -> None:
        self.world.end(data.draw(st.sampled_from(sorted(self.world.running))), State.FAILED, failure)
        self.obey()

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def a_stage_is_cancelled(self, data: st.DataObject) -> None:
        stage = data.draw(st.sampled_from(sorted(self.tasks)))
        for one in [one for one in self.world.running.values() if one.stage == stage]:
            self.world.end(one.task_id, State.KILLED, Failure.KILLED)
        self.obey()
        self.end_stage(stage, State.FAILED)

    def end_stage(self, stage: int, state: State) -> None:
        del self.tasks[stage]
        self.world.stage_ends(stage, state)
        self.obey()
        assert not [task for task in self.asked if task[0] == stage]

    @precondition(lambda self: self.wanted)
    @rule(data=st.data())
    def a_container_comes(self, data: st.DataObject) -> None:
        executor_id = data.draw(st.sampled_from(sorted(self.wanted)))
        hosts = [host for host in HOSTS if host not in self.blocked and host not in self.wanted[executor_id]]
        if hosts:
            del self.wanted[executor_id]
            self.world.executor(executor_id, data.draw(st.sampled_from(hosts)))
            self.obey()

    @precondition(lambda self: not self.blocked)
    @rule(host=st.sampled_from(HOSTS), duration_ms=st.none() | st.integers(1, 100_000))
    def a_user_blocks(self, host: str, duration_ms: int | None) -> None:
        self.world.tell(ev.BlockRequested(host=host, reason="slow", by="user", duration_ms=duration_ms))
        self.obey()

    @precondition(lambda self: self.blocked)
    @rule(data=st.data())
    def a_user_unblocks(self, data: st.DataObject) -> None:
        self.world.tell(ev.UnblockRequested(host=data.draw(st.sampled_from(self.blocked)), by="user"))
        self.obey()

    @rule(ms=st.integers(1, 30_000))
    def time_passes(self, ms: int) -> None:
        for _ in range(0, ms, 500):
            self.world.pass_ms(min(500, ms))
            self.obey()

    # what holds

    @invariant()
    def attempts_stay_within_the_cap(self) -> None:
        running = Counter((one.stage, one.index) for one in self.world.running.values())
        assert all(count + (task in self.asked) <= ATTEMPTS for task, count in running.items())

    @invariant()
    def guesses_stay_within_the_share_and_end(self) -> None:
        view = self.world.view()
        assert not view.stopped
        for block in view.blocks:
            assert block.until_ms is not None or not block.automatic
            assert block.until_ms is None or block.until_ms >= self.world.now_ms
            assert block.stage is None or block.stage in self.tasks
        wide = {block.host for block in view.blocked_hosts}
        assert len(wide) <= max(1, int(SHARE * len(HOSTS)))
        assert {block.host for block in view.blocks} <= set(HOSTS)

    @invariant()
    def everything_can_be_explained(self) -> None:
        now_ms = self.world.now_ms
        view = self.world.negotiator.speculation_view(now_ms)
        assert view.waiting_copies == len(self.asked)
        assert view.ledger.copies_running == sum(one.copy for one in self.world.running.values())
        for stage, tasks in self.tasks.items():
            for index in range(tasks):
                explanation = self.world.negotiator.explain_task(stage, index, now_ms)
                assert explanation is not None
                assert explanation.verdict
        for host in HOSTS:
            assert self.world.negotiator.explain_host(host, now_ms) is not None

    def teardown(self) -> None:
        for stage in list(self.tasks):
            for one in [one for one in self.world.running.values() if one.stage == stage]:
                self.world.end(one.task_id, State.KILLED, Failure.KILLED)
            self.obey()
            self.end_stage(stage, State.FAILED)
        self.world.tell(ev.JobEnded(job=0))
        self.obey()
        for _ in range(100):
            self.world.pass_ms(1_000)
            self.obey()
        self.world.pass_ms(HOUR_MS)
        self.obey()
        view = self.world.view()
        assert not view.extra, "every extra container is given back"
        assert not self.extra
        assert not self.asked
        assert not [block for block in view.blocks if block.automatic], "every block ends"
        assert of(RequestContainers, self.world.pass_ms(HOUR_MS)) == []


Stages.TestCase.settings = settings(max_examples=25, stateful_step_count=50)
TestStages = Stages.TestCase
