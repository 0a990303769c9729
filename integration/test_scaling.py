"""When a job starts and how many executors it has: bounds at submit, on a cluster that has not room for all."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.submitting import ONE_EXECUTOR
from integration.taskends import of_spark
from integration.waiting import wait_for

TWO_HOSTS = ["--exclude-hosts", "127.0.0.4,127.0.0.5", "--force"]
"""Executors of 4 GiB: one on each of the hosts that are left, beside the application master."""
LARGE = ["--executor-memory", "4g", *TWO_HOSTS]
SOON = ("--set", "resources.rescale_cooldown=1s", "--set", "detector.check_interval=200ms")
QUICK = (*SOON, "--set", "resources.rescale_stabilization=1s")


@pytest.mark.one_a_day("rescales")
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
def test_scale_up_and_down_and_after_the_deaths_of_driver_and_master(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """One executor becomes three at the end of a stage, then two; the next driver and the next attempt go on with two.

    The first driver starts when Spark would, the next ones wait for both executors.
    """
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

    faults.strike(cluster, application, "master")
    wait_for("the next attempt's rounds", lambda: job.stdout.count('"round": 1,') == 3, 120)
    wait_for("two executors", lambda: resources()["have"] == 2, 60)
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert (status["attempt"], status["wanted_containers"]) == (2, 2)
    stop.touch()
    job.wait(60).expect(0)
    started = yarnspec("events", application, "--type", "StartDriver", "-o", "json").expect(0).lines
    assert [one["awaits_negotiator"] for one in started] == [False, True, True]


@pytest.mark.one_a_day("rescales")
@pytest.mark.parametrize("recovery", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_no_task_runs_twice_when_executors_are_given_back_or_wanted_again(
    submit: Submit, yarnspec: Yarnspec, tmp_path: Path, *, shuffled: bool, recovery: bool
) -> None:
    """Of three executors one shall stay, and before the others have gone all three; then one again, to the end.

    Those that hold map outputs whenever the driver is asked stay.
    """
    stop = tmp_path / "stop"
    options = ["--num-executors", "3", *QUICK, "--set", "resources.rescale_max_delay=1s",
               "--set", f"recovery.enabled={str(recovery).lower()}", *event_log(tmp_path)]  # fmt: skip
    job = submit("rounds.py", str(stop), "6", *(("2", "forgotten") if shuffled else ("5",)), options=options)
    application = job.application_id()

    def resources() -> dict[str, Any]:
        return cast("dict[str, Any]", yarnspec("status", application, "-o", "json").expect(0).document["resources"])

    def rescales(wanted: int) -> int:
        return sum(one["wanted"] == wanted for one in resources()["rescales"])

    def works(executors: int) -> bool:
        return bool(job.rounds) and len(job.rounds[-1]["containers"]) == executors

    wait_for("a round with three executors", lambda: works(3), 90)
    yarnspec("scale", application, "--min", "1", "--max", "1").expect(0)
    wait_for("the smaller number", lambda: rescales(1) == 1, 60)
    yarnspec("scale", application, "--min", "3", "--max", "3").expect(0)
    wait_for("the larger number", lambda: rescales(3) == 1, 60)
    rounds = len(job.rounds)
    wait_for("a later round with three", lambda: len(job.rounds) > rounds + 1 and works(3), 120)
    yarnspec("scale", application, "--min", "1", "--max", "1").expect(0)
    wait_for("the smaller number again", lambda: rescales(1) == 2, 60)
    rounds = len(job.rounds)
    wait_for("a round with one", lambda: len(job.rounds) > rounds + 2 if shuffled else works(1), 120)
    stop.touch()
    assert job.wait(60).expect(0).lines[-1]["wrong"] == 0
    check_once(tmp_path)


@pytest.mark.one_a_day("rescales")
@pytest.mark.parametrize("recovery", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_executors_move_to_hosts_that_may_be_used_again(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path, *, shuffled: bool, recovery: bool
) -> None:
    """Four executors on two hosts become one on each of four; no task runs twice, nor a map whose output is gone.

    An executor that has got map outputs in the meantime stays beside the one that came for it.
    """
    stop = tmp_path / "stop"
    away = cluster.hosts[2:]
    options = ["--num-executors", "4", "--exclude-hosts", ",".join(away), "--force", *SOON,
               "--set", "resources.rescale_stabilization=10s",  # both hosts come in it
               "--set", f"recovery.enabled={str(recovery).lower()}", *event_log(tmp_path)]  # fmt: skip
    how = ("0.2", "forgotten") if shuffled else ()
    job = submit("rounds.py", str(stop), "8", *how, options=options)
    application = job.application_id()
    wait_for("a round with four executors", lambda: job.rounds and len(job.rounds[-1]["containers"]) == 4, 90)
    assert not {*away} & {*job.last_hosts}
    for host in away:
        yarnspec("hosts", application, "unblock", host).expect(0)

    def spread() -> bool:
        latest = job.rounds[-1]
        there = len(latest["containers"])
        return {*latest["hosts"]} == {*cluster.hosts} and (there >= 4 if shuffled else there == 4)

    wait_for("executors on each host", spread, 90)
    stop.touch()
    assert job.wait(60).expect(0).lines[-1]["wrong"] == 0
    if not shuffled:
        (ended,) = yarnspec("events", application, "--type", "EndRescale", "-o", "json").expect(0).lines
        assert ended["why"] == "2 executors moved"
    check_once(tmp_path)


@pytest.mark.one_a_day("rescales")
def test_hosts_that_come_back_one_by_one_are_one_rescale(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Two of four hosts are lost: their executors come on the others, and move back when both hosts are there again."""
    stop = tmp_path / "stop"
    options = ["--num-executors", "4", *SOON, "--set", "resources.rescale_stabilization=40s", *event_log(tmp_path)]
    job = submit("rounds.py", str(stop), "8", options=options)
    application = job.application_id()

    def four_on(hosts: set[str]) -> bool:
        return bool(job.rounds) and {*job.last_hosts} == hosts and len(job.rounds[-1]["containers"]) == 4

    wait_for("one executor on each host", lambda: four_on({*cluster.hosts}), 90)
    master = str(cluster.attempts(application)[0]["nodeId"]).partition(":")[0]
    lost = [host for host in cluster.hosts if host != master][:2]
    try:
        for host in lost:
            cluster.mini.host_stop(host)
        wait_for("four executors on the others", lambda: four_on({*cluster.hosts} - {*lost}), 90)
        settled_ms = time.time_ns() // 1_000_000
    finally:
        for host in lost:
            cluster.mini.host_start(host)
    wait_for("one executor on each host again", lambda: four_on({*cluster.hosts}), 120)
    stop.touch()
    assert job.wait(60).expect(0).lines[-1]["wrong"] == 0
    (begun,) = yarnspec("events", application, "--type", "BeginRescale", "-o", "json").expect(0).lines
    assert (begun["cause"], begun["before"], begun["wanted"]) == ("new resources", 4, 4)
    (ended,) = yarnspec("events", application, "--type", "EndRescale", "-o", "json").expect(0).lines
    assert ended["why"] == "2 executors moved"
    check_once(tmp_path, settled_ms)


def event_log(directory: Path) -> list[str]:
    """The options for a plain event log of Spark below this directory."""
    events = directory / "spark-events"
    events.mkdir()
    conf = {"enabled": "true", "dir": events.as_uri(), "compress": "false", "rolling.enabled": "false"}
    return [word for key, value in conf.items() for word in ("--conf", f"spark.eventLog.{key}={value}")]


def check_once(directory: Path, since_ms: int = 0) -> None:
    """Check by that log that each task ran once, in all attempts of its stage, if the stage began after a time.

    A task that a busy machine slows down may get a copy, which is no fault of a move.
    """
    (log,) = (directory / "spark-events").iterdir()
    ends = of_spark(log).tasks
    before = {end.stage for end in ends if end.launch_ms < since_ms}
    ran: Counter[tuple[int, int]] = Counter()
    for end, times in ends.items():
        if end.stage not in before and not end.speculative:
            ran[end.stage, end.index] += times
    assert ran
    assert set(ran.values()) == {1}
