"""Hosts blocked and unblocked while an application runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Watch, Yarnspec
from integration.submitting import Submission
from integration.waiting import wait_for

OPTIONS = ["--executor-memory", "4g", "--num-executors", "3"]


@pytest.mark.one_a_day("blocked hosts")
@pytest.mark.parametrize("mode", ["blacklist", "constraints"])
def test_block_unblock_and_expiry(  # noqa: PLR0917 - fixtures go by their names
    mode: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster, watch: Watch, tmp_path: Path
) -> None:
    """A blocked host gets no new task and no new container; unblocked, or when its time is over, it does again."""
    stop = tmp_path / "stop"
    submission = submit("rounds.py", str(stop), "6", "0.2", options=[*OPTIONS, "--set", f"placement.mode={mode}"])
    application = submission.application_id()
    with watch(application):
        wait_for("a round on three hosts", lambda: len(submission.last_hosts) == 3, 90)
        am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
        host = next(each for each in submission.last_hosts if each != am_host)

        answer = yarnspec("hosts", application, "block", host, "--reason", "slow disk", "-o", "json").expect(0)
        said = answer.document
        assert said.pop("reason").startswith(f"slow disk (blocked by {cluster.user} until it is unblocked); 1 blocked")
        assert said == {"schema": 1, "host": host, "blocked": True}
        blocked = yarnspec("status", application, "-o", "json").document["blocked_hosts"]
        assert [(each["host"], each["until_ms"]) for each in blocked] == [(host, None)]
        assert blocked[0]["reason"].startswith("slow disk")
        listed = yarnspec("hosts", application, "list", "-o", "json").expect(0).stdout
        assert "slow disk" in listed
        # No new task: two rounds that began after the block.
        _two_more_rounds(submission)
        assert host not in submission.last_hosts

        # A second one is over the share (33 % of 4 hosts is 1) and needs --force; all hosts never.
        second = next(each for each in cluster.hosts if each not in (host, am_host))
        refused = yarnspec("hosts", application, "block", second, "-o", "json")
        assert refused.exit_code == 4
        assert refused.stdout == ""
        assert "force" in refused.stderr
        assert len(yarnspec("status", application, "-o", "json").document["blocked_hosts"]) == 1
        yarnspec("hosts", application, "block", second, "--force", "--reason", "both").expect(0)
        yarnspec("hosts", application, "unblock", second).expect(0)

        # No new container: its executor dies and is replaced elsewhere (the fourth host has room).
        known = set(cluster.launched(application))
        victim = next(each for each in cluster.processes(application) if each.what == "executor" and each.host == host)
        victim.kill()
        replacement = wait_for(
            "a replacement", lambda: {c: h for c, h in cluster.launched(application).items() if c not in known}, 60
        )
        assert host not in replacement.values()
        wait_for("a round on three hosts again", lambda: len(submission.last_hosts) == 3, 60)
        assert host not in submission.last_hosts
        # In the mode `constraints` the blacklist is not what keeps the containers away.
        assert cluster.blacklist(application) == ({host} if mode == "blacklist" else set())

        yarnspec("hosts", application, "unblock", host).expect(0)
        assert yarnspec("status", application, "-o", "json").document["blocked_hosts"] == []

        # A block with an end.
        other = next(each for each in submission.last_hosts if each != am_host)
        yarnspec("hosts", application, "block", other, "--for", "4s", "--reason", "a pause").expect(0)
        wait_for("rounds without it", lambda: other not in submission.last_hosts, 20)
        wait_for("rounds with it again", lambda: other in submission.last_hosts, 30)
        assert yarnspec("status", application, "-o", "json").document["blocked_hosts"] == []
        stop.touch()
        result = submission.wait().expect(0)

    assert result.lines[-1]["wrong"] == 0
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    of_types = [
        (record["type"], record["host"])
        for record in records
        if record["type"] in ("BlockHost", "UnblockHost", "RefuseBlock")
    ]
    assert of_types == [
        ("BlockHost", host),
        ("RefuseBlock", second),
        ("BlockHost", second),
        ("UnblockHost", second),
        ("UnblockHost", host),
        ("BlockHost", other),
        ("UnblockHost", other),
    ]


def _two_more_rounds(submission: Submission) -> None:
    seen = len(submission.rounds)
    wait_for("two more rounds", lambda: len(submission.rounds) >= seen + 3, 30)
