"""Executors that Spark gave up while YARN says nothing of their containers.

Usually YARN tells of the container's end within a second or two, and why. If it does not (a process that hangs, a host
that is cut off), nobody can use the container. So the core releases it, and a replacement is asked for. It waits no
longer if the host's NodeManager does not answer: see ``CheckHosts``.
"""

from __future__ import annotations

from yarnspec.core.blocking.hosts import UNREACHABLE, Hosts
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.messages.commands import CheckHosts, Command, ReleaseContainer
from yarnspec.core.messages.events import ExecutorRemoved
from yarnspec.core.messages.timers import Timers

REMOVED_TIMER_FAMILY = "removed"


class Removals:
    """Waits for the ends of containers whose executors Spark gave up."""

    def __init__(self, containers: ExecutorTable, hosts: Hosts, timers: Timers, wait_ms: int) -> None:
        self._containers = containers
        self._hosts = hosts
        self._timers = timers
        self._wait_ms = wait_ms
        self._reasons: dict[str, str] = {}

    def removed(self, event: ExecutorRemoved, now_ms: int) -> list[Command]:
        """Spark gave an executor up, or lost its connection to it."""
        executor_id = event.executor_id
        row = self._containers.row(executor_id)
        if executor_id in self._reasons or row is None or not self._containers.has_container(executor_id):
            return []
        self._reasons[executor_id] = event.reason
        if self._hosts.gone(row.host) == UNREACHABLE:
            return self.on_unreachable_hosts()
        said = f"Spark gave up executor {executor_id} ({event.reason}), and its container has not ended yet"
        timer = self._timers.set(f"{REMOVED_TIMER_FAMILY}:{executor_id}", now_ms + self._wait_ms, said)
        return [timer, CheckHosts(hosts=(row.host,), reason=said)]

    def ended(self, executor_id: str) -> None:
        """The end of its container was heard of."""
        if self._reasons.pop(executor_id, None) is not None:
            self._timers.cancel(f"{REMOVED_TIMER_FAMILY}:{executor_id}")

    def overdue(self, executor_id: str) -> list[Command]:
        """The wait for the end of its container is over."""
        return self._release(executor_id, f"YARN has not told of its end within {self._wait_ms / 1000:g} s")

    def on_unreachable_hosts(self) -> list[Command]:
        """Wait no longer for ends on hosts whose NodeManagers do not answer. Of ends on a LOST host YARN tells."""
        commands: list[Command] = []
        for executor_id in list(self._reasons):
            row = self._containers.row(executor_id)
            if row is not None and self._hosts.gone(row.host) == UNREACHABLE:
                commands += self._release(executor_id, f"the NodeManager of {row.host} does not answer")
                self._timers.cancel(f"{REMOVED_TIMER_FAMILY}:{executor_id}")
        return commands

    def _release(self, executor_id: str, because: str) -> list[Command]:
        why = f"Spark gave it up ({self._reasons.pop(executor_id, '')})"
        if not self._containers.has_container(executor_id) or not self._containers.release(executor_id, why):
            return []
        return [ReleaseContainer(executor_id=executor_id, reason=f"executor {executor_id}: {why}, and {because}")]
