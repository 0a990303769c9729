"""What would have been found in a job that is over: all of it, and at its time."""

from __future__ import annotations

import pytest

from tests.core.taskworld import T0, TaskWorld
from yarnspec.core.detectors import MAX_VERDICTS, protocol
from yarnspec.core.detectors.progress import MANY
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.observe.hindsight.offline import Findings, as_it_happened, find

SEED = DetectorSettings(kind="execution-time", baseline_lower_bound_ms=0, baseline_ratio=0.1)


def found_in(those: TaskWorld) -> Findings:
    return find(as_it_happened(those.rows.take(), 500), those.settings)


def crowd(settings: DetectorSettings, slow: int) -> TaskWorld:
    """Tasks that run from the beginning: on three hosts a second, those on the fourth for ten."""
    those = TaskWorld(settings)
    quick = slow // 4 + 30
    those.stage(quick + slow)
    for index in range(quick):
        those.end(those.launch(index, f"h{index % 3}"), 1_000)
    for index in range(quick, quick + slow):
        those.end(those.launch(index, "h3"), 10_000)
    return those


@pytest.mark.parametrize("kind", ["execution-time", "input-weighted"])
def test_more_slow_tasks_than_a_look_tells_of_are_all_found_when_they_were_slow(kind: str) -> None:
    settings = DetectorSettings(kind=kind, baseline_lower_bound_ms=0, baseline_ratio=0.1)
    found = found_in(crowd(settings, 2 * MAX_VERDICTS + 1))
    assert len({each.verdict.index for each in found.tasks}) == len(found.tasks) == 2 * MAX_VERDICTS + 1
    assert {each.at_ms for each in found.tasks} == {T0 + 1_500}


def test_more_than_a_running_job_s_detector_looks_at_are_found_as_well() -> None:
    found = found_in(crowd(DetectorSettings(), MANY + 1))
    assert len({each.verdict.index for each in found.tasks}) == len(found.tasks) == MANY + 1
    assert len({each.at_ms for each in found.tasks}) == 1


def test_tasks_that_spark_itself_has_copied_are_all_found_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_VERDICTS", 2)
    those = TaskWorld(SEED)
    those.stage(20)
    for index in range(10):
        those.end(those.launch(index, "h1"), 1_000)
    for index in range(10, 17):
        those.launch(index, "h2", index)
        those.launch(index, "h3", 1_000, copy=True)
    those.end_stage(10_000)
    assert sorted(each.verdict.index for each in found_in(those).tasks) == list(range(10, 17))
