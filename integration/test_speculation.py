"""A slow host is found, blocked and copied around; skewed data are not taken for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.lives import journal_of
from integration.waiting import wait_for
from yarnspec.core.carried import CarriedBlocks, CarriedCopies, parts_of
from yarnspec.journal.replay import replay

# Two executors do not fit on one host.
SPREAD = ["--executor-memory", "4g"]
SLOWER = 10
BLOCK_S = 25
KNOWN_AS_SLOW = 1.2
"""It is 1 where nothing is known, and was at least 1.5 when the host was blocked."""


@pytest.fixture(autouse=True)
def _hosts_as_fast_as_they_can(cluster: Cluster) -> Any:
    """After each test no host is slow."""
    yield
    for host in cluster.mini.status()["hosts"]:
        if host["slow"] != 1:
            cluster.mini.host_slow(host["host"], 1)


def test_slow_host_is_found_blocked_and_copied_around(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Its tasks are copied elsewhere, in a container asked for them; the block ends, the container is given back."""
    options = [
        *SPREAD, "--num-executors", "2", "--executor-cores", "2", "--set", "blocklist.slow_duration=10s",
        "--set", "speculation.slot_patience=500ms", "--set", "speculation.container_idle=2s",
    ]  # fmt: skip
    _write_sizes(tmp_path, [40] * 8)
    submission = submit("waits.py", str(tmp_path), options=options)
    application = submission.application_id()
    wait_for("rounds on two hosts", lambda: len(submission.last_hosts) == 2, 90)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    slow = next(host for host in submission.last_hosts if host != am_host)
    first = dict(cluster.launched(application))
    # The other host runs the large tasks when copies of the small ones are wanted: these need a container.
    _write_sizes(tmp_path, [250] * 6 + [1200] * 2)
    wait_for("a large round", lambda: "1200" in submission.stdout, 60)
    cluster.mini.host_slow(slow, SLOWER)
    _write_sizes(tmp_path, [60] * 12)

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


class Rounds:
    """`waits.py` under way, beside a host that is slow while it runs rounds, in one life after the other."""

    def __init__(self, submit: Submit, yarnspec: Yarnspec, cluster: Cluster, directory: Path) -> None:
        self._yarnspec = yarnspec
        self._cluster = cluster
        self._directory = directory
        options = [
            *SPREAD, "--num-executors", "2", "--executor-cores", "2", "--set", "blocklist.slow_duration=10min",
            # So the journal of a driver that lives can be read.
            "--set", "recovery.journal_appends=false",
        ]  # fmt: skip
        _write_sizes(directory, [40] * 8)
        self._submission = submit("waits.py", str(directory), options=options)
        self.application = self._submission.application_id()

    def told(self, epoch: int, kind: str) -> list[dict[str, Any]]:
        """The events or commands of one type in a life."""
        records = self._yarnspec("events", self.application, "-o", "json", "--type", kind).lines
        return [one for one in records if one["epoch"] == epoch]

    def copies(self, epoch: int) -> list[dict[str, Any]]:
        """The copies that have ended in a life."""
        return [one for one in self.told(epoch, "TaskFinished") if one["speculative"]]

    def status(self) -> dict[str, Any]:
        """What `yarnspec status` says."""
        return self._yarnspec("status", self.application, "-o", "json").expect(0).document

    def speed_of(self, host: str) -> float:
        """How many times as long tasks take there as elsewhere."""
        explained = self._yarnspec("explain", self.application, "--host", host, "-o", "json").expect(0).document
        return float(explained["numbers"]["factor"])

    def begin(self) -> None:
        """Wait for rounds of this life on two hosts."""
        begun = self._submission.stdout.rfind('"rounds"')
        wait_for(
            "rounds on two hosts",
            lambda: self._submission.stdout.rfind('"round"') > begun and len(self._submission.last_hosts) == 2,
            120,
        )

    def beside_a_slow_host(self, enough: Callable[[], bool]) -> str:
        """Make a host slow, which is returned, until there is enough; then the program waits."""
        am_host = self._cluster.attempts(self.application)[-1]["nodeId"].partition(":")[0]
        slow = next(host for host in self._submission.last_hosts if host != am_host)
        self._cluster.mini.host_slow(slow, SLOWER)
        _write_sizes(self._directory, [60] * 12)
        wait_for("enough", enough, 60)
        (self._directory / "stop").touch()
        wait_for("the last round", lambda: '"rounds"' in self._submission.stdout.splitlines()[-1], 60)
        self._cluster.mini.host_slow(slow, 1)
        wait_for("no copy", lambda: not self.status()["speculation"]["ledger"]["copies_running"], 20)
        return slow

    def kill(self) -> None:
        """Kill the whole application master; the next life is to run rounds again."""
        (self._directory / "stop").unlink()
        _write_sizes(self._directory, [40] * 8)
        faults.strike(self._cluster, self.application, "master")

    def end(self) -> None:
        """Let the program end, with the right results."""
        (self._directory / "end").touch()
        assert self._submission.wait().expect(0).lines[-1]["wrong"] == 0


# Where the block comes before any copy has won none is wanted any more, and the wait for both is in vain.
@pytest.mark.soak
def test_the_next_application_master_knows_the_slow_host_and_counts_copies_on(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The whole master is killed: the host is blocked until the same time and known as slow, all copies are counted."""
    rounds = Rounds(submit, yarnspec, cluster, tmp_path)
    rounds.begin()
    slow = rounds.beside_a_slow_host(
        lambda: (
            any(map(_won, rounds.copies(1))) and "application" in {one["level"] for one in rounds.told(1, "BlockHost")}
        )
    )
    before = rounds.status()
    ledger = before["speculation"]["ledger"]
    assert ledger["copies_launched"] == len(rounds.copies(1))
    (block,) = before["blocked_hosts"]
    assert block["host"] == slow
    journal = journal_of(cluster, rounds.application)

    def recorded() -> bool:
        parts, _ = parts_of(replay(journal, [1]).recorded)
        copies = [msgspec.to_builtins(one.ledger) for one in parts if isinstance(one, CarriedCopies)]
        blocked = [each.host for one in parts if isinstance(one, CarriedBlocks) for each in one.blocks]
        return blocked == [slow] and any(ledger.items() <= one.items() for one in copies)

    wait_for("what the next attempt is to know", recorded, 30)
    rounds.kill()

    rounds.begin()
    after = rounds.status()
    assert after["attempt"] == 2
    assert [(one["host"], one["until_ms"]) for one in after["blocked_hosts"]] == [(slow, block["until_ms"])]
    assert rounds.speed_of(slow) > KNOWN_AS_SLOW
    epoch = after["epoch"]
    (carried,) = rounds.told(epoch, "CarryOver")
    assert ledger.items() <= carried["ledger"].items()
    other = rounds.beside_a_slow_host(lambda: any(map(_won, rounds.copies(epoch))))
    rounds.end()

    last = rounds.status()
    copies = rounds.copies(epoch)
    total = last["speculation"]["ledger"]
    assert total["copies_launched"] == ledger["copies_launched"] + len(copies)
    assert total["copies_won"] == ledger["copies_won"] + sum(map(_won, copies))
    # No more than one host of four may be blocked, and it is still the first one, on which nothing has run.
    assert last["blocked_hosts"] == after["blocked_hosts"]
    assert slow not in {other, *(one["host"] for one in rounds.told(epoch, "TaskFinished"))}


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


def _won(attempt: dict[str, Any]) -> bool:
    return bool(attempt["speculative"] and attempt["state"] == "SUCCESS")


def _write_sizes(directory: Path, sizes: list[int]) -> None:
    scratch = directory / "sizes.new"
    scratch.write_text(" ".join(map(str, sizes)))
    scratch.rename(directory / "sizes")
