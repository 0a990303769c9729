"""Moves executors to emptier hosts, as a part of a rescale.

A host comes back, and the executors of a running job lie unevenly. An executor on one of the fullest hosts may move
if it holds nothing that may still be read. The driver is asked first, for one executor of the host after another until
one may move. When all full hosts have had their turn the first one is asked about again. Before that a job must have
ended: then Spark may forget what it needed.

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

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 20_000, 60 * 60_000
"""Between two rounds of questions; longer each time that a new executor did not come."""


class Moves:
    """The executors that move now.

    ``uneven`` names the hosts that have an executor too many, once for each such executor. It is told which executors
    stay where they are. ``dismiss`` is called with executors that are to go.
    """

    def __init__(
        self,
        settings: Settings,
        bounds: Bounds,
        containers: ExecutorTable,
        uneven: Callable[[frozenset[str]], tuple[str, ...]],
        dismiss: Callable[[tuple[str, ...], int], list[Command]],
    ) -> None:
        self._enabled = settings.resources.move_executors
        self._bounds = bounds
        self._containers = containers
        self._uneven = uneven
        self._dismiss = dismiss
        self._asked: set[str] = set()
        self._refused: set[str] = set()
        """The executors that did not move."""
        self._staying: frozenset[str] | None = None
        """The same executors; None: other ones than before."""
        self._job_ended = False
        self._pause_ms, self._pause_ends_ms = _FIRST_PAUSE_MS, 0
        self._said: set[tuple[str, str]] = set()
        self._leaving: list[str] = []
        self._were_worth_it = False
        self.moved = 0

    @property
    def under_way(self) -> bool:
        """Whether answers of the driver or new executors are waited for."""
        return bool(self._asked or self._leaving)

    @property
    def leaving(self) -> bool:
        """Whether an executor may move, and waits for the one that comes in its place."""
        return bool(self._leaving)

    @property
    def all_there(self) -> bool:
        """Whether no executor is missing."""
        return self._there == self._containers.wanted

    @property
    def again_ms(self) -> int | None:
        """When the driver may be asked again about those that did not move; None: something has to happen before."""
        waits = self._refused and self._job_ended and not self.under_way and not self._sources()
        return self._pause_ends_ms if waits else None

    def worth_it(self) -> bool:
        """Whether all executors are there, and some lie unevenly that are not known to hold anything."""
        # With dynamic allocation Spark ends idle executors itself, and asks for others.
        if not self._enabled or self._bounds.dynamic or self.under_way or not self.all_there:
            return False
        return bool(self._sources())

    def begin(self, now_ms: int) -> list[Command]:
        """Ask the driver what the newest executors on the fullest hosts hold."""
        self.moved = 0
        self._job_ended = False
        self._pause_ends_ms = now_ms + self._pause_ms
        return [command for host in self._sources() for command in self._ask_on(host)]

    def more_may(self, event: ev.Event, now_ms: int) -> bool:
        """Whether an executor may move that could not before: by what it held, or as a host takes containers again."""
        freed = self._free(event, now_ms)
        before, self._were_worth_it = self._were_worth_it, self.worth_it()
        return freed or (self._were_worth_it and not before)

    def _free(self, event: ev.Event, now_ms: int) -> bool:
        """Forget who did not move when the driver may be asked again. Returns whether that is so."""
        if isinstance(event, ev.JobEnded):
            self._job_ended = True
        again_ms = self.again_ms
        if again_ms is None or now_ms < again_ms:
            return False
        self._refused.clear()
        self._staying = None
        return True

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
        hosts = {self._host_of(one) for one in (*self._asked, *self._leaving)}
        self._refused.update(row.executor_id for row in self._containers.rows if row.host in hosts)
        self._staying = None
        self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)
        self._pause_ends_ms = now_ms + self._pause_ms
        self._job_ended = True  # what kept these where they are has nothing to do with a job
        self.forget()
        surplus = self._containers.spare_surplus()
        return self._dismiss(surplus, now_ms) if surplus else []

    def forget(self) -> None:
        """Nobody moves any more, and somebody else looks after executors beyond the target."""
        self._asked.clear()
        self._leaving.clear()
        self._containers.moving = 0

    def begin_anew(self) -> None:
        """The next driver has other executors."""
        self.forget()
        self._refused.clear()
        self._staying = None
        self._job_ended = False
        self._pause_ms = _FIRST_PAUSE_MS
        self._said.clear()

    @property
    def _there(self) -> int:
        return self._containers.count_ordinary("running")

    def _sources(self) -> tuple[str, ...]:
        """The hosts that have an executor too many, once for each that may be asked."""
        if self._staying is None:
            self._staying = frozenset(self._refused)
        return self._uneven(self._staying)

    def _host_of(self, executor_id: str) -> str:
        row = self._containers.row(executor_id)
        return row.host if row is not None else ""

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
        host = self._host_of(event.executor_id)
        if not event.count:
            self._leaving.append(event.executor_id)
            self._containers.moving += 1
            return []
        self._refused.add(event.executor_id)
        self._staying = None
        return [*self._say_why(event), *self._ask_on(host)]

    def _say_why(self, event: ev.HeldBlocksTold) -> list[Command]:
        """Say why one stays, if that was not said before."""
        cause = (event.executor_id, event.held)
        if cause in self._said:
            return []
        self._said.add(cause)
        said = f"it is not moved to an emptier host: it holds {event.held}, which may still be read"
        return [KeepSurplus(executor_id=event.executor_id, reason=said)]

    def _came(self, now_ms: int) -> list[Command]:
        surplus = max(0, self._there - self._containers.target)
        leaving, self._leaving = self._leaving[:surplus], self._leaving[surplus:]
        if not leaving:
            return []
        self.moved += len(leaving)
        self._pause_ms = _FIRST_PAUSE_MS
        self._containers.moving -= len(leaving)
        self._containers.be_surplus(tuple(leaving))
        return self._dismiss(tuple(leaving), now_ms)
