"""A thread that does something again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

_log = structlog.get_logger()


class Watcher:
    """A thread that runs ``step`` until it is told to stop; an error in a step is logged and does not end it."""

    def __init__(self, name: str, step: Callable[[], None], pause_s: float) -> None:
        self._step = step
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, deadline_s: float = 2.0) -> None:
        """End after the step that runs now; waits up to ``deadline_s``."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(deadline_s)

    def pause(self, seconds: float) -> None:
        """Wait, within a step, unless it is to stop."""
        self._stop.wait(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._step()
            except Exception:
                _log.exception("a watcher failed and goes on", watcher=self._thread.name)
                self._stop.wait(1.0)
            self._stop.wait(self._pause_s)
