"""A slow host is found, blocked and copied around; skewed data are not taken for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.slowhosts import SLOWER, SPREAD, write_sizes
from integration.waiting import wait_for

BLOCK_S = 25


pytestmark = pytest.mark.usefixtures("fast_hosts")


def test_slow_host_is_found_blocked_and_copied_around(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Its tasks are copied elsewhere, in a container asked for them; the block ends, the container is given back."""
    options = [
        *SPREAD, "--num-executors", "2", "--executor-cores", "2", "--set", "blocklist.slow_duration=10s",
        "--set", "speculation.slot_patience=500ms", "--set", "speculation.container_idle=2s",
    ]  # fmt: skip
    write_sizes(tmp_path, [40] * 8)
    submission = submit("waits.py", str(tmp_path), options=options)
    application = submission.application_id()
    wait_for("rounds on two hosts", lambda: len(submission.last_hosts) == 2, 90)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    slow = next(host for host in submission.last_hosts if host != am_host)
    first = dict(cluster.launched(application))
    # The other host runs the large tasks when copies of the small ones are wanted: these need a container.
    write_sizes(tmp_path, [250] * 6 + [1200] * 2)
    wait_for("a large round", lambda: "1200" in submission.stdout, 60)
    cluster.mini.host_slow(slow, SLOWER)
    write_sizes(tmp_path, [60] * 12)

    def of_type(*types: str) -> list[dict[str, Any]]:
        flags = [word for each in types for word in ("--type", each)]
        return yarnspec("events", application, "-o", "json", *flags).lines

    extra = wait_for(
        "a container for copies", lambda: {c: h for c, h in cluster.launched(application).items() if c not in first}, 60
    )
    assert slow not in extra.values()
    won = wait_for(
        "a copy that wins",
        lambda: next(
            (each for each in of_type("TaskFinished") if each["speculative"] and each["state"] == "SUCCESS"), None
        ),
        60,
    )
    assert won["host"] != slow
    asked = [each for each in of_type("LaunchCopy") if (each["stage"], each["index"]) == (won["stage"], won["index"])]
    assert [each["not_hosts"] for each in asked] == [[slow]]
    block = wait_for(
        "a block for slowness",
        lambda: next(
            (each for each in of_type("BlockHost") if (each["level"], each["cause"]) == ("application", "slow")), None
        ),
        60,
    )
    assert block["host"] == slow

    # The copies have won, and nothing runs on the slow host that could prove it healthy: the block lasts its time.
    ended = wait_for(
        "the end of the block", lambda: [each for each in of_type("UnblockHost") if each["level"] == "application"], 60
    )
    assert ended[0]["host"] == slow
    assert "is over" in ended[0]["reason"]
    cluster.mini.host_slow(slow, 1)
    wait_for("rounds with the host again", lambda: slow in submission.last_hosts, 60)
    (tmp_path / "stop").touch()
    wait_for("the containers of the start", lambda: len(cluster.containers(application)) == len(first), 60)
    (tmp_path / "end").touch()
    result = submission.wait().expect(0)
    assert result.lines[-1]["wrong"] == 0
    assert {each["host"] for each in of_type("BlockHost") if each["level"] == "application"} == {slow}


@pytest.mark.soak  # what it takes: a block of 25 s to its end
def test_a_block_ends_early_with_proof_of_health_and_else_when_its_time_is_over(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Long tasks that run on through the block and end well end it; without such tasks it lasts its whole time."""
    options = [
        *SPREAD, "--num-executors", "3", "--executor-cores", "8", "--set", f"blocklist.slow_duration={BLOCK_S}s",
        # No copies: what runs on the blocked host is to run to its end there.
        "--set", "speculation.max_concurrent_executions=1",
    ]  # fmt: skip
    submission = submit("recovers.py", str(tmp_path), options=options)
    application = submission.application_id()
    wait_for("rounds on three hosts", lambda: len(submission.last_hosts) == 3, 90)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    slow = next(host for host in submission.last_hosts if host != am_host)

    def blocks(kind: str) -> list[dict[str, Any]]:
        told = yarnspec("events", application, "-o", "json", "--type", kind).lines
        return [each for each in told if each["level"] == "application"]

    (tmp_path / "long").touch()
    wait_for("long tasks on all hosts", lambda: '"long"' in submission.stdout, 60)
    (tmp_path / "slow").write_text(slow)
    wait_for("a block", lambda: len(blocks("BlockHost")) >= 1, 60)
    (tmp_path / "slow").unlink()
    # What was late there has ended, and nothing new begins there: what ends from now on is the long tasks.
    rounds = len(submission.rounds)
    wait_for("two more rounds", lambda: len(submission.rounds) >= rounds + 2, 60)
    (tmp_path / "go").touch()
    wait_for("its end", lambda: len(blocks("UnblockHost")) >= 1, 60)
    wait_for("rounds with the host again", lambda: slow in submission.last_hosts, 60)

    (tmp_path / "slow").write_text(slow)
    wait_for("a second block", lambda: len(blocks("BlockHost")) >= 2, 60)
    wait_for("its end", lambda: len(blocks("UnblockHost")) >= 2, BLOCK_S + 30)
    (tmp_path / "slow").unlink()
    wait_for("rounds with the host once more", lambda: slow in submission.last_hosts, 60)
    (tmp_path / "stop").touch()
    assert submission.wait().expect(0).lines[-1] == {"wrong": 0}

    began, ended = blocks("BlockHost")[:2], blocks("UnblockHost")[:2]
    assert {(each["host"], each["cause"]) for each in began} == {(slow, "slow")}
    lasted_s = [(last["time_ms"] - first["time_ms"]) / 1000 for first, last in zip(began, ended, strict=True)]
    assert "proved healthy" in ended[0]["reason"]
    assert lasted_s[0] < BLOCK_S
    assert "is over" in ended[1]["reason"]
    assert lasted_s[1] >= BLOCK_S - 1


@pytest.mark.one_a_day("copies")
@pytest.mark.parametrize("slow", [False, True], ids=["healthy-hosts", "a-slow-host"])
def test_skewed_data_are_not_a_slow_host(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path, slow: bool
) -> None:
    """No task is copied and no host blocked on healthy hosts; beside a slow host it is that one, and no other.

    There it is blocked as soon as that is proved. What it still runs is copied only where a copy would gain time.
    """
    start = tmp_path / "start"
    options = [*SPREAD, "--num-executors", "3", "--executor-cores", "2"]
    # One round of 4 s may be over before a slow host is proved one.
    submission = submit("uneven.py", str(start), "3" if slow else "1", options=options)
    application = submission.application_id()
    wait_for("its workers", lambda: '"ready"' in submission.stdout, 90)
    slow_host = ""
    if slow:
        executors = {each.host for each in cluster.processes(application) if each.what == "executor"}
        am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
        slow_host = next(host for host in sorted(executors) if host != am_host)
        cluster.mini.host_slow(slow_host, SLOWER)
    start.touch()
    result = submission.wait().expect(0)
    assert result.lines[-1] == {"right": True}
    copies = yarnspec("events", application, "-o", "json", "--type", "LaunchCopy").lines
    blocks = yarnspec("events", application, "-o", "json", "--type", "BlockHost").lines
    if slow:
        acted_on = {each["host"] for each in blocks} | {host for each in copies for host in each["not_hosts"]}
        assert acted_on == {slow_host}, [each["reason"] for each in (*blocks, *copies)]
    else:
        assert [each["reason"] for each in copies] == []
        assert [each["reason"] for each in blocks] == []
