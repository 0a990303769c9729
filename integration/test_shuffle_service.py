"""A cluster whose hosts run Spark's own shuffle service: executors end and their outputs stay, over drivers too.

It has a cluster of its own: `make soak` runs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import HOSTS, PROPERTIES, Submit, Yarnspec, leftovers, started
from integration.lives import Lives, Output, output_files
from integration.soak.programs import shuffles
from integration.test_recovery_faults import APART, OPTIONS, data_file, flip, no_next_life, wait_for_outputs
from integration.test_scaling import QUICK, check_once, event_log
from integration.waiting import wait_for
from yarnspec.minicluster import MiniCluster

pytestmark = pytest.mark.soak

SERVICE = ("--conf", "spark.shuffle.service.enabled=true")
SEED = 23
TASKS = shuffles.TASKS * (shuffles.STEPS + 1)


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, user_environment: dict[str, str]
) -> Iterator[Cluster]:
    """Hosts with the service, which wants each application's secret."""
    mini = MiniCluster(
        tmp_path_factory.mktemp("shuffleservice"), nodes=HOSTS, shuffle_service=True, properties=PROPERTIES
    )
    with started(request, mini, user_environment) as running:
        yield running


@pytest.mark.one_a_day("executors of all kinds")
def test_outputs_outlive_their_executors_and_their_driver(submit: Submit, cluster: Cluster) -> None:
    """An executor is killed, then the master; of what is left a file is damaged and a directory is somewhere else."""
    submission = submit(shuffles.__file__, str(SEED), options=[*OPTIONS, *APART, *SERVICE])
    application = submission.application_id()
    wait_for_outputs(cluster, application, shuffles.TASKS + 5)
    faults.kill(faults.executors(cluster, application)[:1])
    wait_for_outputs(cluster, application, 3 * shuffles.TASKS + 5)
    with no_next_life(cluster):
        faults.kill(faults.master(cluster, application))
        wait_for("the executors' end", lambda: not faults.executors(cluster, application), 60)
        files = output_files(cluster, application)
        moved, damaged = move_and_damage(files)
    ended = submission.wait(240).expect(0)

    lives = Lives(cluster, application)
    assert ended.lines[-1]["result"] == shuffles.expected(SEED), lives.said
    assert len(lives.epochs) == 2, lives.said
    # Not one map ran again because its executor was gone.
    done = Counter(
        (one["stage"], one["index"]) for one in lives.of("TaskFinished", lives.epochs[0]) if one["state"] == "SUCCESS"
    )
    assert set(done.values()) == {1}, lives.said
    told = lives.of("OutputsReported", lives.last)
    served = sum(one["served"] for one in told if not one["executor_id"])
    adopted = sum(one["adopted"] for one in told)
    refused: Counter[str] = Counter()
    for one in told:
        refused.update(one["refused"])
    assert refused == {"checksum differs": 1}, lives.said
    assert 0 < adopted <= len(moved), lives.said
    saved = lives.check(TASKS, {damaged})
    there = sum(len(one.outputs) for one in saved.shuffles.values())
    assert served + adopted + 1 == there, lives.said
    print(f"{there} saved: {served} given out by services, {adopted} taken over")
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("rescales")
def test_executors_move_that_wrote_map_outputs(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Four executors on two hosts become one on each of four, as the service keeps what they wrote."""
    stop = tmp_path / "stop"
    away = cluster.hosts[2:]
    options = [
        *SERVICE,
        *QUICK,
        *event_log(tmp_path),
        "--num-executors",
        "4",
        "--exclude-hosts",
        ",".join(away),
        "--force",
    ]
    job = submit("rounds.py", str(stop), "8", "0.2", "shuffled", options=options)
    application = job.application_id()
    wait_for("a round with four executors", lambda: job.rounds and len(job.rounds[-1]["containers"]) == 4, 90)
    for host in away:
        yarnspec("hosts", application, "unblock", host).expect(0)
    one_each = dict.fromkeys(cluster.hosts, 1)
    wait_for("one executor on each host", lambda: Counter(cluster.executors(application).values()) == one_each, 90)
    stop.touch()
    assert job.wait(60).expect(0).lines[-1]["wrong"] == 0
    ended = yarnspec("events", application, "--type", "EndRescale", "-o", "json").expect(0).lines
    assert all(one["why"].endswith("moved") for one in ended)
    check_once(tmp_path)


def move_and_damage(files: dict[Output, Path]) -> tuple[set[Output], Output]:
    """Damage a file of the executor with most outputs, rename the directory of the next: both hosts are asked for."""
    directories: dict[Path, set[Output]] = {}
    for output, path in files.items():
        directories.setdefault(path.parents[1], set()).add(output)
    whole, moved = sorted(directories, key=lambda each: -len(directories[each]))[:2]
    # Spark numbers this chain from its end: of the newest shuffle not all may be recorded.
    newest = min(shuffle for shuffle, _ in files)
    victim = min(one for one in directories[whole] if one[0] != newest)
    flip(data_file(files[victim]))
    moved.rename(moved.with_name("blockmgr-moved"))
    return directories[moved], victim
