"""A port that says by being open that executors may look for the driver."""

from __future__ import annotations

import contextlib
import socket
import threading

_BACKLOG = 1_024
_PAUSE_S = 0.1


class Gate:
    """A port that is open when the driver takes executors. Executors wait for it.

    Spark opens the driver's port first and makes its scheduler later. An executor that comes in between ends at once,
    and its host looks faulty. The gate's port is held from the beginning, and nothing is sent over it.

    Args:
        host: the name or address at which executors reach this container.
    """

    def __init__(self, host: str) -> None:
        self._socket = socket.socket()
        self._socket.bind((host, 0))
        self.address = f"{host}:{self._socket.getsockname()[1]}"
        """``host:port``."""
        self._lock = threading.Lock()
        self._open = False
        self._closed = threading.Event()

    def open(self) -> None:
        """Let executors pass, unless the gate is closed: a driver's first word may be heard after its end."""
        with self._lock:
            if self._open or self._closed.is_set():
                return
            self._open = True
            self._socket.listen(_BACKLOG)
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    def close(self) -> None:
        """Give up the port."""
        with self._lock:
            self._closed.set()
            with contextlib.suppress(OSError):  # it was not open
                self._socket.shutdown(socket.SHUT_RDWR)  # ends the thread's wait, which closing alone does not
            self._socket.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                self._socket.accept()[0].close()
            except OSError:  # one that is gone already, or there is no file left for it; or closed
                self._closed.wait(_PAUSE_S)
