"""A bounded queue between who reads records and who uses them, each in a thread of its own.

Python runs one thread at a time, so what two quick sides pay for is each change of threads. The user takes all records
that have come since it last asked, and the reader goes on with an empty queue. So the threads change once for many
records. A side that has nothing to do sleeps until the other one wakes it; a user who waits is given the very next
record.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_QUEUE_SIZE = 1024
# How long a function that has ended, with an error or in order, waits for the one record that its reader waits for.
_ERROR_PATIENCE_S = 1.0
_PATIENCE_S = 3600.0
_NOTHING = object()


class ReaderStuck(TimeoutError):  # noqa: N818 - named for what happened
    """The input of a function that has ended does not give its next record."""


class Handover(Generic[T]):
    """Reads ``source`` ahead in a thread of its own, from the first record that is asked for on; iterate it once.

    The thread reads no more when the iterator has ended, however that ends: read to its end, or dropped. ``close``
    waits until the thread is gone.

    Args:
        source: the records.
        queue_size: so much is between the two sides at most: half of it waits while the user has the other half in
            hand. One record is let in always, into each half.
        weight: what a record counts for; for batches their rows.
    """

    def __init__(self, source: Iterable[T], queue_size: int, weight: Callable[[T], int] | None = None) -> None:
        if queue_size < 1:
            raise ValueError(f"a queue of {queue_size} records lets nothing pass")
        self._source = source
        self._most = max(1, queue_size // 2)
        self._weight = weight
        self._changed = threading.Condition()
        # The reader adds to its end and the user takes from its beginning, each in one step that no thread divides.
        self._waiting: list[T] = []
        self._ended = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._error_met = False
        # The task fails: nobody waits for its reader any more.
        self._failed = False
        # The reader looks at it after each record, without the lock: hand over what you have.
        self._wanted = False

    def __iter__(self) -> Iterator[T]:
        return itertools.chain.from_iterable(self._taken())

    def raise_error(self) -> None:
        """Raise what the source raised, if the user came to it: also for one who has caught it."""
        if self._error_met and self._error is not None:
            raise self._error

    def close(self, *, in_error: bool = False) -> None:
        """End the reader, which takes no record after the one that it waits for, and wait for that one.

        It is code of the same task, and the worker may get another task next: so an orderly end waits long. With an
        error the worker ends soon, and the reader with it: the error must not wait for a source that is silent.

        Raises:
            ReaderStuck: the record does not come, though nothing else is wrong.
        """
        self._stop()
        # Any thread may collect garbage: the reader, too, and one that `threading` does not know (nor should by this).
        if self._thread is None or self._thread.ident == threading.get_ident():
            return
        self._failed = self._failed or in_error
        self._thread.join(_ERROR_PATIENCE_S if self._failed else _PATIENCE_S)
        if self._thread.is_alive() and not self._failed:
            self._failed = True
            raise ReaderStuck(
                "a function of yarnspec.window has ended before its input, and what comes before it in this task has "
                f"not given its next record in {_PATIENCE_S:g} s, so the worker cannot go on"
            )

    def _stop(self) -> None:
        with self._changed:
            self._closed = self._wanted = True
            self._changed.notify()

    def _taken(self) -> Iterator[list[T]]:
        self._thread = threading.Thread(target=self._read, name="yarnspec-window-reader", daemon=True)
        self._thread.start()
        try:
            while records := self._take():
                yield records
            self._error_met = True
            self.raise_error()
        finally:
            self._stop()

    def _take(self) -> list[T]:
        """All that has come, as soon as there is anything; nothing at the end."""
        with self._changed:
            if not self._waiting:
                self._wanted = True
            # In this order: what the reader adds after this look at its list, it hands over itself.
            while not (self._waiting or self._ended):
                self._changed.wait()
            records = self._waiting[:]
            del self._waiting[: len(records)]
            self._changed.notify()
            return records

    def _read(self) -> None:
        error = None
        waiting = self._waiting
        try:
            source = iter(self._source)
            while room := self._room():
                record: Any = _NOTHING
                for record in itertools.islice(source, room):
                    waiting.append(record)
                    if self._wanted:
                        break
                if record is _NOTHING:
                    break
        except BaseException as caught:
            error = caught
        with self._changed:
            self._error = error
            self._ended = True
            self._changed.notify()

    def _room(self) -> int:
        """Hand over what was read, then wait until more has room: so many records. None when nobody wants them."""
        with self._changed:
            if self._waiting:
                self._wanted = self._closed
                self._changed.notify()
            while not self._closed:
                room = self._most - (self._weighed(self._weight) if self._weight else len(self._waiting))
                if room > 0:
                    return 1 if self._weight else room
                self._changed.wait()
            return 0

    def _weighed(self, weight: Callable[[T], int]) -> int:
        """The weight of all that waits. An empty batch weighs something, or endlessly many of them would be let in."""
        return sum(max(1, weight(record)) for record in self._waiting)


def through_queue(
    fn: Callable[[Iterator[T]], Iterable[R]],
    source: Iterable[T],
    queue_size: int = DEFAULT_QUEUE_SIZE,
    weight: Callable[[T], int] | None = None,
) -> Iterator[R]:
    """Yield what ``fn`` makes of the records while it reads them. The other arguments are those of ``Handover``.

    An error of either side ends both and is raised here. The source's is met where it stood among the records, and
    raised after all when ``fn`` has caught it. When ``fn`` ends before the source does, the rest is not read. The
    reading thread is gone when the results have ended or been dropped, other than by an error: for that they wait for
    the record that the source is about to give.
    """
    return _used(fn, Handover(source, queue_size, weight))


def checked(fn: Callable[[Iterator[T]], Iterable[R]], records: Iterable[T]) -> Iterator[R]:
    """Yield what ``fn`` makes of records that come from functions before it in the same thread.

    Their error is raised after all when ``fn`` has caught it.
    """
    return _used(fn, _Met(records))


def _used(fn: Callable[[Iterator[T]], Iterable[R]], source: Handover[T] | _Met[T]) -> Iterator[R]:
    try:
        results = results_of(fn, iter(source))
    except BaseException:
        source.close(in_error=True)
        raise
    found = _Results(results, _end(source))
    found.parts = (results, source)
    return found


class _Met(Generic[T]):
    """Remembers an error of the records; iterate it once."""

    def __init__(self, records: Iterable[T]) -> None:
        self._records = records
        self._error: BaseException | None = None
        self._given: Iterator[T] = iter(())

    def __iter__(self) -> Iterator[T]:
        self._given = self._give()
        return self._given

    def _give(self) -> Iterator[T]:
        try:
            # Not `yield from`, which would end them with this one: what they do then is no error of the task.
            for record in self._records:  # noqa: UP028
                yield record
        except GeneratorExit:
            raise
        except BaseException as error:
            self._error = error
            raise

    def raise_error(self) -> None:
        """Raise the error that was met, as a ``Handover`` does."""
        if self._error is not None:
            raise self._error

    def close(self, *, in_error: bool = False) -> None:  # noqa: ARG002 - it sees for itself
        """Let go of the functions before it, and end a window that comes right before it."""
        records, self._records = self._records, ()
        try:
            _close(self._given)
        finally:
            if isinstance(records, _Results):
                records.close()


class _Results(itertools.chain[R]):
    """Results without code of ours between them and their user: a generator would cost each a detour.

    A reader that stops before the end may ``close`` it, as Spark's worker does, or drop it. Then the user's generator
    and the thread behind it end.
    """

    parts: tuple[Iterable[R], Handover[Any] | _Met[Any]] | None = None

    def close(self) -> None:
        """End both sides now."""
        if self.parts is None:
            return
        results, source = self.parts
        # Spark's worker closes after an error as after the end.
        in_error = not isinstance(sys.exc_info()[1], GeneratorExit | StopIteration | None)
        try:
            _close(results)
        finally:
            source.close(in_error=in_error)

    def __del__(self) -> None:
        """Whoever drops it goes on with the task."""
        try:
            self.close()
        except ReaderStuck:
            # Nobody can catch it here: the task fails with its process, and the reason stands in the executor's log.
            traceback.print_exc()
            os._exit(1)


def _close(results: object) -> None:
    """End a generator, unless a thread of the function's own is in it, and reads on."""
    try:
        if hasattr(results, "close"):
            results.close()
    except ValueError:
        if not getattr(results, "gi_running", False):
            raise


def results_of(fn: Callable[[Iterator[T]], Iterable[R]], records: Iterator[T]) -> Iterable[R]:
    """Return what ``fn`` returns; TypeError with its name when that is nothing."""
    results = fn(records)
    if results is None:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(f"{name} returned None: a function for map_partition returns or yields its results")
    return results


def _end(source: Handover[Any] | _Met[Any]) -> Iterator[Any]:
    """Close the source after all results, and raise an error that was met and caught."""
    source.close()
    source.raise_error()
    yield from ()
