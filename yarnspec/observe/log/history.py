"""The files of applications that stay after their end, in a directory of the cluster's file system.

::

    <history.directory>/<application id>/application.json      ApplicationRecord, written by the first attempt
                                         epoch-<E>/events.jsonl  the records of one epoch (records.py); when they
                                                   could not be written on, they go on in events-2.jsonl, and so on
                                         result.json           Result, written once, before YARN is told of the end
                                         status.json           the last status document
                                         report.html           its page, where ``history.report`` asks for it

An application that was killed, or whose AM was lost for good, has no result and no status: its events are all there is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from yarnspec.errors import ClusterUnreachable, HistoryDamaged, YarnspecError
from yarnspec.ids import epoch_directory, epochs_among, id_order, is_application_id
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import Record, UnreadableRecordError, decode
from yarnspec.observe.forms.told import clipped
from yarnspec.observe.log.copied_log import ENVELOPE_BYTES, seq_of
from yarnspec.observe.log.eventlog import LineWriter
from yarnspec.units import counted

APPLICATION_FILE = "application.json"
EVENTS_FILE = "events.jsonl"
RESULT_FILE = "result.json"
STATUS_FILE = "status.json"
REPORT_FILE = "report.html"

_ABOUT_ATTEMPTS = re.compile(rb'"type":"(?:TaskFinished|AttemptsStarted)"')
_PIECE_BYTES = 4 * 1024 * 1024
_SHOWN_CHARACTERS = 200
_Document = TypeVar("_Document")


class HistoryEntry(Protocol):
    """One file or directory in a listing."""

    @property
    def name(self) -> str:
        """The last part of its path."""

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""

    @property
    def modified_ms(self) -> int:
        """When it was last changed."""

    @property
    def owner(self) -> str:
        """The user whose it is."""


class HistoryFiles(Protocol):
    """A file system as the history needs it. A missing file is FileNotFoundError."""

    def list(self, path: str) -> Sequence[HistoryEntry]:
        """The names in a directory."""

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        """Bytes of a file."""

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Replace a small file as a whole."""

    def write_in_order(self, contents: Mapping[str, bytes], *, mode: int = 0o600) -> None:
        """Replace small files, each as a whole and none before the one that stands before it."""

    def make_directories(self, path: str, *, mode: int = 0o700) -> None:
        """Make a directory and those above it."""

    def delete(self, path: str) -> bool:
        """Delete a directory with everything in it."""

    def open_log(self, path: str, *, mode: int = 0o600) -> LineWriter:
        """Begin a growing file."""

    def info(self, path: str) -> HistoryEntry:
        """One file or directory."""

    def recover_log(self, path: str) -> None:
        """Take a growing file from a writer that is gone, so that all of it can be read."""


class ApplicationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about an application from its start. ``options``: yarnspec's, as it runs with them."""

    schema: int = 1
    application_id: str
    name: str
    user: str
    queue: str
    started_ms: int
    placement_mode: str = ""
    options: dict[str, dict[str, str | int | float | bool]] = {}


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How an application ended; ``exit_code`` is what ``yarnspec submit --wait`` answers.

    ``attempt``: which one says so; 0: nobody of them.
    """

    schema: int = 1
    attempt: int = 0
    status: str
    exit_code: int
    reason: str
    diagnostics: str = ""
    traceback: str = ""
    finished_ms: int


class History:
    """The history directory, for those who write it (the AM) and those who read it (the gateway)."""

    def __init__(self, files: HistoryFiles, directory: str) -> None:
        self._files = files
        self._directory = directory.rstrip("/")

    def path(self, application_id: str) -> str:
        """The directory of one application."""
        if not is_application_id(application_id):
            message = f"{application_id!r} is no application id"
            raise ValueError(message)
        return f"{self._directory}/{application_id}"

    def begin(self, entry: ApplicationRecord) -> None:
        """Write who the application is, unless an earlier attempt did."""
        directory = self.path(entry.application_id)
        self._files.make_directories(directory)
        if self.application(entry.application_id) is None:
            self._write(f"{directory}/{APPLICATION_FILE}", entry)

    def open_events(self, application_id: str, epoch: int) -> LineWriter:
        """The growing file for the records of a new epoch, or for its further ones when the last file failed.

        Of that one all that was synced is kept, and its writer shut out.
        """
        directory = f"{self.path(application_id)}/{epoch_directory(epoch)}"
        self._files.make_directories(directory)
        before = None
        for name in _events_files():
            try:
                self._files.info(f"{directory}/{name}")
            except FileNotFoundError:
                if before is not None:
                    self._files.recover_log(f"{directory}/{before}")
                return self._files.open_log(f"{directory}/{name}")
            before = name
        raise AssertionError("there is always a next name")

    def finish(self, application_id: str, result: Result, document: StatusDocument) -> None:
        """Write the end: the status first, since who sees a result expects a status."""
        directory = self.path(application_id)
        self._files.make_directories(directory)
        self._files.write_in_order(
            {f"{directory}/{STATUS_FILE}": _encoded(document), f"{directory}/{RESULT_FILE}": _encoded(result)}
        )

    def write_report(self, application_id: str, page: bytes) -> None:
        """Write the application's page."""
        self._files.write(f"{self.path(application_id)}/{REPORT_FILE}", page)

    def report(self, application_id: str) -> str | None:
        """Where the application's page is; None when none was written."""
        path = f"{self.path(application_id)}/{REPORT_FILE}"
        try:
            self._files.info(path)
        except FileNotFoundError:
            return None
        return path

    def say_again(self, application_id: str, result: Result) -> None:
        """Write once more how it ended, beside the status of then."""
        self._write(f"{self.path(application_id)}/{RESULT_FILE}", result)

    def applications(self) -> list[str]:
        """The ids of all applications that have a directory here, oldest first."""
        try:
            entries = self._files.list(self._directory)
        except FileNotFoundError:
            return []
        return sorted((one.name for one in entries if one.is_directory and is_application_id(one.name)), key=id_order)

    def application(self, application_id: str) -> ApplicationRecord | None:
        """The facts from an application's start; None when there is no history of it."""
        return self._read(f"{self.path(application_id)}/{APPLICATION_FILE}", ApplicationRecord)

    def result(self, application_id: str) -> Result | None:
        """How it ended; None while it runs, and when nobody could write it."""
        return self._read(f"{self.path(application_id)}/{RESULT_FILE}", Result)

    def status(self, application_id: str) -> StatusDocument | None:
        """Its last status; None as for ``result``."""
        return self._read(f"{self.path(application_id)}/{STATUS_FILE}", StatusDocument)

    def epochs(self, application_id: str) -> list[int]:
        """The epochs that have a directory, first to last."""
        try:
            entries = self._files.list(self.path(application_id))
        except FileNotFoundError:
            return []
        return epochs_among(entry.name for entry in entries)

    def all_events(
        self, application_id: str, *, first: int = 1, before: int | None = None, task_ends: bool = True
    ) -> Iterator[Record | ClusterUnreachable]:
        """The records of all epochs from ``first`` on, or of those ``before`` one; their writers must be gone.

        A full disk may leave a file that cannot be closed or read. Then the error stands in the place of the records of
        that file and of further ones. In an epoch with damaged records the error follows the readable ones.
        """
        for epoch in self.epochs(application_id):
            if epoch < first or (before is not None and epoch >= before):
                continue
            try:
                yield from self.events(application_id, epoch, writer_gone=True, task_ends=task_ends)
            except ClusterUnreachable as error:
                yield error

    def events(self, application_id: str, epoch: int, *, writer_gone: bool, task_ends: bool = True) -> Iterator[Record]:
        """The records of an epoch, as far as its file has them; without ``task_ends`` reading is much faster.

        ``writer_gone``: the application, or this attempt of it, has ended. Then the file is taken from a writer that
        did not close it, which HDFS wants before it shows the last block. Never say so of a writer that lives.

        Raises:
            HistoryDamaged: at the end, after all readable records, when some are not readable.
        """
        damaged: list[str] = []
        for line in self.event_lines(application_id, epoch, writer_gone=writer_gone):
            if not task_ends and _ABOUT_ATTEMPTS.search(line, 0, ENVELOPE_BYTES):
                continue
            try:
                yield decode(line)
            except UnreadableRecordError as error:
                if not line.endswith(b"\n"):
                    break  # torn by the writer's end
                damaged.append(str(error))
        if damaged:
            first = clipped(damaged[0], _SHOWN_CHARACTERS)
            records = counted(len(damaged), "record")
            message = f"{records} of driver epoch {epoch} cannot be read; the first: {first}"
            raise HistoryDamaged(message)

    def event_lines(self, application_id: str, epoch: int, *, writer_gone: bool) -> Iterator[bytes]:
        """``events`` as lines of bytes. The last one has no line end when the writer was cut off in it."""
        directory = f"{self.path(application_id)}/{epoch_directory(epoch)}"
        last = torn = b""
        for number, name in enumerate(_events_files()):
            written = seq_of(last)
            unfinished, torn = torn, b""
            try:
                for line in self._lines(f"{directory}/{name}", writer_gone=writer_gone):
                    if not line.endswith(b"\n"):
                        torn = line
                    elif not number or seq_of(line) > written:  # else written again, as nobody knew that it was
                        last = line
                        yield line
            except FileNotFoundError:
                if unfinished:
                    yield unfinished
                return

    def _lines(self, path: str, *, writer_gone: bool) -> Iterator[bytes]:
        if writer_gone:
            self._files.recover_log(path)
        offset, rest = 0, b""
        while piece := self._files.read(path, offset=offset, size_bytes=_PIECE_BYTES):
            offset += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest

    def sweep(self, *, user: str, now_ms: int, retention_ms: int, may_be_alive: Callable[[str], bool]) -> list[str]:
        """Delete what is older than ``retention_ms``; returns the ids of those applications.

        Only entries of ``user`` that look like an application's are touched. An entry without a result is asked about
        with ``may_be_alive`` first, however old it is. An entry that cannot be deleted does not keep the others; its
        error is raised at the end.
        """
        try:
            entries = self._files.list(self._directory)
        except FileNotFoundError:
            return []
        deleted = []
        errors: list[Exception] = []
        for entry in entries:
            if not (entry.is_directory and entry.owner == user and is_application_id(entry.name)):
                continue
            if now_ms - entry.modified_ms < retention_ms:
                continue
            try:
                if self._is_over(entry.name, now_ms - retention_ms, may_be_alive) and self._files.delete(
                    self.path(entry.name)
                ):
                    deleted.append(entry.name)
            except ClusterUnreachable:
                raise  # nor would it answer about the others
            except (YarnspecError, OSError) as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return deleted

    def _is_over(self, application_id: str, before_ms: int, may_be_alive: Callable[[str], bool]) -> bool:
        result = self.result(application_id)
        return not may_be_alive(application_id) if result is None else result.finished_ms <= before_ms

    def _write(self, path: str, document: msgspec.Struct) -> None:
        self._files.write(path, _encoded(document))

    def _read(self, path: str, kind: type[_Document]) -> _Document | None:
        try:
            return msgspec.json.decode(self._files.read(path), type=kind)
        except (FileNotFoundError, msgspec.DecodeError):
            return None


def _events_files() -> Iterator[str]:
    yield EVENTS_FILE
    stem, dot, ending = EVENTS_FILE.rpartition(".")
    for number in itertools.count(2):
        yield f"{stem}-{number}{dot}{ending}"


def _encoded(document: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
