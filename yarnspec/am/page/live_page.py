"""Starts the process that serves the page when somebody looks for the first time, and again when it has died.

This process listens from the start, so early visitors wait instead of being refused. While nobody looks, the page costs
nothing. The other process draws, so drawing never delays a decision here.
"""

from __future__ import annotations

import os
import secrets
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import structlog

from yarnspec.observe.http.page_order import PageOrder

_log = structlog.get_logger()

_LOOPBACK = "127.0.0.1"
_PAUSE_S = 5.0
_STOP_S = 2.0
_MODULE = "yarnspec.livepage"


class LivePage:
    """The listening socket and the process behind it; ``url`` is where the page is, on this host only."""

    def __init__(self, log: Path, command: tuple[str, ...] = (sys.executable, "-m", _MODULE)) -> None:
        self._log = log
        self._command = command
        self._prefix = secrets.token_urlsafe(24)
        self._socket = socket.create_server((_LOOPBACK, 0), backlog=64)
        self._wake, self._woken = socket.socketpair()
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self.url = f"http://{_LOOPBACK}:{self._socket.getsockname()[1]}/{self._prefix}/"

    def begin(self, order: PageOrder) -> None:
        """Serve as ordered, from the first look on; the order's prefix is this page's."""
        told = msgspec.json.encode(msgspec.structs.replace(order, prefix=self._prefix))
        self._thread = threading.Thread(target=self._run, args=(told,), name="page", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process, and refuse who comes now."""
        self._stopping.set()
        self._wake.close()
        process = self._process
        if process is not None:
            process.terminate()
        if self._thread is not None:
            self._thread.join(_STOP_S)
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
        self._woken.close()
        self._socket.close()

    def _run(self, order: bytes) -> None:
        while not self._stopping.is_set():
            select.select([self._socket, self._woken], [], [])
            if self._stopping.is_set():
                return
            try:
                code = self._serve(order)
            except OSError:
                _log.exception("the page cannot be served")
                code = 1
            if not self._stopping.is_set():
                _log.warning("the process that serves the page has ended", exit_code=code)
                self._stopping.wait(_PAUSE_S)

    def _serve(self, order: bytes) -> int:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SKEIN_")}
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [*self._command, str(self._socket.fileno())],
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, pass_fds=[self._socket.fileno()],
            )  # fmt: skip
        self._process = process
        assert process.stdin is not None  # noqa: S101 - it was asked for
        process.stdin.write(order)
        process.stdin.close()
        return process.wait()
