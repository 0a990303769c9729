"""What proves a blocked host healthy: the order of the ends, and what runs or ended late at the end."""

from __future__ import annotations

import numpy as np

from yarnspec.core.slowness.health import HealthyRun, Seen, best_run

HOST, OTHER = 1, 2


def seen(*observations: tuple[int, float], host: int = HOST) -> Seen:
    """When each task ended, and what it says."""
    end_ms, told = zip(*observations, strict=True)
    return Seen(np.full(len(told), host), np.array(end_ms, dtype=np.int64), np.array(told))


def test_of_no_task_nothing_is_known() -> None:
    assert best_run([], HOST, 0) == HealthyRun(0.0, 0, 0, 0)
    assert best_run([seen((10, -1.0), host=OTHER)], HOST, 0) == HealthyRun(0.0, 0, 0, 0)
    assert best_run([seen((10, -1.0))], HOST, 11) == HealthyRun(0.0, 0, 0, 0)


def test_the_normal_tasks_that_ended_last_count_whatever_was_late_before() -> None:
    long, short = seen((90, -1.0), (91, -1.0)), seen((20, 3.0), (40, 3.0), (60, -1.0))
    assert best_run([long, short], HOST, 0) == HealthyRun(-3.0, 3, 0, 91)


def test_a_late_task_among_them_counts_where_the_run_is_better_with_what_was_before_it() -> None:
    assert best_run([seen((10, 3.0), (20, -1.0), (30, -1.0), (40, 0.5), (50, -1.0))], HOST, 0) == HealthyRun(
        -2.5, 3, 1, 50
    )


def test_what_ended_late_last_or_at_the_same_moment_is_in_every_run() -> None:
    assert best_run([seen((10, -1.0), (20, -1.0), (30, 3.0))], HOST, 0).told == 1.0
    assert best_run([seen((30, 3.0), (30, -1.0), (30, -1.0))], HOST, 0).told == 1.0
