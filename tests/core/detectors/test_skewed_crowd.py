"""Twenty hosts that run for a minute, every tenth task six times as large as the others and nothing known of that."""

from __future__ import annotations

import heapq
import random

import pytest

from tests.core.taskworld import Launched, TaskWorld
from yarnspec.core.messages.observations import NONE

HOSTS, SLOTS = 20, 4
TASK_MS, LARGER = 2_000, 6
LENGTH_MS, CHECK_MS = 60_000, 500
SLOWER = 5


def run(stages: int, seed: int, slow: str = "", input_bytes: int = NONE) -> tuple[dict[str, int], set[int], int]:
    """Which hosts are called slow and when first, the late tasks of healthy hosts, and how many tasks there were.

    ``slow``: that host is slow from the middle on. ``input_bytes``: what is known of each task, large or not.
    """
    chance = random.Random(seed)  # noqa: S311 - the same each time
    those = TaskWorld()
    for stage in range(stages):
        those.stage(10_000, stage=stage)
    running: list[tuple[int, int, Launched]] = []
    begun = [0] * stages

    def begin(at: int, host: str) -> None:
        stage = chance.randrange(stages)
        task = those.launch(begun[stage], host, at, stage=stage, input_bytes=input_bytes)
        begun[stage] += 1
        took_ms = TASK_MS * chance.lognormvariate(0, 0.2) * (LARGER if chance.random() < 0.1 else 1)
        took_ms *= SLOWER if host == slow and at > LENGTH_MS / 2 else 1
        heapq.heappush(running, (at + int(took_ms), task.task_id, task))

    for slot in range(HOSTS * SLOTS):
        begin(chance.randrange(CHECK_MS), f"h{slot % HOSTS}")
    called: dict[str, int] = {}
    late: set[int] = set()
    for now in range(CHECK_MS, LENGTH_MS, CHECK_MS):
        while running[0][0] <= now:
            at, _, task = heapq.heappop(running)
            those.end(task, at)
            begin(at, task.host)
        late |= {one.task_id for one in those.judge(now) if one.host != slow}
        for host in those.slow_hosts(now):
            called.setdefault(host, now)
    return called, late, sum(begun)


@pytest.mark.parametrize(
    ("stages", "input_bytes", "wrong"),
    [(1, NONE, 1), (3, NONE, 5), (1, 1_000_000, 1)],
    ids=["one stage", "three stages", "equal bytes, which are no reason to call a large task slow"],
)
def test_large_tasks_that_meet_on_a_host_are_hardly_ever_held_against_it(
    stages: int, input_bytes: int, wrong: int
) -> None:
    """Of 240 hosts that run for a minute so many are called slow, and one task in a hundred at most."""
    found = [run(stages, seed, input_bytes=input_bytes) for seed in range(12)]
    assert sum(len(called) for called, _, _ in found) <= wrong
    assert sum(len(late) for _, late, _ in found) <= 0.01 * sum(tasks for _, _, tasks in found)


@pytest.mark.parametrize("stages", [1, 3])
def test_a_host_that_becomes_slow_among_them_is_found(stages: int) -> None:
    called, _, _ = run(stages, seed=1, slow="h3")
    assert called.keys() == {"h3"}
    assert LENGTH_MS / 2 < called["h3"] < LENGTH_MS
