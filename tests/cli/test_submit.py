"""`yarnspec submit` as it is used: what goes to stdout, what to stderr, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.cli.conftest import Run
from tests.gateway.calm_cluster import Rm
from tests.gateway.cluster import APP, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.core.messages import events
from yarnspec.errors import ClusterUnreachable
from yarnspec.gateway.application import following
from yarnspec.gateway.application import handle as application
from yarnspec.gateway.submit import assembly, submission
from yarnspec.observe.forms.document import Final, StatusDocument
from yarnspec.observe.log.history import Result
from yarnspec.yarn.skein.skein_submission import Submitted

TRACEBACK = 'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\nValueError: no'


class Yarn:
    """A cluster that takes the application, lets it run, and ends it as a test says."""

    def __init__(self, cluster: HandMadeCluster) -> None:
        self.cluster = cluster
        self.rm = Rm("http://rm:8088")
        cluster.__dict__["rm"] = self.rm
        self.taken: list[Any] = []

    def submit(self, application: Any, *_: object, **__: object) -> Submitted:
        self.taken.append(application)
        self.rm.reports[APP] = report()
        return Submitted(application_id=APP, staging_directory="/x")

    def ends(self, status: str, exit_code: int = 0, reason: str = "", diagnostics: str = "", looks: int = 1) -> None:
        """After some looks at it YARN says that it has ended, and the history holds the result."""
        left = [looks]

        def look() -> None:
            left[0] -= 1
            if left[0] >= 0:
                return
            self.rm.before_answer = lambda: None
            state = "KILLED" if status == "KILLED" else "FINISHED"
            self.rm.reports[APP] = report(state, status, finished_ms=1_700_000_009_000)
            self.cluster.record(events.DriverStarted(pid=1))
            final = Final(status=status, exit_code=exit_code, reason=reason, diagnostics=diagnostics)
            self.cluster.history.finish(
                APP,
                Result(
                    status=status,
                    exit_code=exit_code,
                    reason=reason,
                    diagnostics=diagnostics,
                    finished_ms=1_700_000_009_000,
                ),
                StatusDocument(application_id=APP, state=status, attempt=1, epoch=1, final=final),
            )

        self.rm.before_answer = look


@pytest.fixture
def yarn(cluster: HandMadeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yarn:
    yarn = Yarn(cluster)
    (tmp_path / "app.py").write_text("")
    (tmp_path / "yarnspec.jar").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARK_CONF_DIR", "/nonexistent")
    monkeypatch.setenv("YARNSPEC_SUBMIT__POLL_INTERVAL", "5 ms")
    monkeypatch.setattr(submission, "submit_to_yarn", yarn.submit)
    for module in (assembly, submission):
        monkeypatch.setattr(module, "jar_path", lambda: tmp_path / "yarnspec.jar")
    return yarn


def test_the_programs_output_and_nothing_else_is_on_stdout(
    yarn: Yarn, negotiator: HandMadeNegotiator, yarnspec: Run
) -> None:
    negotiator.stdout, negotiator.ended = b"a result\n", True
    yarn.ends("SUCCEEDED", looks=3)
    ran = yarnspec("submit", "--master", "yarn", "app.py")
    assert (ran.code, ran.out) == (0, "a result\n")
    assert APP in ran.err
    assert "the driver runs in the application master" in ran.err
    assert "placement by constraints" in ran.err


def test_output_that_is_not_whole_is_no_success(yarn: Yarn, yarnspec: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program succeeded, its negotiator is gone, and so is its log."""
    monkeypatch.setattr(application, "_LOG_PATIENCE_S", 0.0)
    monkeypatch.setenv("PATH", "/nonexistent")
    yarn.ends("SUCCEEDED", looks=2)
    ran = yarnspec("submit", "-o", "json", "app.py")
    document = msgspec.json.decode(ran.out)
    assert (ran.code, document["exit_code"], document["state"]) == (1, 1, "SUCCEEDED")
    assert "the output breaks off after 0 bytes" in ran.err
    assert f"error: the program's output is not whole; try  yarnspec logs {APP}" in ran.err


def test_in_cluster_mode_stdout_is_the_id(yarn: Yarn, yarnspec: Run) -> None:
    yarn.ends("SUCCEEDED", looks=2)
    ran = yarnspec("submit", "--deploy-mode", "cluster", "app.py")
    assert (ran.code, ran.out) == (0, f"{APP}\n")


@pytest.mark.usefixtures("yarn")
def test_without_waiting_the_application_goes_on(yarnspec: Run) -> None:
    for mode in ("client", "cluster"):
        ran = yarnspec("submit", "--deploy-mode", mode, "--no-wait", "app.py")
        assert (ran.code, ran.out) == (0, f"{APP}\n")
        assert f"yarnspec status {APP}" in ran.err
        assert f"yarnspec kill {APP}" in ran.err


@pytest.mark.parametrize(("form", "parse"), [("json", msgspec.json.decode), ("yaml", yaml.safe_load)])
def test_one_object_on_stdout(
    yarn: Yarn, negotiator: HandMadeNegotiator, yarnspec: Run, form: str, parse: Callable[[str], Any]
) -> None:
    negotiator.stdout, negotiator.ended = b"a result\n", True
    yarn.ends("FAILED", 1, "ValueError: no", TRACEBACK, looks=3)
    ran = yarnspec("submit", "-o", form, "app.py")
    found = parse(ran.out)
    assert ran.code == 1
    assert (found["schema"], found["application_id"], found["state"], found["exit_code"]) == (1, APP, "FAILED", 1)
    assert found["status"]["final"]["reason"] == "ValueError: no"
    assert "a result" in ran.err


def test_a_failure_shows_the_end_of_the_traceback_and_where_the_log_is(yarn: Yarn, yarnspec: Run) -> None:
    yarn.ends("FAILED", 1, "ValueError: no", TRACEBACK)
    ran = yarnspec("submit", "--deploy-mode", "cluster", "app.py")
    assert ran.code == 1
    assert f"error: {APP} FAILED: ValueError: no" in ran.err
    assert "  ValueError: no" in ran.err
    assert f"yarnspec logs {APP}" in ran.err


def test_a_negotiator_that_never_began_points_to_the_doctor(yarn: Yarn, yarnspec: Run) -> None:
    said = "failed 2 times due to AM Container for appattempt_1 exited with  exitCode: 1"
    failed = report("FAILED", "FAILED", diagnostics=said, finished_ms=1_700_000_009_000)
    yarn.rm.before_answer = lambda: yarn.rm.reports.update({APP: failed})
    ran = yarnspec("submit", "--deploy-mode", "cluster", "app.py")
    assert (ran.code, said in ran.err, "yarnspec doctor" in ran.err) == (1, True, True)
    yarn.ends("FAILED", 1, "ValueError: no")
    assert "yarnspec doctor" not in yarnspec("submit", "--deploy-mode", "cluster", "app.py").err


@pytest.mark.parametrize(("status", "exit_code", "code"), [("KILLED", 7, 7), ("FAILED", 6, 6), ("FAILED", 42, 1)])
def test_exit_codes(yarn: Yarn, yarnspec: Run, status: str, exit_code: int, code: int) -> None:
    yarn.ends(status, exit_code, "a reason")
    ran = yarnspec("submit", "--deploy-mode", "cluster", "app.py")
    assert ran.code == code
    assert "a reason" in ran.err


def test_an_interrupt_leaves_the_application_running(yarn: Yarn, yarnspec: Run) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    yarn.rm.before_answer = interrupt
    ran = yarnspec("submit", "--deploy-mode", "cluster", "app.py")
    assert (ran.code, ran.out) == (130, f"{APP}\n")
    assert f"{APP} goes on" in ran.err
    assert f"yarnspec kill {APP}" in ran.err
    assert yarn.rm.reports[APP].state == "RUNNING"


def test_a_cluster_that_stops_answering_while_waiting(
    yarn: Yarn, yarnspec: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_SILENCE_S", 0.1)

    def no_answer() -> None:
        raise ClusterUnreachable("the ResourceManager did not answer")

    yarn.rm.before_answer = no_answer
    ran = yarnspec("submit", "--deploy-mode", "cluster", "app.py")
    assert ran.code == 4
    assert f"yarnspec status {APP}" in ran.err
    assert "error: the ResourceManager did not answer" in ran.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["none.py"], 2),
        (["--executor-memory", "lots", "app.py"], 2),
        (["--executor-memory", "100g", "app.py"], 2),
        (["--queue", "nope", "app.py"], 5),
        (["--exclude-hosts", "nope", "app.py"], 5),
        (["--no-such-flag", "app.py"], 2),
        (["--master", "spark://x", "app.py"], 2),
    ],
)
def test_wrong_input_submits_nothing(yarn: Yarn, yarnspec: Run, line: list[str], code: int) -> None:
    ran = yarnspec("submit", *line)
    assert (ran.code, ran.out) == (code, "")
    assert "error:" in ran.err
    assert yarn.taken == []


def test_a_dry_run_prints_what_would_be_submitted(yarn: Yarn, yarnspec: Run) -> None:
    ran = yarnspec("submit", "--dry-run", "--name", "etl", "app.py")
    assert ran.code == 0
    assert yaml.safe_load(ran.out)["name"] == "etl"
    ran = yarnspec("submit", "--dry-run", "-o", "json", "app.py")
    assert msgspec.json.decode(ran.out)["placement"]["mode"] == "constraints"
    assert yarn.taken == []


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_before_the_id_is_known_says_what_is_left(
    begun: bool, cluster: HandMadeCluster, yarn: Yarn, yarnspec: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.staging.mkdir(parents=True)

    def interrupted(*_: object, on_broken: Callable[[str], None], **__: object) -> Submitted:
        if begun:
            on_broken(APP)
        raise KeyboardInterrupt

    monkeypatch.setattr(submission, "submit_to_yarn", interrupted)
    ran = yarnspec("submit", "app.py")
    assert (ran.code, ran.out, yarn.taken) == (130, "", [])
    assert ("what was uploaded is deleted." if begun else "nothing was submitted.") in ran.err
    assert cluster.staging.exists() is not begun
