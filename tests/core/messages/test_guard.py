"""A fault in speculation stops speculation, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.stragglers import H3, Stragglers
from tests.core.world import of, only
from yarnspec.core.detectors.execution_time import ExecutionTime
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockHost,
    FinishApplication,
    JudgeTasks,
    LaunchCopy,
    RequestContainers,
    Summarize,
    UnblockHost,
    WithdrawCopy,
)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Stragglers:
    world = Stragglers()
    tasks = world.fill(0, 8)
    world.block(H3, level="stage", stage=0)

    def judge(*_: Any) -> list[Any]:
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr(ExecutionTime, "judge", judge)
    world.pass_ms(900)
    world.end(tasks[0])
    return world


def test_it_is_told_once_with_the_place_and_its_blocks_end(broken: Stragglers) -> None:
    answer = broken.commands
    told = only(Summarize, answer).reason
    assert "ZeroDivisionError: nothing to divide by" in told
    assert "test_guard.py" in told
    assert only(UnblockHost, answer).stage == 0
    assert broken.warnings == [told]
    assert broken.negotiator.speculation_view(broken.now_ms).stopped


def test_copies_that_wait_are_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Stragglers()
    tasks = world.fill(0, 8)
    world.pass_ms(900)
    for task_id in tasks[1:]:
        world.end(task_id)
    asked = only(LaunchCopy, world.pass_ms(1_100))
    monkeypatch.setattr(ExecutionTime, "judge", lambda *_: 1 // 0)
    withdrawn = only(WithdrawCopy, world.pass_ms(1_000))
    assert (withdrawn.stage, withdrawn.index) == (asked.stage, asked.index)


def test_nothing_is_judged_or_copied_afterwards_and_the_rest_goes_on(broken: Stragglers) -> None:
    answer = broken.pass_ms(60_000) + broken.end(1)
    assert not {LaunchCopy, JudgeTasks} & {type(one) for one in answer}
    assert of(BlockHost, broken.block(H3, duration_ms=1_000))
    assert of(RequestContainers, broken.lose("2", 143, host=H3))
    assert of(FinishApplication, broken.tell(ev.DriverFinished(exit_code=0)))
