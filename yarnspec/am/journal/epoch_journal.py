"""Finished work that is kept for a next driver: the journal of this epoch, and the readers of what goes into it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import structlog

from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.attempt.epoch_numbers import why_off
from yarnspec.am.attempt.history import ApplicationHistory
from yarnspec.am.attempt.program_identity import identify
from yarnspec.am.journal.background_journal import BackgroundJournal
from yarnspec.am.sources.mapoutputs import MapOutputs
from yarnspec.core.journal.journalrecords import EpochBegan
from yarnspec.core.messages.events import Event
from yarnspec.journal.replay import Past
from yarnspec.journal.stores import AppendStore, PerFlushStore
from yarnspec.journal.writer import Journal, JournalOptions, Stopped
from yarnspec.plan import OWN_NAMES, SPARK_PROPERTIES_FILE, Plan
from yarnspec.spark import properties
from yarnspec.spark.driver import bridge_file

_log = structlog.get_logger()

SAVED_FILE = f"{OWN_NAMES}saved-outputs"
_OUTPUTS_S = 3.0
_JOURNAL_S = 10.0


class EpochJournal:
    """The work of one epoch that is kept. With recovery off nothing is kept, and every method does nothing."""

    def __init__(self, recording: BackgroundJournal | None, announcement: Path) -> None:
        self.recording = recording
        self._outputs: MapOutputs | None = None
        if recording is not None:
            self._outputs = MapOutputs(announcement, recording.take, recording.missed)

    @classmethod
    def of(
        cls,
        plan: Plan,
        place: AmContainer,
        epoch: int,
        history: ApplicationHistory,
        *,
        after: EpochJournal | None = None,
        previous_ended_ms: int = 0,
    ) -> EpochJournal:
        """The journal of an epoch.

        ``after``: the journal of the epoch before in the same container, which is closed first. ``previous_ended_ms``:
        when the epoch before had ended; 0: not known.
        """
        announcement = place.directory / bridge_file(epoch)
        options = plan.options.recovery
        if not options.enabled or why_off(epoch):
            return cls(None, announcement)
        began = EpochBegan(
            epoch=epoch,
            attempt=place.attempt,
            host=place.host,
            time_ms=int(time.time() * 1000),
            previous_ended_ms=previous_ended_ms,
        )
        journal_options = JournalOptions(
            buffer_bytes=options.journal_buffer_bytes, flush_interval_s=options.flush_interval_ms / 1000
        )

        def begin(on_stopped: Callable[[Stopped], None], on_written: Callable[[int], None]) -> tuple[Journal, Past]:
            if after is not None:
                after.finish()
            store = AppendStore() if options.journal_appends else PerFlushStore()
            return history.begin_journal(began, journal_options, store, on_stopped=on_stopped, on_written=on_written)

        recording = BackgroundJournal(
            began,
            begin=begin,
            look=lambda: history.look_for_later_epoch(epoch),
            leave_word=lambda why: history.say_unrecorded(epoch, why),
            leave_refused=lambda refused: history.say_refused(epoch, refused),
            identify=lambda: identify(
                plan,
                properties.read_shipped(place.directory / SPARK_PROPERTIES_FILE),
                application_id=place.application_id,
                directory=place.directory,
            ),
            saved_file=place.directory / SAVED_FILE,
        )
        return cls(recording, announcement)

    def saved_file(self) -> Path | None:
        """The file with the saved outputs of earlier epochs for the driver that starts now; None if there are none."""
        return self.recording.saved_file if self.recording is not None else None

    def start(self, post: Callable[[Event], None]) -> None:
        """Open the journal, and read what the driver tells; ``post`` hands an event to the core."""
        if self.recording is not None:
            self.recording.start(post)
        if self._outputs is not None:
            self._outputs.watcher.start()

    def finish(self) -> None:
        """The driver has died, and another epoch begins: take its last messages, and close the journal.

        Takes some seconds when the file system or the journal's own opening does.
        """
        if self.recording is not None:
            self.recording.wait_until_open(_JOURNAL_S)
        self.begin_close()
        self.close()

    def begin_close(self) -> None:
        """The driver has ended: take the last that it told, and begin to close the journal."""
        if self.recording is not None and self._outputs is not None:
            if not self._outputs.wait_for_end(_OUTPUTS_S):
                _log.warning("what the driver told last of its map outputs may be missing in the journal")
            self.recording.begin_close()

    def close(self) -> None:
        """Close the journal."""
        if self._outputs is not None:
            self._outputs.watcher.stop()
        if self.recording is not None and not self.recording.close(_JOURNAL_S):
            _log.warning("the journal could not be closed in order")
