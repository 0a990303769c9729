"""Lets others ask the negotiator: its REST server, and where it listens, told in HDFS."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import structlog
import tenacity

_log = structlog.get_logger()

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0
_CLOSE_S = 2.0


class Server(Protocol):
    """The server that listens."""

    @property
    def url(self) -> str:
        """Its address, once it was started."""

    def start(self) -> None:
        """Listen."""


class RestEndpoint:
    """Opens in a thread of its own: writing to HDFS takes its time, and nobody has to wait for it.

    A failure is tried again until ``close``: without an endpoint nobody could follow, ask or command the application.
    ``announce`` gets the server's URL.
    """

    def __init__(self, server: Server, announce: Callable[[str], None], first_pause_s: float = _FIRST_PAUSE_S) -> None:
        self._server = server
        self._announce = announce
        self._first_pause_s = first_pause_s
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._open, name="open-rest-endpoint", daemon=True)

    def open(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Try no more: what is announced after the end would stay behind in the staging directory."""
        self._closed.set()
        self._thread.join(_CLOSE_S)

    def _open(self) -> None:
        try:
            for step in (self._server.start, lambda: self._announce(self._server.url)):
                self._retrying()(step)
        except Exception:
            _log.exception("nobody could ask this negotiator anything until its end")

    def _retrying(self) -> tenacity.Retrying:
        return tenacity.Retrying(
            stop=tenacity.stop_when_event_set(self._closed),
            sleep=tenacity.sleep_using_event(self._closed),
            wait=tenacity.wait_exponential(multiplier=self._first_pause_s, max=_LONGEST_PAUSE_S),
            before_sleep=lambda state: _log.warning(
                "nobody can ask this negotiator anything yet",
                why=str(state.outcome.exception()) if state.outcome else "",
            ),
            reraise=True,
        )
