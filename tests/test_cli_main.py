"""The command's entry point: every way to end has its exit code and its words."""

import re
import stat
import sys
import types
from pathlib import Path
from typing import Protocol

import click
import pytest

from yarnspec import errors
from yarnspec.cli import main as entry


class Behave(Protocol):
    """Say how `yarnspec status` ends from now on."""

    def __call__(self, error: BaseException | None = None, returns: object = None) -> None: ...


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch) -> Behave:
    """Put a command of the test's making in the place of `yarnspec status`."""

    def put(error: BaseException | None = None, returns: object = None) -> None:
        @click.command()
        @click.option("--verbose", is_flag=True)
        def command(verbose: bool) -> object:
            assert verbose in (True, False)
            if error is not None:
                raise error
            return returns

        module = types.ModuleType("yarnspec.cli.status")
        module.command = command  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "yarnspec.cli.status", module)

    return put


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.YarnspecError("it failed"), 1),
        (errors.UsageError("wrong"), 2),
        (errors.ClusterUnreachable("no answer"), 4),
        (errors.NotAllowed("denied"), 4),
        (errors.NotFound("no such queue"), 5),
        (errors.ResourcesTimedOut("too late"), 6),
    ],
)
def test_each_expected_failure_has_its_exit_code_and_one_message(
    behave: Behave, error: errors.YarnspecError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    behave(error)
    assert entry.run(["status"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == f"error: {error.message}"


def test_what_a_command_returns_is_the_exit_code_when_it_is_a_number(behave: Behave) -> None:
    for returned, code in ((None, 0), (7, 7), (True, 0), ("text", 0)):
        behave(returns=returned)
        assert entry.run(["status"]) == code


def test_an_interrupt_is_130(behave: Behave) -> None:
    behave(KeyboardInterrupt())
    assert entry.run(["status"]) == 130
    behave(click.Abort())
    assert entry.run(["status"]) == 130


def test_a_reader_that_went_away_is_no_failure_of_the_application(
    behave: Behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    # click replaces the standard streams when it meets a closed pipe.
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    behave(BrokenPipeError(32, "Broken pipe"))
    assert entry.run(["status"]) == 141


def test_a_bug_writes_a_report_that_only_the_user_can_read_and_that_holds_no_secrets(
    behave: Behave, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("MY_TOKEN", "value-of-the-environment")
    behave(ZeroDivisionError("division by zero"))

    assert entry.run(["status", "--verbose"]) == 3

    [report] = tmp_path.iterdir()
    assert str(report) in capsys.readouterr().err
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text()
    assert "ZeroDivisionError: division by zero" in text
    assert "command: yarnspec status\n" in text
    assert "value-of-the-environment" not in text
    assert "--verbose" not in text


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (["statsu"], "Did you mean 'status'"),
        (["minicluster", "stopp"], "Did you mean 'stop'?"),
        (["minicluster", "host", "strat"], "Did you mean 'start'?"),
        (["minicluster", "start", "--node", "3"], "--nodes"),
        (["xyzzy"], "Commands: submit, status"),
        (["--versoin"], "--version"),
    ],
)
def test_mistyped_words_are_usage_errors_with_a_suggestion(
    line: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry.run(line) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert hint in said.err
    assert re.search(r"^error: ", said.err, re.MULTILINE)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["--version"]) == 0
    assert re.fullmatch(r"yarnspec, version \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_help_names_every_command_and_imports_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.import_module", None)
    assert entry.run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {name} ", shown, re.MULTILINE) for name in entry.COMMANDS)


def test_every_command_can_be_imported() -> None:
    group = entry.LazyGroup("yarnspec")
    context = click.Context(group)
    for name in entry.COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        assert entry.summary_of(name) == command.short_help or (command.help or "").startswith(entry.summary_of(name))
        assert entry.summary_of(name)
    assert group.get_command(context, "nothing") is None


def test_main_leaves_with_the_exit_code(behave: Behave) -> None:
    behave(errors.NotFound("no"))
    with pytest.raises(SystemExit) as leaving:
        entry.main(["status"])
    assert leaving.value.code == 5
