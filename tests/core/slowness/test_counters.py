"""What running tasks' counters tell of their speed: of few all, of many a sample and those that seem slow."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.taskworld import TaskWorld
from yarnspec.core.slowness.counters import Rates, rates
from yarnspec.core.tasks.columns import Column

MB = 1 << 20
NORMAL, SLOW = 20 * MB, 2 * MB
SAMPLE = 8


def found(read: list[int], cold: tuple[int, ...] = ()) -> Rates:
    """The rates of tasks that have read so much of their 100 MB in ten seconds; of cold ones eight do not count."""
    those = TaskWorld()
    those.stage(len(read))
    for index, bytes_read in enumerate(read):
        those.count(those.launch(index, f"h{index % 4}", input_bytes=100 * MB), 10_000, bytes_read)
    those.observe(10_000)

    def cold_ms(rows: Column) -> Column:
        return np.where(np.isin(rows, cold), 8_000, 0)

    told = rates(those.running(), cold_ms, 1_000, 1.5, SAMPLE)
    assert told is not None
    return told


def test_of_few_all_are_rated() -> None:
    told = found([NORMAL] * 7 + [SLOW])
    assert told.rows.tolist() == list(range(8))
    assert told.typical_ms_per_byte == pytest.approx(10_000 / NORMAL)
    assert told.ms_per_byte == pytest.approx([10_000 / NORMAL] * 7 + [10_000 / SLOW])


def test_of_many_all_that_seem_slow_are_rated_and_a_sample_of_the_others() -> None:
    read = [NORMAL] * 80
    for index in (3, 41, 77):
        read[index] = SLOW
    told = found(read)
    assert {3, 41, 77} <= set(told.rows.tolist())
    assert SAMPLE <= len(told.rows) <= SAMPLE + 3
    assert sorted(told.rows[told.ms_per_byte > 2 * told.typical_ms_per_byte].tolist()) == [3, 41, 77]


def test_of_very_many_slow_ones_the_slowest_are_rated() -> None:
    read = [NORMAL] * 60 + [SLOW] * 20 + [SLOW // 2] * SAMPLE
    told = found(read)
    slowest = told.ms_per_byte >= 10_000 / (SLOW // 2) - 1e-9
    assert set(range(80, 80 + SAMPLE)) == set(told.rows[slowest].tolist())


def test_the_start_of_a_cold_executor_is_not_held_against_its_tasks() -> None:
    read = [NORMAL] * 80
    read[41] = NORMAL // 5
    assert 41 in found(read).rows
    assert 41 not in found(read, cold=(41,)).rows
    read[0] = NORMAL // 5
    assert found(read, cold=(0,)).ms_per_byte[0] == pytest.approx(2_000 / read[0])
