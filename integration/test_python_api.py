"""The same from Python: `yarnspec.submit(...)` and `yarnspec.Application`."""

from __future__ import annotations

import json

import pytest

import yarnspec as library
from integration.cluster import Cluster
from integration.submitting import PROGRAMS

WAIT_S = 90


def test_submit_wait_and_look_from_python(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application is submitted, waited for, and found again by its id."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    excluded = cluster.hosts[0]
    with library.submit(
        str(PROGRAMS / "tasks.py"), "4", "0.1",
        num_executors=1, executor_memory="512m", driver_memory="512m", exclude_hosts=(excluded,),
    ) as application:  # fmt: skip
        assert application.wait(WAIT_S).state == "SUCCEEDED"
    with library.Application.from_id(application.id) as found:
        status = found.status()
        assert status.ended
        # That the exclusion arrives; what it does is in test_exclusion, with a control run.
        assert [(one.host, one.by) for one in status.blocked_hosts if one.host == excluded] == [(excluded, "submit")]
        assert {record.type for record in found.events()} >= {"BlockHost", "ContainerStarted", "DriverFinished"}
        output = b"".join(piece.data for piece in found.logs(name="driver.stdout")).decode()
    assert json.loads(output.splitlines()[-1])["sum"] == 6
