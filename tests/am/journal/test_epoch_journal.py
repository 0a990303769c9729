"""What of an epoch is kept, and when nothing is."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import pytest

from tests.spark.plain_plan import keeping, plan
from yarnspec import options
from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.attempt.epoch_numbers import why_off
from yarnspec.am.attempt.history import ApplicationHistory
from yarnspec.am.journal.epoch_journal import EpochJournal
from yarnspec.core.journal.journalrecords import EpochBegan
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.stores import PerFlushStore, Store
from yarnspec.journal.writer import JournalOptions
from yarnspec.yarn.files.local_files import LocalFiles

DEADLINE_S = 20.0
NOBODY = cast(ApplicationHistory, None)  # it is not asked before something is kept


def place(directory: Path) -> AmContainer:
    return AmContainer(
        application_id="application_1_0001",
        attempt=1,
        container_id="container_1_0001_01_000001",
        host="h",
        directory=directory,
        log_directory=directory,
    )


@pytest.mark.parametrize(("enabled", "epoch"), [(False, 1), (True, 42)])
def test_where_nothing_is_kept_everything_does_nothing(tmp_path: Path, enabled: bool, epoch: int) -> None:
    kept = EpochJournal.of(plan(options=keeping(enabled)), place(tmp_path), epoch, NOBODY)
    kept.start(lambda _: None)
    assert kept.recording is None
    assert kept.saved_file() is None
    kept.begin_close()
    kept.close()
    assert bool(why_off(epoch)) is enabled
    assert list(tmp_path.iterdir()) == []


def test_records_are_batched_as_the_options_say(tmp_path: Path) -> None:
    asked = JournalOptions(buffer_bytes=2 * 1024**2, flush_interval_s=0.25)
    begun: SimpleQueue[tuple[JournalOptions, Store]] = SimpleQueue()

    class History:
        def begin_journal(self, began: EpochBegan, options: JournalOptions, store: Store, **told: Any) -> Any:
            begun.put((options, store))
            return JournalDirectory(LocalFiles(), f"{tmp_path}/journal", store).begin(began, options=options, **told)

    settings = ("recovery.journal_buffer=2m", "recovery.flush_interval=250 ms", "recovery.journal_appends=false")
    wanted = plan(options=options.load(None, settings, {}).options)
    kept = EpochJournal.of(wanted, place(tmp_path), 1, cast(ApplicationHistory, History()))
    kept.start(lambda _: None)
    made, store = begun.get(timeout=DEADLINE_S)
    kept.begin_close()
    kept.close()
    assert made == asked
    assert isinstance(store, PerFlushStore)


def test_where_something_is_kept_nothing_is_saved_for_the_first_driver(tmp_path: Path) -> None:
    kept = EpochJournal.of(plan(options=keeping(True)), place(tmp_path), 1, NOBODY)
    assert kept.recording is not None
    assert (kept.saved_file(), why_off(1)) == (None, "")
