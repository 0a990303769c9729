"""Containers beside Spark's target: for copies that find no slot, and for executors that blocks have put out of work.

An extra container is asked for when a copy has waited for a while and no task waits for a slot. If tasks wait, every
container would help, and their number is Spark's decision. And a task of another stage might get the slot before the
copy, which would ask for the next container, and so on. The container is kept off the hosts on which the copied tasks
run, and off blocked hosts. If no host is left then, only the oldest copy counts, and other copies that can start
wherever it can. Executors on blocked hosts may stand idle while tasks wait for slots. Then as many containers are asked
for in their place.

Extra containers are of the usual size. A stage that asks for executors of another size by a resource profile gets none:
Spark starts its tasks, copies included, on executors of that profile only. The first task of a stage shows on which
executors its tasks run. Once Spark has named a profile, no container is asked for in the place of others before that.

An extra container is given back under three conditions. No copy waits that could start there. It has been without a
task for a while. It holds nothing that may still be read. First it takes no new tasks. If it still has none a moment
later, the driver is asked what it holds. If it holds nothing, it is released: neither a task that was on its way nor
data are lost. Else it takes tasks again, and the driver is asked once more after a while.

Executors that are left over when the number is made smaller are given back as well, the busy ones among them. The
driver is asked first what they hold, while they take tasks. Only those that hold nothing take no new task from then on.
When they are idle they are asked again as above. For one that holds something the next pause is twice as long, up to an
hour, as long as no job ends.

Cached or locally checkpointed data keep the container as long as they are there: only the program knows when they end.
Map outputs keep it as long as Spark has not forgotten their shuffles, however their attempts and jobs ended. The next
job may be the next part of the same query, or the rest of a failed stage attempt. But when no job has run for some
minutes, the container goes with its map outputs. In a session Spark remembers a shuffle as long as a DataFrame refers
to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.blocks import WIDE
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.containers.capacity import Slots
from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import IDS_PER_EPOCH, ExecutorTable
from yarnspec.core.containers.giving_back import give_back
from yarnspec.core.containers.profiles import USUAL
from yarnspec.core.copies.task_copies import CopiedTask, TaskKey
from yarnspec.core.messages.commands import AskHeldBlocks, Command, KeepSurplus
from yarnspec.core.messages.events import ONLY_MAP_OUTPUTS, HeldBlocksTold
from yarnspec.core.messages.settings import Settings
from yarnspec.core.tasks.running_jobs import Jobs
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import TaskTable

_MOST_PER_EPOCH = IDS_PER_EPOCH // 100
"""Executor ids are limited, and the ordinary executors need them more."""
_LOOKED_AT = 100
"""How many waiting copies one pass looks at, the oldest first. Their containers serve the later ones, too."""
_ASK_AGAIN_MS, _LONGEST_PAUSE_MS = 60_000, 60 * 60_000
"""How long after an executor was found to hold data the driver is asked again, for the first time and at most."""
OUTPUTS_KEPT_MS = 5 * 60_000
"""Map outputs keep an executor so long after the last job: as long as Spark lets one query broadcast between jobs."""

_Needy = tuple[CopiedTask, StageTasks]
"""A task with a copy that has found no slot, and its stage."""


@dataclass(slots=True)
class _Extra:
    """What is known of one extra executor beside its row."""

    dismissed: bool = False
    """There are too many executors, and this one shall go."""
    idle_since_ms: int | None = None
    barred_ms: int = 0
    """When it was told to take no new task, or was last seen to run one since."""
    kept_ms: int | None = None
    """When the driver last said that it holds something."""
    pause_ms: int = _ASK_AGAIN_MS
    """How long after that it is asked again, if no job ends."""
    told: set[str] = field(default_factory=set)
    """What was told to keep it."""
    empty: bool = False
    """It held nothing when the driver was asked, while it took tasks."""


class SpeculativeContainers:
    """The extra containers: how many are wanted, where not, and which can be given back."""

    def __init__(
        self,
        settings: Settings,
        *,
        containers: ExecutorTable,
        slots: Slots,
        table: TaskTable,
        hosts: Hosts,
        blocklist: Blocklist,
        jobs: Jobs,
    ) -> None:
        self._settings = settings
        self._containers = containers
        self._slots = slots
        self._table = table
        self._hosts = hosts
        self._blocklist = blocklist
        self._jobs = jobs
        self._known: dict[str, _Extra] = {}
        self._asked_ms: dict[str, int] = {}
        self._asked_at_work: set[str] = set()
        self._not_before_ms = 0
        self._out_of_work_since_ms: int | None = None
        self.total = 0
        self.why_not: dict[TaskKey, str] = {}
        """Why no container is asked for although a copy waits."""

    # asking

    def plan(self, waiting: list[CopiedTask], now_ms: int) -> None:
        """Want as many extra containers as the waiting copies need."""
        self.why_not = {}
        needy = self._without_slot(waiting, now_ms)
        needy, not_hosts = self._not_hosts(needy)
        states = [row.state for row in self._containers.extra_executors]
        running, allocated = states.count("running"), states.count("allocated")
        needed = math.ceil(len(needy) / self._slots.of_new_executor)
        needed = max(needed, self._stand_ins(now_ms) - running)
        if needed and now_ms < self._not_before_ms:
            wait_s = (self._not_before_ms - now_ms) / 1000
            self._explain(needy, f"an extra container ended badly; the next one is asked for in {wait_s:.0f} s")
            needed = 0
        new = max(0, needed - len(states) + running)
        if new > _MOST_PER_EPOCH - self.total:
            self._explain(needy, f"{self.total} extra containers were asked for already")
            new = max(0, _MOST_PER_EPOCH - self.total)
            needed = min(needed, len(states) - running + new)
        self.total += new
        self._containers.want_extra(running + max(needed, allocated), not_hosts)

    def lost(self, row: Executor, now_ms: int, *, asked: bool) -> None:
        """An executor is gone; ``asked``: as it was asked to."""
        self._known.pop(row.executor_id, None)
        self._asked_ms.pop(row.executor_id, None)
        self._asked_at_work.discard(row.executor_id)
        if row.extra and not asked:
            self._not_before_ms = now_ms + self._settings.executor.backoff_max_ms

    def _stand_ins(self, now_ms: int) -> int:
        """How many executors are of no use, as they or their hosts are blocked, while tasks wait for slots.

        A block for slowness is not counted: it is short, and was made because the others are enough.
        """
        stages = self._table.stages.values()
        waiting = sum(stage.unlaunched for stage in stages if stage.profile == USUAL)
        blocks = [block for block in self._blocklist.blocks if block.level in WIDE and block.cause != "slow"]
        hosts = {block.host for block in blocks if not block.executor_id}
        executors = {block.executor_id for block in blocks if block.executor_id}
        running = self._slots.running() if blocks else []
        kept_off = [row for row in running if row.host in hosts or row.executor_id in executors]
        kept_off = [row for row in kept_off if row.profile == USUAL]
        idle = [row for row in kept_off if not self._table.running_on(row.executor_id)]
        if not idle or not waiting:
            self._out_of_work_since_ms = None
            return 0
        if self._out_of_work_since_ms is None:
            self._out_of_work_since_ms = now_ms
        if now_ms - self._out_of_work_since_ms < self._settings.speculation.slot_patience_ms:
            return 0
        return min(len(idle), math.ceil(waiting / self._slots.of_new_executor))

    def _without_slot(self, waiting: list[CopiedTask], now_ms: int) -> list[_Needy]:
        if not waiting:
            return []
        free = self._slots.free()
        rows = [row for row in self._slots.running() if not row.leaving]
        rows = [row for row in rows if free[row.executor_id]]
        stages = self._table.stages.values()
        unlaunched = sum(stage.unlaunched for stage in stages if stage.profile == USUAL)
        needy = []
        for task in waiting[:_LOOKED_AT]:
            stage = self._table.stages.get(task.key[:2])
            if stage is None:
                continue
            taken = stage.hosts_of(task.key[2]) if rows else ()
            profile = stage.profile
            found = next((row for row in rows if row.profile == profile and self._fits(row, task.key, taken)), None)
            if found is not None:
                free[found.executor_id] -= 1
                if not free[found.executor_id]:
                    rows.remove(found)
            elif profile != USUAL:
                said = f"its stage runs on executors of resource profile {profile}, and Spark says how many there are"
                self.why_not[task.key] = said
            elif unlaunched:
                self.why_not[task.key] = f"{unlaunched} tasks wait for slots, and might get a new one before it"
            elif now_ms - (task.asked_ms or 0) < self._settings.speculation.slot_patience_ms:
                patience_s = self._settings.speculation.slot_patience_ms / 1000
                self.why_not[task.key] = f"it has not waited for a slot for {patience_s:g} s yet"
            else:
                needy.append((task, stage))
        return needy

    def _fits(self, row: Executor, key: TaskKey, taken: tuple[str, ...]) -> bool:
        stage, _, index = key
        return row.host not in taken and self._blocklist.keeping_off(row.host, row.executor_id, stage, index) is None

    def _not_hosts(self, needy: list[_Needy]) -> tuple[list[_Needy], tuple[str, ...]]:
        """For which copies new containers are, and where these may not be.

        For all, where a host is left; else for the oldest, and for those that can start on any host where it can.
        """
        if not needy:
            return [], ()
        usable = self._hosts.running - set(self._blocklist.hosts)
        each = [set(stage.hosts_of(task.key[2])) for task, stage in needy]
        for taken in (set().union(*each), each[0]):
            left = usable - taken
            if left:
                served = [one for one, hosts in zip(needy, each, strict=True) if not hosts & left]
                others = [one for one, hosts in zip(needy, each, strict=True) if hosts & left]
                self._explain(others, "a container is asked for that serves an older copy, and may be where it runs")
                return served, tuple(sorted(taken))
        self._explain(needy, f"none of the {len(usable)} hosts that are not blocked is without an attempt of it")
        return [], ()

    def _explain(self, needy: Iterable[_Needy], why: str) -> None:
        self.why_not.update((task.key, why) for task, _ in needy)

    # giving back

    def look(self, waiting: list[CopiedTask], now_ms: int) -> list[Command]:
        """Let go of extra containers that are not needed any more, nor by the copies that wait."""
        rows = self._containers.extra_executors
        self._forget_others({row.executor_id for row in rows})
        if not self._asked_at_work:
            self._bar_empty(rows, now_ms)
        stages = [(task.key, self._table.stages.get(task.key[:2])) for task in waiting[:_LOOKED_AT]]
        copies = [
            (key, stage.hosts_of(key[2])) for key, stage in stages if stage is not None and stage.profile == USUAL
        ]
        done: list[Command] = []
        for row in rows:
            if row.state == "running":
                done += self._look_at(row, now_ms, copies)
        return done

    def dismiss(self, executor_ids: Iterable[str], now_ms: int) -> None:
        """These are too many: those that hold nothing take no new task, and go as soon as they are idle."""
        for executor_id in executor_ids:
            self._known[executor_id] = one = _Extra(dismissed=True)
            row = self._containers.row(executor_id)
            if row is not None and row.state != "running":
                self._bar(row, one, now_ms)  # nothing has run there, so nobody has to be asked

    def _bar(self, row: Executor, one: _Extra, now_ms: int) -> None:
        one.empty, one.barred_ms = False, now_ms
        self._containers.leave(row)

    @property
    def awaits_answers(self) -> bool:
        """Whether the driver has yet to say of executors that take tasks what they hold."""
        return bool(self._asked_at_work)

    def next_look_ms(self, now_ms: int) -> int | None:
        """When to look again although nothing happens; None when nothing can change by itself."""
        due_ms = [due_ms for row in self._containers.extra_executors if (due_ms := self._due_ms(row)) is not None]
        return max(min(due_ms), now_ms + self._settings.detector.check_interval_ms) if due_ms else None

    def _due_ms(self, row: Executor) -> int | None:
        one = self._known.get(row.executor_id)
        if one is None or one.empty or row.state != "running" or row.executor_id in self._asked_ms:
            return None
        if one.dismissed and not row.leaving:
            return self._ask_again_ms(one)
        if one.idle_since_ms is None:
            return None
        return max(one.idle_since_ms + self._patience_ms(one), self._ask_again_ms(one))

    def _bar_empty(self, rows: Iterable[Executor], now_ms: int) -> None:
        """Let those leave that held nothing while they worked, all at once: each list for Spark is a whole one."""
        for row in rows:
            one = self._known.get(row.executor_id)
            if one is not None and one.empty:
                self._bar(row, one, now_ms)

    def _look_at(self, row: Executor, now_ms: int, copies: list[tuple[TaskKey, tuple[str, ...]]]) -> list[Command]:
        one = self._known.setdefault(row.executor_id, _Extra())
        busy = bool(self._table.running_on(row.executor_id))
        if not one.dismissed and (busy or any(self._fits(row, key, taken) for key, taken in copies)):
            busy = True
            self._containers.stay(row)
        if busy:
            one.idle_since_ms, one.barred_ms = None, now_ms
        elif one.idle_since_ms is None:
            one.idle_since_ms = now_ms
        if one.empty or row.executor_id in self._asked_ms or now_ms < self._ask_again_ms(one):
            return []
        if one.dismissed and not row.leaving:
            self._asked_at_work.add(row.executor_id)
            return self._ask(row, now_ms, "is one too many")
        return self._look_at_idle(row, one, now_ms) if one.idle_since_ms is not None else []

    def _look_at_idle(self, row: Executor, one: _Extra, now_ms: int) -> list[Command]:
        idle_ms = now_ms - (one.idle_since_ms or now_ms)
        if idle_ms < self._patience_ms(one):
            return []
        if not row.leaving:
            self._bar(row, one, now_ms)
            return []
        if now_ms - one.barred_ms < self._settings.detector.check_interval_ms:
            return []
        return self._ask(row, now_ms, f"had no task for {idle_ms / 1000:.1f} s")

    def _ask(self, row: Executor, now_ms: int, why: str) -> list[Command]:
        self._asked_ms[row.executor_id] = now_ms
        said = f"extra executor {row.executor_id} {why}: does it hold data?"
        return [AskHeldBlocks(executor_id=row.executor_id, reason=said)]

    def held_told(self, event: HeldBlocksTold, now_ms: int) -> list[Command]:
        """The driver's answer: let go of an executor that nothing keeps, as long as nothing happened since.

        One that took tasks when it was asked may have got something since. So it only stops to take tasks, and is asked
        again when it is idle.
        """
        executor_id = event.executor_id
        asked_ms = self._asked_ms.pop(executor_id, None)
        self._asked_at_work.discard(executor_id)
        row, one = self._containers.row(executor_id), self._known.get(executor_id)
        if asked_ms is None or one is None or row is None or not row.extra or row.state != "running":
            return []
        if not row.leaving and not one.dismissed:
            return []
        if self._keeps(event.count, now_ms):
            return self._keep(row, one, event, now_ms)
        if not row.leaving:
            one.empty = True
        elif one.barred_ms < asked_ms and not self._table.running_on(executor_id):
            return self._give_back(row, one, event.count, now_ms)
        return []

    def _keep(self, row: Executor, one: _Extra, event: HeldBlocksTold, now_ms: int) -> list[Command]:
        one.pause_ms = (
            min(2 * one.pause_ms, _LONGEST_PAUSE_MS) if self._still_keeps(one, event.count) else _ASK_AGAIN_MS
        )
        one.kept_ms = now_ms
        self._containers.stay(row)
        if not one.dismissed or event.held in one.told:
            return []
        one.told.add(event.held)
        said = f"it holds {event.held}, which may still be read; it takes tasks and is asked again later"
        return [KeepSurplus(executor_id=row.executor_id, reason=said)]

    def _still_keeps(self, one: _Extra, held: int) -> bool:
        """Whether a surplus executor was kept before, and nothing has happened since then that could let it go.

        Without a job map outputs keep it for a while only.
        """
        again = one.dismissed and one.kept_ms is not None and not self._jobs.ended_since(one.kept_ms)
        return again and (held != ONLY_MAP_OUTPUTS or bool(self._jobs.running))

    def _ask_again_ms(self, one: _Extra) -> int:
        if one.kept_ms is None:
            return 0
        return one.kept_ms + (_ASK_AGAIN_MS if self._jobs.ended_since(one.kept_ms) else one.pause_ms)

    def _give_back(self, row: Executor, one: _Extra, held: int, now_ms: int) -> list[Command]:
        """Release an executor. Until it is gone it takes no task, which would run twice."""
        idle_s = (now_ms - (one.idle_since_ms or now_ms)) / 1000
        what = "nothing that may still be read"
        if held == ONLY_MAP_OUTPUTS:
            what = f"but map outputs, and no job has run for {OUTPUTS_KEPT_MS // 60_000} min"
        why = "it is one too many" if one.dismissed else "no copy needs it"
        return give_back(self._containers, row, f"{why}, had no task for {idle_s:.1f} s and holds {what}")

    def _keeps(self, held: int, now_ms: int) -> bool:
        """Whether an executor stays for what it holds, by the driver's answer."""
        if held == ONLY_MAP_OUTPUTS:
            return bool(self._table.stages) or self._jobs.none_for_ms(now_ms) < OUTPUTS_KEPT_MS
        return held != 0

    def _patience_ms(self, one: _Extra) -> int:
        """How long an executor has to be idle before it can go."""
        if one.dismissed:
            return self._settings.detector.check_interval_ms
        return self._settings.speculation.container_idle_ms

    def _forget_others(self, here: set[str]) -> None:
        """Some extra executors count towards the target by now. A question is open until it is answered."""
        for executor_id in self._known.keys() - here:
            del self._known[executor_id]
        self._asked_at_work &= here
