"""The simulator as a tool: small clusters of every kind come to their end, the same way for the same seed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from yarnspec.gateway.simulation.comparison import variants
from yarnspec.gateway.simulation.scenario_file import read_scenario
from yarnspec.simulate.whatif.scenario_run import simulate
from yarnspec.simulate.whatif.slots import FreeSlots

SHIPPED = sorted((Path(__file__).parents[3] / "conf" / "scenarios").glob("*.yaml"))
SMALL = """
hosts:
  - {count: 3}
  - {name: slow, slow: 6, from: 5 s}
  - {name: dying, dies: 12 s}
  - {name: late, arrives: 8 s, fails: 0.4}
executors: {min: 2, max: 6, cores: 2, never_comes: 0.1, die: 0.1}
faults: {task_fails: 0.05, fetch_fails: 0.02}
block: [{host: host2, at: 6 s, for: 5 s}]
scale: [{at: 10 s, min: 2, max: 4}]
options:
  resources: {rescale_cooldown: 1 s, rescale_stabilization: 2 s, rescale_max_delay: 1 s}
  blocklist.slow_duration: 5 s
jobs:
  - stages:
      - {tasks: 30, work: 1 s}
      - {tasks: 20, work: 1 s, python: true}
  - stages:
      - {tasks: 20, work: 500 ms, commits: true}
"""


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_every_chance_comes_to_the_end_of_the_program(first: int) -> None:
    for seed in range(first, first + 10):
        outcome = simulate(read_scenario(SMALL, "small", seed).plan)
        assert (outcome.state, outcome.tasks) == ("SUCCEEDED", 70), outcome


def test_the_same_seed_gives_the_same_hash_also_in_a_process_that_hashes_otherwise() -> None:
    code = (
        "import sys; from yarnspec.gateway.simulation.scenario_file import read_scenario\n"
        "from yarnspec.simulate.whatif.scenario_run import simulate\n"
        "text = sys.stdin.read()\n"
        "for seed in (1, 2, 3): print(simulate(read_scenario(text, 'small', seed).plan).digest)\n"
    )
    here = [simulate(read_scenario(SMALL, "small", seed).plan).digest for seed in (1, 2, 3)]
    assert len(set(here)) == 3
    for hash_seed in ("1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": hash_seed}, input=SMALL,
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        assert done.stdout.split() == here


def test_a_burst_of_hosts_is_one_rescale_and_bounds_start_the_job_sooner_than_sparks_wait() -> None:
    (path,) = (one for one in SHIPPED if one.stem == "burst")
    outcomes = {one.name: simulate(one.plan) for one in variants(read_scenario(path.read_text(), "burst"))[:2]}
    bounded, spark = outcomes["as written"], outcomes["Spark's rules"]
    assert [one.cause for one in bounded.rescales] == ["new resources", "new requirements"]
    assert bounded.rescales[1].got == 16
    assert bounded.first_task_ms is not None
    assert spark.first_task_ms is not None
    assert bounded.first_task_ms < spark.first_task_ms
    assert bounded.took_ms < spark.took_ms


MOVES = """
hosts:
  - {count: 2, executors: 8}
  - {name: late, count: 2, executors: 8, arrives: 20 s}
executors: {count: 8, cores: 2}
options: {resources: {rescale_cooldown: 1 s, rescale_stabilization: 2 s}}
jobs:
  - stages: [{tasks: 60, work: 4 s}]
  - stages: [{tasks: 60, work: 4 s}]
  - stages: [{tasks: 60, work: 4 s}]
"""


def test_executors_move_to_hosts_that_come_and_no_task_runs_twice() -> None:
    outcome = simulate(read_scenario(MOVES, "moves").plan)
    assert [(one.why, one.wanted, one.got) for one in outcome.rescales] == [("4 executors moved", 8, 8)]
    assert outcome.failed_attempts == 0


LONG = """
hosts:
  - {count: 4}
  - {name: slow, slow: 6}
executors: {count: 5, cores: 2}
jobs:
  - stages:
      - {tasks: 40, work: WORK}
"""


DOWN_AND_UP = """
hosts: [{count: 6, executors: 2}]
executors: {count: 12, cores: 2}
options: {resources: {rescale_cooldown: 5 s, rescale_stabilization: 5 s, rescale_max_delay: 0 s}}
scale: [{at: 20 s, min: 2, max: 4}, {at: 60 s, min: 12, max: 12}]
jobs:
  - stages: [{tasks: 240, work: 90 s}]
"""


def test_executors_that_are_wanted_again_while_their_tasks_run_work_on() -> None:
    outcome = simulate(read_scenario(DOWN_AND_UP, "down and up", None).plan)
    unscaled = simulate(read_scenario(DOWN_AND_UP.replace("scale:", "# scale:"), "unscaled", None).plan)
    assert [one.wanted for one in outcome.rescales] == [4, 12]
    assert outcome.executors == 12
    assert outcome.took_ms < 1.1 * unscaled.took_ms


def test_a_long_job_costs_no_more_than_a_short_one_with_as_many_tasks() -> None:
    outcome = simulate(read_scenario(LONG.replace("WORK", "1 h"), "long").plan)
    assert outcome.state == "SUCCEEDED"
    assert outcome.took_ms > 4 * 3_600_000
    assert outcome.copies_won  # of the slow host's tasks
    assert outcome.events < 1_500
    endless = simulate(read_scenario(LONG.replace("WORK", "1000 d"), "endless").plan)
    assert (endless.state, endless.took_ms) == ("UNFINISHED", 7 * 86_400_000)


def test_short_tasks_that_begin_beside_a_long_one_are_looked_at_as_often_as_alone() -> None:
    short = (
        "      - {tasks: 1, work: 8 h, parents: []}\n      - {tasks: 40, work: 4 s, parents: [1]}\n"
        "      - {tasks: 1, parents: [0, 2]}\n"
    )
    beside = simulate(read_scenario(LONG.replace("WORK", "10 h").replace("tasks: 40", "tasks: 1") + short, "x").plan)
    assert beside.copies_won


def test_a_stage_that_no_other_reads_runs_as_well() -> None:
    job = "      - {tasks: 20, work: 1 min}\n      - {tasks: 4, parents: []}\n      - {tasks: 4}\n"
    outcome = simulate(read_scenario(LONG.replace("      - {tasks: 40, work: WORK}\n", job), "unread").plan)
    assert outcome.state == "SUCCEEDED"
    assert outcome.took_ms > 2 * 60_000  # twice a minute on ten slots


def test_below_the_least_the_scenario_ends_as_the_application_would() -> None:
    plan = read_scenario(SMALL.replace("min: 2, max: 6", "min: 9, max: 9"), "small").plan
    plan = replace(plan, wishes=())
    outcome = simulate(plan)
    assert (outcome.state, outcome.first_task_ms) == ("FAILED", None)
    assert "of at least 9 executors" in outcome.reason


def test_free_slots_are_what_is_free_and_not_blocked() -> None:
    rng = random.Random(1)  # noqa: S311 - chance from a seed
    slots = FreeSlots(2, rng)
    hosts = {str(n): f"h{n % 4}" for n in range(12)}
    taken = dict.fromkeys(hosts, 0)
    blocked: frozenset[str] = frozenset()
    for executor_id, host in hosts.items():
        slots.come(executor_id, host)
    for _ in range(2_000):
        one = rng.choice(list(hosts))
        if rng.random() < 0.5 and taken[one] < 2:
            slots.take(one)
            taken[one] += 1
        elif taken[one]:
            slots.give_back(one)
            taken[one] -= 1
        elif rng.random() < 0.2:
            blocked = frozenset(rng.sample(sorted(set(hosts.values())), rng.randint(0, 2)))
            slots.block(blocked, frozenset())
        expected = {each for each in hosts if taken[each] < 2 and hosts[each] not in blocked}
        assert {each for each, _ in slots.some(100)} == expected
        assert (slots.any() is None) == (not expected)
