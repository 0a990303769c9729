"""The journal on a disk that gets full, in a local directory."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from integration.smalldisk import small_disk
from tests.journal.world import PATIENCE_S, Told, began, directory_in, finished, registered
from yarnspec.core.journal.carriedtexts import lost_of
from yarnspec.journal.errors import JournalStopped
from yarnspec.journal.writer import JournalOptions


def test_what_was_on_a_disk_before_it_was_full_is_all_that_is_read(tmp_path: Path) -> None:
    """The recording stops, and word of that is left; the next epoch begins when there is room."""
    with small_disk(tmp_path) as set_full:
        directory = directory_in(tmp_path)
        told = Told()
        journal, _ = directory.begin(began(1), options=JournalOptions(flush_interval_s=0.0), on_stopped=told)
        assert journal.append_durable(registered(1)).result(PATIENCE_S)
        set_full(True)
        index = 0
        # In what is left of a page of the file there is room.
        while not journal.problem:
            journal.append(finished(1, index, blob=bytes(1_000)))
            index += 1
            outcome = journal.append_durable(registered(2 + index)).exception(PATIENCE_S)
            assert outcome is None or isinstance(outcome, JournalStopped)
        assert os.strerror(errno.ENOSPC) in told.wait().why
        assert not journal.close(PATIENCE_S)
        (report,) = directory.verify()
        assert report.damage is None
        assert report.stopped == "nothing could be written"
        acknowledged = journal.written.records
        numbers = [entry.seq for entry in directory.entries(1)]
        assert len(numbers) >= acknowledged
        assert numbers == list(range(1, len(numbers) + 1))

        set_full(False)
        second, past = directory.begin(began(2))
        assert past.problem == ""
        assert 1 in past.recorded.shuffles
        assert lost_of(past.recorded) == "the recording of epoch 1 stopped: nothing could be written"
        assert second.append_durable(registered(9)).result(PATIENCE_S)
        assert second.close(PATIENCE_S)
