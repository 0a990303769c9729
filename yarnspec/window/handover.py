"""A bounded queue between who reads records and who uses them, each in a thread of its own.

A hand-over per record would cost a change of threads each. Records cross in chunks: as many as have come when the other
side asks, and at most ``_CHUNK`` at a time. A side that has nothing to do sleeps until the other one wakes it.

Python runs one thread at a time, so reading ahead is of use only while the other side waits for something, or works for
long; between two sides that are both quick, changing threads costs more than it gives. A source that does not mind in
which thread it is read is therefore read by its user until one of them turns out to be slow.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_QUEUE_SIZE = 1024
_CHUNK = 256
# Both sides are quick while a record takes so long, and so much more since the beginning.
_QUICK_S = 20e-6
_ALLOWANCE_S = 0.1
_LONGEST_INLINE = 1024
_SILENCE_S = 1.0
_NOTHING = object()


class Handover(Generic[T]):
    """Reads ``source`` ahead in a thread of its own, from the first record that is asked for on; iterate it once.

    The thread ends with the iterator, however that ends: read to its end, or dropped.

    Args:
        source: the records.
        queue_size: the reader rests while so much waits (one record is let in always); what the reader and the user
            have in hand, a chunk at most each, comes on top.
        weight: what a record counts for; for Arrow batches their rows.
        any_thread: the source may be read in the user's thread first, and in ours later.
    """

    def __init__(
        self,
        source: Iterable[T],
        queue_size: int,
        weight: Callable[[T], int] | None = None,
        *,
        any_thread: bool = False,
    ) -> None:
        if queue_size < 1:
            raise ValueError(f"a queue of {queue_size} records lets nothing pass")
        self._source = source
        self._any_thread = any_thread
        self._queue_size = queue_size
        self._weight = weight
        self._chunk_size = max(1, min(_CHUNK, queue_size // 4)) if weight is None else 1
        self._changed = threading.Condition()
        self._open: list[T] = []
        self._chunks: deque[list[T]] = deque()
        self._waiting = 0
        self._ended = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._error_met = False
        # The reader looks at it after each record, without the lock: hand over what you have.
        self._wanted = False

    def __iter__(self) -> Iterator[T]:
        return itertools.chain.from_iterable(self._taken())

    def raise_error(self) -> None:
        """Raise what the source raised, if the user came to it: also for one who has caught it."""
        if self._error_met and self._error is not None:
            raise self._error

    def _taken(self) -> Iterator[Iterable[T]]:
        source = iter(self._source)
        if self._any_thread:
            ended: list[bool] = []
            source = itertools.chain(source, _noting(ended))
            yield from self._taken_here(source, ended)
            if ended:
                return
        yield from self._taken_ahead(source)

    def _taken_here(self, source: Iterator[T], ended: list[bool]) -> Iterator[Iterable[T]]:
        """The records, straight from the source, while both sides are quick."""
        length, count = 1, 0
        begin_s = 0.0
        while not ended and (not count or time.monotonic() - begin_s <= _ALLOWANCE_S + count * _QUICK_S):
            yield itertools.islice(source, length)
            # From the first record on: before it, Spark may have had a lot to do.
            begin_s = begin_s or time.monotonic()
            count += length
            length = min(2 * length, _LONGEST_INLINE)

    def _taken_ahead(self, source: Iterator[T]) -> Iterator[Iterable[T]]:
        self._thread = threading.Thread(target=self._read, args=(source,), name="yarnspec-window-reader", daemon=True)
        self._thread.start()
        try:
            while chunk := self._next_chunk():
                yield chunk
            self._error_met = True
            self.raise_error()
        finally:
            self.close()

    def close(self) -> None:
        """End the reader, which takes no record after the one that it waits for."""
        with self._changed:
            if self._closed:
                return
            self._closed = self._wanted = True
            self._changed.notify()
        if self._thread is not None:
            # Where that record does not come, an error must not wait for it; and a Spark worker whose stream was not
            # read to its end is not used again.
            self._thread.join(_SILENCE_S)

    def _next_chunk(self) -> list[T]:
        """The records that came next, as soon as there are any; none at the end."""
        with self._changed:
            if not self._chunks:
                # In this order: what the reader adds after this look at its list, it hands over itself.
                self._wanted = True
                if open_chunk := self._open[:]:
                    del self._open[: len(open_chunk)]
                    self._wanted = False
                    return open_chunk
                while not (self._chunks or self._ended):
                    self._changed.wait()
            if not self._chunks:
                return []
            chunk = self._chunks.popleft()
            self._waiting -= self._weigh(chunk)
            self._changed.notify()
            return chunk

    def _read(self, source: Iterator[T]) -> None:
        error = None
        try:
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
            while not (self._closed or not self._chunks or self._waiting + self._weigh(self._open) <= self._queue_size):
                self._changed.wait()
            if self._open:
                self._chunks.append(self._open)
                self._waiting += self._weigh(self._open)
                self._open = []
                self._wanted = self._closed
                self._changed.notify()

    def _weigh(self, chunk: list[T]) -> int:
        return len(chunk) if self._weight is None else sum(map(self._weight, chunk))


def through_queue(
    fn: Callable[[Iterator[T]], Iterable[R]],
    source: Iterable[T],
    queue_size: int = DEFAULT_QUEUE_SIZE,
    weight: Callable[[T], int] | None = None,
    *,
    any_thread: bool = False,
) -> Iterator[R]:
    """What ``fn`` makes of the records, which are read while it runs; the other arguments are those of ``Handover``.

    An error of either side ends both and is raised here. The source's is met where it stood among the records, and
    raised after all when ``fn`` has caught it (unless it may be read in any thread: an error of a mere stream is known
    to who feeds it). When ``fn`` ends before the source does, the rest is not read. The reading thread ends when the
    results have ended or been dropped; only in a source that is silent then it ends with the next record.
    """
    handover = Handover(source, queue_size, weight, any_thread=any_thread)
    # Nothing of ours stands between the results and whoever uses them: a generator would cost each a detour.
    return itertools.chain(results_of(fn, iter(handover)), _end(handover))


def results_of(fn: Callable[[Iterator[T]], Iterable[R]], records: Iterator[T]) -> Iterable[R]:
    """What ``fn`` returns; TypeError with its name when that is nothing."""
    results = fn(records)
    if results is None:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(f"{name} returned None: a function for map_partition returns or yields its results")
    return results


def _noting(ended: list[bool]) -> Iterator[Any]:
    """Nothing; notes that this was asked for."""
    ended.append(True)
    yield from ()


def _end(handover: Handover[Any]) -> Iterator[Any]:
    """Nothing, after all results; an error that was met and caught is raised still."""
    handover.close()
    handover.raise_error()
    yield from ()
