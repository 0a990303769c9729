"""Moves executors to emptier hosts, as a part of a rescale.

A host comes back, and the executors of a running job lie unevenly. An executor on one of the fullest hosts may move
if it holds nothing that may still be read. The driver is asked first, for one executor of the host after another until
one may move. One that holds something is asked again only after a job has ended: then Spark may forget what it holds.

For each that may move one more executor is asked for, and the plan puts it on the emptiest host. When it has
registered, the other one takes no new task, and goes when it is idle. So the job never has fewer executors than before,
and no task runs twice.
"""

from __future__ import annotations

from collections.abc import Callable

from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import AskHeldBlocks, Command, KeepSurplus
from yarnspec.core.messages.settings import Settings


class Moves:
    """The executors that move now.

    ``uneven`` names the hosts that have an executor too many, once for each such executor. ``dismiss`` is called with
    executors that are to go.
    """

    def __init__(
        self,
        settings: Settings,
        bounds: Bounds,
        containers: ExecutorTable,
        uneven: Callable[[], tuple[str, ...]],
        dismiss: Callable[[tuple[str, ...], int], list[Command]],
    ) -> None:
        self._enabled = settings.resources.move_executors
        self._bounds = bounds
        self._containers = containers
        self._uneven = uneven
        self._dismiss = dismiss
        self._asked: set[str] = set()
        self._refused: set[str] = set()
        self._leaving: list[str] = []
        self.moved = 0

    @property
    def under_way(self) -> bool:
        """Whether answers of the driver or new executors are waited for."""
        return bool(self._asked or self._leaving)

    def worth_it(self) -> bool:
        """Whether all executors are there, and some lie unevenly that are not known to hold anything."""
        # With dynamic allocation Spark ends idle executors itself, and asks for others.
        if not self._enabled or self._bounds.dynamic or self.under_way or self._there != self._containers.wanted:
            return False
        return any(self._next_on(host) is not None for host in self._uneven())

    def begin(self) -> list[Command]:
        """Ask the driver what the newest executors on the fullest hosts hold."""
        self.moved = 0
        return [command for host in self._uneven() for command in self._ask_on(host)]

    def job_ended(self) -> bool:
        """Forget who held something. Returns whether anybody did."""
        held = bool(self._refused)
        self._refused.clear()
        return held

    def look(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Go on by an event: an answer of the driver, an executor that came, or one that ended."""
        if not self.under_way:
            return []
        self._forget_gone()
        match event:
            case ev.HeldBlocksTold() if event.executor_id in self._asked:
                return self._told(event)
            case ev.ContainerStarted():
                return self._came(now_ms)
        return []

    def give_up(self, now_ms: int) -> list[Command]:
        """Nobody moves any more. Requests beside the target are withdrawn, and a container that has come goes again."""
        self.forget()
        surplus = self._containers.spare_surplus()
        return self._dismiss(surplus, now_ms) if surplus else []

    def forget(self) -> None:
        """Nobody moves any more, and somebody else looks after executors beyond the target."""
        self._asked.clear()
        self._leaving.clear()
        self._containers.moving = 0

    @property
    def _there(self) -> int:
        return sum(row.state == "running" and row.ordinary for row in self._containers.rows)

    def _next_on(self, host: str) -> Executor | None:
        """The newest executor of a host that may be asked."""
        out = self._asked | self._refused | set(self._leaving)
        rows = (row for row in reversed(self._containers.rows) if row.host == host and row.executor_id not in out)
        return next((row for row in rows if row.state == "running" and row.ordinary), None)

    def _ask_on(self, host: str) -> list[Command]:
        row = self._next_on(host)
        if row is None:
            return []
        self._asked.add(row.executor_id)
        said = f"executor {row.executor_id} may move from {host} to an emptier host: does it hold data?"
        return [AskHeldBlocks(executor_id=row.executor_id, reason=said)]

    def _forget_gone(self) -> None:
        """An executor that was lost, or that Spark let go, does not move any more."""
        running = self._containers.running()
        self._asked &= running.keys()
        leaving = [one for one in self._leaving if one in running]
        self._containers.moving -= len(self._leaving) - len(leaving)
        self._leaving = leaving

    def _told(self, event: ev.HeldBlocksTold) -> list[Command]:
        self._asked.discard(event.executor_id)
        if event.count:
            held = "map outputs" if event.count == ev.ONLY_MAP_OUTPUTS else "cached data, or the driver did not say"
            said = f"it is not moved to an emptier host: it holds {held}, which may still be read"
            self._refused.add(event.executor_id)
            row = self._containers.row(event.executor_id)
            others = self._ask_on(row.host) if row is not None else []
            return [KeepSurplus(executor_id=event.executor_id, reason=said), *others]
        self._leaving.append(event.executor_id)
        self._containers.moving += 1
        return []

    def _came(self, now_ms: int) -> list[Command]:
        surplus = max(0, self._there - self._containers.target)
        leaving, self._leaving = self._leaving[:surplus], self._leaving[surplus:]
        if not leaving:
            return []
        self.moved += len(leaving)
        self._containers.moving -= len(leaving)
        self._containers.be_surplus(tuple(leaving))
        return self._dismiss(tuple(leaving), now_ms)
