"""What a look costs is bounded: that at very many tasks takes two steps, and each asks for some copies only."""

from __future__ import annotations

import pytest

from tests.core.slowness.test_host_speed import HOSTS, with_slow, world
from tests.core.stragglers import Stragglers
from tests.core.taskworld import T0
from tests.core.world import of
from yarnspec.core.copies import speculation
from yarnspec.core.copies.speculation import JUDGE_TIMER
from yarnspec.core.messages.commands import JudgeTasks, LaunchCopy
from yarnspec.core.slowness import host_speed


def passes_of(world: Stragglers) -> tuple[list[int], list[int]]:
    """When the next six passes came, and which of them asked for copies, in milliseconds since the first one."""
    passes: list[int] = []
    copies: list[int] = []
    while len(passes) < 6:
        passes.append(world.due.pop(JUDGE_TIMER))
        answer = world.fire(JUDGE_TIMER, passes[-1])
        assert bool(of(JudgeTasks, answer)) == bool(of(LaunchCopy, answer))
        if of(LaunchCopy, answer):
            copies.append(passes[-1])
    return [each - passes[0] for each in passes], [each - passes[0] for each in copies]


def late_task() -> Stragglers:
    """One of eight tasks is late by the time of the next pass, which is the first."""
    world = Stragglers(detector={"check_interval_ms": 3_000})
    tasks = world.fill(0, 8)
    world.pass_ms(1_000)
    for index in range(1, 8):
        world.end(tasks[index])
    return world


def test_few_tasks_are_looked_at_in_one_step() -> None:
    passes, copies = passes_of(late_task())
    assert passes == [0, 3_000, 6_000, 9_000, 12_000, 15_000]
    assert copies == [0]


def test_many_tasks_are_looked_at_as_often_in_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "IN_ONE_STEP", 0)
    passes, copies = passes_of(late_task())
    assert passes == [0, 1_500, 3_000, 4_500, 6_000, 7_500]
    assert copies == [1_500]


def looks_at_five_stages() -> list[int]:
    """Of how many of five running stages it is known after each of three looks how long their tasks take."""
    those = world()
    for number in range(5):
        those.stage(8, stage=number)
        for index in range(8):
            task = those.launch(index, HOSTS[index % 4], 0, stage=number)
            if index > 3:
                those.end(task, 1_000)
    those.observe(2_000)
    seen = []
    for passed in range(3):
        those.speeds.refresh(those.table, T0 + 2_000 + passed)
        seen.append(sum(those.speeds.pace(one) is not None for one in those.table.stages.values()))
    return seen


def test_all_small_stages_are_looked_at_in_each_pass() -> None:
    assert looks_at_five_stages() == [5, 5, 5]


def test_large_stages_are_looked_at_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_speed, "_ROWS_AT_ONCE", 0)
    assert looks_at_five_stages() == [2, 4, 5]


def test_of_many_slow_tasks_some_are_copied_in_each_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "_AT_ONCE", 2)
    shares = {"max_share_of_stage": 1.0, "max_share_of_application": 1.0}
    world = Stragglers(slots=4, detector={"check_interval_ms": 3_000}, speculation=shares)
    tasks = world.fill(0, 12)
    world.pass_ms(1_000)
    for index in range(5, 12):
        world.end(tasks[index])
    copied, told = [], []
    for _ in range(4):
        answer = world.fire(JUDGE_TIMER, world.due[JUDGE_TIMER])
        copied.append({one.index for one in of(LaunchCopy, answer)})
        told.append({verdict.index for one in of(JudgeTasks, answer) for verdict in one.verdicts})
    assert copied == told
    assert [len(each) for each in copied] == [2, 2, 1, 0]
    assert set().union(*copied) == {0, 1, 2, 3, 4}


def test_what_ended_between_the_steps_is_not_held_twice_against_a_host() -> None:
    those = world()
    tasks = [(host, took) for host, each in with_slow([3_000] * 3).items() for took in each]
    those.stage(len(tasks))
    for index, (host, took) in enumerate(tasks):
        those.end(those.launch(index, host, 0), took)
    assert those.found_slow(3_000)
    running = those.speeds.probability(HOSTS[-1])
    those.end_stage(3_000)
    those.observe(3_000)
    ended = those.speeds.probability(HOSTS[-1])
    assert ended <= running
    those.speeds.refresh(those.table, T0 + 3_000)
    assert those.speeds.probability(HOSTS[-1]) == ended
