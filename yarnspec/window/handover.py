"""A bounded queue between who reads records and who uses them, each in a thread of its own.

A hand-over per record would cost a change of threads each. Records cross in chunks: as many as have come when the other
side asks, and at most ``_CHUNK`` at a time. A side that has nothing to do sleeps until the other one wakes it.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_QUEUE_SIZE = 1024
_CHUNK = 256
_ERROR_WAIT_S = 1.0
_NOTHING = object()


def _one(_record: Any) -> int:
    return 1


class Handover(Generic[T]):
    """Reads ``source`` ahead in a thread of its own; iterate it once, then ``close`` it.

    Args:
        source: the records.
        queue_size: the reader rests while so much waits (one record is let in always); what the reader and the user
            have in hand, a chunk at most each, comes on top.
        weight: what a record counts for; for Arrow batches their rows.
    """

    def __init__(self, source: Iterable[T], queue_size: int, weight: Callable[[T], int] = _one) -> None:
        if queue_size < 1:
            raise ValueError(f"a queue of {queue_size} records lets nothing pass")
        self._source = source
        self._queue_size = queue_size
        self._weight = weight
        self._chunk_size = max(1, min(_CHUNK, queue_size // 4)) if weight is _one else 1
        self._changed = threading.Condition()
        self._open: list[T] = []
        self._chunks: deque[list[T]] = deque()
        self._waiting = 0
        self._ended = False
        self._closed = False
        self._error: BaseException | None = None
        self._error_met = False
        # The reader looks at it after each record, without the lock: hand over what you have.
        self._wanted = False
        self._thread = threading.Thread(target=self._read, name="yarnspec-window-reader", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return itertools.chain.from_iterable(self._taken())

    def _taken(self) -> Iterator[list[T]]:
        while chunk := self._next_chunk():
            yield chunk
        self._error_met = self._error is not None
        self.raise_error()

    def _next_chunk(self) -> list[T]:
        """The records that came next, as soon as there are any; none at the end."""
        with self._changed:
            if not self._chunks:
                # In this order: what the reader adds after this look at its list, it hands over itself.
                self._wanted = True
                if open_chunk := self._open[:]:
                    del self._open[: len(open_chunk)]
                    self._wanted = self._closed
                    return open_chunk
                self._changed.wait_for(lambda: self._chunks or self._ended)
            if not self._chunks:
                return []
            chunk = self._chunks.popleft()
            self._waiting -= self._weigh(chunk)
            self._changed.notify()
            return chunk

    def raise_error(self) -> None:
        """Raise what the source raised, if the user came to it: also for one who has caught it."""
        if self._error_met and self._error is not None:
            raise self._error

    def close(self, timeout_s: float | None = None) -> None:
        """End the reader: it takes no record after the one it waits for.

        Args:
            timeout_s: how long to wait for that record; None waits until it comes.
        """
        with self._changed:
            self._closed = self._wanted = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _read(self) -> None:
        error = None
        try:
            source = iter(self._source)
            while not self._closed:
                chunk = self._open
                record: Any = _NOTHING
                for record in itertools.islice(source, self._chunk_size):
                    chunk.append(record)
                    if self._wanted:
                        break
                if record is _NOTHING:
                    break
                self._put()
        except BaseException as caught:
            error = caught
        self._put()
        with self._changed:
            self._error = error
            self._ended = True
            self._changed.notify()

    def _put(self) -> None:
        """Put the open chunk into the queue as soon as there is room; the user may have emptied it by then."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not self._chunks or self._waiting + self._weigh(self._open) <= self._queue_size
            )
            if self._open:
                self._chunks.append(self._open)
                self._waiting += self._weigh(self._open)
                self._open = []
                self._wanted = self._closed
                self._changed.notify()

    def _weigh(self, chunk: list[T]) -> int:
        return len(chunk) if self._weight is _one else sum(map(self._weight, chunk))


def through_queue(
    fn: Callable[[Iterator[T]], Iterable[R]],
    source: Iterable[T],
    queue_size: int = DEFAULT_QUEUE_SIZE,
    weight: Callable[[T], int] = _one,
) -> Iterator[R]:
    """What ``fn`` makes of the records, which are read while it runs.

    An error of either side ends both and is raised here; the source's is met where it stood among the records, and
    raised also when ``fn`` has caught it. When ``fn`` ends before the source does, the rest is not read. The reading
    thread ends with this generator; only an error of ``fn`` does not wait longer than a second for a source that
    does not answer (in Spark, the process ends with it).
    """
    handover = Handover(source, queue_size, weight)
    try:
        yield from results_of(fn, iter(handover))
    except GeneratorExit:
        # Nobody wants more, and Spark goes on reading the source's stream: nobody else may.
        handover.close()
        raise
    except BaseException:
        handover.close(_ERROR_WAIT_S)
        raise
    handover.close()
    handover.raise_error()


def results_of(fn: Callable[[Iterator[T]], Iterable[R]], records: Iterator[T]) -> Iterable[R]:
    """What ``fn`` returns; TypeError with its name when that is nothing."""
    results = fn(records)
    if results is None:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(f"{name} returned None: a function for map_partition returns or yields its results")
    return results
