"""Whatever rows come in whatever order: no detector trips, and what it says keeps to its bounds."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.taskworld import T0, TaskWorld
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.observations import Failure, RowKind, StageFlag, State

KINDS: tuple[Literal["progress", "execution-time", "input-weighted"], ...] = (
    "progress",
    "execution-time",
    "input-weighted",
)

ROW = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([*RowKind, RowKind.TASK_STARTED, RowKind.TASK_ENDED, RowKind.TASK_ENDED]),
        "stage": st.integers(0, 1),
        "task_id": st.integers(-1, 30),
        "host": st.sampled_from(["", "h1", "h2", "h3", "h4"]),
        "time_ms": st.integers(0, 40_000),
        "launch_ms": st.sampled_from([-1, 0, 0, 100, 5_000, 39_000]),
        "finish_ms": st.integers(-1, 40_000),
        "input_bytes": st.sampled_from([-1, 0, 1, 1_000, 10**12]),
        "bytes_read": st.sampled_from([-1, 0, 1, 500, 1_000, 10**13]),
        "speculative": st.integers(-1, 1),
        "state": st.sampled_from([-1, *State, State.SUCCESS, State.SUCCESS]),
        "failure": st.sampled_from([-1, *Failure]),
        "tasks": st.sampled_from([-1, 0, 1, 8, 12]),
        "flags": st.sampled_from([-1, 0, StageFlag.PYTHON, StageFlag.MAP]),
    }
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150)
@given(rounds=st.lists(st.lists(ROW, max_size=40), max_size=5), eager=st.booleans())
def test_nothing_trips(
    kind: Literal["progress", "execution-time", "input-weighted"], rounds: list[list[dict[str, object]]], eager: bool
) -> None:
    chosen = DetectorSettings(
        kind=kind, baseline_lower_bound_ms=0 if eager else 60_000, cold_start_ms=0, min_finished=1
    )
    those = TaskWorld(chosen)
    now_ms = 0
    for rows in rounds:
        for row in rows:
            numbers: dict[str, Any] = {name: each for name, each in row.items() if isinstance(each, int)}
            del numbers["kind"]
            for name in ("time_ms", "launch_ms", "finish_ms"):
                numbers[name] += T0 if numbers[name] >= 0 else 0
            host, row_kind = str(row["host"]), row["kind"]
            assert isinstance(row_kind, RowKind)
            those.rows.add(
                row_kind,
                host=host,
                executor=host and f"e-{host}",
                index=numbers["task_id"] % 12 if numbers["task_id"] >= 0 else -1,
                stage_attempt=0,
                **numbers,
            )
        those.observe(now_ms)
        now_ms += 10_000
        judged = those.detector.judge(those.table, T0 + now_ms)
        verdicts, totals = judged.verdicts, judged.slow
        for each in verdicts:
            stage = those.table.stages[each.stage, each.stage_attempt]
            (attempt,) = [one for one in stage.attempts_of(each.index) if one.task_id == each.task_id]
            assert attempt.state is State.RUNNING
            assert not any(one.state is State.SUCCESS for one in stage.attempts_of(each.index))
            assert each.elapsed_ms == T0 + now_ms - attempt.launch_ms
            assert all(math.isfinite(number) for number in each.numbers.values())
            assert each.reason
        slow = {(each.stage, each.index) for each in verdicts}
        assert totals == Counter((stage, 0) for stage, _ in slow)
        for stage in those.table.stages.values():
            those.detector.threshold_ms(stage, T0 + now_ms)
            assert 0 <= those.detector.min_finished(stage) <= stage.tasks
            for index in range(13):
                explained = those.detector.explain(stage, index, T0 + now_ms)
                assert explained.slow == ((stage.stage, index) in slow), explained
                assert all(math.isfinite(number) for number in explained.numbers.values())
        for host in ("h1", "h2", "h9"):
            assert 0 < those.speeds.probability(host) < 1
            assert 1 <= those.speeds.factor(host) < math.inf
            assert host in those.speeds.explain(host)
            those.speeds.healthy(host, T0)
        for found in those.speeds.slow():
            assert found.late >= 1
            assert found.factor >= chosen.host_slow_factor
            assert all(math.isfinite(number) for number in found.numbers.values())
