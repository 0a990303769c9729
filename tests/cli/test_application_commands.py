"""events, explain, kill and logs: what is printed where, and the exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.gateway.cluster import AM, APP, EXECUTOR, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.messages import commands, events
from yarnspec.gateway.application.handle import Application

STARTED = events.AttemptStarted(
    application_id=APP, attempt=1, epoch=1, container_id=AM, host=HOSTS[0], placement_mode="blacklist"
)
BLOCKED = commands.BlockHost(reason="slow disk", host=HOSTS[1], until_ms=None, by="me")
STAGE_OF_TWO = (
    events.StageStarted(stage=3, stage_attempt=0, name="s", tasks=2),
    *(
        events.TaskFinished(
            stage=3,
            stage_attempt=0,
            index=index,
            attempt=0,
            task_id=index,
            executor_id="1",
            host=HOSTS[index],
            state="SUCCESS",
            launch_ms=1_700_000_000_000,
            finish_ms=1_700_000_002_000,
        )
        for index in range(2)
    ),
    events.StageFinished(stage=3, stage_attempt=0),
)
EXPLANATION = Explanation(
    subject="task 3.7",
    verdict="it was found slow\x1b[31m",
    numbers={"baseline_ms": 6_000.0, "finished_on": "h1"},
    lines=("it has run for 7.0 s",),
)


class TestEvents:
    def test_json_is_one_object_a_line(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, BLOCKED])
        ran = yarnspec("events", APP, "-o", "json")
        lines = [json.loads(line) for line in ran.out.splitlines()]
        assert [(line["seq"], line["kind"], line["type"]) for line in lines] == [
            (1, "event", "AttemptStarted"),
            (2, "command", "BlockHost"),
        ]
        assert lines[1]["reason"] == "slow disk"

    def test_yaml_documents(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, BLOCKED])
        found = list(yaml.safe_load_all(yarnspec("events", APP, "-o", "yaml").out))
        assert [one["type"] for one in found] == ["AttemptStarted", "BlockHost"]

    def test_the_table_shows_reasons(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, BLOCKED])
        ran = yarnspec("events", APP, "--type", "BlockHost")
        assert ran.out.count("\n") == 1
        assert f"BlockHost            host={HOSTS[1]} by=me (slow disk)" in ran.out

    def test_an_unknown_type_is_a_usage_error(self, yarnspec: Run) -> None:
        ran = yarnspec("events", APP, "--type", "BlokHost")
        assert ran.code == 2
        assert "'BlockHost'" in ran.err

    def test_a_gap_is_told(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        from yarnspec.observe.log.eventlog import EventLog

        negotiator.log._logs = (EventLog(1, others_bytes=100),)
        negotiator.happened([STARTED, BLOCKED, BLOCKED])
        ran = yarnspec("events", APP, "-o", "json")
        assert "2 records of epoch 1 are not in the negotiator's memory" in ran.err


class TestExplain:
    def test_the_negotiators_word_while_it_runs(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.explanations = {"3.7": EXPLANATION, HOSTS[1]: EXPLANATION}
        ran = yarnspec("explain", APP, "--task", "3.7")
        assert ran.code == 0
        assert ran.out.splitlines()[0].startswith("task 3.7: it was found slow")
        assert "\x1b" not in ran.out
        assert [line.split() for line in ran.out.splitlines()[-2:]] == [["baseline_ms", "6000"], ["finished_on", "h1"]]
        document = json.loads(yarnspec("explain", APP, "--host", HOSTS[1], "-o", "json").out)
        assert document == {
            "schema": 1,
            "subject": "task 3.7",
            "verdict": "it was found slow\x1b[31m",
            "numbers": {"baseline_ms": 6000.0, "finished_on": "h1"},
            "lines": ["it has run for 7.0 s"],
            "ended": False,
        }

    def test_the_negotiators_word_on_a_task_that_has_no_numbers_yet(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        negotiator.happened([STARTED, *STAGE_OF_TWO])
        said = Explanation(subject="task 3.0", verdict="it has not been launched", numbers={}, lines=("no slot",))
        negotiator.explanations = {"3.0": said}
        assert yarnspec("explain", APP, "--task", "3.0").out.splitlines() == [
            "task 3.0: it has not been launched",
            "  no slot",
        ]

    def test_the_records_word_for_what_the_negotiator_forgot(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        negotiator.happened([STARTED, *STAGE_OF_TWO])
        negotiator.explanations = {
            "3.0": Explanation(subject="task 3.0", verdict="its stage has ended", numbers={}, lines=(), ended=True)
        }
        assert "task 3.0: it was never found slow" in yarnspec("explain", APP, "--task", "3.0").out
        negotiator.explanations = {}
        assert "task 3.0: it was never found slow" in yarnspec("explain", APP, "--task", "3.0").out

    def test_the_records_word_after_the_end(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, *STAGE_OF_TWO)
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        assert "task 3.1: it was never found slow" in yarnspec("explain", APP, "--task", "3.1").out
        assert f"host {HOSTS[0]}: it was never blocked" in yarnspec("explain", APP, "--host", HOSTS[0]).out

    @pytest.mark.usefixtures("negotiator")
    def test_wrong_input(self, yarnspec: Run) -> None:
        ran = yarnspec("explain", APP)
        assert ran.code == 2
        assert f"yarnspec status {APP}, or the page: yarnspec report {APP}" in " ".join(ran.err.split())
        assert yarnspec("explain", APP, "--task", "1.2", "--host", "h").code == 2
        assert "STAGE.INDEX" in yarnspec("explain", APP, "--task", "12").err
        assert (yarnspec("explain", APP, "--task", "9.9").code, yarnspec("explain", APP, "--host", "h").code) == (5, 5)


class TestKill:
    def test_one_that_ended(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        ran = yarnspec("kill", APP)
        assert (ran.code, ran.out) == (0, f"{APP} SUCCEEDED\n")
        assert "had ended already" in ran.err

    def test_the_page_that_it_wrote_is_named(
        self, yarnspec: Run, cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster.record(STARTED)
        cluster.history.write_report(APP, b"the page")
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED")
        monkeypatch.setattr(Application, "kill", lambda _: True)
        ran = yarnspec("kill", APP)
        assert (ran.code, ran.out) == (0, f"{APP} KILLED\n")
        assert ran.err == f"its report: {cluster.history.report(APP)}\n"


@pytest.mark.usefixtures("negotiator")
@pytest.mark.parametrize(
    "arguments",
    [
        "kill last",
        "kill last -o json",
        "scale last --min 1 --max 2",
        "scale last --min 1 --max 2 -o json",
        "status last",
        "top last",
        "events last",
        "journal show last",
        "journal verify last",
        "report last",
    ],
)
def test_the_newest_is_named_by_its_id(
    yarnspec: Run, cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, arguments: str,
) -> None:  # fmt: skip
    """Who writes `last` has to see which application that was."""
    monkeypatch.chdir(tmp_path)
    if arguments.startswith("kill"):
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
    ran = yarnspec(*arguments.split())
    said = ran.out + ran.err
    assert APP in said
    assert not re.search(r"\blast\b", said)


class TestLogs:
    @pytest.fixture(autouse=True)
    def _yarn_has_logs(
        self, cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        from tests.gateway.logs.test_logtext import wrapped

        directory = tmp_path_factory.mktemp("yarn")
        text = wrapped("driver.stderr", b"a warning", AM) + wrapped("driver.stdout", b"1\n2\n", AM)
        text += wrapped("executor.log", b"from an executor\n", EXECUTOR)
        (directory / "logs").write_bytes(text)
        program = directory / "yarn"
        program.write_text(f'#!/bin/sh\n[ "$1" = logs ] && cat {directory}/logs\n')
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(directory), prepend=":")
        cluster.record(STARTED, events.ContainerStarted(executor_id="1", container_id=EXECUTOR, host=HOSTS[2]))
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        # No NodeManager has them any more, and none is listening either.
        cluster.made_rm.addresses.clear()

    def test_the_drivers_with_a_line_above_each(self, yarnspec: Run) -> None:
        ran = yarnspec("logs", APP)
        assert ran.out == (
            f"==> driver on {HOSTS[0]}, {AM}: driver.stderr <==\na warning\n"
            f"\n==> driver on {HOSTS[0]}, {AM}: driver.stdout <==\n1\n2\n"
        )

    def test_one_file_as_it_is(self, yarnspec: Run) -> None:
        assert yarnspec("logs", APP, "--file", "driver.stdout").out == "1\n2\n"
        assert yarnspec("logs", APP, "--file", "driver.stdout", "--tail", "1").out == "2\n"

    def test_an_executors(self, yarnspec: Run) -> None:
        ran = yarnspec("logs", APP, "--executor", "1", "-o", "json")
        (log,) = json.loads(ran.out)["logs"]
        assert (log["executor_id"], log["host"], log["text"]) == ("1", HOSTS[2], "from an executor\n")

    def test_wrong_input(self, yarnspec: Run) -> None:
        assert yarnspec("logs", APP, "--executor", "9").code == 5
        assert yarnspec("logs", APP, "--file", "nothing").code == 5
        assert yarnspec("logs", APP, "--role", "driver", "--executor", "1").code == 2
        assert yarnspec("logs", APP, "--follow", "-o", "json").code == 2
        assert yarnspec("logs", APP, "--role", "cook").code == 2
