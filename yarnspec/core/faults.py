"""Which hosts are faulty: tasks fail there and succeed elsewhere, or executors die young there while others live.

Only what the host can be blamed for counts: exceptions of tasks that another host then ran without one, and deaths that
neither want of memory, the driver, preemption nor YARN's own decisions explain. Lost map outputs, denied commits and
kills never do; nor do failed copies, whose originals may hold what they need (a file, a lock, a key); nor tasks that
fail about as often on other hosts, for then it is the program or its data. Where all failures happened in one executor
of several on the host, that executor is the one to block.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping

from yarnspec.core.blame import SIGKILL_EXIT
from yarnspec.core.blocks import Block
from yarnspec.core.deaths import YoungDeath
from yarnspec.core.events import BlockRequested
from yarnspec.core.observations import Failure, State
from yarnspec.core.settings import Settings
from yarnspec.core.stagetasks import Attempt, StageTasks

BY_FAILURES = "failed-task detector"
BY_DEATHS = "young-death detector"

_TASKS_KEPT = 10_000
_TIMES_THE_OTHERS = 2
"""So many times as many tasks must have failed here as on all other hosts together."""
_DISKS_FAILED = -101
# YARN's limits, Spark's code for a full Java heap, and SIGKILL: the kernel's way of ending who takes too much.
_OUT_OF_MEMORY = frozenset({-103, -104, 52, SIGKILL_EXIT})

Task = tuple[int, int]


class Faults:
    """The evidence against hosts; listens to the blocklist to know how often each was blocked for it."""

    def __init__(self, settings: Settings, executors: Callable[[], Mapping[str, str]]) -> None:
        self._settings = settings.blocks
        self._window_ms = settings.failure_window_ms
        self._executors = executors
        self._failed: OrderedDict[Task, dict[str, set[str]]] = OrderedDict()  # where each task failed: host, executors
        self._proven: defaultdict[str, dict[Task, tuple[int, frozenset[str]]]] = defaultdict(dict)
        self._deaths: defaultdict[str, list[YoungDeath]] = defaultdict(list)
        self._blocked: set[str] = set()
        self._rounds: defaultdict[str, int] = defaultdict(int)

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Count how often each host, or an executor there, was blocked as faulty; what led to it counts once only."""
        self._blocked.difference_update(block.key.target for block in lifted if block.cause == "faulty")
        for block in added:
            if block.cause == "faulty" and block.key.target not in self._blocked:
                self._blocked.add(block.key.target)
                self._rounds[block.host] += 1
                self._proven.pop(block.host, None)
                self._deaths.pop(block.host, None)

    def attempt_ended(self, stage: StageTasks, attempt: Attempt, now_ms: int) -> BlockRequested | None:
        """A task attempt ended; the wish that follows from it, if any."""
        task = (stage.stage, attempt.index)
        if attempt.state is State.FAILED and attempt.failure is Failure.EXCEPTION and attempt.host:
            self._failed.setdefault(task, {}).setdefault(attempt.host, set()).add(attempt.executor_id)
            self._failed.move_to_end(task)
            if len(self._failed) > _TASKS_KEPT:
                self._failed.popitem(last=False)
            return None
        if attempt.state is not State.SUCCESS:
            return None
        wish = None
        for host, executors in self._failed.pop(task, {}).items():
            # Where it failed and then succeeded it was not the host.
            if host != attempt.host:
                self._proven[host][task] = (now_ms, frozenset(executors))
                wish = self._judge(host, attempt.host, now_ms) or wish
        return wish

    def died_young(self, death: YoungDeath, healthy_hosts: set[str]) -> BlockRequested | None:
        """An executor died young; ``healthy_hosts`` have executors that proved healthy."""
        if not death.host or death.exit_code in _OUT_OF_MEMORY or death.host in healthy_hosts or not healthy_hosts:
            return None
        deaths = [one for one in self._deaths[death.host] if one.at_ms > death.at_ms - self._window_ms]
        self._deaths[death.host] = [*deaths, death]
        count = len(deaths) + 1
        if count < self._settings.faulty_deaths and death.exit_code != _DISKS_FAILED:
            return None
        said = (
            f"{count} executors died young there within {self._window_ms // 1000} s (a host is faulty at "
            f"{self._settings.faulty_deaths}), while others live on {', '.join(sorted(healthy_hosts))}; the last one: "
            f"{death.text}"
        )
        return self._wish(death.host, "", said, BY_DEATHS)

    def forget(self, host: str) -> None:
        """Somebody vouches for a host: nothing that happened there so far counts, and durations begin again."""
        self._proven.pop(host, None)
        self._deaths.pop(host, None)
        self._rounds.pop(host, None)
        for hosts in self._failed.values():
            hosts.pop(host, None)

    def context_over(self) -> None:
        """The SparkContext is gone: the tasks that failed will not succeed elsewhere. What is proven stays so."""
        self._failed.clear()

    def explain(self, host: str, now_ms: int) -> str:
        """What there is against a host, in a sentence."""
        tasks = len(self._recent(host, now_ms))
        deaths = sum(one.at_ms > now_ms - self._window_ms for one in self._deaths.get(host, ()))
        return (
            f"{tasks} tasks failed there and succeeded elsewhere (it is faulty at {self._settings.faulty_tasks}), and "
            f"{deaths} executors died young there (at {self._settings.faulty_deaths}), in the last "
            f"{self._window_ms // 1000} s"
        )

    def _recent(self, host: str, now_ms: int) -> dict[Task, frozenset[str]]:
        proven = self._proven.get(host, {})
        return {task: where for task, (at_ms, where) in proven.items() if at_ms > now_ms - self._window_ms}

    def _judge(self, host: str, elsewhere: str, now_ms: int) -> BlockRequested | None:
        proven = self._recent(host, now_ms)
        if len(proven) < self._settings.faulty_tasks:
            return None
        others = sum(len(self._recent(other, now_ms)) for other in self._proven if other != host)
        if len(proven) < _TIMES_THE_OTHERS * others:
            return None
        named = ", ".join(f"{stage}.{index}" for stage, index in sorted(proven)[:5])
        where = set().union(*proven.values())
        several = sum(one == host for one in self._executors().values()) > 1
        executor_id = next(iter(where)) if several and len(where) == 1 else ""
        said = (
            f"{len(proven)} tasks failed there and succeeded elsewhere (a host is faulty at "
            f"{self._settings.faulty_tasks}): {named}; the last one on {elsewhere}"
        )
        return self._wish(host, executor_id, said, BY_FAILURES)

    def _wish(self, host: str, executor_id: str, said: str, by: str) -> BlockRequested:
        settings = self._settings
        target = executor_id or host
        # By host: the next executor there has another id.
        times = self._rounds[host] - (target in self._blocked)
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
