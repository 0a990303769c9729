"""Processes that outlive the command that started them, and how to end them without hitting anybody else's.

A process is known by its id *and* its start time: ids are used again. Besides, every daemon carries a mark in its
environment, and every container the path of its NodeManager's local directory: so they are found also when their
starter died before it could write down what it had started.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_PROC = Path("/proc")
_POLL_S = 0.05

# Starts the command in the background of a shell that ends at once. So the command is nobody's child in this program:
# it becomes no zombie, and nobody has to wait for it. It is in a session of its own, and deaf to the terminal's ^C.
_DETACH = 'cd "$1" || exit 1; log=$2; shift 2; "$@" </dev/null >>"$log" 2>&1 & echo $!'


class ProcessIdentity(msgspec.Struct, frozen=True):
    """One process of this machine since its last boot: `started_ticks` is field 22 of /proc/PID/stat."""

    pid: int
    started_ticks: int


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a running process, None when it has ended (a zombie has)."""
    stat = _stat(pid)
    if stat is None or stat[0] in {"Z", "X"}:
        return None
    return ProcessIdentity(pid, int(stat[19]))


def is_alive(process: ProcessIdentity) -> bool:
    """Tell whether this very process still runs."""
    return identify(process.pid) == process


def start_detached(
    command: Sequence[str], *, directory: Path, log: Path, environment: Mapping[str, str]
) -> ProcessIdentity:
    """Start a command that goes on when we end, its output appended to `log`."""
    starter = subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", str(directory), str(log), *command],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        close_fds=True,
        check=True,
        timeout=30,
    )
    pid = int(starter.stdout)
    # A command that has ended already (a java that does not exist) is an identity nobody has.
    return identify(pid) or ProcessIdentity(pid, -1)


def find_marked(marks: Iterable[str]) -> list[ProcessIdentity]:
    """Find this user's processes with one of these texts in their environment, and the rest of their sessions."""
    wanted = [mark.encode() for mark in marks]
    stats = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None and stat[0] not in {"Z", "X"}}
    me = os.getpid()
    marked = {pid for pid in stats if pid != me and _has_mark(pid, wanted)}
    # A marked process may have started others with a cleaned environment: they share its session, or are its children.
    ours = os.getsid(0)
    sessions = {int(stats[pid][3]) for pid in marked} - {ours, 0, 1}
    found = marked | {pid for pid, stat in stats.items() if int(stat[3]) in sessions and pid != me}
    return [ProcessIdentity(pid, int(stats[pid][19])) for pid in sorted(found)]


def send(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    """Send a signal to those of the processes that still run."""
    for each in processes:
        if is_alive(each):
            try:
                os.kill(each.pid, number)
            except ProcessLookupError:
                continue


def wait_gone(processes: Iterable[ProcessIdentity], timeout_s: float) -> list[ProcessIdentity]:
    """Wait until all have ended; return those that have not."""
    left = list(processes)
    wait_until(lambda: not _keep_alive(left), timeout_s)
    return left


def wait_ended(process: ProcessIdentity) -> None:
    """Wait, however long it takes, until this very process has ended."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        # Only now: if it still runs, the descriptor is of it and not of a later process with its number.
        if is_alive(process):
            ended.poll()
    finally:
        os.close(descriptor)


def end(processes: Iterable[ProcessIdentity], *, patience_s: float) -> None:
    """Ask processes to end (SIGTERM), and after `patience_s` make them (SIGKILL)."""
    asked = list(processes)
    send(asked, signal.SIGTERM)
    left = wait_gone(asked, patience_s)
    send(left, signal.SIGKILL)
    wait_gone(left, 10)


def wait_until(condition: Callable[[], bool], timeout_s: float, poll_s: float = _POLL_S) -> bool:
    """Look at the condition until it holds (True) or the time is over (False)."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(poll_s)
    return True


def _keep_alive(processes: list[ProcessIdentity]) -> bool:
    processes[:] = [each for each in processes if is_alive(each)]
    return bool(processes)


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third one on: the name before may hold spaces and brackets."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _has_mark(pid: int, marks: Sequence[bytes]) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return any(mark in environment for mark in marks)
