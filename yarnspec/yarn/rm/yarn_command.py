"""The cluster's own ``yarn`` command as a child process: class path, aggregated logs, kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound, UsageError
from yarnspec.yarn.rm.resource_manager import check_application_id, check_container_id

TIMEOUT_S = 60.0
_CHUNK_BYTES = 64 * 1024
_SHOWN_LINES = 5
_NOISE = ("WARN", "INFO", "SLF4J", "log4j:")


def yarn_program(environ: Mapping[str, str] = os.environ) -> str:
    """The ``yarn`` command: on PATH, else below HADOOP_HOME or HADOOP_YARN_HOME."""
    found = shutil.which("yarn", path=environ.get("PATH"))
    if found:
        return found
    for name in ("HADOOP_YARN_HOME", "HADOOP_HOME"):
        program = Path(environ.get(name) or "/nonexistent") / "bin" / "yarn"
        if os.access(program, os.X_OK):
            return str(program)
    raise UsageError(
        "There is no `yarn` command on PATH: add the bin directory of your Hadoop client to PATH, or set HADOOP_HOME."
    )


def class_path(environ: Mapping[str, str] = os.environ, *, timeout_s: float = TIMEOUT_S) -> str:
    """The class path of the cluster's Hadoop, with its wildcards resolved."""
    return _run(["classpath", "--glob"], environ, timeout_s).strip()


def kill_application(
    application_id: str, environ: Mapping[str, str] = os.environ, *, timeout_s: float = TIMEOUT_S
) -> None:
    """Kill an application; what YARN has against it is the error."""
    _run(["application", "-kill", check_application_id(application_id)], environ, timeout_s)


def aggregated_logs(
    application_id: str,
    *,
    container_id: str | None = None,
    log_files: Sequence[str] = (),
    am_attempts: Sequence[int] = (),
    environ: Mapping[str, str] = os.environ,
) -> Iterator[bytes]:
    """The logs of an application that ended, as ``yarn logs`` prints them, piece by piece."""
    arguments = ["logs", "-applicationId", check_application_id(application_id)]
    if container_id is not None:
        arguments += ["-containerId", check_container_id(container_id)]
    if log_files:
        arguments += ["-log_files", ",".join(log_files)]
    if am_attempts:
        arguments += ["-am", ",".join(str(number) for number in am_attempts)]
    command = [yarn_program(environ), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environ)
    ) as process:
        said = _Drain(process)
        stdout = process.stdout
        if stdout is None:
            raise ValueError("The yarn command has no output.")
        try:
            while piece := os.read(stdout.fileno(), _CHUNK_BYTES):
                yield piece
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
            # Its end is read before leaving this block closes the stream.
            text = said.text()
        if code != 0:
            raise _error(arguments, text)


def _run(arguments: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> str:
    command = [yarn_program(environ), *arguments]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=timeout_s,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise ClusterUnreachable(
            f"`yarn {' '.join(arguments)}` did not end within {timeout_s:g} s; is the ResourceManager up?"
        ) from error
    except OSError as error:
        raise UsageError(f"Cannot run {command[0]}: {error.strerror}.") from error
    if done.returncode != 0:
        raise _error(arguments, done.stderr + done.stdout)
    return done.stdout


def _error(arguments: Sequence[str], said: str) -> Exception:
    lines = [line for line in said.splitlines() if line.strip() and not any(word in line for word in _NOISE)]
    told = f"`yarn {' '.join(arguments)}` failed: " + " / ".join(lines[-_SHOWN_LINES:])
    if "AccessControlException" in said or "does not have permission" in said or "doesn't have permission" in said:
        return NotAllowed(told)
    if "doesn't exist" in said or "ApplicationNotFoundException" in said or "Can not find" in said:
        return NotFound(told)
    return ClusterUnreachable(told)


class _Drain:
    """Reads a child's stderr beside its stdout, so that a full pipe never stops the child; keeps the end of it."""

    _KEPT_BYTES = 64 * 1024

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._stream = process.stderr
        self._kept = b""
        self._thread = threading.Thread(target=self._read, name="yarn-stderr", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        if self._stream is None:
            return
        # A grandchild can hold the other end open for longer than anybody here waits: then the stream is closed.
        with contextlib.suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), _CHUNK_BYTES):
                self._kept = (self._kept + piece)[-self._KEPT_BYTES :]

    def text(self) -> str:
        """The child's words, once it has ended."""
        self._thread.join(5.0)
        return self._kept.decode(errors="replace")
