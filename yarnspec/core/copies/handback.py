"""Gives the extra containers back once speculation has stopped for good.

The task table is no longer kept up, so jobs alone decide. An extra executor takes no new task, and is released when the
jobs have ended that ran at the stop. It may still hold data that somebody may read: cached or locally checkpointed
data, or map outputs that Spark has not forgotten. The driver says so. Such an executor is kept for good and takes tasks
again. An executor that has not registered yet goes at once.
"""

from __future__ import annotations

from yarnspec.core.blocking.taskblocks import TaskBlocks
from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.giving_back import give_back
from yarnspec.core.messages.commands import AskHeldBlocks, Command
from yarnspec.core.messages.events import HeldBlocksTold
from yarnspec.core.tasks.running_jobs import Jobs


class Handback:
    """The extra containers after the stop."""

    def __init__(self, containers: ExecutorTable, task_blocks: TaskBlocks, jobs: Jobs) -> None:
        self._containers = containers
        self._task_blocks = task_blocks
        self._jobs = jobs
        self._awaited: set[int] = set()
        self._asked: set[str] = set()

    def begin(self) -> list[Command]:
        """Speculation has stopped."""
        self._containers.want_extra(0)
        self._awaited = set(self._jobs.running)
        for row in self._containers.extra_executors:
            if row.state == "running":
                self._containers.leave(row)
        # Before the driver is asked what they hold: it must not become more afterwards.
        return [*self._task_blocks.update("speculation has stopped"), *self._release()]

    def job_ended(self, job: int) -> list[Command]:
        """A job has ended since."""
        self._awaited.discard(job)
        return self._release()

    def held_told(self, event: HeldBlocksTold) -> list[Command]:
        """The driver said what an executor holds."""
        if event.executor_id not in self._asked:
            return []
        self._asked.discard(event.executor_id)
        row = self._containers.row(event.executor_id)
        if row is None or not row.leaving:  # it counts towards the target by now
            return []
        if event.count:
            self._containers.stay(row)
            return []
        return self._let_go(row)

    def _release(self) -> list[Command]:
        commands: list[Command] = []
        for row in self._containers.extra_executors:
            executor_id = row.executor_id
            if row.state == "running":
                if not self._awaited and row.leaving and executor_id not in self._asked:
                    self._asked.add(executor_id)
                    said = f"extra executor {executor_id} is not needed any more: does it hold data?"
                    commands.append(AskHeldBlocks(executor_id=executor_id, reason=said))
            elif row.state != "wanted":
                commands += self._let_go(row)
        return commands

    def _let_go(self, row: Executor) -> list[Command]:
        return give_back(self._containers, row, "speculation has stopped, and no copy needs it")
