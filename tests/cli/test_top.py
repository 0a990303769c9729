"""`yarnspec top`, `schema` and `completion`."""

from __future__ import annotations

import io
import json
import re

import jsonschema
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.cli.conftest import Run
from tests.cli.test_application_commands import BLOCKED, STAGE_OF_TWO, STARTED
from tests.gateway.cluster import APP, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from tests.observe.page.records_to_draw import recorded
from yarnspec.cli.main import cli
from yarnspec.cli.top import fitting, glance
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.observe.forms.document import BlockedHost, ContainerStatus, StageStatus, StatusDocument
from yarnspec.observe.forms.records import encode


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


def test_top_of_an_application_that_has_ended(yarnspec: Run, cluster: HandMadeCluster) -> None:
    cluster.record(STARTED, BLOCKED, *STAGE_OF_TWO)
    cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED", finished_ms=1_700_000_075_000)
    assert [line.strip() for line in yarnspec("top", APP).out.splitlines()] == [f"{APP}  SUCCEEDED  1:15", "tasks 2/2"]


def test_top_says_of_the_drivers_host_that_it_is_blocked() -> None:
    block = BlockedHost(host="w1", reason="a disk that is slow " * 20, until_ms=None, by="me")
    master = ContainerStatus(id="c", host="w1", role="am", state="RUNNING", attempt=1)
    stage = StageStatus(stage=4, stage_attempt=2, name="count", tasks=3, finished=0, failed=0, state="RUNNING")
    document = StatusDocument(
        application_id=APP, state="RUNNING", containers=(master,), blocked_hosts=(block,), stages=(stage,)
    )
    written = io.StringIO()
    Console(width=70, file=written).print(glance(document, (), 0))
    lines = written.getvalue().splitlines()
    [host] = [line for line in lines if line.startswith("w1")]
    assert "driver, blocked until it is unblocked: a disk" in host
    assert any(line.startswith("4.2    0 of 3") for line in lines)


@pytest.mark.parametrize(("width", "height"), [(100, 24), (60, 24), (100, 60)])
def test_top_fits_into_the_terminal(width: int, height: int) -> None:
    blocked = [BlockedHost(host=f"w{at}", reason="slow " * 40, until_ms=None, by="detector") for at in range(3)]
    containers = [
        ContainerStatus(id=f"c{at}", host=f"w{at}", role="executor", state="RUNNING", attempt=1) for at in range(40)
    ]
    stage = StageStatus(stage=4, stage_attempt=0, name="count", tasks=90, finished=0, failed=0, state="RUNNING")
    document = StatusDocument(
        application_id=APP, state="RUNNING", phase="executing", wanted_containers=40, running_containers=40,
        containers=tuple(containers), blocked_hosts=tuple(blocked), stages=(stage,),
    )  # fmt: skip
    running = tuple(
        RunningAttempt(
            stage=4, stage_attempt=0, index=at, attempt=0, task_id=at, executor_id="1", host="w1", launch_ms=at,
            speculative=False,
        )
        for at in range(30)
    )  # fmt: skip
    written = io.StringIO()
    console = Console(width=width, height=height, file=written)
    console.print(fitting(document, running, 99_000, console))
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    assert len(lines) == height - 1
    assert len([line for line in lines if "blocked until" in line]) == 3
    for each, most in ((r"w\d+ ", 40), (r"4 +0 of 90", 1), (r"4\.\d+ +w1", 30)):
        shown = len([line for line in lines if re.match(each, line)])
        assert shown == most or (shown >= 5 and f"{most - shown} more" in lines)


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
        check.validate({"blocklist": {"never_hosts": ["w1", "w2"]}})
        assert not check.is_valid({"placement": {"spread_wiat": "2 s"}})
        assert not check.is_valid({"placement": {"mode": "no such mode"}})

    @pytest.mark.parametrize("what", ["status", "events", "options"])
    def test_descriptions_are_to_be_read(self, yarnspec: Run, what: str) -> None:
        found = re.findall(r'"description": "(.*)"', yarnspec("schema", what).out)
        assert [one for one in found if "``" in one or "\\n    `" in one] == []


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
