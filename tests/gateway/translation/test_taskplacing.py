"""The options of placing tasks, as Spark's properties."""

from __future__ import annotations

import pytest

from yarnspec.gateway.translation.taskplacing import properties
from yarnspec.options import load


@pytest.mark.parametrize(
    ("given", "weight", "waits"),
    [
        ({}, "1", {}),
        ({}, "0", {"spark.locality.wait": "0ms"}),
        (
            {"spark.locality.wait": "10s", "spark.locality.wait.rack": "1s"},
            "0.5",
            {"spark.locality.wait": "5000ms", "spark.locality.wait.rack": "500ms"},
        ),
    ],
)
def test_the_weight_of_locality_is_time_that_tasks_wait(
    given: dict[str, str], weight: str, waits: dict[str, str]
) -> None:
    settings = [f"placement.locality_weight={weight}", "placement.spread_tasks=false", "placement.task_seed=7"]
    found = properties(given, load(settings=settings, environ={}).options)
    assert found == {"spark.yarnspec.spreadTasks": "false", "spark.yarnspec.taskSeed": "7", **waits}
