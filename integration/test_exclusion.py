"""Hosts excluded at submit get no container, the AM's included (`test_race.py` has the four hosts taken)."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Watch, Yarnspec
from integration.submitting import Submission
from integration.waiting import wait_for
from integration.watch import PlacementWatch

# So large that no host has room for two: as many executors as hosts go to all of them. Tasks do not wait for the
# executor that has no host.
ONE_PER_HOST = [
    *("--executor-memory", "4g", "--num-executors", "4"),
    *("--conf", "spark.scheduler.minRegisteredResourcesRatio=0.5"),
]


@pytest.mark.one_a_day("blocked hosts")
@pytest.mark.parametrize("mode", ["blacklist", "constraints"])
def test_an_excluded_host_gets_nothing(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, watch: Watch, tmp_path: Path, *, mode: str
) -> None:
    """An application that would take all four hosts takes the three others."""
    excluded = cluster.hosts[0]
    stop = tmp_path / "stop"
    spark_s_own = ["--conf", f"spark.yarn.exclude.nodes={excluded}"]
    exclusion = ["--exclude-hosts", excluded] if mode == "blacklist" else spark_s_own
    submission = submit("rounds.py", str(stop), options=[*ONE_PER_HOST, "--set", f"placement.mode={mode}", *exclusion])
    application = submission.application_id()
    with watch(application) as placement:
        others = set(cluster.hosts) - {excluded}
        _wait_for_others(placement, others, submission)
        status = yarnspec("status", application, "-o", "json").expect(0).document
        blacklist = cluster.blacklist(application)
        stop.touch()
        submission.wait().expect(0)
        assert placement.hosts == others
        assert excluded not in placement.by_rest.values()
    assert status["placement_mode"] == mode
    assert status["am_on_blocked_host"] is False
    assert [each["host"] for each in status["blocked_hosts"]] == [excluded]
    # In the mode `constraints` the blacklist is not what keeps the containers away.
    assert blacklist == ({excluded} if mode == "blacklist" else set())


def _wait_for_others(placement: PlacementWatch, others: set[str], submission: Submission) -> None:
    wait_for("containers on the three other hosts", lambda: placement.hosts >= others, 60)
    wait_for("a round on three hosts", lambda: _has_round_on(3, submission.stdout), 60)


def _has_round_on(hosts: int, stdout: str) -> bool:
    """Whether one of the program's rounds ran on that many hosts."""
    return any(line.count("127.0.0.") == hosts for line in stdout.splitlines())
