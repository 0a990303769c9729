"""A thousand clusters and programs, each with the real core in the middle: what must hold holds in all of them.

One that breaks a rule says its seed and how to run it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec
import pytest

from yarnspec.core.containers.executor_rows import Executor, ExecutorRows
from yarnspec.core.copies import speculation
from yarnspec.core.copies import speculative_containers as extras
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    BlockHost,
    Command,
    LaunchCopy,
    ReleaseContainer,
    UnblockHost,
    UpdatePlacement,
    UpdateTaskBlocks,
    WithdrawCopy,
)
from yarnspec.core.messages.observations import StageFlag
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.simulate import BrokenRule, RunResult, Scenario, run
from yarnspec.simulate.world import scenario

SCENARIOS = 1_000
CHUNK = 100
TWICE = 40
ELSEWHERE = 3

_RESULTS: dict[int, RunResult] = {}


@pytest.mark.one_a_day("seeds of the simulator")
@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_what_must_hold_holds(first: int) -> None:
    broken = []
    for seed in range(first, first + CHUNK):
        try:
            _RESULTS[seed] = run(seed)
        except BrokenRule as rule:
            broken.append(str(rule))
    assert not broken, "\n\n".join([f"{len(broken)} of {CHUNK} scenarios break a rule", *broken[:5]])


def test_what_must_hold_holds_where_a_look_takes_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "IN_ONE_STEP", 0)
    copies = sum(run(seed).copies for seed in range(SCENARIOS, SCENARIOS + TWICE))
    assert copies > 0


def test_what_must_hold_holds_with_the_proposals_blocks_and_hosts_that_are_never_blocked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = scenario._settings

    def settings(*args: Any) -> Settings:
        usual = drawn(*args)
        blocks = msgspec.structs.replace(usual.blocks, every_slow_task=True, never_hosts="host1,host3")
        return msgspec.structs.replace(usual, blocks=blocks)

    monkeypatch.setattr(scenario, "_settings", settings)
    assert sum(run(seed).copies for seed in range(SCENARIOS, SCENARIOS + TWICE // 2)) > 0


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    first = [_RESULTS.get(seed) or run(seed) for seed in range(TWICE)]
    assert [run(seed) for seed in range(TWICE)] == first
    assert len({result.digest for result in first}) == TWICE


def test_the_same_seed_gives_the_same_run_in_a_process_that_hashes_otherwise() -> None:
    # Seeds with copies: most of what is decided happens in them.
    with_copies = (seed for seed in range(200) if (_RESULTS.get(seed) or run(seed)).copies)
    seeds = list(islice(with_copies, ELSEWHERE))
    code = f"from yarnspec.simulate import run\nfor seed in {seeds}: print(run(seed).digest)"
    for hash_seed in ("1", "4242"):
        said = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert said.stdout.split() == [(_RESULTS.get(seed) or run(seed)).digest for seed in seeds]


def test_the_scenarios_have_what_the_rules_are_about() -> None:
    """So that no rule holds because there is nothing for it to forbid."""
    scenarios = [Scenario.draw(seed) for seed in range(SCENARIOS)]
    results = [_RESULTS.get(seed) or run(seed) for seed in range(100)]
    assert sum(result.copies > 0 for result in results) >= 15
    assert sum(result.copies_won for result in results) >= 20
    assert sum(result.taken_over for result in results) > 0
    assert all(2 <= len(one.hosts) <= 8 for one in scenarios)
    sizes = [[len(stage.work_ms) for job in one.jobs for stage in job.stages] for one in scenarios]
    assert all(1 <= len(size) <= 4 and 4 <= sum(size) <= 40 for size in sizes)
    flags = [stage.flags for one in scenarios for job in one.jobs for stage in job.stages]
    for flag in (
        StageFlag.MAP,
        StageFlag.COMMITS,
        StageFlag.WRITES,
        StageFlag.READS,
        StageFlag.NO_COPIES,
        StageFlag.BARRIER,
        StageFlag.PYTHON,
    ):
        assert sum(flag in each for each in flags) >= 20
    for trouble in ("never_comes", "container_dies", "task_fails", "fetch_fails", "cancelled_ms", "wishes", "scales"):
        assert sum(bool(getattr(one, trouble)) for one in scenarios) >= 20
    assert sum(any(host.dies_ms for host in one.hosts) for one in scenarios) >= 50
    assert sum(any(len(host.speeds) > 1 for host in one.hosts) for one in scenarios) >= 100


class Wrong(Negotiator):
    """A negotiator with a fault: ``change`` spoils what it answers."""

    def __init__(self, settings: Settings, change: Callable[[list[Command]], list[Command]]) -> None:
        super().__init__(settings)
        self._change = change

    def handle(self, event: ev.Event, now_ms: int) -> list[Command]:
        return self._change(super().handle(event, now_ms))


def without(*kinds: type[Command]) -> Callable[[list[Command]], list[Command]]:
    return lambda commands: [one for one in commands if not isinstance(one, kinds)]


def changed(kind: type[Command], **fields: Any) -> Callable[[list[Command]], list[Command]]:
    def change(commands: list[Command]) -> list[Command]:
        return [
            type(one)(**{**{name: getattr(one, name) for name in one.__struct_fields__}, **fields})
            if isinstance(one, kind)
            else one
            for one in commands
        ]

    return change


def copies_twice(commands: list[Command]) -> list[Command]:
    return [*commands, *(one for one in commands if isinstance(one, LaunchCopy))]


@pytest.mark.one_a_day("faults of the core")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(changed(UpdateTaskBlocks, hosts=()), "is in force", id="a task or copy starts on a blocked host"),
        pytest.param(changed(UpdateTaskBlocks, stages=()), "is in force", id="a block for a stage or task only"),
        pytest.param(changed(UpdatePlacement, blocked_hosts=()), "which is none for it", id="a container comes there"),
        pytest.param(changed(LaunchCopy, not_hosts=()), "the task runs on", id="a copy beside its original"),
        pytest.param(changed(LaunchCopy, attempts_max=9), "attempts run", id="more attempts than may be"),
        pytest.param(copies_twice, "a copy of a task", id="a copy is asked for twice"),
        pytest.param(without(WithdrawCopy), "was not withdrawn", id="a copy is left to wait"),
        pytest.param(without(ReleaseContainer), "extra ones were kept", id="an extra container is kept"),
        pytest.param(without(UnblockHost), "blocks that did not end", id="a block does not end"),
        pytest.param(changed(BlockHost, until_ms=None), "does not end", id="a guess without an end"),
    ],
)
def test_a_fault_of_the_core_is_found(change: Callable[[list[Command]], list[Command]], said: str) -> None:
    found = []
    for seed in range(SCENARIOS):
        try:
            run(seed, lambda settings: Wrong(settings, change))
        except BrokenRule as rule:
            found.append(str(rule))
            if said in found[-1]:
                assert f"run({seed})" in found[-1]
                return
    pytest.fail(f"not found in any scenario: {found[:3]}")


class Uncapped(Negotiator):
    """One that asks for copies however many there are."""

    def __init__(self, settings: Settings) -> None:
        speculation = msgspec.structs.replace(settings.speculation, min_copies=1_000)
        super().__init__(msgspec.structs.replace(settings, speculation=speculation))


@pytest.mark.one_a_day("faults of the core")
@pytest.mark.parametrize("where", ["its stage", "the application"])
def test_more_copies_than_the_shares_allow_are_found(where: str) -> None:
    found = []
    for seed in range(SCENARIOS):
        try:
            run(seed, Uncapped)
        except BrokenRule as rule:
            found.append(str(rule))
            if f"copies are live in {where}" in found[-1]:
                return
    pytest.fail(f"not found in any scenario: {found[:3]}")


class Forgetful(Negotiator):
    """One that takes map outputs for nothing."""

    def handle(self, event: ev.Event, now_ms: int) -> list[Command]:
        if isinstance(event, ev.HeldBlocksTold):
            event = ev.HeldBlocksTold(executor_id=event.executor_id, count=0)
        return super().handle(event, now_ms)


def run_all(core: Callable[[Settings], Negotiator] = Negotiator) -> None:
    for seed in range(SCENARIOS):
        run(seed, core)


@pytest.mark.one_a_day("faults of the core")
def test_map_outputs_that_are_given_back_too_early_are_found() -> None:
    with pytest.raises(BrokenRule, match="its map outputs may still be read"):
        run_all(Forgetful)


@pytest.mark.one_a_day("faults of the core")
def test_map_outputs_that_keep_a_container_for_ever_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "OUTPUTS_KEPT_MS", 1 << 60)
    with pytest.raises(BrokenRule, match="extra ones were kept"):
        run_all()


@pytest.mark.one_a_day("faults of the core")
def test_executors_that_are_needed_again_and_get_no_task_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stays_barred(self: ExecutorRows, row: Executor, *, extra: bool) -> None:
        self._count(row, -1)
        row.extra = extra
        self._count(row, 1)

    monkeypatch.setattr(ExecutorRows, "be_extra", stays_barred)
    with pytest.raises(BrokenRule, match="take no task"):
        run_all()


class Hasty(Negotiator):
    """One that gives executors back which hold nothing, and whose tasks have not ended."""

    def handle(self, event: ev.Event, now_ms: int) -> list[Command]:
        answer = super().handle(event, now_ms)
        if isinstance(event, ev.HeldBlocksTold) and not event.count:
            answer.append(ReleaseContainer(executor_id=event.executor_id, reason="it is one too many"))
        return answer


@pytest.mark.one_a_day("faults of the core")
def test_executors_that_are_given_back_with_their_tasks_are_found() -> None:
    with pytest.raises(BrokenRule, match="tasks run there"):
        run_all(Hasty)
