"""The rule of the speculative execution proposal (FLINK-10644), on time per input byte."""

from __future__ import annotations

from tests.core.taskworld import NO_FLAGS, TaskWorld
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.observations import StageFlag

MB = 1 << 20


def world(lower_bound_ms: int = 0) -> TaskWorld:
    return TaskWorld(DetectorSettings(kind="input-weighted", baseline_lower_bound_ms=lower_bound_ms))


def finished(world: TaskWorld, *, tasks: int, estimated: bool = True, flags: StageFlag = NO_FLAGS) -> None:
    """All but one task of a stage: 10 MB in 1 s each."""
    world.stage(tasks, flags=flags)
    for index in range(tasks - 1):
        task = world.launch(index, "h1", input_bytes=10 * MB if estimated else -1)
        world.end(task, 1000, bytes_read=10 * MB)


def test_ten_times_the_input_may_take_ten_times_as_long() -> None:
    those = world()
    finished(those, tasks=8)
    those.launch(7, "h2", input_bytes=100 * MB)
    assert those.judge(14_999) == []
    (verdict,) = those.judge(15_000)
    assert verdict.numbers["baseline_ms"] == 15_000
    assert verdict.numbers["input_bytes"] == 100 * MB
    assert "100.0 MB x 100.0 ms/MB" in verdict.reason


def test_a_small_task_is_slow_sooner() -> None:
    those = world()
    finished(those, tasks=8)
    those.launch(7, "h2", input_bytes=MB)
    assert those.judge(149) == []
    assert those.slow_tasks(150) == [7]


def test_the_lower_bound_is_on_the_time() -> None:
    those = world(lower_bound_ms=60_000)
    finished(those, tasks=8)
    those.launch(7, "h2", input_bytes=MB)
    assert those.judge(59_999) == []
    assert those.slow_tasks(60_000) == [7]


def test_without_estimate_what_was_read_so_far_counts_where_no_python_runs() -> None:
    those = world()
    finished(those, tasks=8, estimated=False)
    skewed, slow = those.launch(7, "h2"), those.launch(6, "h2")
    those.count(skewed, 9_900, 100 * MB)
    those.count(slow, 9_900, 10 * MB)
    assert those.slow_tasks(10_000) == []
    assert those.slow_tasks(15_000) == [7]


def test_where_the_jvm_reads_ahead_of_python_time_counts() -> None:
    those = world()
    finished(those, tasks=8, estimated=False, flags=StageFlag.PYTHON)
    task = those.launch(7, "h2")
    those.count(task, 900, 100 * MB)
    assert those.judge(1499) == []
    assert those.slow_tasks(1500) == [7]


def test_a_stage_without_known_input_is_judged_by_time() -> None:
    those = world()
    those.stage(4)
    for index in range(3):
        those.end(those.launch(index, "h1"), 1000)
    those.launch(3, "h2", input_bytes=100 * MB)
    assert those.judge(1499) == []
    (verdict,) = those.judge(1500)
    assert "inputs unknown: by time alone" in verdict.reason
    assert verdict.numbers["input_bytes"] == 100 * MB
    assert those.detector.threshold_ms(those.running(), 0) == 1500


def test_empty_tasks_say_nothing_of_a_byte() -> None:
    those = world()
    those.stage(8)
    for index in range(7):
        size = 10 * MB if index < 4 else 0
        those.end(those.launch(index, "h1", input_bytes=size), 1000 if size else 5)
    those.launch(7, "h2", input_bytes=10 * MB)
    assert those.judge(1499) == []
    assert those.slow_tasks(1500) == [7]


def test_an_explanation_has_the_task_s_own_baseline() -> None:
    those = world()
    finished(those, tasks=8)
    those.launch(7, "h2", input_bytes=100 * MB)
    those.observe()
    explained = those.detector.explain(those.running(), 7, those.running().started_ms + 5000)
    assert (explained.slow, explained.numbers["baseline_ms"]) == (False, 15_000)
    assert "finished on h1 after 1.0 s" in those.detector.explain(those.running(), 0, 0).text
    assert "before" not in explained.text
