"""What the bench of kills counts as done twice, and as in flight."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.bench.recovery.work import Worked, read, twice, with_executor

KILLED_MS = 10_000


def worked(life: int, index: int, began_ms: int, last_ms: int, records: int = 100) -> Worked:
    return Worked(life=life, job=1, stage=0, index=index, records=records, began_ms=began_ms, last_ms=last_ms)


def test_what_was_kept_is_not_done_twice() -> None:
    cost = twice(
        [
            worked(1, 0, 1_000, 3_000),  # saved, and not done again
            worked(1, 1, 7_000, 9_500),  # ended too late to be saved
            worked(1, 2, 8_000, 10_200, 40),  # ran on for a moment after the kill
            worked(2, 1, 15_000, 17_000),
            worked(2, 2, 16_000, 18_000),
            worked(2, 3, 16_500, 18_000),  # had not begun before
        ],
        killed_ms=KILLED_MS, records=100, flush_ms=1_000,
    )  # fmt: skip
    assert (cost.before_s, cost.in_flight_s, cost.twice_s) == (6.5, 4.5, 4.5)
    assert cost.ratio == 1
    assert cost.to_first_s == 5
    assert cost.ended_before_s == 0.5


def test_everything_done_twice_is_more_than_what_was_in_flight() -> None:
    first = [worked(1, index, index * 1_000, index * 1_000 + 2_000) for index in range(8)]
    second = [worked(2, index, 20_000, 22_000) for index in range(8)]
    cost = twice([*first, *second], killed_ms=9_500, records=100, flush_ms=1_000)
    assert cost.twice_s == cost.before_s == 16
    assert cost.ratio == pytest.approx(16 / 2)


def test_of_an_executor_only_what_it_had_is_done_again() -> None:
    cost = with_executor(
        [
            worked(1, 0, 1_000, 3_000),  # taken over
            worked(1, 1, 4_000, 6_000),  # lost, though it had ended
            worked(1, 2, 8_000, 9_900, 40),  # ran in it
            worked(1, 3, 8_500, 11_000),  # ran elsewhere, and ended
            worked(1, 2, 10_400, 12_400),
            worked(1, 1, 12_000, 14_000),
            worked(1, 4, 10_100, 12_000),  # had not begun before
        ],
        killed_ms=KILLED_MS, records=100,
    )  # fmt: skip
    assert (cost.before_s, cost.in_flight_s, cost.twice_s) == (7.4, 1.9, 3.9)
    assert cost.to_first_s == 0.4


def test_notes_of_jobs_that_warm_up_and_of_attempts_that_never_began_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "1-1-0-5-100000007").write_text("0 1000\n5 1050\n10 11")
    (tmp_path / "1-2-0-5-100000009").write_text("0 1000\n5 1050\n")
    (tmp_path / "1--1-0-5-100000001").write_text("0 1000\n")
    (tmp_path / "1-1-0-6-100000008").write_text("")
    assert {(one.job, one.index, one.records) for one in read(tmp_path)} == {(1, 5, 5), (2, 5, 5)}
