"""The rules of every run, looked at from outside: from the events and commands, and from their outcome.

Nothing here asks the core what it thinks. A rule that is broken ends the run at once.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NoReturn

from yarnspec.core.blocking.blockedshare import blocked_limit
from yarnspec.core.blocking.blocklist import SUBMIT
from yarnspec.core.messages.commands import (
    BeginRescale,
    BlockExecutor,
    BlockHost,
    ChangeBounds,
    Command,
    LaunchCopy,
    ReleaseContainer,
    RequestContainers,
    Summarize,
    UnblockExecutor,
    UnblockHost,
    UpdateTaskBlocks,
    WithdrawCopy,
)
from yarnspec.core.messages.events import (
    ClusterBlock,
    ClusterBlocksRead,
    ContainerLost,
    CopyRefused,
    Event,
    HostsReported,
    Observed,
    RequestFailed,
    TargetExecutorsChanged,
)
from yarnspec.core.messages.observations import Failure, Observations, RowKind, StageFlag, State
from yarnspec.simulate.world.scenario import USER, Scenario

TaskKey = tuple[int, int, int]
_NEVER_COPIED = StageFlag.BARRIER | StageFlag.WRITES | StageFlag.READS | StageFlag.NO_COPIES | StageFlag.KEEPS
_WIDE = ("application", "cluster")
_Block = tuple[str, str, str, int | None, int | None]
_OUTPUTS_KEPT_MS = 300_000
"""A query may go on so long after its last job."""


class BrokenRule(AssertionError):  # noqa: N818 - it says what it is
    """Something happened that must not; the message has the seed to run it again with."""


class Rules:
    """Watches one run."""

    def __init__(self, scenario: Scenario) -> None:
        self._seed = scenario.seed
        self._settings = scenario.settings
        self._flags = {stage.stage: stage.flags for job in scenario.jobs for stage in job.stages}
        self._parents = {stage.stage: set(stage.parents) for job in scenario.jobs for stage in job.stages}
        self.now_ms = 0
        self._stages: set[tuple[int, int]] = set()  # that run
        self._originals_only: set[tuple[int, int]] = set()  # since a map output that they read was lost
        self._running: dict[TaskKey, dict[int, str]] = {}  # as the negotiator was told
        self._running_copies: dict[int, tuple[int, int]] = {}  # and of which stage attempt
        self._finished: dict[TaskKey, int] = {}  # and since when
        self._asked: set[TaskKey] = set()
        self._ever: Counter[TaskKey] = Counter()
        self._hosts: frozenset[str] = frozenset()
        self._listed: tuple[ClusterBlock, ...] = ()
        self._decided: dict[_Block, str] = {}  # and by whom
        self._in_force: set[_Block] = set()
        self._expires_ms: dict[_Block, int | None] = {}
        self._copies: set[int] = set()  # that run
        self._job_ended_ms: int | None = None  # None while one runs
        self._wanted = scenario.settings.initial_executors
        self._containers: set[str] = set()  # that are to come or there
        self._taskless: set[str] = set()  # executors that take no task
        self.copies_started = 0

    def broken(self, what: str) -> NoReturn:
        """End the run."""
        raise BrokenRule(
            f"seed {self._seed}, {self.now_ms} ms: {what}\n"
            f"again: python -c 'from yarnspec.simulate import run; run({self._seed})'"
        )

    # what was said to the negotiator, and what it answered

    def told(self, event: Event, commands: list[Command], now_ms: int) -> None:
        """An event went in and commands came out."""
        self.now_ms = now_ms
        if isinstance(event, Observed):
            self._observed(event.rows)
        elif isinstance(event, HostsReported):
            self._hosts = frozenset(host.host for host in event.hosts if host.state == "RUNNING")
        elif isinstance(event, ClusterBlocksRead):
            self._listed = event.blocks
        elif isinstance(event, CopyRefused):
            key = (event.stage, event.stage_attempt, event.index)
            self._ever[key] -= key in self._asked  # it never was
            self._asked.discard(key)
        self._count(event, commands)
        for command in commands:
            self._decided_on(command)
        self._hosts_are_left()
        self._enough_take_tasks()
        patience_ms = 2 * self._settings.detector.check_interval_ms
        for key in sorted(self._asked & self._finished.keys()):
            if now_ms - self._finished[key] > patience_ms:
                self.broken(f"the copy that was asked for of task {key} was not withdrawn when that had ended")

    def _count(self, event: Event, commands: list[Command]) -> None:
        match event:
            case TargetExecutorsChanged():
                self._wanted = event.count
            case ContainerLost():
                self._containers.discard(event.executor_id)
            case RequestFailed():
                self._containers.difference_update(event.executor_ids)
        for command in commands:
            match command:
                case ChangeBounds():
                    self._wanted = min(self._wanted, command.most)  # or a while later
                case BeginRescale(cause="new requirements"):
                    self._wanted = command.wanted
                case RequestContainers():
                    self._containers.update(command.executor_ids)
                case ReleaseContainer():
                    self._containers.discard(command.executor_id)
                case UpdateTaskBlocks():
                    self._taskless = set(command.executors)

    def _enough_take_tasks(self) -> None:
        """An executor that takes no task is blocked, or one too many."""
        blocked = {executor for level, _, executor, *_ in self._decided if level in _WIDE}
        leaving = (self._taskless - blocked) & self._containers
        if leaving and len(self._containers) - len(leaving) < self._wanted:
            self.broken(
                f"executors {sorted(leaving)} take no task, {self._wanted} of {len(self._containers)} are wanted"
            )

    def _observed(self, rows: Observations) -> None:
        columns = (rows.stage, rows.stage_attempt, rows.index, rows.kind, rows.task_id, rows.host, rows.speculative)
        states, failures = rows.state.tolist(), rows.failure.tolist()
        for row, (*task, kind, task_id, host, speculative) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            key = (task[0], task[1], task[2])
            if kind == RowKind.STAGE_STARTED:
                self._stages.add(key[:2])
            elif kind == RowKind.STAGE_ENDED:
                self._stages.discard(key[:2])
            elif kind == RowKind.TASK_STARTED:
                self._running.setdefault(key, {})[task_id] = rows.hosts[host]
                if speculative == 1:
                    self._asked.discard(key)
                    self._running_copies[task_id] = key[:2]
            elif kind == RowKind.TASK_ENDED:
                was_running = self._running.get(key, {}).pop(task_id, None) is not None
                self._running_copies.pop(task_id, None)
                if failures[row] == Failure.FETCH_FAILED and was_running:
                    self._output_lost(key[:2])
                if states[row] == State.SUCCESS:
                    self._finished[key] = self.now_ms
                elif not was_running:  # a success whose output was lost
                    self._finished.pop(key, None)

    def _output_lost(self, key: tuple[int, int]) -> None:
        read = self._parents[key[0]]
        beside = {one for one in self._stages if one[0] != key[0] and read & self._parents[one[0]]}
        self._originals_only |= beside | {key}

    def _decided_on(self, command: Command) -> None:
        if not command.reason.strip():
            self.broken(f"a command without its reason: {command}")
        match command:
            case LaunchCopy():
                self._copy_is_allowed(command)
            case WithdrawCopy():
                self._asked.discard((command.stage, command.stage_attempt, command.index))
            case Summarize() if command.reason.startswith("speculation stopped"):
                self.broken(command.reason)
            case BlockHost():
                self._block_is_allowed(command)
                self._decided[_key(command)] = command.by
                self._expires_ms[_key(command)] = command.until_ms
            case UnblockHost():
                self._decided.pop(_key(command), None)

    def _copy_is_allowed(self, copy: LaunchCopy) -> None:
        key = (copy.stage, copy.stage_attempt, copy.index)
        flags = self._flags[copy.stage]
        cap = self._settings.speculation.max_concurrent_executions
        running = self._running.get(key, {})
        self._ever[key] += 1
        if flags & _NEVER_COPIED:
            self.broken(f"a copy in a stage that is never copied ({flags!r}): {copy}")
        if key[:2] in self._originals_only:
            self.broken(f"a copy in a stage that reads a map output that was lost: {copy}")
        if key in self._asked or key in self._finished or not running:
            self.broken(f"a copy of a task that has one to come, has ended or does not run: {copy}")
        if len(running) >= cap or copy.attempts_max != cap:
            self.broken(f"{len(running)} attempts run, {cap} may: {copy}")
        if self._ever[key] > max(self._settings.speculation.max_copies_of_task, cap - 1):
            self.broken(f"the task was copied too often: {copy}")
        self._copies_have_room(copy)
        if copy.not_hosts != tuple(sorted(set(running.values()))):
            self.broken(f"the task runs on {sorted(running.values())}: {copy}")
        self._asked.add(key)

    def _copies_have_room(self, copy: LaunchCopy) -> None:
        """Before this one fewer copies run or wait than the shares allow, of the stage and of all."""
        settings = self._settings.speculation
        stage = (copy.stage, copy.stage_attempt)
        live = [*(key[:2] for key in self._asked), *self._running_copies.values()]
        running = [key[:2] for key, attempts in self._running.items()
                   if attempts and key not in self._finished and key[:2] in self._stages]  # fmt: skip
        for where, copies, tasks, share in (
            ("its stage", live.count(stage), running.count(stage), settings.max_share_of_stage),
            ("the application", len(live), len(running), settings.max_share_of_application),
        ):
            if copies >= max(settings.min_copies, math.ceil(round(share * tasks, 6))):
                self.broken(f"{copies} copies are live in {where}, of {tasks} tasks that run: {copy}")

    def _block_is_allowed(self, block: BlockHost) -> None:
        if block.by in (USER, SUBMIT) or _key(block) in self._decided:
            return
        if block.level == "cluster":
            return
        if block.until_ms is None or block.until_ms < self.now_ms:
            self.broken(f"an automatic block that does not end: {block}")
        if block.host in self._settings.blocks.never:
            self.broken(f"nothing may block this host by itself: {block}")
        wide = {host for level, host, *_ in self._decided if level in _WIDE}
        if block.level == "stage":
            wide |= {one[1] for one in self._decided if one[0] == "stage" and one[3] == block.stage}
        after = (wide | {block.host}) & self._hosts
        if not self._hosts - after:
            self.broken(f"no host is left of {sorted(self._hosts)}: {block}")
        limit = blocked_limit(self._settings.placement.max_blocked_share, len(self._hosts))
        if block.level != "task" and len(after) > limit:
            self.broken(f"{sorted(after)} blocked, {limit} may be: {block}")

    def _hosts_are_left(self) -> None:
        """After each event: the list within its limits and heeded as far as they allow, and guesses within theirs."""
        wide = {(host, level, by) for (level, host, executor, *_), by in self._decided.items()
                if level in _WIDE and not executor and host in self._hosts}  # fmt: skip
        people = {host for host, level, by in wide if level == "application" and by in (USER, SUBMIT)}
        listed = {host for host, level, _ in wide if level == "cluster"}
        guessed = {host for host, *_ in wide} - people - listed
        limit = blocked_limit(self._settings.placement.max_blocked_share, len(self._hosts))
        if guessed and len(people | listed | guessed) > min(limit, len(self._hosts) - 1):
            self.broken(f"{sorted(guessed)} blocked on a guess beside {sorted(people | listed)}, {limit} may be")
        entries = {one.host: one for one in self._listed if one.until_ms is None or one.until_ms > self.now_ms}
        for host in sorted((listed - people) & entries.keys()):
            most = len(self._hosts) - 1 if entries[host].admin else limit
            if len(people | listed) > min(most, len(self._hosts) - 1):
                self.broken(f"the list's {entries[host]} holds with {sorted(people | listed)} of {sorted(self._hosts)}")
        for host in sorted(self._hosts & entries.keys() - listed):
            most = len(self._hosts) - 1 if entries[host].admin else limit
            if host in people or len(people | listed | {host}) <= min(most, len(self._hosts) - 1):
                self.broken(f"the list's {entries[host]} does not hold beside {sorted(people | listed)}")

    # what came of it

    def obeyed(self, command: Command) -> None:
        """A command reached Spark and YARN."""
        match command:
            case BlockHost() | BlockExecutor():
                self._in_force.add(_key(command))
            case UnblockHost() | UnblockExecutor():
                self._in_force.discard(_key(command))

    def task_starts(
        self, stage: int, index: int, *, executor_id: str, host: str, others: list[str], copy_id: int | None
    ) -> None:
        """Spark starts an attempt beside ``others`` on their hosts; ``copy_id`` is a copy's task id."""
        for where, executor in ((host, ""), ("", executor_id)):
            for level in (*_WIDE, "stage", "task"):
                one = (
                    level,
                    where,
                    executor,
                    stage if level in ("stage", "task") else None,
                    index if level == "task" else None,
                )
                if one in self._in_force:
                    self.broken(f"task {stage}.{index} starts on {host} ({executor_id}), where {one} is in force")
        if len(others) + 1 > self._settings.speculation.max_concurrent_executions:
            self.broken(f"task {stage}.{index} gets attempt {len(others) + 1} at once on {host}, beside {others}")
        if host in others:
            self.broken(f"task {stage}.{index} starts on {host}, where it runs already")
        if copy_id is not None:
            if self._flags[stage] & _NEVER_COPIED:
                self.broken(f"a copy of task {stage}.{index} starts, whose stage is never copied")
            self._copies.add(copy_id)
            self.copies_started += 1

    def attempt_ended(self, task_id: int) -> None:
        """An attempt is over."""
        self._copies.discard(task_id)

    def job_started(self) -> None:
        """A job runs; one after the other."""
        self._job_ended_ms = None

    def job_ended(self) -> None:
        """No job runs."""
        self._job_ended_ms = self.now_ms

    def goes_with_tasks(self, executor_id: str, tasks: int) -> None:
        """The negotiator gives an executor back on which so many tasks run."""
        if tasks:
            self.broken(f"executor {executor_id} is given back, and {tasks} tasks run there")

    def outputs_go(self, executor_id: str) -> None:
        """An executor is given back with map outputs that Spark has not forgotten."""
        if self._job_ended_ms is None or self.now_ms - self._job_ended_ms < _OUTPUTS_KEPT_MS:
            self.broken(f"executor {executor_id} is given back, and its map outputs may still be read")

    def container_comes(self, executor_id: str, host: str, not_hosts: tuple[str, ...]) -> None:
        """YARN gives a container."""
        blocked = {where for level, where, *_ in self._in_force if level in _WIDE}
        if host in blocked or host in not_hosts:
            self.broken(f"container {executor_id} on {host}, which is none for it ({sorted(blocked)}, {not_hosts})")

    # the end

    def at_rest(self, containers: int, wanted: int, running_copies: int) -> None:
        """The jobs are over since long: what must be so then."""
        if self._copies or running_copies:
            self.broken(f"copies that never ended: {sorted(self._copies)}; {running_copies} by the core's account")
        if self._asked:
            self.broken(f"copies that were asked for and never withdrawn: {sorted(self._asked)}")
        late = [one for one in self._decided if self._expires_ms[one] is not None or one[2]]
        if late:
            self.broken(f"blocks that did not end: {sorted(map(str, late))}")
        if containers > wanted:
            self.broken(f"{containers} containers are there or to come, {wanted} are wanted: extra ones were kept")


def _key(command: BlockHost | UnblockHost | BlockExecutor | UnblockExecutor) -> _Block:
    if isinstance(command, BlockHost | UnblockHost):
        return (command.level, command.host, "", command.stage, command.index)
    return (command.level, "", command.executor_id, command.stage, command.index)
