"""The applications that a cluster knows, as `yarnspec list` shows them, and the newest of them."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Run
from tests.cli.test_application_commands import STARTED
from tests.gateway.cluster import APP, HandMadeCluster, report
from yarnspec.core.messages import commands

LATER = "application_1700000000000_0012"


def listed(yarnspec: Run, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(yarnspec("list", "-o", "json", *arguments).out)["applications"]
    return found


class TestList:
    def test_the_newest_first_with_how_they_ended(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, commands.FinishApplication(reason="no", status="FAILED", exit_code=1))
        cluster.made_rm.reports[APP] = report("FINISHED", "FAILED", finished_ms=1_700_000_060_000)
        cluster.made_rm.reports[LATER] = report(id=LATER, name="other")
        found = listed(yarnspec)
        assert [(one["id"], one["state"], one["exit_code"]) for one in found] == [
            (LATER, "RUNNING", None), (APP, "FAILED", None)
        ]  # fmt: skip
        assert [one["id"] for one in listed(yarnspec, "--state", "failed")] == [APP]
        assert [one["id"] for one in listed(yarnspec, "--name", "OTH")] == [LATER]
        assert [one["id"] for one in listed(yarnspec, "-n", "1")] == [LATER]
        lines = yarnspec("list").out.splitlines()
        assert lines[0].split() == ["ID", "NAME", "USER", "STATE", "STARTED", "TOOK", "EXIT"]
        assert "1 min 0 s" in lines[2]

    def test_what_yarn_has_forgotten_is_in_the_history(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED)
        cluster.made_rm.reports.clear()
        assert [(one["id"], one["name"], one["state"]) for one in listed(yarnspec)] == [(APP, "etl", "FAILED")]

    def test_none(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports.clear()
        assert "no application" in yarnspec("list").err
        ran = yarnspec("status", "last")
        assert (ran.code, "has no application of yarnspec" in ran.err) == (5, True)


def test_last_is_the_newest_one_everywhere(yarnspec: Run, cluster: HandMadeCluster) -> None:
    cluster.made_rm.reports[LATER] = report("ACCEPTED", id=LATER)
    assert json.loads(yarnspec("status", "last", "-o", "json").out)["application_id"] == LATER
