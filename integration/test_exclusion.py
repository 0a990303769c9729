"""Hosts excluded at submit get no container, the AM's included; without the exclusion the same hosts do get them."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Watch, Yarnspec
from integration.waiting import wait_for

# So large that no host has room for two: as many executors as hosts go to all of them.
ONE_PER_HOST = ["--executor-memory", "4g"]


@pytest.mark.parametrize(
    ("mode", "how"),
    [("blacklist", ("--exclude-hosts", "")), ("constraints", ("--conf", "spark.yarn.exclude.nodes="))],
    ids=["blacklist", "constraints and Spark's own property"],
)
def test_an_excluded_host_gets_nothing(  # noqa: PLR0917 - fixtures go by their names
    mode: str, how: tuple[str, str], submit: Submit, yarnspec: Yarnspec, cluster: Cluster, watch: Watch, tmp_path: Path
) -> None:
    """First a control run that takes all four hosts, then one that leaves out the host of the control's AM."""
    control_stop, stop = tmp_path / "stop-control", tmp_path / "stop"
    options = [*ONE_PER_HOST, "--set", f"placement.mode={mode}"]

    control = submit("rounds.py", str(control_stop), options=[*options, "--num-executors", "4"])
    control_id = control.application_id()
    with watch(control_id) as control_watch:
        wait_for("containers on all four hosts", lambda: control_watch.hosts == set(cluster.hosts), 60)
        assert cluster.blacklist(control_id) == set()
        control_stop.touch()
        control.wait().expect(0)
    excluded = cluster.attempts(control_id)[0]["nodeId"].partition(":")[0]

    flag, prefix = how
    exclusion = [flag, prefix + excluded]
    submission = submit("rounds.py", str(stop), options=[*options, "--num-executors", "4", *exclusion])
    application = submission.application_id()
    with watch(application) as placement:
        others = set(cluster.hosts) - {excluded}
        wait_for("containers on the three other hosts", lambda: placement.hosts >= others, 60)
        wait_for("a round on three hosts", lambda: _has_round_on(3, submission.stdout), 60)
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


def _has_round_on(hosts: int, stdout: str) -> bool:
    """Whether one of the program's rounds ran on that many hosts."""
    return any(line.count("127.0.0.") == hosts for line in stdout.splitlines())
