"""Other rules beside a scenario's own: they differ in nothing but what the other system does otherwise."""

from __future__ import annotations

from yarnspec.gateway.simulation.comparison import variants
from yarnspec.gateway.simulation.scenario_file import read_scenario
from yarnspec.simulate.whatif.plan import SimulationPlan
from yarnspec.simulate.whatif.scenario_run import Outcome, simulate

SCENARIO = """
hosts:
HOSTS
executors: EXECUTORS
options: {OPTIONS}
jobs:
  - stages: [STAGE]
"""


def _variants(hosts: str, executors: str, stage: str, options: str = "") -> dict[str, SimulationPlan]:
    text = SCENARIO.replace("HOSTS", hosts).replace("EXECUTORS", executors).replace("STAGE", stage)
    return {one.name: one.plan for one in variants(read_scenario(text.replace("OPTIONS", options), "scenario"))}


def _outcomes(plans: dict[str, SimulationPlan]) -> dict[str, Outcome]:
    return {name: simulate(plan) for name, plan in plans.items()}


def test_neither_spark_nor_flink_limits_the_copies() -> None:
    """A third of the hosts is slow: each of its tasks is copied, as yarnspec's limits would not allow."""
    hosts = "  - {count: 6}\n  - {name: slow, count: 3, slow: 8}"
    plans = _variants(hosts, "{count: 9, cores: 4}", "{tasks: 120, work: 10 s}")
    for name in ("Spark's rules", "Flink's rules"):
        speculation = plans[name].settings.speculation
        assert (speculation.max_share_of_stage, speculation.max_share_of_application) == (1.0, 1.0)
    assert simulate(plans["Spark's rules"]).took_ms < 0.8 * simulate(plans["no speculation"]).took_ms


def test_spark_moves_no_executors() -> None:
    hosts = "  - {count: 2, executors: 8}\n  - {name: late, count: 2, executors: 8, arrives: 20 s}"
    quick = "resources.rescale_cooldown: 1 s, resources.rescale_stabilization: 2 s"
    jobs = "]\n  - stages: [".join(["{tasks: 60, work: 4 s}"] * 3)
    outcomes = _outcomes(_variants(hosts, "{count: 8, cores: 2}", jobs, quick))
    assert outcomes["as written"].rescales
    assert not outcomes["Spark's rules"].rescales


def test_the_scenario_s_wait_holds_under_all_rules() -> None:
    options = "resources.wait_timeout: 20 min"
    plans = _variants("  - {count: 4, arrives: 8 min}", "{min: 4, max: 4}", "{tasks: 8}", options)
    assert {outcome.state for outcome in _outcomes(plans).values()} == {"SUCCEEDED"}


def test_the_scenario_s_placement_and_executors_hold_under_all_rules() -> None:
    options = "placement.max_per_host: 1, executor.young_age: 7 s"
    plans = _variants("  - {count: 2, executors: 4}", "{count: 4}", "{tasks: 8}", options)
    assert {plan.settings.executor.young_age_ms for plan in plans.values()} == {7_000}
    assert {outcome.executors for outcome in _outcomes(plans).values()} == {2}
