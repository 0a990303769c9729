"""A seed always means the same, and what is drawn can be done."""

from __future__ import annotations

from integration.soak.programs import frames, shuffles
from integration.soak.scenario import MOST_HOSTS_GONE, WEIGHTS, draw

SEEDS = range(500)


def test_the_same_seed_gives_the_same_scenario() -> None:
    assert [draw(seed) for seed in SEEDS] == [draw(seed) for seed in SEEDS]
    assert len({repr(draw(seed)) for seed in SEEDS}) == len(SEEDS)


def test_every_fault_and_every_program_comes_up() -> None:
    assert {fault.kind for seed in SEEDS for fault in draw(seed).faults} == set(WEIGHTS)
    assert {draw(seed).job for seed in SEEDS} == {"shuffles", "frames", "tpch"}
    assert {draw(seed).mode for seed in SEEDS} == {"blacklist", "constraints"}
    assert {draw(seed).recovery for seed in SEEDS} == {True, False}


def test_faults_come_in_order_and_never_take_too_many_hosts() -> None:
    for seed in SEEDS:
        faults = draw(seed).faults
        assert 1 <= len(faults) <= 3
        assert [fault.at_s for fault in faults] == sorted(fault.at_s for fault in faults)
        gone = 0
        for fault in faults:
            gone += {"stop host": 1, "kill host": 1, "start host": -1}.get(fault.kind, 0)
            assert 0 <= gone <= MOST_HOSTS_GONE


def test_only_tpch_draws_queries() -> None:
    for seed in SEEDS:
        scenario = draw(seed)
        assert bool(scenario.queries) == (scenario.job == "tpch")
        assert all(1 <= number <= 22 for number in scenario.queries)


def test_right_results_depend_on_the_seed() -> None:
    for program in (shuffles, frames):
        assert program.expected(1) != program.expected(2)
