"""Programs whose tasks fail now and then wherever they run, and a host that is broken: many seeds, whole batches."""

from __future__ import annotations

import random

import pytest

from tests.core.stragglers import H2, Stragglers
from tests.core.world import HOSTS
from yarnspec.core.messages.observations import Failure, RowKind, State

ROUNDS, TASKS = 60, 8
SEEDS = range(30)


def run(seed: int, hosts: int, share: float, broken_from: int = ROUNDS) -> tuple[str, int]:
    """The first host that is blocked as faulty for the application and how many tasks had failed there; "" for none.

    Of all tasks ``share`` fail once and end well on another host; from a round on four of five fail on the first host.
    """
    chance = random.Random(seed)  # noqa: S311 - the same each time
    world = Stragglers(hosts=HOSTS[:hosts], slots=4)
    world.stage(0, ROUNDS * TASKS)
    task_id = 0
    failed_there = dict.fromkeys(HOSTS[:hosts], 0)
    for turn in range(ROUNDS):
        first = [(index, chance.randrange(hosts)) for index in range(turn * TASKS, (turn + 1) * TASKS)]
        again: list[tuple[int, int]] = []
        for attempt, tasks in ((0, first), (1, again)):
            rows = []
            for index, at in tasks:
                broken = at == 0 and turn >= broken_from and chance.random() < 0.8
                fails = attempt == 0 and (broken or chance.random() < share)
                row = {
                    "stage": 0, "stage_attempt": 0, "index": index, "attempt": attempt, "task_id": task_id,
                    "host": HOSTS[at], "executor": str(at + 1), "launch_ms": world.now_ms, "finish_ms": world.now_ms,
                    "state": State.FAILED if fails else State.SUCCESS,
                    "failure": Failure.EXCEPTION if fails else Failure.NONE,
                }  # fmt: skip
                task_id += 1
                rows += [(RowKind.TASK_STARTED, row), (RowKind.TASK_ENDED, row)]
                if fails:
                    failed_there[HOSTS[at]] += 1
                    again.append((index, chance.choice([other for other in range(hosts) if other != at])))
            world.rows(*rows)
        world.pass_ms(1_000)
        faulty = [one.host for one in world.view().blocks if one.level == "application"]
        if faulty:
            return faulty[0], failed_there[faulty[0]]
    return "", 0


@pytest.mark.one_a_day("flaky tasks")
@pytest.mark.parametrize("hosts", [2, 4])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_failures_that_have_nothing_to_do_with_hosts_block_none(hosts: int, share: float) -> None:
    blocked = [seed for seed in SEEDS if run(seed, hosts, share)[0]]
    assert len(blocked) <= 1, blocked


@pytest.mark.one_a_day("flaky hosts")
@pytest.mark.parametrize(("hosts", "most"), [(2, 24), (4, 16)])
def test_a_host_where_most_tasks_fail_is_found_soon(hosts: int, most: int) -> None:
    found = [run(seed, hosts, 0.005, broken_from=20) for seed in SEEDS]
    assert {host for host, _ in found} == {H2}
    assert max(count for _, count in found) <= most, found
