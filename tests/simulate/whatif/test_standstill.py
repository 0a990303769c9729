"""Runs in which nothing happens any more end soon, and those that would have gone on do not."""

from __future__ import annotations

import pytest

from yarnspec.core.messages import events as ev
from yarnspec.gateway.simulation.comparison import variants
from yarnspec.gateway.simulation.scenario_file import read_scenario
from yarnspec.simulate.whatif.scenario_run import simulate
from yarnspec.simulate.whatif.slots import FreeSlots
from yarnspec.simulate.whatif.standstill import Standstill
from yarnspec.simulate.world.clock import START_MS

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
ENDLESS = """
hosts:
  - {name: dying, dies: 10 s}
executors: {count: 1}
options: {resources.wait_timeout: 0}
jobs:
  - stages: [{tasks: 9, work: 3 s}]
"""
"""Executors are waited for without an end, and come no more."""


@pytest.mark.parametrize("number", range(4))
def test_a_job_whose_executors_are_gone_for_good_ends(number: int) -> None:
    outcome = simulate(variants(read_scenario(ENDLESS, "endless"))[number].plan)
    assert outcome.state == "UNFINISHED"
    assert outcome.reason.endswith(" tasks wait, no executor takes them")
    assert outcome.took_ms < 5 * HOUR_MS
    assert outcome.events < 1_500


def test_so_does_one_whose_executors_take_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FreeSlots, "any", lambda _: None)
    outcome = simulate(read_scenario(ENDLESS.replace(", dies: 10 s", ""), "idle").plan)
    assert (outcome.state, outcome.reason) == ("UNFINISHED", "9 tasks wait, no executor takes them")
    assert outcome.events < 1_500


def test_so_does_one_that_waits_for_its_start() -> None:
    text = ENDLESS.replace(", dies: 10 s", "").replace("count: 1", "min: 2, max: 2")
    outcome = simulate(read_scenario(text, "start").plan)
    assert (outcome.state, outcome.first_task_ms) == ("UNFINISHED", None)
    assert outcome.reason.startswith("nothing happens any more; it waits: at least 2 executors")


@pytest.mark.parametrize(
    "later",
    [
        "  - {name: late, arrives: 3 d}\n",
        "  - {name: first, dies: 2 d}\n  - {name: late, arrives: 3 d}\n",
    ],
)
def test_a_host_that_comes_days_later_is_waited_for(later: str) -> None:
    outcome = simulate(read_scenario(ENDLESS.replace("executors:", f"{later}executors:"), "late").plan)
    assert outcome.state == "SUCCEEDED"


def test_containers_that_come_a_day_later_are_waited_for() -> None:
    slow = "{count: 1, container_after: [1 d, 1 d]}"
    plan = read_scenario(ENDLESS.replace(", dies: 10 s", "").replace("{count: 1}", slow), "slow").plan
    assert simulate(plan).state == "SUCCEEDED"


def test_users_wishes_and_the_waits_of_options_are_waited_for() -> None:
    text = ENDLESS + "block: [{host: dying, at: 1 d, for: 1 d}]\n"
    standstill = Standstill(read_scenario(text, "wishes").plan)
    standstill.heard(ev.JobStarted(job=0, stages=(0,)), START_MS + HOUR_MS)
    assert not standstill.certain(START_MS + 2 * DAY_MS + HOUR_MS)
    assert standstill.certain(START_MS + 3 * DAY_MS)
    waits = "{resources: {wait_timeout: 0, rescale_cooldown: 1 d, rescale_stabilization: 1 d, rescale_max_delay: 1 d}}"
    standstill = Standstill(read_scenario(ENDLESS.replace("{resources.wait_timeout: 0}", waits), "waits").plan)
    assert not standstill.certain(START_MS + 3 * DAY_MS + HOUR_MS)
    assert standstill.certain(START_MS + 4 * DAY_MS)


def test_what_the_core_does_by_itself_is_no_sign_of_life() -> None:
    standstill = Standstill(read_scenario(ENDLESS, "signs").plan)
    now_ms = START_MS + DAY_MS
    standstill.heard(ev.TimerFired(name="judge-tasks", at_ms=now_ms), now_ms)
    standstill.heard(ev.HeldBlocksTold(executor_id="1", count=1), now_ms)
    standstill.heard(ev.PlacementAcknowledged(version=1), now_ms)
    assert standstill.certain(now_ms)
    standstill.heard(ev.ExecutorRemoved(executor_id="1", reason="no heartbeat"), now_ms)
    assert not standstill.certain(now_ms)
