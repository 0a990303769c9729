"""Skein's client driver: the JVM that uploads an application's files and submits it, started for one submission.

yarnspec starts this JVM itself, and changes nothing in Skein. ``skein.Client()`` would take the Hadoop configuration
and class path from this process's environment, and wait for its JVM without a deadline. Here the class path begins with
our configuration and jar, whatever the ``yarn`` command makes of HADOOP_CLASSPATH. This process's environment stays as
it is. Every step has a deadline, and the JVM always ends.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import skein

from yarnspec.errors import ClusterUnreachable, UsageError
from yarnspec.yarn.rm.yarn_command import class_path
from yarnspec.yarn.skein.skein_warnings import quiet_skein

_MAIN_CLASS = "com.anaconda.skein.Driver"
_SKEIN_JAR = Path(skein.__file__).parent / "java" / "skein.jar"
# The driver lives for a few seconds: a quick start matters, the best machine code does not.
_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_END_TIMEOUT_S = 5.0
_SHOWN_LOG_LINES = 15


class ClientDriver:
    """A running client driver; use as a context manager, ``client`` speaks to it."""

    def __init__(
        self,
        *,
        configuration_directory: Path,
        class_path_entries: Sequence[Path],
        security: skein.Security,
        log: Path,
        timeout_s: float,
        system_properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        deadline = time.monotonic() + timeout_s
        self.log = log
        self._timeout_s = timeout_s
        environment = {**environ, "HADOOP_CONF_DIR": str(configuration_directory)}
        # Hadoop's scripts would take it in the place of the other.
        environment.pop("YARN_CONF_DIR", None)
        environment.pop("SKEIN_DRIVER_JAVA_OPTIONS", None)
        command = [
            java_command(environ),
            *_JVM_OPTIONS,
            "-Dskein.log.level=INFO",
            *(f"-D{name}={value}" for name, value in (system_properties or {}).items()),
        ]
        native = Path(environ.get("HADOOP_HOME", "/nonexistent")) / "lib" / "native"
        if native.is_dir():
            command.append(f"-Djava.library.path={native}")
        command += [_MAIN_CLASS, "--jar", str(_SKEIN_JAR)]
        environment["CLASSPATH"] = os.pathsep.join(
            [
                str(_SKEIN_JAR),
                str(configuration_directory),
                *(str(entry) for entry in class_path_entries),
                class_path(environment, timeout_s=timeout_s),
            ]
        )
        # Skein's own way in for its credential: readable by this user only, and not in the argument list.
        environment["SKEIN_CERTIFICATE"] = security.cert_bytes.decode()
        environment["SKEIN_KEY"] = security.key_bytes.decode()
        with socket.create_server(("127.0.0.1", 0), backlog=1) as callback:
            environment["SKEIN_CALLBACK_PORT"] = str(callback.getsockname()[1])
            with log.open("wb") as log_stream:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=log_stream,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
            self._client: skein.Client | None = None
            try:
                port = self._reported_port(callback, deadline)
                with quiet_skein():
                    self._client = skein.Client(address=f"127.0.0.1:{port}", security=security)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> ClientDriver:
        """End it on leaving."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the JVM."""
        self.close()

    @property
    def client(self) -> skein.Client:
        """Skein's client, connected to this driver."""
        if self._client is None:
            raise ValueError("The client driver is closed.")
        return self._client

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._process.pid

    def said(self, words: str) -> bool:
        """Whether these words are in what the JVM said."""
        return words in self._said()

    def told(self, pattern: re.Pattern[str]) -> str:
        """The first group of the pattern, where it is in what the JVM said; else empty."""
        found = pattern.search(self._said())
        return found[1] if found else ""

    def _said(self) -> str:
        try:
            return self.log.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def last_log_lines(self) -> str:
        """The end of what the JVM said."""
        return "\n".join(self._said().splitlines()[-_SHOWN_LOG_LINES:])

    def close(self) -> None:
        """End the JVM: in order when its stdin closes, by force when that takes too long. Idempotent."""
        if self._client is not None:
            self._client.close()
            self._client = None
        process = self._process
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
        try:
            process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_END_TIMEOUT_S)

    def _reported_port(self, callback: socket.socket, deadline: float) -> int:
        while (left_s := deadline - time.monotonic()) > 0:
            readable, _, _ = select.select([callback], [], [], min(0.2, left_s))
            if readable:
                connection, _ = callback.accept()
                with connection:
                    connection.settimeout(max(0.1, left_s))
                    message = connection.makefile("rb").read(4)
                if len(message) == 4:  # noqa: PLR2004 - one Java int
                    return int(struct.unpack("!i", message)[0])
            if self._process.poll() is not None:
                raise ClusterUnreachable(
                    f"Skein's client driver ended with code {self._process.returncode} before it was ready. "
                    f"It said:\n{self.last_log_lines()}"
                )
        raise ClusterUnreachable(
            f"Skein's client driver was not ready within {self._timeout_s:g} s. It said:\n{self.last_log_lines()}"
        )


def java_command(environ: Mapping[str, str] = os.environ) -> str:
    """The java program: JAVA_HOME's, else the one on PATH."""
    home = environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        if not os.access(program, os.X_OK):
            raise UsageError(f"JAVA_HOME is {home}, but there is no {program}; set JAVA_HOME to a JDK 17.")
        return str(program)
    found = shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise UsageError("There is no java: install a JDK 17 and set JAVA_HOME to it.")
    return found
