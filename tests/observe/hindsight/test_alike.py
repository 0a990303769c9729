"""Many like verdicts are told as one, the worst first."""

from __future__ import annotations

from yarnspec.core.detectors.words import seconds
from yarnspec.core.messages.commands import Verdict
from yarnspec.observe.hindsight.alike import alike_lines, alike_tasks
from yarnspec.observe.hindsight.offline import SlowTask


def slow(
    index: int, numbers: dict[str, float], *, stage: int = 3, host: str = "h4", detector: str = "progress"
) -> SlowTask:
    verdict = Verdict(
        stage=stage, stage_attempt=0, index=index, attempt=0, task_id=index, host=host, executor_id="1",
        detector=detector, elapsed_ms=3_000, numbers=numbers, reason="late",
    )  # fmt: skip
    return SlowTask(at_ms=1_000 + index, verdict=verdict)


def test_tasks_are_alike_by_stage_host_and_what_they_were_compared_by() -> None:
    by_time = [slow(index, {"ratio": 2.0 + index}) for index in range(3)]
    others = [
        slow(7, {"ratio": 9.0}, host="h5"),
        slow(8, {"ratio": 3.0, "by_counters": 1.0}),
        slow(9, {}),
        slow(10, {"baseline_ms": 500.0}, stage=4, detector="execution-time"),
    ]
    found = [
        (each.stage, each.host, each.count, each.least, each.most, each.worst.index)
        for each in alike_tasks([*by_time, *others])
    ]
    assert found == [
        (3, "h5", 1, 9.0, 9.0, 7),
        (4, "h4", 1, 6.0, 6.0, 10),
        (3, "h4", 3, 2.0, 4.0, 2),
        (3, "h4", 1, 3.0, 3.0, 8),
        (3, "h4", 1, None, None, 9),
    ]


def test_a_short_time_is_never_told_as_nothing() -> None:
    assert [seconds(value_ms) for value_ms in (0.5, 40, 100, 2_000)] == ["0.5 ms", "40 ms", "0.1 s", "2.0 s"]


def test_lines_about_tasks_of_a_stage_that_differ_in_numbers_are_one() -> None:
    def blocked(task: str, factor: str, of: str) -> str:
        return f"at 3.{task[-1]} s: blocked (task {task}, slow) by yarnspec: it took {factor} x the {of} of others"

    worst = blocked("3.2", "84.9", "40 ms")
    lines = [
        "at 1.0 s: first",
        blocked("4.0", "2.0", "1.0 s"),
        blocked("3.1", "3.0", "2.0 s"),
        blocked("4.1", "2.5", "1.0 s"),
        worst,
        "at 9.0 s: last",
        "at 9.1 s: last",
    ]
    assert alike_lines(lines) == [
        lines[0],
        f"2 alike (3.0 to 84.9 x), the worst: {worst}",
        f"2 alike (2.0 to 2.5 x), the worst: {lines[3]}",
        *lines[-2:],
    ]
