"""The shell's inbox: events in order, and observations of tasks in pieces of a good size."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, cast

from yarnspec.core.messages.events import Event, Observed
from yarnspec.core.messages.observations import Observations
from yarnspec.core.negotiator import Negotiator
from yarnspec.feed.columns import join

_WAITING_ROWS_MAX = 200_000
"""About 40 MB. Beyond this the feed's reader blocks, and rows queue in the driver's JVM."""
_JOINED_ROWS_MAX = 16_384
"""A larger piece would delay timers and other events for longer."""


T = TypeVar("T")


class Question(Generic[T]):
    """Something to be found out on the shell's thread, between two events; another thread waits for the answer."""

    def __init__(self, ask: Callable[[Negotiator, int], T]) -> None:
        self._ask = ask
        self._answered = threading.Event()
        self._answer: T | None = None
        self._error: Exception | None = None

    def answer(self, negotiator: Negotiator, now_ms: int) -> None:
        """Find it out. For the shell's thread."""
        try:
            self._answer = self._ask(negotiator, now_ms)
        except Exception as error:  # it is the asker's, and the loop goes on
            self._error = error
        self._answered.set()

    def wait(self, deadline_s: float) -> T:
        """The answer; raises what finding it out raised.

        Raises:
            TimeoutError: there was none in time.
        """
        if not self._answered.wait(deadline_s):
            message = f"the negotiator did not answer within {deadline_s:g} s"
            raise TimeoutError(message)
        if self._error is not None:
            raise self._error
        return cast(T, self._answer)


class Told(NamedTuple):
    """An event, and the epoch whose driver told it (None if no driver did)."""

    event: Event
    epoch: int | None = None


class Inbox:
    """First in, first out. Observations that follow each other are joined: the core has work for each batch."""

    def __init__(self, *, waiting_rows_max: int = _WAITING_ROWS_MAX, joined_rows_max: int = _JOINED_ROWS_MAX) -> None:
        self._waiting_rows_max = waiting_rows_max
        self._joined_rows_max = joined_rows_max
        self._waiting: deque[Told | Question[Any]] = deque()
        self._waiting_rows = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, message: Event | Question[Any], epoch: int | None = None) -> None:
        """Add an event, of that epoch's driver, or a question.

        Returns at once. Blocks only for observations while too many of them are queued.
        """
        with self._changed:
            if isinstance(message, Observed):
                self._changed.wait_for(lambda: self._closed or self._waiting_rows < self._waiting_rows_max)
                self._waiting_rows += len(message.rows)
            self._waiting.append(message if isinstance(message, Question) else Told(message, epoch))
            self._changed.notify_all()

    def get(self, timeout_s: float) -> Told | Question[Any] | None:
        """The next event, or None if none comes in time."""
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while not self._waiting:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    return None
                self._changed.wait(left_s)
            first = self._waiting.popleft()
            if isinstance(first, Question) or not isinstance(first.event, Observed):
                return first
            batches = self._take_rows(first.event.rows, first.epoch)
            self._changed.notify_all()
        return Told(Observed(rows=join(batches)), first.epoch)

    @property
    def closed(self) -> bool:
        """Whether nothing is taken out any more."""
        with self._changed:
            return self._closed

    def close(self) -> None:
        """Let nobody wait for room any more, because nothing is taken out any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take_rows(self, first: Observations, epoch: int | None) -> list[Observations]:
        batches = [first]
        rows = len(first)
        while self._waiting:
            following = self._waiting[0]
            if isinstance(following, Question) or following.epoch != epoch:
                break
            if not isinstance(following.event, Observed) or rows + len(following.event.rows) > self._joined_rows_max:
                break
            batches.append(following.event.rows)
            rows += len(following.event.rows)
            self._waiting.popleft()
        self._waiting_rows -= rows
        return batches
