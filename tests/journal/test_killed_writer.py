"""`kill -9` at any point: what was told to be durable is there, and what is there is what was written."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal import stranger
from tests.journal.world import PATIENCE_S, began, begin, directory_in, finished, registered
from yarnspec.core.journal.journalrecords import JournalRecord, MapFinished, ShuffleRegistered
from yarnspec.journal.records import decode

ROOT = Path(__file__).parent.parent.parent
# How many records are told to be durable before the kill, drawn from a seed.
KILLS = random.Random(7).sample(range(1, 300), 4)  # noqa: S311 - not for secrets


def expected(count: int) -> list[JournalRecord]:
    """The first records that the program writes."""
    records: list[JournalRecord] = [began(1)]
    shuffle = 0
    while len(records) < count:
        records += [registered(shuffle), *(finished(shuffle, index) for index in range(20))]
        shuffle += 1
    return records[:count]


@pytest.mark.parametrize("lines", KILLS)
def test_what_was_told_to_be_durable_survives_a_kill(tmp_path: Path, lines: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.journal.writer_to_kill", str(tmp_path), "1"], stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        durable = 0
        for _ in range(lines):
            durable = int(process.stdout.readline())
        process.kill()
        # What it said before it died counts as well.
        durable = max([durable, *(int(line) for line in process.stdout.read().splitlines() if line)])
    directory = directory_in(tmp_path)
    records = [decode(entry) for entry in directory.entries(1)]
    assert len(records) >= durable > 1
    assert records == expected(len(records))
    assert len(stranger.records(tmp_path / "journal" / "epoch-1")) == len(records)
    journal, past = directory.begin(began(2))
    assert past.problem == ""
    assert journal.close(PATIENCE_S)
    written = {each.shuffle for each in records if isinstance(each, ShuffleRegistered | MapFinished)}
    assert list(directory.replay().recorded.shuffles) == sorted(written)
    assert begin(directory, 3).close(PATIENCE_S)
