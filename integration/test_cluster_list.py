"""The list of blocked hosts that all applications share, the metrics' page, and explanations, on a real cluster."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.submitting import ONE_EXECUTOR, asked, run_yarnspec
from integration.waiting import wait_for

DIRECTORY = "/yarnspec/blocklist"
OPTIONS = [
    "--num-executors", "3", "--executor-memory", "4g", "--set", "blocklist.cluster_refresh=1s",
    # No host is blocked for another reason: one that comes back on a busy machine may be slow.
    "--set", "speculation.enabled=false",
]  # fmt: skip
MALLORY = "mallory"
REFUSED = 401


@pytest.mark.one_a_day("blocked hosts")
def test_a_host_blocked_for_all_applications(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """A running application heeds the list, a starting one too; what is forged is told and changes nothing."""
    stop = tmp_path / "stop"
    submission = submit("rounds.py", str(stop), "6", "0.2", options=OPTIONS)
    application = submission.application_id()
    wait_for("a round on three hosts", lambda: len(submission.last_hosts) == 3, 90)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    # The AM may share a host with an executor, or have one of its own.
    host, other, *_ = (each for each in submission.last_hosts if each != am_host)

    yarnspec("hosts", "--cluster", "block", host, "--reason", "disk is being replaced").expect(0)
    wait_for("rounds without it", lambda: host not in submission.last_hosts, 30)
    (block,) = _status(yarnspec, application)["blocks"]
    assert (block["host"], block["level"], block["by"]) == (host, "cluster", cluster.user)
    assert "disk is being replaced" in block["reason"]
    explained = yarnspec("explain", application, "--host", host).expect(0).stdout
    assert "disk is being replaced" in explained

    # It is not the application's to end.
    refused = yarnspec("hosts", application, "unblock", host)
    assert refused.exit_code == 4
    assert f"yarnspec hosts --cluster unblock {host}" in refused.stderr

    # Everybody may add to the list, and nobody may take another one's entry off it or speak in another one's name.
    assert cluster.hdfs_status(DIRECTORY)["permission"] == "1777"
    assert cluster.hdfs_status(DIRECTORY.rpartition("/")[0])["permission"] == "755"
    refused = run_yarnspec(cluster, "hosts", "--cluster", "unblock", host, environment={"HADOOP_USER_NAME": MALLORY})
    assert refused.exit_code == 4
    assert f"only {cluster.user}" in refused.stderr
    forged = {"schema": 1, "host": other, "reason": "r", "by": cluster.user, "since_ms": 0, "until_ms": None}
    file = f"{DIRECTORY}/{other}@{cluster.user}.json"
    cluster.hdfs_write(file, json.dumps(forged).encode(), user=MALLORY)
    wait_for(
        "the forged entry is told",
        lambda: any("forged" in one for one in asked(cluster, application).warnings),
        30,
    )
    assert [one["host"] for one in _status(yarnspec, application)["blocks"]] == [host]
    listed = yarnspec("hosts", "--cluster", "list", "-o", "json").expect(0).document
    assert [one["host"] for one in listed["blocks"]] == [host]
    assert "forged" in listed["problems"][0]

    # Whoever starts now never sees the host.
    second = submit("first_task.py", options=["--num-executors", "3"])  # small ones: all find room beside the first's
    second.wait().expect(0)
    assert host not in set(cluster.launched(second.application_id()).values())

    yarnspec("hosts", "--cluster", "unblock", host).expect(0)
    wait_for("rounds with it again", lambda: host in submission.last_hosts, 60)
    assert _status(yarnspec, application)["blocks"] == []
    stop.touch()
    assert submission.wait().expect(0).lines[-1]["wrong"] == 0
    after = yarnspec("explain", application, "--host", host).expect(0).stdout
    assert "it was blocked once" in after
    assert "(cluster, " in after
    cluster.hdfs_delete(file, user=MALLORY)


def test_metrics_are_told_to_who_has_the_token(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The page is there for a scraper with the token of the endpoint's file only, and the command prints the same."""
    stop = tmp_path / "stop"
    submission = submit("rounds.py", str(stop), "4", "0.2", options=[*ONE_EXECUTOR])
    application = submission.application_id()
    wait_for("a round", lambda: '"round": 1' in submission.stdout, 90)
    endpoint = json.loads(cluster.hdfs_read(f"/user/{cluster.user}/.skein/{application}/yarnspec-endpoint.json"))
    url = f"{endpoint['url']}/metrics"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, timeout=10)  # noqa: S310 - our own application master
    refused.value.close()
    assert refused.value.code == REFUSED
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {endpoint['token']}"})  # noqa: S310

    def scraped() -> str:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            return str(answer.read().decode())

    page = scraped()
    assert {"yarnspec_executors", "yarnspec_tasks", "yarnspec_blocked_hosts", "yarnspec_copies_total"} <= _names(page)
    assert f'application_id="{application}"' in page
    assert endpoint["token"] not in page
    # Stages begin and end meanwhile, and some metrics with them.
    wait_for(
        "the same page", lambda: _names(yarnspec("metrics", application).expect(0).stdout) == _names(scraped()), 60
    )
    stop.touch()
    submission.wait().expect(0)
    assert 'yarnspec_executors{state="running"} 0.0' in yarnspec("metrics", application).expect(0).stdout
    for role in ("negotiator", "driver"):
        assert endpoint["token"] not in yarnspec("logs", application, "--role", role).stdout


def _names(metrics: str) -> set[str]:
    return {line.split("{")[0].split()[0] for line in metrics.splitlines() if not line.startswith("#")}


def _status(yarnspec: Yarnspec, application: str) -> dict[str, Any]:
    return yarnspec("status", application, "-o", "json").expect(0).document
