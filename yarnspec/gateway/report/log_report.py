"""The page of a job that Spark has logged, whoever ran it: what `yarnspec replay` finds, drawn."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import msgspec

from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.observations import NONE
from yarnspec.errors import UsageError
from yarnspec.feed.logfiles import UnreadableLogError
from yarnspec.feed.sparklog import LoggedRun, logged_run
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.hindsight.offline import as_it_happened, find
from yarnspec.observe.page.drawing import took
from yarnspec.observe.page.page import Source, page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.observe.status.status_fold import StatusFold

_LOOKS = 1_000
"""A long job is looked at so often, and not as often as a running one: that would take minutes or hours."""


def log_report(log: Path, detector: DetectorSettings, now_ms: int) -> str:
    """The page of a Spark event log, complete in itself.

    Raises:
        UsageError: it is no such log, or tells of no task.
    """
    try:
        run = logged_run(log)
    except (UnreadableLogError, msgspec.DecodeError, OSError) as error:
        message = f"{log} cannot be read as an event log of Spark: {error}"
        raise UsageError(message) from error
    if not len(run.rows):
        message = f"{log} tells of no task: is it an event log of Spark?"
        raise UsageError(message)
    fold, status = PageFold(), StatusFold(run.application_id or log.name)
    fold.observe(run.rows)
    status.observe(run.rows)
    notes = [] if run.ended_ms != NONE else ["The log has no end: the application was killed, or still runs."]
    every_ms = max(detector.check_interval_ms, (fold.last_ms - fold.first_ms) // _LOOKS)
    if every_ms > detector.check_interval_ms:
        notes.append(
            f"For this page the detector looked every {took(every_ms)}. `yarnspec replay` looks every "
            f"{took(detector.check_interval_ms)}: it may find more slow tasks, and some of them earlier."
        )
    fold.found(find(as_it_happened(run.rows, every_ms), detector))
    source = Source(version=version("yarnspec"), log=f"Spark's event log {log.name}", notes=tuple(notes))
    return page(fold, _document(run, status, fold), now_ms, source=source)


def _document(run: LoggedRun, status: StatusFold, fold: PageFold) -> StatusDocument:
    told = status.document()
    ended = run.ended_ms != NONE
    # Spark's log does not say whether the program succeeded: it only ended.
    return msgspec.structs.replace(
        told,
        name=run.name,
        user=run.user,
        state="ENDED" if ended else "UNKNOWN",
        started_ms=run.started_ms if run.started_ms != NONE else fold.first_ms,
        finished_ms=run.ended_ms if ended else fold.last_ms,
        speculation=None,
    )
