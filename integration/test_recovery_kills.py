"""Programs of all kinds are killed at moments drawn from a seed: the result is right, and only what is missing runs.

What is asserted each time: the last line of the output is that of an undisturbed run, and the tasks that the next life
launches are all tasks without the map outputs that were durable at the kill.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.lives import Lives, Output, output_files, outputs
from integration.programs import resumes, stages
from integration.soak.programs import frames
from integration.submitting import Submission
from integration.turns import turn
from integration.waiting import wait_for

FLUSH_MS = 1_000
WRITTEN_MS = 1_500
"""What ended so long before a kill, beside the flush interval, is durable: so long writing may take."""
OPTIONS = (
    "--set", "recovery.enabled=true", "--set", f"recovery.flush_interval={FLUSH_MS}ms",
    "--set", "speculation.enabled=false", "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
    "--conf", "spark.sql.shuffle.partitions=5", "--conf", "spark.sql.files.maxPartitionBytes=16k",
    "--conf", "spark.sql.files.openCostInBytes=16k",
    # Of two small tables AQE broadcasts the one that is there first, which may be another one in the next life.
    "--conf", "spark.sql.adaptive.autoBroadcastJoinThreshold=-1",
)  # fmt: skip
SEED = 7
KINDS = (
    "stages", "tables false", "frames true", "frames false", "rdd true", "lines true", "tables true", "udf true",
    "order true", "order false", "subquery true", "few true",
)  # fmt: skip
"""A program, and whether execution is adaptive; `stages` decides that itself."""
MOMENTS = 10
"""So often each of them is killed: the driver and the whole master by turns."""
SEEDS = range(MOMENTS * len(KINDS))
QUICK = {turn(SEEDS), turn(SEEDS[::-1])}
"""Two of them, others each day."""


@dataclass(frozen=True)
class Undisturbed:
    """What a program does when nothing happens to it."""

    result: Any
    tasks: int
    maps: int


# Of the others it is seen when the first of its kind is killed.
KNOWN = {
    "tables false": Undisturbed(resumes.expected_tables(), 50, 37),
    "stages": Undisturbed({"result": stages.expected()}, stages.TASKS, stages.ALL_MAPS),
    "frames false": Undisturbed({"result": frames.expected(SEED)}, 150, 75),
}

Start = Callable[[str], Submission]


@pytest.fixture
def start(submit: Submit, cluster: Cluster, tmp_path: Path) -> Start:
    """Submits a program of one of the kinds."""

    def start(kind: str) -> Submission:
        name, _, adaptive = kind.partition(" ")
        options = [*OPTIONS, *(["--conf", f"spark.sql.adaptive.enabled={adaptive}"] if adaptive else [])]
        if name == "stages":
            for gate in (1, 2, 3, 4):
                (tmp_path / f"go-{gate}").touch()
            target = f"{cluster.mini.default_fs}/test/{tmp_path.name}"
            return submit("stages.py", str(tmp_path), target, options=options)
        if name == "frames":
            return submit(frames.__file__, str(SEED), options=options)
        if not (tmp_path / "inputs").exists():
            resumes.write_inputs(tmp_path / "inputs")
        return submit(resumes.__file__, name, (tmp_path / "inputs").as_uri(), adaptive, options=options)

    return start


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed in QUICK else pytest.mark.soak) for seed in SEEDS]
)
def test_killed_at_a_random_moment(seed: int, start: Start, cluster: Cluster) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    kind = KINDS[seed % len(KINDS)]
    if kind not in KNOWN:
        KNOWN[kind] = run_undisturbed(start(kind), cluster)
    undisturbed = KNOWN[kind]
    wanted = dice.randrange(1, undisturbed.maps)
    victim = ("driver", "master")[seed // len(KINDS) % 2]
    submission = start(kind)
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


def run_undisturbed(submission: Submission, cluster: Cluster) -> Undisturbed:
    """The same program, left alone."""
    ended = submission.wait(180).expect(0)
    lives = Lives(cluster, submission.application_id())
    return Undisturbed(result(ended.stdout), lives.launched(lives.last), len(lives.ran(lives.last)))


def result(stdout: str) -> Any:
    """What a program printed last."""
    return json.loads(stdout.splitlines()[-1].removeprefix("RESULT "))
