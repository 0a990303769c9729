"""Gives the extra containers back once speculation has stopped for good.

What it knew of tasks is not kept up any more, so jobs alone decide: an extra executor takes no new task, and is
released when the jobs have ended that ran at the stop, for they may still read map outputs that it holds. One that has
not registered yet goes at once.
"""

from __future__ import annotations

from yarnspec.core.commands import Command, ReleaseContainer
from yarnspec.core.containers import Containers
from yarnspec.core.jobs import Jobs
from yarnspec.core.taskblocks import TaskBlocks


class Handback:
    """The extra containers after the stop."""

    def __init__(self, containers: Containers, task_blocks: TaskBlocks, jobs: Jobs) -> None:
        self._containers = containers
        self._task_blocks = task_blocks
        self._jobs = jobs
        self._awaited: set[int] = set()

    def begin(self) -> list[Command]:
        """Speculation has stopped."""
        self._containers.want_extra(0)
        self._awaited = set(self._jobs.running)
        for row in self._containers.extras:
            if row.state == "running":
                self._task_blocks.leave(row.executor_id)
        return self._release()

    def job_ended(self, job: int) -> list[Command]:
        """A job has ended since."""
        self._awaited.discard(job)
        return self._release()

    def _release(self) -> list[Command]:
        commands: list[Command] = []
        for row in self._containers.extras:
            if row.state == "wanted" or (row.state == "running" and self._awaited):
                continue
            said = "speculation has stopped, and no copy needs it"
            if self._containers.release(row.executor_id, said):
                self._task_blocks.stay(row.executor_id)
                commands.append(
                    ReleaseContainer(executor_id=row.executor_id, reason=f"extra executor {row.executor_id}: {said}")
                )
        return commands
