"""The AM's files on the cluster's file system: where it listens, its events, how the application ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import structlog

from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.attempt.earlier import Earlier, earlier_of
from yarnspec.core.journal.journalrecords import EpochBegan
from yarnspec.core.messages.commands import FinishApplication
from yarnspec.errors import ClusterUnreachable
from yarnspec.journal.directory import JOURNAL_DIRECTORY, JournalDirectory
from yarnspec.journal.replay import Past
from yarnspec.journal.stores import Store
from yarnspec.journal.writer import Journal, JournalOptions, Stopped
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import Record
from yarnspec.observe.http.page_order import copied_events, is_stopped, stop_copy
from yarnspec.observe.http.rest import ENDPOINT_FILE, Endpoint
from yarnspec.observe.log.eventlog import LineWriter
from yarnspec.observe.log.history import ApplicationRecord, History, Result
from yarnspec.plan import Plan
from yarnspec.yarn.files.cluster_files import Files, open_files, path_of
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.skein.staging_directory import staging_directory

_log = structlog.get_logger()


_COPY_BYTES_MAX = 1024**3


class CopiedEvents:
    """A growing file in the history, with a copy beside it on the local disk, for those who look.

    A file on the cluster's file system can be read only when its writer has closed it. The page and those who ask the
    negotiator need the events before, and get them from the copy. The copy never makes anything fail: it stops at a
    first error, and before it fills the local disk.
    """

    def __init__(self, writer: LineWriter, copy: Path) -> None:
        self._writer = writer
        self._path = copy
        self._copy: BinaryIO | None = None
        with contextlib.suppress(OSError):
            if not is_stopped(copy):
                self._copy = copy.open("ab", buffering=0)

    def append(self, data: bytes, /) -> None:
        """Add bytes at the end of both."""
        copy = self._copy
        if copy is not None:
            try:
                copy.write(data)
                full = copy.tell() > _COPY_BYTES_MAX
            except OSError:
                full = True
            if full:
                self._copy = None
                with contextlib.suppress(OSError):
                    stop_copy(self._path)
                    copy.close()
        self._writer.append(data)

    def sync(self) -> None:
        """Return when what was added would survive the writer."""
        self._writer.sync()

    def close(self) -> None:
        """Close both."""
        if self._copy is not None:
            self._copy.close()
        self._writer.close()


class ApplicationHistory:
    """The application's directory in the history, and its endpoint in the staging directory."""

    def __init__(self, conf: HadoopConf, plan: Plan, place: AmContainer) -> None:
        self._files: Files = open_files(conf)
        self._history = History(self._files, path_of(plan.history_directory))
        self._plan = plan
        self._place = place

    def announce(self, endpoint: Endpoint) -> None:
        """Tell the gateway where the negotiator of this attempt listens, unless a later one has said so already."""
        with contextlib.suppress(Exception):  # what cannot be read is replaced
            if self.announced_attempt() > endpoint.attempt:
                return
        self._files.write(self._endpoint_file, msgspec.json.encode(endpoint))

    def announced_attempt(self) -> int:
        """The attempt that has told so last: a later one, when YARN has replaced this one."""
        return msgspec.json.decode(self._files.read(self._endpoint_file), type=Endpoint).attempt

    def newest_epoch(self) -> int:
        """The last epoch that has begun, as far as the journal tells; 0 where there is none."""
        return max(self._journal().epochs(), default=0)

    @property
    def _endpoint_file(self) -> str:
        return f"{staging_directory(self._files.home, self._place.application_id)}/{ENDPOINT_FILE}"

    def ended_before(self, first_epoch: Callable[[int], int]) -> Result | None:
        """The result with which an earlier attempt ended the application; None if none did.

        A result does not count if a later attempt has begun an epoch, because that attempt has run the program again,
        as it had to. The result is written once more in this attempt's name, for the next. Errors of the file system
        are raised: without an answer, a program that has ended might run again.

        Args:
            first_epoch: the number of an attempt's first epoch.
        """
        result = self._history.result(self._place.application_id)
        if result is None or result.attempt >= self._place.attempt:
            return None
        newest = max((self.newest_epoch(), *self._history.epochs(self._place.application_id)))
        if newest >= first_epoch(result.attempt + 1):
            return None
        self._history.say_again(
            self._place.application_id, msgspec.structs.replace(result, attempt=self._place.attempt)
        )
        return result

    def earlier(self, before_epoch: int) -> Earlier:
        """The state that earlier attempts leave to this one, as far as it can be read, without unknown records."""
        return earlier_of(self._events_before(before_epoch), int(time.time() * 1000))

    def _events_before(self, epoch: int) -> Iterator[Record | ClusterUnreachable]:
        try:
            yield from self._history.all_events(self._place.application_id, before=epoch, task_ends=False)
        except Exception as error:  # whatever it is, the application goes on
            _log.exception("the events of earlier attempts cannot be read")
            yield ClusterUnreachable(str(error))

    def open_events(self, epoch: int) -> LineWriter:
        """The event log of an epoch; the epoch before may have died with its file open."""
        application_id = self._place.application_id
        self._history.begin(
            ApplicationRecord(
                application_id=application_id,
                name=self._plan.name,
                user=self._plan.user,
                queue=self._plan.queue,
                started_ms=int(time.time() * 1000),
                placement_mode=self._plan.placement_mode,
                options=msgspec.to_builtins(self._plan.options),
            )
        )
        return CopiedEvents(self._history.open_events(application_id, epoch), self.copied_events(epoch))

    def copied_events(self, epoch: int) -> Path:
        """The local copy of an epoch's event log."""
        return self._place.directory / copied_events(epoch)

    def begin_journal(
        self,
        began: EpochBegan,
        options: JournalOptions,
        store: Store,
        *,
        on_stopped: Callable[[Stopped], None],
        on_written: Callable[[int], None],
    ) -> tuple[Journal, Past]:
        """Begin this epoch's journal (``JournalDirectory.begin``); takes some seconds."""
        return self._journal(store).begin(began, options=options, on_stopped=on_stopped, on_written=on_written)

    def look_for_later_epoch(self, epoch: int) -> None:
        """Fenced when one has begun; what the file system raises when that cannot be told."""
        self._journal().check(epoch)

    def say_unrecorded(self, epoch: int, why: str) -> None:
        """Tell later epochs that the journal has not all of this one; what the file system raises when that fails."""
        self._journal().say_stopped(epoch, why)

    def say_refused(self, epoch: int, refused: dict[str, int]) -> None:
        """Tell the later epochs how often the application master of this one was refused something, by kind."""
        self._journal().say_refused(epoch, refused)

    def refused(self, before_epoch: int) -> dict[int, dict[str, int]]:
        """The refusals that the application masters of earlier epochs have told."""
        return self._journal().refused(before_epoch)

    def _journal(self, store: Store | None = None) -> JournalDirectory:
        path = f"{self._history.path(self._place.application_id)}/{JOURNAL_DIRECTORY}"
        return JournalDirectory(self._files, path, store, scratch=self._place.directory)

    def finish(self, command: FinishApplication, document: StatusDocument) -> None:
        """Write how the application ended and its last status."""
        result = Result(
            attempt=self._place.attempt,
            status=command.status,
            exit_code=command.exit_code,
            reason=command.reason,
            diagnostics=command.diagnostics,
            finished_ms=int(time.time() * 1000),
        )
        self._history.finish(self._place.application_id, result, document)
