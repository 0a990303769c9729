"""What the next application master knows of slow hosts, blocks and copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from integration import faults
from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.lives import journal_of
from integration.slowhosts import SLOWER, SPREAD, write_sizes
from integration.waiting import wait_for
from yarnspec.core.messages.carried import CarriedBlocks, CarriedCopies, parts_of
from yarnspec.journal.replay import replay

pytestmark = pytest.mark.usefixtures("fast_hosts")

KNOWN_AS_SLOW = 1.2
"""It is 1 where nothing is known, and was at least 1.5 when the host was blocked."""


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
        write_sizes(directory, [40] * 8)
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

        def on_two_hosts() -> bool:
            self._submission.check_running()
            return self._submission.stdout.rfind('"round"') > begun and len(self._submission.last_hosts) == 2

        wait_for("rounds on two hosts", on_two_hosts, 120)

    @property
    def hosts(self) -> list[str]:
        """Where the last round ran."""
        return self._submission.last_hosts

    def slow_down(self) -> str:
        """Make a host slow while rounds run there: which one."""
        am_host = self._cluster.attempts(self.application)[-1]["nodeId"].partition(":")[0]
        slow = next(host for host in self.hosts if host != am_host)
        self._cluster.mini.host_slow(slow, SLOWER)
        write_sizes(self._directory, [60] * 12)
        return slow

    def pause(self) -> None:
        """Let the last round end: no task and no copy runs any more."""
        (self._directory / "stop").touch()
        wait_for("the last round", lambda: '"rounds"' in self._submission.stdout.splitlines()[-1], 60)
        wait_for("no copy", lambda: not self.status()["speculation"]["ledger"]["copies_running"], 20)

    def kill(self, slow: str) -> None:
        """Kill the whole application master; the next driver is to run rounds again."""
        # The next one may be given the slow host, and would not register there before YARN gives it up.
        self._cluster.mini.host_slow(slow, 1)
        (self._directory / "stop").unlink()
        write_sizes(self._directory, [40] * 8)
        faults.strike(self._cluster, self.application, "master")

    def end(self) -> None:
        """Let the program end, with the right results."""
        (self._directory / "end").touch()
        assert self._submission.wait().expect(0).lines[-1]["wrong"] == 0


@pytest.mark.one_a_day("the driver or its master dies")
def test_the_next_application_master_knows_the_slow_host_and_counts_copies_on(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The whole master is killed: the host is blocked until the same time and known as slow, all copies are counted."""
    rounds = Rounds(submit, yarnspec, cluster, tmp_path)
    rounds.begin()
    # No second host of four may be blocked: while another one is, the slow one is only copied around.
    unused = next(host for host in cluster.hosts if host not in rounds.hosts)
    yarnspec("hosts", rounds.application, "block", unused).expect(0)
    slow = rounds.slow_down()
    wait_for("a copy that wins", lambda: any(map(won, rounds.copies(1))), 60)
    yarnspec("hosts", rounds.application, "unblock", unused).expect(0)
    wait_for("a block for slowness", lambda: "slow" in {one["cause"] for one in rounds.told(1, "BlockHost")}, 60)
    rounds.pause()
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
    rounds.kill(slow)

    rounds.begin()
    after = rounds.status()
    assert after["attempt"] == 2
    assert [(one["host"], one["until_ms"]) for one in after["blocked_hosts"]] == [(slow, block["until_ms"])]
    assert rounds.speed_of(slow) > KNOWN_AS_SLOW
    epoch = after["epoch"]
    (carried,) = rounds.told(epoch, "CarryOver")
    assert ledger.items() <= carried["ledger"].items()
    other = rounds.slow_down()
    wait_for("a copy that wins", lambda: any(map(won, rounds.copies(epoch))), 60)
    rounds.pause()
    rounds.end()

    last = rounds.status()
    copies = rounds.copies(epoch)
    total = last["speculation"]["ledger"]
    assert total["copies_launched"] == ledger["copies_launched"] + len(copies)
    assert total["copies_won"] == ledger["copies_won"] + sum(map(won, copies))
    # The first one is still blocked, and nothing has run there; so the second one may not be.
    assert last["blocked_hosts"] == after["blocked_hosts"]
    assert slow not in {other, *(one["host"] for one in rounds.told(epoch, "TaskFinished"))}


def won(attempt: dict[str, Any]) -> bool:
    """Whether it is a copy that was quicker than the first attempt."""
    return bool(attempt["speculative"] and attempt["state"] == "SUCCESS")
