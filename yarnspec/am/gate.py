"""A port that says by being open that executors may look for the driver."""

from __future__ import annotations

import contextlib
import socket
import threading

_BACKLOG = 1_024


class Gate:
    """Executors wait for it, as the driver listens some time before it has what they ask it for.

    Spark opens the driver's port first, and makes its scheduler later; an executor that comes in between ends at once,
    and looks like one that died of its host. The port is held from the beginning, and nothing is said on it.

    Args:
        host: the address at which executors reach this container.
    """

    def __init__(self, host: str) -> None:
        self._socket = socket.socket()
        self._socket.bind((host, 0))
        self._open = False

    @property
    def address(self) -> str:
        """``host:port``."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def open(self) -> None:
        """Let them pass."""
        if not self._open:
            self._open = True
            self._socket.listen(_BACKLOG)
            threading.Thread(target=self._accept, name="gate", daemon=True).start()

    def close(self) -> None:
        """Give up the port."""
        with contextlib.suppress(OSError):  # it was not open
            self._socket.shutdown(socket.SHUT_RDWR)  # ends the thread's wait, which closing alone does not
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                self._socket.accept()[0].close()
