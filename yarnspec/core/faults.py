"""Which hosts are faulty: tasks fail there and succeed elsewhere, or executors die young there while others live.

Only what the host can be blamed for counts: exceptions of tasks that another host then ran without one, and deaths that
neither want of memory, the driver, preemption nor YARN's own decisions explain. Lost map outputs, denied commits and
kills never do; nor do failures beside another attempt of the same task, which may hold what both need (a file, a lock,
a key); nor deaths that a task may explain (see ``hostdeaths``); nor tasks that fail about as often on other hosts, for
then it is the program or its data; nor as many failures as chance brings to a host. A task that has failed is kept off
its host, so whatever failed by accident ends well elsewhere as well. Where all failures happened in one executor of
several on the host, that executor is to be blocked.

What is blocked is as much as has been shown, as in Spark's ``excludeOnFailure``:

* a task failed: it is kept off that executor, and where it failed in two executors of a host, off the host, until it
  succeeds. Whose fault it was is not known then, and trying elsewhere tells: when it fails there too, that is over;
* two tasks of a stage failed there, no fewer than ended well there, and others end well elsewhere: the stage is kept
  off, for what it needs may be missing (a library, a mount, memory of its own);
* tasks failed there and succeeded elsewhere, as many as ``faulty_tasks``, and more than chance explains when they are
  weighed against all that ended well there and elsewhere: the application is kept off.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from yarnspec.core.blame import SIGKILL_EXIT
from yarnspec.core.blocks import WIDE, Block, Key
from yarnspec.core.deaths import YoungDeath
from yarnspec.core.events import BlockRequested
from yarnspec.core.hostdeaths import HostDeaths, Task
from yarnspec.core.observations import Failure, State
from yarnspec.core.outcomes import Outcomes, by_chance
from yarnspec.core.settings import Settings
from yarnspec.core.stagetasks import Attempt, StageTasks

BY_FAILURES = "failed-task detector"
BY_DEATHS = "young-death detector"

_TASKS_KEPT = 10_000
_TASKS_OF_STAGE = 2
_SINGLE_TASKS_MAX = 50
"""So many tasks at most are kept off by themselves at once: where more fail it is not a host."""
_TIMES_THE_OTHERS = 2
"""So many times as many tasks must have failed here as on all other hosts together."""
_CHANCE = 0.01
"""So likely at most may chance be, divided by the failures: each of them is a new opportunity for it."""
_DISKS_FAILED = -101
# YARN's limits, Spark's code for a full Java heap, and SIGKILL: the kernel's way of ending who takes too much.
_OUT_OF_MEMORY = frozenset({-103, -104, 52, SIGKILL_EXIT})

Proof = tuple[int, int, int, int]
"""A task, after the number of its SparkContext: those of different ones may have the same number."""


class Faults:
    """The evidence against hosts; listens to the blocklist to know how often each was blocked for it."""

    def __init__(self, settings: Settings, executors: Callable[[], Mapping[str, str]]) -> None:
        self._settings = settings.blocks
        self._window_ms = settings.failure_window_ms
        self._executors = executors
        self._failed: OrderedDict[Task, dict[str, set[str]]] = OrderedDict()  # where each task failed: host, executors
        self._in_stage: defaultdict[int, dict[str, dict[str, set[int]]]] = defaultdict(dict)  # the same by stage
        self._single: set[Key] = set()
        self._proven: defaultdict[str, dict[Proof, tuple[int, frozenset[str]]]] = defaultdict(dict)
        self._well = Outcomes(settings.failure_window_ms)
        self._deaths = HostDeaths(settings.failure_window_ms)
        self._contexts = 0
        self._blocked: set[Key] = set()
        self._rounds: defaultdict[str, int] = defaultdict(int)

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Count how often each host, or an executor there, was blocked as faulty; what led to it counts once only."""
        self._single.difference_update(block.key for block in lifted)
        self._single.update(block.key for block in added if block.cause == "faulty" and block.level == "task")
        self._blocked.difference_update(block.key for block in lifted)
        for block in added:
            if not _of_faults(block):
                self._blocked.discard(block.key)  # what somebody asked for has taken its place
            elif block.key not in self._blocked:
                self._blocked.add(block.key)
                self._rounds[block.host] += 1
                self._proven.pop(block.host, None)
                self._deaths.drop(block.host)

    def ended_well(self, counts: Mapping[str, int], now_ms: int) -> None:
        """So many tasks have ended well on these hosts; to be told before what of them is told one by one."""
        self._well.add(counts, now_ms)

    def attempt_ended(self, stage: StageTasks, attempt: Attempt, now_ms: int) -> list[BlockRequested]:
        """A task attempt ended; the wishes that follow from it."""
        task = (*stage.key, attempt.index)
        if attempt.state is State.FAILED and attempt.failure is Failure.EXCEPTION and attempt.host:
            return [] if _had_company(stage, attempt) else self._task_failed(stage, attempt)
        if attempt.state is not State.SUCCESS:
            return []
        wish = None
        for host, executors in self._failed.pop(task, {}).items():
            # Where it failed and then succeeded it was not the host.
            if host != attempt.host:
                self._proven[host][self._contexts, *task] = (now_ms, frozenset(executors))
                wish = self._judge(host, attempt.host, now_ms) or wish
        for host in self._deaths.ended_well(task, attempt.host):
            wish = self._judge_deaths(host, f"executors live on {attempt.host}", now_ms) or wish
        return [wish] if wish is not None else []

    def acquitted(self, stage: StageTasks, attempt: Attempt) -> set[Key]:
        """The blocks of a task that failed: it has succeeded, or failed on another host as well."""
        if attempt.failure is Failure.EXECUTOR_LOST or len(self._failed.get((*stage.key, attempt.index), ())) == 1:
            return set()
        return {key for key in self._single if key.scope == (stage.stage, attempt.index)}

    def stage_ended(self, stage: int) -> None:
        """No attempt of a stage runs any more."""
        self._in_stage.pop(stage, None)

    def _task_failed(self, stage: StageTasks, attempt: Attempt) -> list[BlockRequested]:
        task, host, executor_id = (*stage.key, attempt.index), attempt.host, attempt.executor_id
        where = self._failed.setdefault(task, {})
        where.setdefault(host, set()).add(executor_id)
        self._failed.move_to_end(task)
        if len(self._failed) > _TASKS_KEPT:
            self._failed.popitem(last=False)
        self._in_stage[stage.stage].setdefault(host, {}).setdefault(executor_id, set()).add(attempt.index)
        wishes = []
        if len(where) == 1 and len(self._single) < _SINGLE_TASKS_MAX:
            several = self._several(host)
            all_of_host = len(where[host]) > 1 or not several
            said = f"task {stage.stage}.{attempt.index} failed there"
            wishes.append(
                self._narrow(
                    stage.stage,
                    attempt.index,
                    host,
                    "" if all_of_host else executor_id,
                    f"{said}, and is tried elsewhere",
                )
            )
        wish = self._judge_in_stage(stage, host, executor_id)
        return [*wishes, wish] if wish is not None else wishes

    def _judge_in_stage(self, stage: StageTasks, host: str, executor_id: str) -> BlockRequested | None:
        by_host = self._in_stage[stage.stage]
        here = set().union(*by_host[host].values())
        only_one = self._several(host) and len(by_host[host]) == 1
        if len(here) < _TASKS_OF_STAGE:
            return None
        others = set().union(*(each for one, of in by_host.items() if one != host for each in of.values()))
        there = stage.succeeded_on(executor_id) if only_one else stage.succeeded_on_host(host)
        if len(here) <= _TIMES_THE_OTHERS * len(others) or len(here) < there or stage.finished <= there:
            return None
        named = ", ".join(f"{stage.stage}.{index}" for index in sorted(here)[:5])
        said = (
            f"{len(here)} tasks of stage {stage.stage} failed there ({named}) and {there} ended well; elsewhere "
            f"{len(others)} failed and {stage.finished - there} ended well"
        )
        return self._narrow(stage.stage, None, host, executor_id if only_one else "", said)

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
        self, death: YoungDeath, tasks: AbstractSet[Task], healthy_hosts: AbstractSet[str]
    ) -> list[BlockRequested]:
        """An executor died young, with these tasks; ``healthy_hosts`` have executors that proved healthy."""
        if not death.host or death.exit_code in _OUT_OF_MEMORY or death.host in healthy_hosts or not healthy_hosts:
            return []
        self._deaths.add(death, tasks)
        others = f"others live on {', '.join(sorted(healthy_hosts))}"
        disks = death.exit_code == _DISKS_FAILED
        wish = self._judge_deaths(death.host, others, death.at_ms, enough=1 if disks else None)
        if wish is not None:
            return [wish]
        # Was it one of the tasks that they had in common? Where it ends well elsewhere it was the host.
        shared = sorted(self._deaths.in_common(death.host, death.at_ms))
        said = "executors died young there whenever they ran it, and it is tried elsewhere"
        room = max(0, _SINGLE_TASKS_MAX - len(self._single))
        return [self._narrow(stage, index, death.host, "", said, by=BY_DEATHS) for stage, _, index in shared[:room]]

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
        for hosts in (*self._failed.values(), *self._in_stage.values()):
            hosts.pop(host, None)  # type: ignore[attr-defined]

    def context_over(self) -> None:
        """The SparkContext is gone: the tasks that failed will not succeed elsewhere. What is proven stays so."""
        self._contexts += 1
        self._deaths.context_over()
        self._failed.clear()
        self._in_stage.clear()

    def explain(self, host: str, now_ms: int) -> str:
        """What there is against a host, in a sentence."""
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


def _had_company(stage: StageTasks, attempt: Attempt) -> bool:
    """Whether another attempt of the same task ran when this one failed: it may hold what this one needs."""
    at_ms = attempt.finish_ms or 0
    others = (one for one in stage.attempts_of(attempt.index) if one.task_id != attempt.task_id)
    return any(one.launch_ms < at_ms and (one.finish_ms is None or one.finish_ms >= at_ms) for one in others)


def _of_faults(block: Block) -> bool:
    return block.level in WIDE and any(one.cause == "faulty" for one in block.in_turn)
