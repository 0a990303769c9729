"""Slots of an executor."""

from __future__ import annotations

import pytest

from yarnspec.core.messages.settings import slots_of


@pytest.mark.parametrize(
    ("cores", "task_cpus", "slots"), [(4, 1, 4), (5, 2, 2), (1, 2, 1), (1, 0.5, 2), (3, 0.1, 30), (2, 1.5, 1)]
)
def test_a_task_may_want_several_cores_or_a_part_of_one(cores: int, task_cpus: float, slots: int) -> None:
    assert slots_of(cores, task_cpus) == slots
