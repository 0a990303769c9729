"""Finds faulty hosts: tasks fail there and succeed elsewhere, or executors die young there while others live.

Two things count against a host. One is a task's exception, if another host then ran the task without one. The other is
an executor's death that neither want of memory, the driver, preemption nor YARN's own decisions explain. These never
count:

* lost map outputs, denied commits, kills, and want of memory (``Failure.OUT_OF_MEMORY``);
* failures beside another attempt of the same task, which may hold what both need (a file, a lock, a key);
* deaths that a task may explain (see ``hostdeaths``);
* tasks that have not ended well elsewhere: their data may be bad, and bad data may all lie on one host;
* tasks that fail about as often on other hosts: then the program is to blame;
* as many failures as chance brings to a host.

A task that has failed is kept off its host, so a task that failed by accident ends well elsewhere too. If all failures
happened in one executor of several on the host, that executor is blocked instead.

A block reaches as far as the evidence, as in Spark's ``excludeOnFailure``:

* a task failed: it is kept off that executor until it succeeds. If it failed in two executors of a host, it is kept off
  the host. Nobody knows yet who is to blame, and a try elsewhere tells. If the task fails there too, this block ends;
* two tasks of a stage failed there and on no other host, and ended well elsewhere. They are no fewer than the tasks
  that ended well there, and more than chance explains within the stage. Then the stage is kept off, because something
  that it needs may be missing (a library, a mount, memory of its own);
* no more tasks can be kept off one by one, and many of them wait to be tried elsewhere: their stage is held back. A
  host where everything fails at once gets through dozens of tasks while the others are busy. A task that fails there
  four times ends the job. This is no proof: it ends when three of these tasks have failed elsewhere as well;
* as many tasks as ``faulty_tasks`` failed there and succeeded elsewhere. They are more than chance explains, given all
  tasks that ended well there and elsewhere. Then the application is kept off.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from yarnspec.core.blocking.blocks import WIDE, Block, Key
from yarnspec.core.containers.blame import SIGKILL_EXIT
from yarnspec.core.containers.deaths import YoungDeath
from yarnspec.core.faults.hostdeaths import HostDeaths, Task
from yarnspec.core.faults.outcomes import Outcomes, by_chance
from yarnspec.core.faults.stagefaults import Evidence, StageFaults
from yarnspec.core.messages.events import BlockRequested
from yarnspec.core.messages.observations import Failure, State
from yarnspec.core.messages.settings import Settings
from yarnspec.core.tasks.stagetasks import StageTasks, TaskAttempt

BY_FAILURES = "failed-task detector"
BY_DEATHS = "young-death detector"

_TASKS_KEPT = 10_000
_TASKS_OF_STAGE = 2
_SINGLE_TASKS_MAX = 50
"""Most tasks that are kept off one by one at the same time."""
_WAITING_MIN = 10
"""If no more tasks can be kept off, at least this many that failed on a host must wait to be tried elsewhere."""
_SHARED_ENOUGH = 3
"""If this many of them fail elsewhere as well, the host is not to blame."""
_TIMES_THE_OTHERS = 2
"""How many times as many tasks must have failed here as on all other hosts together."""
_CHANCE = 0.01
"""Highest probability of chance, divided by the failures: each failure is one more opportunity for chance."""
_DISKS_FAILED = -101
# YARN's limits, Spark's code for a full Java heap, and SIGKILL: the kernel's way of ending who takes too much.
_OUT_OF_MEMORY = frozenset({-103, -104, 52, SIGKILL_EXIT})

_TRIED_ELSEWHERE = (Failure.EXCEPTION, Failure.OUT_OF_MEMORY)
"""A task that ended so is kept off where it was; only an exception may be held against the host."""

StageKey = tuple[int, int]
"""A stage and its attempt."""
Proof = tuple[int, int, int, int]
"""A task, after the number of its SparkContext: those of different ones may have the same number."""


class Faults:
    """The evidence against hosts; listens to the blocklist to know how often each was blocked for it."""

    def __init__(self, settings: Settings, executors: Callable[[], Mapping[str, str]]) -> None:
        self._settings = settings.blocks
        self._window_ms = settings.executor.failure_window_ms
        self._executors = executors
        self._failed: OrderedDict[Task, dict[str, set[str]]] = OrderedDict()  # where each task failed: host, executors
        self._lacked_memory: dict[Task, set[str]] = {}  # of these where it was for want of memory
        self._in_stage: defaultdict[StageKey, StageFaults] = defaultdict(StageFaults)
        self._single: set[Key] = set()
        self._stages: dict[Key, str] = {}  # the blocks of stages, and of which host
        self._proven: defaultdict[str, dict[Proof, tuple[int, frozenset[str]]]] = defaultdict(dict)
        self._well = Outcomes(settings.executor.failure_window_ms)
        self._deaths = HostDeaths(settings.executor.failure_window_ms)
        self._contexts = 0
        self._blocked: set[Key] = set()
        self._rounds: defaultdict[str, int] = defaultdict(int)

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Count how often each host, or an executor there, was blocked as faulty; what led to it counts once only."""
        self._note_narrow(added, lifted)
        self._blocked.difference_update(block.key for block in lifted)
        for block in added:
            if not _of_faults(block):
                self._blocked.discard(block.key)  # what somebody asked for has taken its place
            elif block.key not in self._blocked:
                self._blocked.add(block.key)
                self._rounds[block.host] += 1
                self._proven.pop(block.host, None)
                self._deaths.drop(block.host)

    def _note_narrow(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        for block in (*lifted, *added):  # in the place of one of ours may be what somebody asked for
            self._single.discard(block.key)
            self._stages.pop(block.key, None)
        for block in added:
            if block.cause == "faulty" and block.level == "task":
                self._single.add(block.key)
            elif block.cause == "faulty" and block.level == "stage":
                self._stages[block.key] = block.host

    def ended_well(self, counts: Mapping[str, int], now_ms: int) -> None:
        """Count tasks that have ended well on these hosts. Called before their ends are told one by one."""
        self._well.add(counts, now_ms)

    def attempt_ended(self, stage: StageTasks, attempt: TaskAttempt, now_ms: int) -> list[BlockRequested]:
        """A task attempt ended; the wishes that follow from it."""
        if attempt.state is State.FAILED and attempt.failure in _TRIED_ELSEWHERE and attempt.host:
            return [] if _had_company(stage, attempt) else self._task_failed(stage, attempt)
        return self._task_ended_well(stage, attempt, now_ms) if attempt.state is State.SUCCESS else []

    def acquitted(self, stage: StageTasks, attempt: TaskAttempt) -> set[Key]:
        """The blocks that rest on the failure of a task: it has succeeded, or failed on another host as well.

        In the second case also the blocks of its stage, where the other tasks that failed there do not prove enough.
        """
        where = self._failed.get((*stage.key, attempt.index), {})
        if attempt.failure is Failure.EXECUTOR_LOST or len(where) == 1:
            return set()
        own = {key for key in self._single if key.scope == (stage.stage, attempt.index)}
        return own.union(
            key
            for key, host in self._stages.items()
            if key.stage == stage.stage and host in where and self._judge_in_stage(stage, host) is None
        )

    def stage_ended_well(self, stage: StageTasks, now_ms: int) -> list[BlockRequested]:
        """All tasks of a stage have ended well; the wishes that follow from it."""
        freed = set(self._deaths.stage_ended_well(stage.stage)) - stage.succeeded_by_host().keys()
        wishes = [self._judge_deaths(host, f"stage {stage.stage} has ended well", now_ms) for host in sorted(freed)]
        return [wish for wish in wishes if wish is not None]

    def stage_ended(self, stage: int) -> None:
        """No attempt of a stage runs any more."""
        for key in [key for key in self._in_stage if key[0] == stage]:
            del self._in_stage[key]

    def _task_failed(self, stage: StageTasks, attempt: TaskAttempt) -> list[BlockRequested]:
        task, host = (*stage.key, attempt.index), attempt.host
        where = self._failed.setdefault(task, {})
        where.setdefault(host, set()).add(attempt.executor_id)
        self._failed.move_to_end(task)
        if len(self._failed) > _TASKS_KEPT:
            self._lacked_memory.pop(self._failed.popitem(last=False)[0], None)
        if attempt.failure is Failure.OUT_OF_MEMORY:
            self._lacked_memory.setdefault(task, set()).add(host)
        elif stage.ended is None:
            self._in_stage[stage.key].failed(attempt.index, host, attempt.executor_id)
        wishes = []
        if len(where) == 1 and len(self._single) < _SINGLE_TASKS_MAX:
            all_of_host = len(where[host]) > 1 or not self._several(host)
            executor_id = "" if all_of_host else attempt.executor_id
            said = f"task {stage.stage}.{attempt.index} failed there, and is tried elsewhere"
            wishes.append(self._narrow(stage.stage, attempt.index, host, executor_id, said))
        wish = self._judge_in_stage(stage, host)
        return [*wishes, wish] if wish is not None else wishes

    def _task_ended_well(self, stage: StageTasks, attempt: TaskAttempt, now_ms: int) -> list[BlockRequested]:
        task = (*stage.key, attempt.index)
        faults = self._in_stage.get(stage.key)
        failed_on = faults.ended_well(attempt.index, attempt.host, attempt.executor_id) if faults is not None else ()
        wishes: list[BlockRequested | None] = []
        lacked_memory = self._lacked_memory.pop(task, set())
        for host, executors in self._failed.pop(task, {}).items():
            # Where it failed and then succeeded it was not the host.
            if host != attempt.host and host not in lacked_memory:
                self._proven[host][self._contexts, *task] = (now_ms, frozenset(executors))
                wishes.append(self._judge(host, attempt.host, now_ms))
        for host in self._deaths.ended_well(task, attempt.host):
            wishes.append(self._judge_deaths(host, f"executors live on {attempt.host}", now_ms))
        asked = {wish.host for wish in wishes if wish is not None}
        wishes += [self._judge_in_stage(stage, host) for host in failed_on if host not in asked]
        return [wish for wish in wishes if wish is not None]

    def _judge_in_stage(self, stage: StageTasks, host: str) -> BlockRequested | None:
        """The wish to keep a stage off a host, or off the only executor of several there that tasks failed in."""
        faults = self._in_stage.get(stage.key)
        if faults is None:
            return None
        found = faults.against(host, several=self._several(host))
        said = self._proof(stage, host, found) or self._no_room(stage, host, found)
        return self._narrow(stage.stage, None, host, found.executor_id, said) if said else None

    def _proof(self, stage: StageTasks, host: str, found: Evidence) -> str:
        """The proof that a stage's tasks fail because of their host; empty if there is none."""
        count = len(found.proven)
        if count < _TASKS_OF_STAGE or count <= _TIMES_THE_OTHERS * found.others:
            return ""
        faults, place = self._in_stage[stage.key], _place(host, found)
        failed = faults.by_executor() if found.executor_id else faults.by_host()
        failed[place] = count
        well = _well(stage, found)
        chance = by_chance(place, failed, well)
        if count < well[place] or chance > _CHANCE / count:
            return ""
        return (
            f"{count} tasks of stage {stage.stage} failed there and ended well elsewhere: "
            f"{_named(stage, found.proven)}. {well[place]} ended well there; on other hosts {found.others} failed, and "
            f"{well.total() - well[place]} ended well elsewhere: by chance that happens in {chance:.2g} of all cases"
        )

    def _no_room(self, stage: StageTasks, host: str, found: Evidence) -> str:
        """Why the tasks that failed on a host cannot be kept off it one by one; empty where they can, or need not.

        Nothing is proven then. But the next could fail there as often as ends the job before any is tried elsewhere.
        """
        held = any(key.stage == stage.stage and one == host for key, one in self._stages.items())
        room = len(self._single) < _SINGLE_TASKS_MAX and not held  # one that is tried elsewhere makes room for one only
        if room or found.shared >= _SHARED_ENOUGH or not found.waiting:
            return ""
        if sum(one.waiting(host) for one in self._in_stage.values()) < _WAITING_MIN:
            return ""
        failed = len(found.waiting) + len(found.proven)
        other_hosts = len(set(self._executors().values()) - {host})
        if failed * other_hosts <= _TIMES_THE_OTHERS * found.others:
            return ""  # as many as on the other hosts in the mean: that is no matter of places
        if failed < _well(stage, found)[_place(host, found)]:
            return ""
        return (
            f"{failed} tasks of stage {stage.stage} failed there ({_named(stage, found.waiting)}), and no more than "
            f"{_SINGLE_TASKS_MAX} tasks are kept off hosts one by one: held back until they were tried elsewhere"
        )

    def _narrow(
        self, stage: int, index: int | None, host: str, executor_id: str, said: str, *, by: str = BY_FAILURES
    ) -> BlockRequested:
        return BlockRequested(
            host=host,
            executor_id=executor_id,
            reason=said,
            by=by,
            automatic=True,
            cause="faulty",
            level="stage" if index is None else "task",
            stage=stage,
            index=index,
        )

    def _several(self, host: str) -> bool:
        """Whether more than one executor runs on a host."""
        return sum(one == host for one in self._executors().values()) > 1

    def died_young(
        self,
        death: YoungDeath,
        tasks: AbstractSet[Task],
        healthy_hosts: AbstractSet[str],
        outlived: Callable[[Task, str], bool],
    ) -> list[BlockRequested]:
        """An executor died young.

        Args:
            death: this one.
            tasks: what ran in it then.
            healthy_hosts: those with executors that proved healthy.
            outlived: whether a task that ran in this executor runs in another one by now, for far longer than there.
        """
        if not death.host or death.exit_code in _OUT_OF_MEMORY or death.host in healthy_hosts or not healthy_hosts:
            return []
        self._deaths.acquit(death.host, outlived)
        self._deaths.add(death, tasks)
        others = f"others live on {', '.join(sorted(healthy_hosts))}"
        disks = death.exit_code == _DISKS_FAILED
        wish = self._judge_deaths(death.host, others, death.at_ms, enough=1 if disks else None)
        if wish is not None:
            return [wish]
        # Was it one of these tasks? Where they end well elsewhere it was the host.
        suspects = self._deaths.to_try_elsewhere(death.host, death.at_ms)
        said = "executors died young there, one of them while it ran, and it is tried elsewhere"
        room = max(0, _SINGLE_TASKS_MAX - len(self._single))
        return [self._narrow(stage, index, death.host, "", said, by=BY_DEATHS) for stage, _, index in suspects[:room]]

    def _judge_deaths(self, host: str, others: str, now_ms: int, *, enough: int | None = None) -> BlockRequested | None:
        count = self._deaths.count(host, now_ms)
        if count < (self._settings.faulty_deaths if enough is None else enough):
            return None
        said = (
            f"{count} executors died young there within {self._window_ms // 1000} s (a host is faulty at "
            f"{self._settings.faulty_deaths}), while {others}; the last one: {self._deaths.last(host)}"
        )
        return self._wish(host, "", said, BY_DEATHS)

    @property
    def rounds(self) -> dict[str, int]:
        """How often each host, or an executor there, was blocked as faulty."""
        return {host: times for host, times in self._rounds.items() if times}

    def carry_over(self, rounds: Mapping[str, int]) -> None:
        """Know how often hosts were blocked in earlier attempts; those whose blocks still hold are counted among it."""
        for host, times in rounds.items():
            self._rounds[host] = max(self._rounds[host], times)

    def forget(self, host: str) -> None:
        """Somebody vouches for a host: nothing that happened there so far counts, and durations begin again."""
        self._proven.pop(host, None)
        self._well.forget(host)
        self._deaths.drop(host)
        self._rounds.pop(host, None)
        for where in self._failed.values():
            where.pop(host, None)
        for faults in self._in_stage.values():
            faults.forget(host)

    def context_over(self) -> None:
        """The SparkContext is gone: the tasks that failed will not succeed elsewhere. Proven faults stay."""
        self._contexts += 1
        self._deaths.context_over()
        self._failed.clear()
        self._lacked_memory.clear()
        self._in_stage.clear()

    def explain(self, host: str, now_ms: int) -> str:
        """The evidence against a host, in a sentence."""
        tasks = len(self._recent(host, now_ms))
        deaths = self._deaths.count(host, now_ms)
        return (
            f"{tasks} tasks failed there and succeeded elsewhere (it is faulty at {self._settings.faulty_tasks}, when "
            f"chance does not explain them beside those that ended well), {self._well.well(now_ms)[host]} tasks ended "
            f"well there, and {deaths} executors died young there (at {self._settings.faulty_deaths}), in the last "
            f"{self._window_ms // 1000} s"
        )

    def _recent(self, host: str, now_ms: int) -> dict[Proof, frozenset[str]]:
        proven = self._proven.get(host, {})
        for task in [one for one, (at_ms, _) in proven.items() if at_ms <= now_ms - self._window_ms]:
            del proven[task]
        return {task: where for task, (_, where) in proven.items()}

    def _judge(self, host: str, elsewhere: str, now_ms: int) -> BlockRequested | None:
        proven = self._recent(host, now_ms)
        if len(proven) < self._settings.faulty_tasks:
            return None
        failed = Counter({each: len(self._recent(each, now_ms)) for each in self._proven})
        others = failed.total() - failed[host]
        if len(proven) < _TIMES_THE_OTHERS * others:
            return None
        well = self._well.well(now_ms)
        chance = by_chance(host, failed, well)
        if chance > _CHANCE / len(proven):
            return None
        named = ", ".join(f"{stage}.{index}" for _, stage, _, index in sorted(proven)[:5])
        where = set().union(*proven.values())
        executor_id = next(iter(where)) if self._several(host) and len(where) == 1 else ""
        said = (
            f"{len(proven)} tasks failed there and succeeded elsewhere (a host is faulty at "
            f"{self._settings.faulty_tasks}): {named}; the last one on {elsewhere}. {well[host]} ended well there; on "
            f"other hosts {others} failed and {well.total() - well[host]} ended well: by chance that happens in "
            f"{chance:.2g} of all cases"
        )
        return self._wish(host, executor_id, said, BY_FAILURES)

    def _wish(self, host: str, executor_id: str, said: str, by: str) -> BlockRequested:
        settings = self._settings
        key = Key("application", "" if executor_id else host, executor_id)
        # By host: the next executor there has another id.
        times = self._rounds[host] - (key in self._blocked)
        duration_ms = min(settings.faulty_duration_ms << min(times, 30), settings.faulty_duration_max_ms)
        if times:
            said += f"; it was blocked for faults {times} times before"
        return BlockRequested(
            host=host,
            executor_id=executor_id,
            reason=said,
            by=by,
            duration_ms=duration_ms,
            automatic=True,
            cause="faulty",
        )


def _had_company(stage: StageTasks, attempt: TaskAttempt) -> bool:
    """Whether another attempt of the same task ran when this one failed: it may hold what this one needs."""
    at_ms = attempt.finish_ms or 0
    others = (one for one in stage.attempts_of(attempt.index) if one.task_id != attempt.task_id)
    return any(one.launch_ms < at_ms and (one.finish_ms is None or one.finish_ms >= at_ms) for one in others)


def _place(host: str, found: Evidence) -> str:
    """The executor or the host that the evidence is about."""
    return found.executor_id or host


def _well(stage: StageTasks, found: Evidence) -> Counter[str]:
    """How many tasks of a stage ended well in each executor, or on each host, whatever the evidence is about."""
    return stage.succeeded_by_executor() if found.executor_id else stage.succeeded_by_host()


def _named(stage: StageTasks, indices: AbstractSet[int]) -> str:
    return ", ".join(f"{stage.stage}.{index}" for index in sorted(indices)[:5])


def _of_faults(block: Block) -> bool:
    return block.level in WIDE and any(one.cause == "faulty" for one in block.in_turn)
