"""Programs of all kinds are killed at moments drawn from a seed: the result is right, and only what is missing runs.

What is asserted each time: the last line of the output is that of an undisturbed run, and the tasks that the next life
launches are all tasks without the map outputs that were durable at the kill.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.kinds import KINDS, Kinds, result
from integration.lives import Lives, Output, output_files, outputs
from integration.turns import marks, turn
from integration.waiting import wait_for

FLUSH_MS = 1_000
WRITTEN_MS = 1_500
"""What ended so long before a kill, beside the flush interval, is durable: so long writing may take."""
OPTIONS = ("--set", f"recovery.flush_interval={FLUSH_MS}ms")
MOMENTS = 10
"""So often each program is killed: the driver and the whole master by turns."""
SEEDS = range(MOMENTS * len(KINDS))
QUICK = {turn(SEEDS), turn(SEEDS[::-1])}
"""Two of them, others each day."""


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=marks(quick=seed in QUICK)) for seed in SEEDS])
def test_killed_at_a_random_moment(seed: int, submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    kind = KINDS[seed % len(KINDS)]
    kinds = Kinds(submit, cluster, tmp_path, OPTIONS)
    undisturbed = kinds.undisturbed(kind)
    wanted = dice.randrange(1, undisturbed.maps)
    victim = ("driver", "master")[seed // len(KINDS) % 2]
    submission = kinds.start(kind)
    application = submission.application_id()
    seen: set[Output] = set()

    def enough() -> bool:
        assert submission.process.poll() is None, submission.stderr[-3_000:]
        seen.update(output_files(cluster, application))
        return len(seen) >= wanted

    wait_for(f"{wanted} map outputs", enough, 120, poll_s=0.03)
    settled_s = time.time() - (FLUSH_MS + WRITTEN_MS) / 1000
    settled = {each for each, path in output_files(cluster, application).items() if path.stat().st_mtime < settled_s}
    faults.strike(cluster, application, victim)
    there = output_files(cluster, application).keys()
    ended = submission.wait(180).expect(0)

    lives = Lives(cluster, application)
    story = f"{kind}, the {victim} killed after {wanted} of {undisturbed.maps} outputs\n{lives.said}"
    assert result(ended.stdout) == undisturbed.result, story
    assert len(lives.epochs) == 2, story
    durable = outputs(lives.saved(lives.last))
    assert settled <= durable, f"{story}\nnot recorded: {settled - durable}"
    lives.check(undisturbed.tasks, durable - there)
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
