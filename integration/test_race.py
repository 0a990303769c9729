"""The race that users of Spark know: a container comes from a host that was blocked after YARN had placed it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.processes import ContainerProcess
from integration.waiting import NotInTimeError, wait_for

TRIES = 6


@pytest.mark.one_a_day("blocked hosts")
@pytest.mark.parametrize("mode", ["blacklist", "constraints"])
def test_a_container_placed_before_the_block_is_released_before_launch(
    mode: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The AM's JVM is stopped between YARN's placement and the answer that carries it, and the block comes there."""
    stop = tmp_path / "stop"
    # Four executors that fill four hosts: the replacement of a killed one can only be placed where it was.
    options = ["--executor-memory", "4g", "--num-executors", "4", "--set", f"placement.mode={mode}"]
    submission = submit("rounds.py", str(stop), options=options)
    application = submission.application_id()
    _executors(cluster, application, 4)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    host = next(each for each in cluster.hosts if each != am_host)
    dropped: str | None = None
    for _ in range(TRIES):
        dropped = _try_race(cluster, yarnspec, application, host)
        if dropped:
            break
        yarnspec("hosts", application, "unblock", host).expect(0)
        _executors(cluster, application, 4)
    assert dropped, f"the race did not happen in {TRIES} tries"

    # It was asked for again, and comes when the block ends.
    assert dropped not in cluster.launched(application)

    def counted() -> bool:
        status = yarnspec("status", application, "-o", "json").expect(0).document
        return (status["running_containers"], status["wanted_containers"]) == (3, 4)

    # The other three may just have been started.
    wait_for("three of four executors", counted, 30)
    blacklist = {host} if mode == "blacklist" else set()
    wait_for("the blacklist", lambda: cluster.blacklist(application) == blacklist, 10)
    yarnspec("hosts", application, "unblock", host).expect(0)
    _executors(cluster, application, 4)
    stop.touch()
    assert submission.wait().expect(0).lines[-1]["wrong"] == 0
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    released = [record for record in records if record["type"] == "ContainerDropped"]
    assert (dropped, host) in [(record["container_id"], record["host"]) for record in released]
    assert dropped not in cluster.launched(application)


def _try_race(cluster: Cluster, yarnspec: Yarnspec, application: str, host: str) -> str | None:
    """Kill the executor on the host; when YARN has placed its replacement, block the host before the AM hears of it."""
    known = set(cluster.containers(application))
    processes = cluster.processes(application)
    master = next(each for each in processes if each.what == "skein-am")
    next(each for each in processes if each.what == "executor" and each.host == host).kill()
    placed = wait_for(
        "YARN's placement of the replacement",
        lambda: [
            each for each, where in cluster.containers(application).items() if each not in known and where == host
        ],
        60,
        poll_s=0.02,
    )
    os.kill(master.pid, signal.SIGSTOP)
    try:
        yarnspec("hosts", application, "block", host, "--reason", "race", timeout_s=8).expect(0)
    finally:
        os.kill(master.pid, signal.SIGCONT)

    def is_dropped() -> bool:
        status = yarnspec("status", application, "-o", "json").document
        return int(status["dropped_containers"]) > 0

    try:
        wait_for("the dropped container", is_dropped, 4, patience=1)
    except NotInTimeError:
        return None  # the AM had been quicker
    return placed[0]


def _executors(cluster: Cluster, application: str, count: int) -> list[ContainerProcess]:
    def all_of_them() -> list[ContainerProcess]:
        found = [each for each in cluster.processes(application) if each.what == "executor"]
        return found if len(found) == count else []

    return wait_for(f"{count} executors", all_of_them, 90)
