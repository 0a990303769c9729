"""The end of an application or of an attempt: the last files, in their order, before the AM's process exits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec
import structlog

from yarnspec.am.executors.placement_file import Finish, PlacementFile
from yarnspec.am.loop.answers import Answers
from yarnspec.am.loop.output_readers import Patience
from yarnspec.core.messages.commands import FinishApplication
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.log.history import Result
from yarnspec.spark.last_words import without_middle
from yarnspec.yarn.skein.am_client import ContainerServiceError

_log = structlog.get_logger()

_PATIENCE = Patience()
_LOG_S = 10.0
_CARRIED = "yarnspec-finish:"
_DIAGNOSTICS_BYTES = 16 * 1024
"""YARN keeps 64 k characters of an attempt (``yarn.app.attempt.diagnostics.limit.kc``), and adds words of its own."""


class ResultStore(Protocol):
    """Where the result of an application is kept."""

    def finish(self, command: FinishApplication, document: StatusDocument) -> None:
        """Write how the application ended, and its last status."""


class SkeinMaster(Protocol):
    """Skein's AM, which says the last word to the ResourceManager when this process has ended."""

    def end(self, diagnostics: str) -> None:
        """End the application; the provider in the same JVM reads the diagnostics. ContainerServiceError: refused."""


def finish_application(
    command: FinishApplication,
    *,
    answers: Answers,
    log: EventLogs,
    placement: PlacementFile,
    master: SkeinMaster,
    history: ResultStore,
    document: Callable[[], StatusDocument],
    write_report: Callable[[StatusDocument], None] | None = None,
) -> bool:
    """End the application for good; returns whether the ResourceManager will hear this result.

    The result stands in the history before YARN says that the application ended, so that those who wait for the end
    find it. The result also stands there before this function waits for anything. Should this process die now, the next
    attempt ends with that result instead of running the program again. Afterwards this process has to end with 0: then
    Skein unregisters, however long the ResourceManager is away, and the provider puts the result in. With any other
    code Skein would leave it to the ResourceManager to start the program once more.

    ``write_report``: what draws the last status, once all events are written; it raises nothing.
    """
    # Closing a file in HDFS takes its time: the log's is closed while the result is written.
    log.begin_close()
    last = document()
    try:
        history.finish(command, last)
    except Exception:
        _log.exception("the result could not be written to the history directory")
    if not answers.end_streams(_PATIENCE):
        _log.warning("somebody who follows the output has to read the rest of it in the log")
    if not log.close(_LOG_S):
        _log.warning("the event history is incomplete", why=log.problem)
    if write_report is not None:
        write_report(last)
    return _tell(command.status, command.diagnostics or command.reason, placement, master)


def finish_again(result: Result, *, placement: PlacementFile, master: SkeinMaster) -> bool:
    """End the application with the result of an earlier attempt, which died before YARN heard of it.

    The program has ended: running it again would do everything once more. Returns whether YARN will hear the result.
    """
    return _tell(result.status, result.diagnostics or result.reason, placement, master)


def _tell(status: str, diagnostics: str, placement: PlacementFile, master: SkeinMaster) -> bool:
    finish = msgspec.convert({"status": status, "diagnostics": without_middle(diagnostics, _DIAGNOSTICS_BYTES)}, Finish)
    try:
        placement.finish(finish)
    except OSError as error:
        _log.warning("the result cannot be told in the placement's file", why=str(error))
        # Skein says of itself that a process that ended with 0 succeeded.
        return status == "SUCCEEDED" or _told_directly(master, finish)
    return True


def _told_directly(master: SkeinMaster, finish: Finish) -> bool:
    try:
        master.end(_CARRIED + msgspec.json.encode(finish).decode())
    except ContainerServiceError:
        _log.exception("the result cannot be told to Skein either; YARN will start the program again")
        return False
    return True
