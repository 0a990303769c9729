"""When a job starts and how many executors it has: bounds at submit, on a cluster that has not room for all."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.submitting import ONE_EXECUTOR
from integration.waiting import wait_for

TWO_HOSTS = ["--exclude-hosts", "127.0.0.4,127.0.0.5", "--force"]
"""Executors of 4 GiB: one on each of the hosts that are left, beside the application master."""
LARGE = ["--executor-memory", "4g", *TWO_HOSTS]
QUICK = (
    "--set", "resources.rescale_cooldown=1s", "--set", "resources.rescale_stabilization=1s",
    "--set", "detector.check_interval=200ms",
)  # fmt: skip


def test_bounds_at_submit(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """With room for 2 of at most 3 a job starts after its stabilization; with at least 3 it ends with exit code 6."""
    stop = tmp_path / "stop"
    fewer = submit(
        "rounds.py", str(stop),
        options=[*LARGE, "--num-executors", "3", "--min-executors", "2", "--set",
                 "resources.submission_stabilization=6s"],
    )  # fmt: skip
    application = fewer.application_id()
    wait_for("output", lambda: '"round": 1' in fewer.stdout, 90)
    resources = yarnspec("status", application, "-o", "json").expect(0).document["resources"]
    assert (resources["phase"], resources["sufficient"], resources["desired"]) == ("executing", 2, 3)
    assert resources["have"] == 2
    assert len(fewer.rounds[0]["hosts"]) == 2
    told = yarnspec("events", application, "-o", "json").expect(0).lines
    phases = [one for one in told if one.get("type") == "EnterPhase"]
    (stabilizes,) = (one for one in phases if one["waits_for"] == "more executors")
    (ready,) = (one for one in told if one.get("type") == "DeclareReady")
    assert 5_900 <= ready["time_ms"] - stabilizes["time_ms"] < 12_000
    stop.touch()
    fewer.wait(60).expect(0)

    starved = submit(
        "rounds.py", str(tmp_path / "never"),
        options=[*LARGE, "--num-executors", "3", "--min-executors", "3", "--set", "resources.wait_timeout=15s"],
    )  # fmt: skip
    result = starved.wait(90).expect(6)
    assert re.search(r"only [0-2] of at least 3 executors came within 15 s", result.stderr)
    assert '"round"' not in result.stdout


@pytest.mark.one_a_day("rescales")
def test_scale_up_and_down_and_after_the_drivers_death(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """One executor becomes three at the end of a stage, then two; a driver that dies goes on with two."""
    stop = tmp_path / "stop"
    options = [*ONE_EXECUTOR, *QUICK]
    job = submit("rounds.py", str(stop), "6", options=options)
    application = job.application_id()

    def containers() -> int:
        return len(job.rounds[-1]["containers"]) if job.rounds else 0

    wait_for("a round with one executor", lambda: containers() == 1, 90)
    assert "at least 9 and at most 2" in yarnspec("scale", application, "--min", "9", "--max", "2").expect(2).stderr
    refused = yarnspec("scale", application, "--min", "100", "--max", "100")
    assert refused.exit_code != 0
    assert "have room for" in refused.stderr
    yarnspec("scale", application, "--min", "2", "--max", "3").expect(0)
    wait_for("a round with three", lambda: containers() == 3, 60)
    yarnspec("scale", application, "--min", "2", "--max", "2").expect(0)

    def resources() -> dict[str, Any]:
        return cast("dict[str, Any]", yarnspec("status", application, "-o", "json").expect(0).document["resources"])

    wait_for("two executors", lambda: resources()["have"] == 2, 90)
    rescales = resources()["rescales"]
    assert [(one["cause"], one["before"], one["wanted"], one["got"]) for one in rescales] == [
        ("new requirements", 1, 3, 3),
        ("new requirements", 3, 2, 2),
    ]
    assert all(one["why"] == "succeeded" for one in rescales)
    assert "3 -> 2 executors" in yarnspec("status", application).expect(0).stdout

    next(each for each in cluster.processes(application) if each.what == "driver-jvm").kill()
    wait_for("the next driver's rounds", lambda: '"round": 1,' in job.stdout.split('"round": 2,')[-1], 90)
    wait_for("two executors", lambda: resources()["have"] == 2, 60)
    assert yarnspec("status", application, "-o", "json").expect(0).document["wanted_containers"] == 2
    stop.touch()
    job.wait(60).expect(0)


@pytest.mark.one_a_day("rescales")
def test_executors_move_to_hosts_that_may_be_used_again(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Four executors on two hosts become one on each of four; no task runs twice."""
    stop = tmp_path / "stop"
    away = cluster.hosts[2:]
    options = ["--num-executors", "4", "--exclude-hosts", ",".join(away), "--force", *QUICK]
    job = submit("rounds.py", str(stop), "8", options=options)
    application = job.application_id()
    wait_for("a round with four executors", lambda: job.rounds and len(job.rounds[-1]["containers"]) == 4, 90)
    assert not {*away} & {*job.last_hosts}
    for host in away:
        yarnspec("hosts", application, "unblock", host).expect(0)

    def spread() -> bool:
        latest = job.rounds[-1]
        return {*latest["hosts"]} == {*cluster.hosts} and len(latest["containers"]) == 4

    wait_for("one executor on each host", spread, 90)
    stop.touch()
    job.wait(60).expect(0)
    (ended,) = yarnspec("events", application, "--type", "EndRescale", "-o", "json").expect(0).lines
    assert ended["why"] == "2 executors moved"
    tasks = yarnspec("events", application, "--type", "TaskFinished", "-o", "json").expect(0).lines
    ran = Counter((one["stage"], one["stage_attempt"], one["index"]) for one in tasks)
    assert ran
    assert set(ran.values()) == {1}
