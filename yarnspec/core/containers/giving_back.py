"""Gives an executor back to YARN that yarnspec does not need, though Spark did not ask for that."""

from __future__ import annotations

from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.messages.commands import Command, ReleaseContainer, RemoveExecutor


def give_back(containers: ExecutorTable, row: Executor, why: str) -> list[Command]:
    """Release an executor. ``why``: what people read.

    Spark hears at once of one that has registered, not when its container has ended. Else dynamic allocation would
    count it in between, and let one executor too many go. Spark tells the executor to stop, so the container may end
    before YARN gets the release.
    """
    registered = row.state == "running"
    if not containers.release(row.executor_id, why):
        return []
    said = f"executor {row.executor_id}: {why}"
    commands: list[Command] = [ReleaseContainer(executor_id=row.executor_id, reason=said)]
    if registered:
        commands.append(RemoveExecutor(executor_id=row.executor_id, exit_code=0, caused_by_app=False, reason=said))
    return commands
