"""The event log of one epoch: recent records in memory for those who ask, all of them in the history file.

``append`` never blocks and never raises: it encodes the record, keeps it, and leaves it to a thread that writes to the
history file in batches and syncs each. After a write that fails it goes on in a further file, with the records that
are not known to be written. If that does not succeed for a while either, the writing ends for good: a history with a
hole would be worse than one that stops. ``warning`` says so meanwhile and then. The application goes on.

Memory is bounded by bytes. Task ends are by far the most frequent records, so they have a bound of their own and never
push a decision out. Records that were pushed out are still in the history file, but HDFS shows it only when it is
closed. Those who ask get them from its local copy.
"""

from __future__ import annotations

import bisect
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, TaskFinished
from yarnspec.core.messages.observations import Observations
from yarnspec.errors import YarnspecError
from yarnspec.observe.forms.observation_lines import lines
from yarnspec.observe.forms.records import Record, encode, record_of
from yarnspec.observe.log.copied_log import Line, lines_after

_TASK_ENDS_BYTES = 8 * 1024 * 1024
_OTHERS_BYTES = 16 * 1024 * 1024
_UNWRITTEN_BYTES = 64 * 1024 * 1024
_BATCH_S = 0.2
"""How old a record may get before it is written: what a crash of this process can lose."""
_PATIENCE_S = 120.0
_PAUSE_S = 1.0


class LineWriter(Protocol):
    """Where the lines go: an open file that only grows."""

    def append(self, data: bytes, /) -> None:
        """Add bytes at the end."""

    def sync(self) -> None:
        """Return when what was added would survive the writer."""

    def close(self) -> None:
        """Close the file."""


class EventChunk(NamedTuple):
    """Some records of one epoch, oldest first."""

    epoch: int
    lines: list[Line]


class EventLog:
    """The records of this epoch; see the module.

    ``open_writer`` is called in the writing thread, because creating a file on HDFS takes its time: once, and again for
    a further file after an error, for up to ``patience_s``. Without it nothing is written. ``copy``: where what was
    written is on the local disk, as far as there is room.
    """

    def __init__(
        self,
        epoch: int,
        open_writer: Callable[[], LineWriter] | None = None,
        *,
        copy: Path | None = None,
        task_ends_bytes: int = _TASK_ENDS_BYTES,
        others_bytes: int = _OTHERS_BYTES,
        unwritten_bytes: int = _UNWRITTEN_BYTES,
        patience_s: float = _PATIENCE_S,
        pause_s: float = _PAUSE_S,
    ) -> None:
        self.epoch = epoch
        self._copy = copy
        self._seq = 0
        self._task_ends = _Recent(task_ends_bytes)
        self._others = _Recent(others_bytes)
        self._changed = threading.Condition()
        self._unwritten: list[bytes] = []
        self._unwritten_size_bytes = 0
        self._unwritten_limit_bytes = unwritten_bytes
        self._closing = False
        self._closed = False
        self._problem = ""
        self._error = ""
        self._patience_s = patience_s
        self._pause_s = pause_s
        self._open_writer = open_writer
        self._thread: threading.Thread | None = None
        if open_writer is not None:
            self._thread = threading.Thread(target=self._write, name="event-log", daemon=True)
            self._thread.start()

    @property
    def problem(self) -> str:
        """Why the history file is not written any more; empty while all is well."""
        return self._problem

    @property
    def closed(self) -> bool:
        """Whether nothing will be written any more."""
        return self._closed or self._thread is None or bool(self._problem)

    @property
    def warning(self) -> str:
        """``problem``, or why records are not written just now."""
        error = self._error
        return self._problem or (
            f"the event history is not written at the moment, and tried again: {error}" if error else ""
        )

    def append(self, message: Event | Command, time_ms: int) -> Record:
        """Log an event or a command; returns its record, for those who fold it."""
        with self._changed:
            self._seq += 1
            record = record_of(message, seq=self._seq, time_ms=time_ms, epoch=self.epoch)
            line = Line(record.seq, encode(record))
            (self._task_ends if isinstance(message, TaskFinished) else self._others).add(line)
            self._write_later(line.data)
            self._changed.notify_all()
        return record

    def append_rows(self, rows: Observations, time_ms: int) -> None:
        """Log the observations that are records (``observe/forms/observation_lines.py``)."""
        with self._changed:
            for is_of_attempts, data in lines(rows, seq=self._seq + 1, time_ms=time_ms, epoch=self.epoch):
                self._seq += 1
                (self._task_ends if is_of_attempts else self._others).add(Line(self._seq, data))
                self._write_later(data)
            self._changed.notify_all()

    def after(self, seq: int, limit_bytes: int = 1024 * 1024) -> EventChunk:
        """The records that are newer than ``seq``; at least one when there is any.

        Numbers are left out only where neither memory nor the copy has these records.
        """
        with self._changed:
            lines = sorted([*self._task_ends.after(seq, limit_bytes), *self._others.after(seq, limit_bytes)])
        if self._copy is not None and lines and lines[0].seq > seq + 1:
            copied = lines_after(self._copy, seq, limit_bytes)
            if copied:
                return EventChunk(self.epoch, copied)
        taken: list[Line] = []
        size_bytes = 0
        for line in lines:
            size_bytes += len(line.data)
            # Whoever asks for what follows a gap gets it out of the copy.
            gap = self._copy is not None and taken and line.seq > taken[-1].seq + 1
            if gap or (taken and size_bytes > limit_bytes):
                break
            taken.append(line)
        return EventChunk(self.epoch, taken)

    def begin_close(self) -> None:
        """Take no more records. A thread writes what is left and closes the file, while others do other things."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def close(self, deadline_s: float) -> bool:
        """Write what is left and close the file; False when that did not end in time or failed (see ``problem``)."""
        self.begin_close()
        if self._thread is not None:
            self._thread.join(deadline_s)
            if not self._closed:
                with self._changed:
                    why = f"the last events could not be written within {deadline_s:g} s"
                    self._give_up(f"{why}: {self._error}" if self._error else why)
        return not self._problem

    def _write(self) -> None:
        assert self._open_writer is not None  # noqa: S101 - the thread is only started with one
        writer: LineWriter | None = None
        batch = b""
        failing_since_s: float | None = None
        while not self._problem and not self._closed:
            try:
                if writer is None:
                    writer = self._open_writer()
                while batch or (batch := self._next_batch()):
                    writer.append(batch)
                    writer.sync()
                    batch, failing_since_s, self._error = b"", None, ""
                    self._let_more_come()
                writer.close()
                self._closed = True
            except Exception as error:  # whatever the file system throws must not end the application
                # A writer that failed once is of no use any more, and its batch may have been written or not.
                writer = None
                now_s = time.monotonic()
                failing_since_s = now_s if failing_since_s is None else failing_since_s
                with self._changed:
                    self._error = (
                        error.message if isinstance(error, YarnspecError) else f"{type(error).__name__}: {error}"
                    )
                    if now_s - failing_since_s >= self._patience_s:
                        self._give_up(self._error)
                    self._changed.wait_for(lambda: self._problem, self._pause_s)

    def _next_batch(self) -> bytes:
        """The bytes that wait to be written, as soon as there are any; empty if nothing will come any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._unwritten or self._closing or self._problem)
            batch = b"".join(self._unwritten)
            self._unwritten.clear()
            self._unwritten_size_bytes = 0
            return batch

    def _let_more_come(self) -> None:
        """Wait a little, so that many tasks that end one by one cost few syncs; the end waits for nothing."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._problem, _BATCH_S)

    def _write_later(self, data: bytes) -> None:
        if self._thread is None or self._problem or self._closing:
            return
        self._unwritten.append(data)
        self._unwritten_size_bytes += len(data)
        if self._unwritten_size_bytes > self._unwritten_limit_bytes:
            self._give_up("the file system does not keep up with the events")

    def _give_up(self, why: str) -> None:
        self._problem = self._problem or f"the event history is incomplete: {why}"
        self._unwritten.clear()
        self._unwritten_size_bytes = 0
        self._changed.notify_all()


class _Recent:
    """The newest lines whose sizes add up to at most ``limit_bytes``."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._lines: deque[Line] = deque()

    def add(self, line: Line) -> None:
        self._lines.append(line)
        self._size_bytes += len(line.data)
        while self._size_bytes > self._limit_bytes and len(self._lines) > 1:
            self._size_bytes -= len(self._lines.popleft().data)

    def after(self, seq: int, limit_bytes: int) -> list[Line]:
        taken: list[Line] = []
        size_bytes = 0
        start = bisect.bisect_right(self._lines, seq, key=lambda line: line.seq)
        for line in itertools.islice(self._lines, start, None):
            taken.append(line)
            size_bytes += len(line.data)
            if size_bytes > limit_bytes:
                break
        return taken
