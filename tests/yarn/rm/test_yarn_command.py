"""The cluster's yarn command is found, has a deadline, and its errors are told apart and cleaned of noise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound, UsageError
from yarnspec.yarn.rm.yarn_command import aggregated_logs, class_path, kill_application, yarn_program

APPLICATION = "application_1_0001"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


def yarn(tmp_path: Path, script: str) -> None:
    program = tmp_path / "yarn"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)


def test_it_is_on_path_or_below_hadoop_home(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no `yarn` command"):
        yarn_program({"PATH": str(tmp_path)})
    (tmp_path / "bin").mkdir()
    yarn(tmp_path / "bin", "true")
    assert yarn_program({"PATH": "", "HADOOP_HOME": str(tmp_path)}) == str(tmp_path / "bin" / "yarn")


def test_the_class_path_is_what_it_prints(tmp_path: Path, environ: dict[str, str]) -> None:
    yarn(tmp_path, 'echo "/conf:/a.jar $*"; echo "WARN talk" >&2')
    assert class_path(environ) == "/conf:/a.jar classpath --glob"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (f"Application with id '{APPLICATION}' doesn't exist in RM.", NotFound),
        ("AccessControlException: User bob cannot perform MODIFY_APP", NotAllowed),
        ("java.net.ConnectException: Connection refused", ClusterUnreachable),
    ],
)
def test_what_yarn_has_against_a_kill_is_the_error(
    tmp_path: Path, environ: dict[str, str], said: str, error: type[Exception]
) -> None:
    yarn(tmp_path, f'echo "26/11/21 WARN noise" >&2; echo "{said}" >&2; exit 255')
    with pytest.raises(error) as caught:
        kill_application(APPLICATION, environ)
    assert said in str(caught.value)
    assert "noise" not in str(caught.value)


def test_only_application_ids_reach_the_command(environ: dict[str, str]) -> None:
    with pytest.raises(NotFound):
        kill_application("-appTypes", environ)


def test_a_command_that_hangs_is_unreachable(tmp_path: Path, environ: dict[str, str]) -> None:
    yarn(tmp_path, "exec tail -f /dev/null")
    with pytest.raises(ClusterUnreachable, match="did not end within"):
        kill_application(APPLICATION, environ, timeout_s=0.2)


def test_logs_are_streamed_and_a_failure_after_them_is_told(tmp_path: Path, environ: dict[str, str]) -> None:
    yarn(tmp_path, 'echo "$*"; head -c 300000 /dev/zero >&2; echo "Can not find any log" >&2; exit 255')
    logs = aggregated_logs(APPLICATION, am_attempts=(1, 2), log_files=("a", "b"), environ=environ)
    assert next(logs) == f"logs -applicationId {APPLICATION} -log_files a,b -am 1,2\n".encode()
    with pytest.raises(NotFound, match="Can not find any log"):
        list(logs)


def test_who_stops_reading_ends_the_command(tmp_path: Path, environ: dict[str, str]) -> None:
    yarn(tmp_path, "echo line; exec tail -f /dev/null")
    logs = aggregated_logs(APPLICATION, environ=environ)
    assert next(logs) == b"line\n"
    logs.close()  # type: ignore[attr-defined]
