"""Moves executors to emptier hosts, as a part of a rescale.

A host comes back, and the executors of a running job lie unevenly. An executor on one of the fullest hosts may move
if it holds nothing that may still be read. The driver is asked first, for one executor of the host after another until
one may move. When all full hosts have had their turn the first one is asked about again, after a pause. If the driver
refused, a job must have ended before that: then Spark may forget what it needed.

For each that may move one more executor is asked for, on the emptier host and nowhere else. When it has registered, the
other one takes no new task, and goes when it is idle. So the job never has fewer executors than before, and no task
runs twice. A host on which it does not come is left out until the next pause is over.
"""

from __future__ import annotations

from collections.abc import Callable

from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.lifecycle.resource_wait import Bounds
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import AskHeldBlocks, Command, KeepSurplus
from yarnspec.core.messages.settings import Settings

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 20_000, 5 * 60_000
"""Between two rounds of questions; twice as long after each round in which nobody moved."""


class Moves:
    """The executors that move now.

    ``uneven`` names the hosts that have an executor too many, each with the host where it could go. It is told which
    executors stay, and where none may go. ``dismiss`` is called with executors that are to go.
    """

    def __init__(
        self,
        settings: Settings,
        bounds: Bounds,
        containers: ExecutorTable,
        uneven: Callable[[frozenset[str], frozenset[str]], tuple[tuple[str, str], ...]],
        dismiss: Callable[[tuple[str, ...], int], list[Command]],
    ) -> None:
        self._enabled = settings.resources.move_executors
        self._bounds = bounds
        self._containers = containers
        self._uneven = uneven
        self._dismiss = dismiss
        self._asked: set[str] = set()
        self._stayed: frozenset[str] = frozenset()
        """Those that did not move: for what they hold, or as the driver said nothing of them."""
        self._silent: frozenset[str] = frozenset()
        """The hosts on which no executor came."""
        self._pairs: list[tuple[str, str]] = []
        """The hosts that executors are to leave in this round, each with the one where it is to go."""
        self._job_ended = False
        self._pause_ms, self._pause_ends_ms = _FIRST_PAUSE_MS, 0
        self._said: set[tuple[str, str]] = set()
        self._leaving: dict[str, str] = {}
        """The executors that wait for the one that comes in their place, with the hosts where it is to come."""
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
    def again_ms(self) -> int | None:
        """When the driver may be asked again about those that did not move; None: something has to happen before."""
        waits = (self._stayed or self._silent) and self._job_ended and not self.under_way and not self._uneven_pairs()
        return self._pause_ends_ms if waits else None

    def worth_it(self) -> bool:
        """Whether all executors are there and none beside them, and some lie unevenly that may be asked."""
        # With dynamic allocation Spark ends idle executors itself, and asks for others.
        if not self._enabled or self._bounds.dynamic or self.under_way:
            return False
        all_there = self._there == self._containers.wanted and not self._containers.extra_count
        return all_there and bool(self._uneven_pairs())

    def begin(self) -> list[Command]:
        """Ask the driver what the newest executors on the fullest hosts hold."""
        self.moved = 0
        self._job_ended = False
        self._pairs = list(self._uneven_pairs())
        return [command for host, _ in self._pairs for command in self._ask_on(host)]

    def again(self, event: ev.Event, now_ms: int) -> bool:
        """Whether the driver may be asked again from now on about all that did not move."""
        if isinstance(event, ev.JobEnded):
            self._job_ended = True
        again_ms = self.again_ms
        if again_ms is None or now_ms < again_ms:
            return False
        self._stayed = self._silent = frozenset()
        return True

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
        hosts = {self._host_of(one) for one in self._asked}
        self._stayed |= {row.executor_id for row in self._containers.rows if row.host in hosts}
        self._silent |= set(self._leaving.values())
        self._job_ended = True  # what kept these where they are has nothing to do with a job
        self._pause(now_ms)
        self.forget()
        surplus = self._containers.spare_surplus()
        return self._dismiss(surplus, now_ms) if surplus else []

    def forget(self) -> None:
        """Nobody moves any more, and somebody else looks after executors beyond the target."""
        self._asked.clear()
        self._leave({})

    def begin_anew(self) -> None:
        """The next driver has other executors."""
        self.forget()
        self._stayed = self._silent = frozenset()
        self._job_ended = False
        self._pause_ms = _FIRST_PAUSE_MS
        self._said.clear()

    def _pause(self, now_ms: int) -> None:
        """Nobody moved."""
        self._pause_ends_ms = now_ms + self._pause_ms
        self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)

    def _leave(self, leaving: dict[str, str]) -> None:
        """These executors wait for others in their place from now on."""
        self._leaving = leaving
        self._containers.move_to(tuple(leaving.values()))

    @property
    def _there(self) -> int:
        return self._containers.count_ordinary("running")

    def _uneven_pairs(self) -> tuple[tuple[str, str], ...]:
        return self._uneven(self._stayed, self._silent)

    def _host_of(self, executor_id: str) -> str:
        row = self._containers.row(executor_id)
        return row.host if row is not None else ""

    def _next_on(self, host: str) -> Executor | None:
        """The newest executor of a host that may be asked."""
        out = self._asked | self._stayed | self._leaving.keys()
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
        if not self._leaving.keys() <= running.keys():
            self._leave({one: host for one, host in self._leaving.items() if one in running})

    def _told(self, event: ev.HeldBlocksTold, now_ms: int) -> list[Command]:
        self._asked.discard(event.executor_id)
        host = self._host_of(event.executor_id)
        if not event.count:
            pair = next(pair for pair in self._pairs if pair[0] == host)
            self._pairs.remove(pair)
            self._leave(self._leaving | {event.executor_id: pair[1]})
            return []
        self._stayed |= {event.executor_id}
        commands = [*self._say_why(event), *self._ask_on(host)]
        if not self.under_way:
            self._pause(now_ms)
        return commands

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
        awaited = self._containers.moves_awaited()
        came = []
        for executor_id, host in self._leaving.items():
            if awaited[host]:
                awaited[host] -= 1
            else:
                came.append(executor_id)
        leaving = tuple(came[:surplus])
        if not leaving:
            return []
        self.moved += len(leaving)
        self._pause_ms = _FIRST_PAUSE_MS
        self._pause_ends_ms = now_ms + self._pause_ms
        self._leave({one: host for one, host in self._leaving.items() if one not in leaving})
        self._containers.be_surplus(leaving)
        return self._dismiss(leaving, now_ms)
