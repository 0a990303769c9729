"""Programs of all kinds are killed at moments drawn by lot: the result is right, and only what is missing runs.

What is asserted each time: the last line of the output, and the files of those that write some, are as when nothing
happens. The tasks that the next driver launches are all without the map outputs that were durable at the kill,
and without those of writes that were committed: fewer than all if any was recorded by then. Where these are waited for,
there were as many as `status` had said.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, leftovers
from integration.kinds import KINDS, UNTIMELY, Kinds, result, written_rows
from integration.lives import Lives, Output, durable_outputs, opened, output_files, outputs, usable
from integration.programs import stages
from integration.submitting import run_yarnspec
from integration.waiting import wait_for
from yarnspec.core.recovery.savedwork import saved_writes

OPTIONS = ("--set", "recovery.flush_interval=1s")
MOMENTS = 20
"""So often each program is killed: ten times the driver and ten times the whole master, half of them when so many
outputs are there, and half when so many of them are in the journal."""
AT_THE_END = {0, 1}
"""These have all their outputs there: one for each victim."""
CASES = [(kind, number) for number in range(MOMENTS) for kind in (*KINDS, "observed true", "repartition true")]


def moment(number: int) -> str:
    """What is waited for before the kill."""
    return ("there", "in the journal")[number // 2 % 2]


@pytest.mark.one_a_day("outputs outlive the driver")
@pytest.mark.parametrize(("kind", "number"), [pytest.param(*each, id="{} {}".format(*each)) for each in CASES])
def test_killed_at_a_random_moment(kind: str, number: int, submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    dice = random.Random(f"{kind} {number}")  # noqa: S311 - repeatable on purpose
    victim = ("driver", "master")[number % 2]
    what = moment(number)
    kinds = Kinds(submit, cluster, tmp_path, OPTIONS)
    undisturbed = kinds.undisturbed(kind)
    # Up to all of them, when only results and writes are left; up to half where they are waited for in the journal:
    # when it has the last, Spark may have dropped the first.
    most = undisturbed.maps - (kind in UNTIMELY) if what == "there" else undisturbed.maps // 2
    wanted = most if number in AT_THE_END else dice.randint(1, most)
    submission = kinds.start_and_hold(kind)
    application = submission.application_id()
    seen: set[Output] = set()

    def enough() -> bool:
        submission.check_running()
        seen.update(output_files(cluster, application))
        return len(seen) >= wanted

    wait_for(f"{wanted} map outputs", enough, 120, poll_s=0.03)
    told = 0
    if what == "in the journal":
        with opened(cluster, application) as running:

            def recorded() -> int:
                durable = durable_outputs(running)
                return durable if enough() and durable >= wanted else 0

            told = wait_for("their records", recorded, 120, poll_s=0.03)
    faults.strike(cluster, application, victim)
    there = output_files(cluster, application).keys()
    kinds.let_end()
    ended = submission.wait(180).expect(0)

    lives = Lives(cluster, application)
    story = f"{kind}, the {victim} killed when {wanted} of {undisturbed.maps} outputs were {what}\n{lives.said}"
    assert result(ended.stdout) == undisturbed.result, story
    assert len(lives.epochs) == 2, story
    assert lives.not_recorded == {}, story
    on_disk = lives.recorded(lives.epochs[0])
    assert told <= on_disk, f"{story}\n{told} were told to be on disk, {on_disk} are"
    saved = lives.saved(lives.last)
    gone = outputs(saved) - there
    status = run_yarnspec(cluster, "status", application, "-o", "json").document
    skipped = status["recovery"]["skipped_writes"]
    committed = [one for one in saved_writes(saved) if one.state == "committed"]
    assert skipped >= len(committed), f"{story}\na committed write ran again"
    lives.check(undisturbed.tasks, gone, spared=skipped * stages.WRITES)
    assert not on_disk or any(usable(saved, gone).values()), f"{story}\n{on_disk} outputs on disk, and none to use"
    if kind.startswith("stages"):
        assert written_rows(cluster, kinds.target) == stages.written(), story
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
