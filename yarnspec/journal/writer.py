"""Writes the records of one epoch in a thread of its own, off the path of whoever decides.

After the first error nothing more is written: a journal with a hole would be worse than one that stops. The application
goes on, and ``on_stopped`` says so, also while the file system holds the journal's thread. A writer stops as well when
it finds that a later epoch has begun. It looks after each sync, before it tells anybody that a record is durable. The
later epoch begins before it measures how much of this one counts. So a record that was told to be durable counts, and
nobody was told of a record that does not count.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from yarnspec.core.journal.journalrecords import JournalRecord
from yarnspec.errors import YarnspecError
from yarnspec.journal.errors import Fenced, JournalGone, JournalStopped
from yarnspec.journal.records import RecordTooLargeError, encode, payload_of
from yarnspec.journal.stores import LogWriter

_AGAIN_S = 2.0
_PIECE_BYTES = 4 * 1024 * 1024


class JournalOptions(NamedTuple):
    """How records are batched."""

    buffer_bytes: int = 1024 * 1024
    """Details are written when there are so many bytes of them,"""
    flush_interval_s: float = 1.0
    """or when the first of them is so old."""
    queue_bytes: int = 64 * 1024 * 1024
    """Details that come while so much waits to be written, beside a full buffer, are left out. Summaries, which are
    small, never are."""
    patience_s: float = 60.0
    """How long a file system that took the bytes may take to tell that no later epoch has begun."""


class Stopped(NamedTuple):
    """Why nothing is recorded any more; ``fenced``: because a later epoch has begun."""

    why: str
    fenced: bool


class Written(NamedTuple):
    """How far an epoch's log has got: its last sequence number and its length."""

    records: int
    size_bytes: int


class EpochHold(Protocol):
    """The directory of its epoch, as the writer needs it."""

    def check(self) -> None:
        """Fenced when a later epoch has begun, JournalGone when this one's directory is not there any more."""

    def seal(self, written: Written) -> None:
        """Seal the epoch: its writer adds nothing any more. Raises Fenced when another has sealed it."""

    def say_stopped(self, why: str) -> None:
        """Leave word that the records are not all."""


class Journal:
    """The growing journal of this epoch; made by ``JournalDirectory.begin``.

    ``append`` and ``append_durable`` may be called from any thread and never wait for the file system. ``on_written``
    is called in the journal's thread with the last sequence number on disk, each time that there are more.
    ``on_stopped`` is called once, in the thread that finds the stop, and again when a later epoch turns out to be the
    reason.
    """

    def __init__(
        self,
        log: LogWriter,
        epoch: int,
        written: Written,
        *,
        hold: EpochHold,
        options: JournalOptions,
        on_stopped: Callable[[Stopped], None],
        on_written: Callable[[int], None],
    ) -> None:
        self.epoch = epoch
        self._log = log
        self._hold = hold
        self._options = options
        self._on_stopped = on_stopped
        self._on_written = on_written
        self._changed = threading.Condition()
        self._seq = written.records
        self._written = written
        self._batch = bytearray()
        self._batch_since_s = 0.0
        self._futures: list[tuple[int, Future[int]]] = []
        self._queued_bytes = 0
        self._closing = False
        self._stopped: Stopped | None = None
        self._told: Stopped | None = None
        self._abandoned = False
        self._turned_away = 0
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str:
        """Why nothing is recorded any more; empty while all is well."""
        return self._stopped.why if self._stopped is not None else ""

    @property
    def fenced(self) -> bool:
        """Whether it stopped because a later epoch has begun."""
        return self._stopped is not None and self._stopped.fenced

    @property
    def refused(self) -> int:
        """How many records do not count: they came too late, or were not on disk when recording stopped."""
        lost = self._seq - self._written.records if self._stopped is not None else 0
        return lost + self._turned_away

    @property
    def written(self) -> Written:
        """The position up to which everything is on disk."""
        return self._written

    def append(self, record: JournalRecord) -> int:
        """Record a detail soon; returns its sequence number, 0 when nothing is recorded any more.

        One that cannot be taken, as too much waits or it is larger than a record may be, is the end of recording: what
        comes after it may rest on it, and must not be found without it.
        """
        try:
            return self._append(record, None)
        except RecordTooLargeError as error:
            self.stop(str(error))
            return 0

    def append_durable(self, record: JournalRecord) -> Future[int]:
        """Record a summary at once.

        The future is done, with the record's sequence number, when it and all before it are on disk. It fails with
        JournalStopped; it cannot be cancelled. RecordTooLargeError is raised at once.
        """
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()
        if not self._append(record, future):
            future.set_exception(JournalStopped(self.problem or "the journal is closed"))
        return future

    def stop(self, why: str) -> None:
        """Record nothing from now on, and leave word of it."""
        self._stop(why, fenced=False)
        if not self._closing:  # else the next epoch may have begun for whoever hears it
            self._tell()

    def begin_close(self) -> None:
        """Take no more records. A thread writes what is left and seals the epoch, while others do other things."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def close(self, deadline_s: float) -> bool:
        """Write what is left and seal the epoch; False when that did not end in time or failed (see ``problem``).

        What is not written in time is as if the process had died now: nobody was told that it is durable.
        """
        self.begin_close()
        self._thread.join(deadline_s)
        if self._thread.is_alive():
            self._abandoned |= self._stopped is None
            self._stop(f"the last records could not be written within {deadline_s:g} s", fenced=False)
        return self._stopped is None

    def _append(self, record: JournalRecord, future: Future[int] | None) -> int:
        number, payload = payload_of(record)
        with self._changed:
            if self._closing or self._stopped is not None:
                self._turned_away += 1
                return 0
            if future is not None or self._queued_bytes < self._options.queue_bytes + self._options.buffer_bytes:
                return self._enqueue(number, payload, future)
        self.stop(f"more than {self._options.queue_bytes >> 20} MB wait to be written to the journal")
        return 0

    def _enqueue(self, number: int, payload: bytes, future: Future[int] | None) -> int:
        self._seq += 1
        data = encode(self.epoch, self._seq, number, payload)
        first = not self._batch
        if first:
            self._batch_since_s = time.monotonic()
        self._batch += data
        self._queued_bytes += len(data)
        if future is not None:
            self._futures.append((self._seq, future))
        # A thread that waits for the interval need not be woken for each record.
        if future is not None or first or len(self._batch) >= self._options.buffer_bytes:
            self._changed.notify_all()
        return self._seq

    def _next_batch(self) -> tuple[bytearray, int, list[tuple[int, Future[int]]]] | None:
        """The bytes to write now, with their last sequence number; None if nothing will come any more."""
        with self._changed:
            while not (self._closing or self._stopped is not None or self._is_due()):
                self._changed.wait(self._until_due_s())
            if self._stopped is not None or not self._batch:
                return None
            taken = (self._batch, self._seq, self._futures)
            self._batch, self._futures = bytearray(), []
            return taken

    def _is_due(self) -> bool:
        return bool(self._batch) and (
            bool(self._futures) or len(self._batch) >= self._options.buffer_bytes or (self._until_due_s() or 0) <= 0
        )

    def _until_due_s(self) -> float | None:
        if not self._batch:
            return None
        return self._batch_since_s + self._options.flush_interval_s - time.monotonic()

    def _run(self) -> None:
        while (taken := self._next_batch()) is not None:
            data, seq, futures = taken
            size_bytes = len(data)
            try:
                for at in range(0, size_bytes, _PIECE_BYTES):
                    self._log.append(bytes(data[at : at + _PIECE_BYTES]))
                self._log.sync()
                self._look()
                self._on_written(seq)
            except Exception as error:  # whatever the file system throws must not end the application
                self._fail(error, futures)
                self._leave_word()
                return
            data.clear()  # there may be much of it, and the next wait long
            with self._changed:
                self._queued_bytes -= size_bytes
                self._written = Written(seq, self._written.size_bytes + size_bytes)
            for each, future in futures:
                future.set_result(each)
        if self._stopped is not None:
            self._end()
            self._leave_word()
            return
        try:
            self._log.close()
            self._hold.seal(self._written)
        except Exception as error:  # as above; all records are there
            self._fail(error, [])

    def _look(self) -> None:
        """Is this still the last epoch? What is on disk can wait for an answer that takes a while."""
        until_s = time.monotonic() + self._options.patience_s
        while True:
            try:
                return self._hold.check()
            except (Fenced, JournalGone):
                raise
            except Exception:
                with self._changed:
                    if self._changed.wait_for(lambda: self._stopped is not None, _AGAIN_S):
                        raise
                if time.monotonic() >= until_s:
                    raise

    def _fail(self, error: Exception, futures: list[tuple[int, Future[int]]]) -> None:
        """In the journal's thread: say so, first to those who wait."""
        why = error.message if isinstance(error, YarnspecError) else f"{type(error).__name__}: {error}"
        self._stop(why, fenced=isinstance(error, Fenced))
        for _, future in futures:
            future.set_exception(JournalStopped(why))
        if not self.fenced:
            # A lease that was lost shows as any error: was it a later epoch that took it?
            try:
                self._hold.check()
            except Fenced as fenced:
                self._stopped = Stopped(fenced.message, fenced=True)
            except Exception:  # noqa: S110 - the first error is the one to tell
                pass
        self._end()

    def _end(self) -> None:
        self._tell()
        with contextlib.suppress(Exception):
            self._log.close()

    def _tell(self) -> None:
        with self._changed:
            stopped, told, self._told = self._stopped, self._told, self._stopped
        if stopped is not None and stopped != told:
            self._on_stopped(stopped)

    def _leave_word(self) -> None:
        """The next epoch must know that the records are not all, unless it was the end that came too late for some."""
        while not (self.fenced or self._abandoned):
            try:
                self._hold.say_stopped(self.problem)
            except Exception:  # what failed the records may last, or pass
                with self._changed:
                    if self._changed.wait_for(lambda: self._closing, _AGAIN_S):
                        return
            else:
                return

    def _stop(self, why: str, *, fenced: bool) -> None:
        with self._changed:
            self._stopped = self._stopped or Stopped(why, fenced)
            waiting, self._futures = self._futures, []
            self._batch = bytearray()
            self._changed.notify_all()
        for _, future in waiting:
            future.set_exception(JournalStopped(why))
