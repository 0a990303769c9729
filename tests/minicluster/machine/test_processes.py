"""Processes are found and ended by identity and by mark, and nobody else's are."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from yarnspec.minicluster.machine.processes import (
    ProcessIdentity,
    end,
    find_marked,
    identify,
    is_alive,
    send,
    start_detached,
    wait_ended,
    wait_gone,
    wait_until,
)

WAIT_S = 20


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """A mark that only this test's processes carry; whatever still does at the end is ended."""
    text = f"YARNSPEC_TEST_MARK={tmp_path}"
    yield text
    send(find_marked([text]), signal.SIGKILL)
    assert wait_until(lambda: not find_marked([text]), WAIT_S)


def start(tmp_path: Path, *command: str) -> ProcessIdentity:
    environment = {"PATH": os.environ["PATH"], "YARNSPEC_TEST_MARK": str(tmp_path)}
    return start_detached(command, directory=tmp_path, log=tmp_path / "log", environment=environment)


def test_a_detached_process_runs_in_a_session_of_its_own_with_its_output_in_the_log(tmp_path: Path, mark: str) -> None:
    process = start(tmp_path, "sh", "-c", "echo started; pwd; sleep 600")

    assert is_alive(process)
    assert os.getsid(process.pid) != os.getsid(0)
    assert wait_until(lambda: (tmp_path / "log").read_text() == f"started\n{tmp_path}\n", WAIT_S)
    assert process in find_marked([mark])


def test_a_detached_process_does_not_inherit_open_files(tmp_path: Path, mark: str) -> None:
    """A lock that our caller holds must not be held by a daemon as well."""
    with (tmp_path / "inheritable").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        process = start(tmp_path, "sleep", "600")
    opened = set()
    for each in Path(f"/proc/{process.pid}/fd").iterdir():
        # A program that begins opens and closes files of its own.
        with contextlib.suppress(FileNotFoundError):
            opened.add(str(each.readlink()))

    assert str(tmp_path / "inheritable") not in opened
    assert process in find_marked([mark])


def test_a_number_that_was_given_to_another_process_is_not_ours(tmp_path: Path, mark: str) -> None:
    process = start(tmp_path, "sleep", "600")
    stale = ProcessIdentity(process.pid, process.started_ticks - 1)

    assert not is_alive(stale)
    send([stale], signal.SIGKILL)
    end([stale], patience_s=0)
    assert is_alive(process)
    assert mark


def test_ending_asks_first_and_then_makes(tmp_path: Path, mark: str) -> None:
    gentle = start(tmp_path, "sleep", "600")
    stubborn = start(tmp_path, "sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done")
    assert wait_until(lambda: "deaf" in (tmp_path / "log").read_text(), WAIT_S)

    send([gentle, stubborn], signal.SIGTERM)
    assert wait_gone([gentle], WAIT_S) == []
    assert wait_gone([stubborn], 0) == [stubborn]

    end([stubborn], patience_s=0.1)
    assert not is_alive(stubborn)
    assert mark


def test_a_process_that_left_its_environment_behind_is_found_by_its_session(tmp_path: Path, mark: str) -> None:
    start(tmp_path, "sh", "-c", "env -i sleep 600 & echo $!; wait")
    assert wait_until(lambda: (tmp_path / "log").read_text().strip().isdigit(), WAIT_S)
    hidden = identify(int((tmp_path / "log").read_text()))

    assert hidden in find_marked([mark])


def test_a_mark_that_only_begins_alike_is_another_one(tmp_path: Path, mark: str) -> None:
    process = start(tmp_path, "sleep", "600")

    assert process in find_marked([f"{mark}\0"])
    assert find_marked([f"{mark[:-1]}\0"]) == []


def test_a_command_that_does_not_exist_is_not_alive(tmp_path: Path) -> None:
    process = start(tmp_path, "/no/such/command")

    assert wait_gone([process], WAIT_S) == []
    assert wait_until(lambda: "/no/such/command" in (tmp_path / "log").read_text(), WAIT_S)


def test_a_zombie_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        assert wait_until(lambda: identify(child.pid) is None, WAIT_S)


def test_the_end_of_a_process_is_waited_for_and_that_of_another_with_its_number_is_not(
    tmp_path: Path, mark: str
) -> None:
    process = start(tmp_path, "sleep", "600")
    wait_ended(ProcessIdentity(process.pid, process.started_ticks - 1))
    waiting = threading.Thread(target=wait_ended, args=[process])
    waiting.start()
    assert is_alive(process)

    send([process], signal.SIGKILL)
    waiting.join(WAIT_S)
    assert not waiting.is_alive()
    wait_ended(process)
    assert mark


def test_waiting_ends_at_its_deadline() -> None:
    assert not wait_until(lambda: False, 0.01)
    assert wait_until(lambda: True, 0)
