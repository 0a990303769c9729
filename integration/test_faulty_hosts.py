"""A host on which tasks fail that succeed elsewhere is kept off, until somebody vouches for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.waiting import wait_for


@pytest.mark.one_a_day("copies")
def test_tasks_that_fail_on_one_host_run_elsewhere_and_it_is_blocked(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    # Two executors do not fit on one host; on a busy machine it may be slow as well, which is not what is looked for.
    options = [
        *("--executor-memory", "4g", "--num-executors", "3", "--executor-cores", "2"),
        *("--set", "speculation.enabled=false"),
    ]
    submission = submit("faulty.py", str(tmp_path), options=options)
    application = submission.application_id()
    wait_for("rounds on three hosts", lambda: len(submission.last_hosts) == 3, 90)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    faulty = next(host for host in submission.last_hosts if host != am_host)
    (tmp_path / "faulty.new").write_text(faulty)
    (tmp_path / "faulty.new").rename(tmp_path / "faulty")

    def blocks() -> list[dict[str, Any]]:
        return yarnspec("events", application, "-o", "json", "--type", "BlockHost").lines

    block = wait_for(
        "a block of the host", lambda: next((one for one in blocks() if one["level"] == "application"), None), 60
    )
    assert (block["host"], block["cause"]) == (faulty, "faulty")
    assert "succeeded elsewhere" in block["reason"]
    # Before that each task was only kept off the host on which it had failed.
    assert {one["host"] for one in blocks() if one["level"] == "task"} == {faulty}
    wait_for("rounds without it", lambda: faulty not in submission.last_hosts, 20)

    (tmp_path / "faulty").unlink()
    yarnspec("hosts", application, "unblock", faulty).expect(0)
    wait_for("rounds with it again", lambda: faulty in submission.last_hosts, 30)
    (tmp_path / "stop").touch()
    assert submission.wait().expect(0).lines[-1] == {"wrong": 0}
