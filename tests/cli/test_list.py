"""`yarnspec list`, `last`, `top`, `schema` and `completion`."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from tests.cli.conftest import Run
from tests.cli.test_application_commands import BLOCKED, STAGE_OF_TWO, STARTED
from tests.gateway.cluster import APP, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from tests.observe.page.histories import recorded
from yarnspec.cli.main import cli
from yarnspec.core.messages import commands
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.observe.forms.records import encode

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


def test_top_once_where_there_is_no_terminal(yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
    negotiator.attempts = (
        RunningAttempt(
            stage=3, stage_attempt=0, index=7, attempt=1, task_id=9, executor_id="2", host=HOSTS[2], launch_ms=0,
            speculative=True,
        ),
    )  # fmt: skip
    ran = yarnspec("top", APP)
    assert ran.code == 0
    assert "3.7" in ran.out
    assert "copy" in ran.out
    assert HOSTS[2] in ran.out


class TestSchema:
    def test_lines_of_events(self, yarnspec: Run) -> None:
        history = recorded(6)
        check = jsonschema.Draft202012Validator(json.loads(yarnspec("schema", "events").out))
        kinds = {one.type: one for one in history}
        assert len(kinds) > 15
        for one in kinds.values():
            line = json.loads(encode(one))
            assert check.is_valid(line), line
        assert not check.is_valid({"schema": 1, "type": "BlockHost"})

    def test_a_status(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, *STAGE_OF_TWO, BLOCKED])
        schema = json.loads(yarnspec("schema", "status").out)
        jsonschema.validate(json.loads(yarnspec("status", APP, "-o", "json").out), schema)

    def test_the_options(self, yarnspec: Run) -> None:
        schema = json.loads(yarnspec("schema", "options").out)
        check = jsonschema.Draft202012Validator(schema)
        check.validate(json.loads(yarnspec("config", "show", "-o", "json").out))
        check.validate({"placement": {"mode": "blacklist", "spread_wait": "2 s"}})
        assert not check.is_valid({"placement": {"spread_wiat": "2 s"}})
        assert not check.is_valid({"placement": {"mode": "no such mode"}})


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_a_script_for_each_shell(self, yarnspec: Run, shell: str) -> None:
        assert "_YARNSPEC_COMPLETE" in yarnspec("completion", shell).out

    def complete(self, *words: str, at: int) -> str:
        environment = {
            "_YARNSPEC_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("yarnspec", *words)), "COMP_CWORD": str(at)
        }  # fmt: skip
        return CliRunner().invoke(cli, prog_name="yarnspec", env=environment).output

    def test_applications_and_hosts_are_offered(self, cluster: HandMadeCluster) -> None:  # noqa: ARG002
        assert self.complete("status", "", at=2).split() == ["plain,last", f"plain,{APP}"]
        assert HOSTS[0] in self.complete("explain", APP, "--host", "", at=4)
        assert "plain,replay" in self.complete("rep", at=1)

    def test_a_cluster_that_does_not_answer_offers_nothing(self, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports = None  # type: ignore[assignment]
        assert self.complete("status", "", at=2).strip() == ""
