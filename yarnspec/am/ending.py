"""The end of an application or of an attempt: what is written, in which order, before the AM's process exits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import structlog

from yarnspec.am.answers import Answers
from yarnspec.am.placement import Finish, PlacementFile
from yarnspec.am.readers import Patience
from yarnspec.am.sources import ProviderEvents
from yarnspec.core.commands import FinishApplication
from yarnspec.observe.document import StatusDocument
from yarnspec.observe.eventlog import EventLog

_log = structlog.get_logger()

_PATIENCE = Patience()
_LOG_S = 10.0
_FINISHED_S = 30.0


class History(Protocol):
    """Where the result of an application is kept."""

    def finish(self, command: FinishApplication, document: StatusDocument) -> None:
        """Write how the application ended, and its last status."""


def finish_application(
    command: FinishApplication,
    *,
    answers: Answers,
    log: EventLog,
    placement: PlacementFile,
    provider: ProviderEvents,
    history: History,
    document: Callable[[], StatusDocument],
) -> bool:
    """End the application for good; returns whether the ResourceManager knows it, or will know it from Skein.

    The result stands in the history before YARN says that the application ended: who waits for the end finds it.
    """
    if not answers.end_streams(_PATIENCE):
        _log.warning("somebody who follows the output has to read the rest of it in the log")
    # Closing a file in HDFS takes its time: the log's is closed while the result is written.
    log.begin_close()
    try:
        history.finish(command, document())
    except Exception:
        _log.exception("the result could not be written to the history directory")
    if not log.close(_LOG_S):
        _log.warning("the event history is incomplete", why=log.problem)
    diagnostics = command.diagnostics or command.reason
    placement.finish(Finish(status=command.status, diagnostics=_short(diagnostics)))
    if command.status == "SUCCEEDED":
        # Skein says the same when this process ends with 0, at once; other results only the provider can tell.
        return True
    began = time.monotonic()
    done = provider.finished.wait(_FINISHED_S)
    _log.info("unregistered", known=done, seconds=round(time.monotonic() - began, 2))
    return done


def _short(text: str, limit: int = 4000) -> str:
    """Diagnostics as YARN shows them: the end matters most."""
    return text if len(text) <= limit else "…" + text[-limit:]
