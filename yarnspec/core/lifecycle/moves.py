"""Moves executors to emptier hosts, as a part of a rescale.

A host comes back, and the executors of a running job lie unevenly. An executor on one of the fullest hosts may move
if it holds nothing that may still be read. The driver is asked first, for one executor of the host after another until
one may move. One that holds something is asked about again only after a job has ended: then Spark may forget what it
holds. Where no executor moves, the host also has peace for a while. It is longer each time, but not where the executors
hold map outputs only: Spark forgets these after some time.

For each that may move one more executor is asked for, and the plan puts it on the emptiest host. When it has
registered, the other one takes no new task, and goes when it is idle. So the job never has fewer executors than before,
and no task runs twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import AskHeldBlocks, Command, KeepSurplus
from yarnspec.core.messages.settings import Settings

_FIRST_PEACE_MS, _LONGEST_PEACE_MS = 20_000, 60 * 60_000


@dataclass(frozen=True, slots=True)
class _Peace:
    """Until when no executor of a host is asked about again, and how long the next time."""

    until_ms: int
    next_ms: int = _FIRST_PEACE_MS


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
        self._refused: dict[str, bool] = {}
        """The executors that did not move, and whether a job has ended since then."""
        self._staying: frozenset[str] | None = None
        """The same executors; None: other ones than before."""
        self._said: set[tuple[str, str]] = set()
        self._peace: dict[str, _Peace] = {}
        self._again_ms: int | None = None
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
        """When executors that did not move may be asked again; None: not before the end of a job, or there are none."""
        return self._again_ms

    def worth_it(self) -> bool:
        """Whether all executors are there, and some lie unevenly that are not known to hold anything."""
        # With dynamic allocation Spark ends idle executors itself, and asks for others.
        if not self._enabled or self._bounds.dynamic or self.under_way or not self.all_there:
            return False
        return bool(self._sources())

    def begin(self) -> list[Command]:
        """Ask the driver what the newest executors on the fullest hosts hold."""
        self.moved = 0
        return [command for host in self._sources() for command in self._ask_on(host)]

    def more_may(self, event: ev.Event, now_ms: int) -> bool:
        """Whether an executor may move that could not before: by what it held, or as a host takes containers again."""
        freed = self._free(event, now_ms)
        before, self._were_worth_it = self._were_worth_it, self.worth_it()
        return freed or (self._were_worth_it and not before)

    def _free(self, event: ev.Event, now_ms: int) -> bool:
        """Forget who held something, once a job has ended and the host's peace is over. Returns whether anybody did."""
        if isinstance(event, ev.JobEnded):
            self._refused = dict.fromkeys(self._refused, True)
            self._again_ms = self._next_peace_ends_ms()
        if self._again_ms is None or now_ms < self._again_ms:
            return False
        ended = [executor_id for executor_id, ended in self._refused.items() if ended]
        for executor_id in ended:
            if self._peace_ends_ms(executor_id) <= now_ms:
                del self._refused[executor_id]
        self._staying = None
        self._again_ms = self._next_peace_ends_ms()
        return True

    def _next_peace_ends_ms(self) -> int | None:
        return min((self._peace_ends_ms(one) for one, ended in self._refused.items() if ended), default=None)

    def _peace_ends_ms(self, executor_id: str) -> int:
        """Until when nobody on the executor's host is asked."""
        peace = self._peace.get(self._host_of(executor_id))
        return peace.until_ms if peace is not None else 0

    def look(self, event: ev.Event, now_ms: int) -> list[Command]:
        """Go on by an event: an answer of the driver, an executor that came, or one that ended."""
        if not self.under_way:
            return []
        self._forget_gone()
        match event:
            case ev.HeldBlocksTold() if event.executor_id in self._asked:
                return self._told(event, now_ms)
            case ev.ContainerStarted():
                return self._came(now_ms)
        return []

    def give_up(self, now_ms: int) -> list[Command]:
        """Nobody moves any more. Requests beside the target are withdrawn, and a container that has come goes again."""
        hosts = {self._host_of(one) for one in (*self._asked, *self._leaving)}
        for host in sorted(hosts):
            self._leave_in_peace(host, now_ms)
        # What kept these where they are has nothing to do with the end of a job.
        there = (row.executor_id for row in self._containers.rows if row.host in hosts)
        self._refused = dict.fromkeys(there, True) | self._refused
        self._staying = None
        self._again_ms = self._next_peace_ends_ms()
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
        self._staying = self._again_ms = None
        self._said.clear()
        self._peace.clear()

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

    def _leave_in_peace(self, host: str, now_ms: int, longer: int = 2) -> None:
        """Let nobody of the host be asked for a while; ``longer``: by how many times the next such while is longer."""
        for_ms = self._peace[host].next_ms if host in self._peace else _FIRST_PEACE_MS
        self._peace[host] = _Peace(now_ms + for_ms, min(longer * for_ms, _LONGEST_PEACE_MS))

    def _next_on(self, host: str) -> Executor | None:
        """The newest executor of a host that may be asked."""
        out = self._asked | self._refused.keys() | set(self._leaving)
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

    def _told(self, event: ev.HeldBlocksTold, now_ms: int) -> list[Command]:
        self._asked.discard(event.executor_id)
        host = self._host_of(event.executor_id)
        if not event.count:
            self._leaving.append(event.executor_id)
            self._containers.moving += 1
            return []
        self._refused[event.executor_id] = False
        self._staying = None
        others = self._ask_on(host)
        if not any(self._host_of(one) == host for one in (*self._asked, *self._leaving)):
            self._leave_in_peace(host, now_ms, 1 if event.count == ev.ONLY_MAP_OUTPUTS else 2)
        return [*self._say_why(event), *others]

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
        for executor_id in leaving:
            self._peace.pop(self._host_of(executor_id), None)
        self._containers.moving -= len(leaving)
        self._containers.be_surplus(tuple(leaving))
        return self._dismiss(tuple(leaving), now_ms)
