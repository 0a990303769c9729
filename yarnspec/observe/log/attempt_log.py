"""The event logs of one attempt: one for each epoch, the older of which are only written to their end and read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.observations import Observations
from yarnspec.observe.forms.records import Record
from yarnspec.observe.log.eventlog import EventChunk, EventLog, LineWriter


class EventLogs:
    """Records go to the log of the newest epoch. A reader gets one epoch after the other, whole.

    ``open_writer`` opens the history file of an epoch, and ``copy`` says where its local copy is (``EventLog``). Of
    the logs before the newest only the last is kept in memory.
    """

    def __init__(
        self,
        epoch: int,
        open_writer: Callable[[int], LineWriter] | None = None,
        copy: Callable[[int], Path] | None = None,
    ) -> None:
        self._open_writer = open_writer
        self._copy = copy
        self._logs: tuple[EventLog, ...] = (self._log(epoch),)

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch: later records are of this epoch. The last one's file is closed meanwhile."""
        self._logs[-1].begin_close()
        self._logs = (self._logs[-1], self._log(epoch))

    def append(self, message: Event | Command, time_ms: int) -> Record:
        """Log an event or a command; returns its record, for those who fold it."""
        return self._logs[-1].append(message, time_ms)

    def append_rows(self, rows: Observations, time_ms: int) -> None:
        """Log observations (``EventLog.append_rows``)."""
        self._logs[-1].append_rows(rows, time_ms)

    def after(self, epoch: int, seq: int, limit_bytes: int = 1024 * 1024) -> EventChunk:
        """The records that follow ``seq`` of ``epoch`` (0: any); those of the next one when it has no more.

        Whoever asks for an epoch that is not known here finds it, and every other one whose file is closed, in the
        history: the records of the first one whose file is not closed yet follow.
        """
        logs = self._logs
        for log, following in zip(logs, (*logs[1:], None), strict=True):
            if log.epoch == epoch:
                found = log.after(seq, limit_bytes)
                # Before it is closed nobody is sent to its file.
                return found if found.lines or following is None or not log.closed else following.after(0, limit_bytes)
        first = next((log for log in logs if not log.closed), logs[-1])
        return first.after(0 if epoch else seq, limit_bytes)

    @property
    def problem(self) -> str:
        """Why a history file is not whole; empty while all is well."""
        return next((log.problem for log in self._logs if log.problem), "")

    @property
    def warning(self) -> str:
        """``problem``, or why records are not written just now."""
        return next((log.warning for log in self._logs if log.warning), "")

    def begin_close(self) -> None:
        """Take no more records (``EventLog.begin_close``)."""
        self._logs[-1].begin_close()

    def close(self, deadline_s: float) -> bool:
        """Write what is left and close the files; False when that did not end in time or failed (see ``problem``)."""
        closed = [log.close(deadline_s) for log in self._logs[::-1]]
        return all(closed)

    def _log(self, epoch: int) -> EventLog:
        return EventLog(
            epoch,
            partial(self._open_writer, epoch) if self._open_writer is not None else None,
            copy=self._copy(epoch) if self._copy is not None else None,
        )
