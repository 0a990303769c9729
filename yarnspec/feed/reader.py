"""The negotiator's end of the feed: a loopback socket on which the driver's JVM sends Arrow batches.

The client sends the bridge's token and a line end. The server answers with 8 bytes, a big-endian integer: how many rows
it handed to the connections before this one. An Arrow stream follows.
"""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Callable

from yarnspec.core.messages.observations import Observations

_CONNECT_S = 10.0
_BUFFER_BYTES = 1 << 20
_LOOPBACK = "127.0.0.1"

FEED_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, ValueError)
"""The errors of reading when the driver's JVM is gone or going: a socket's, and Arrow's for a torn batch."""


class FeedReader:
    """Reads the feed of one driver's JVM, over as many connections as it takes.

    Args:
        port: where the JVM listens on loopback.
        token: the bridge's.
        on_rows: is handed each batch; while it does not return nothing is read, and the rows wait in the JVM.
        on_missing: is told how many rows an earlier connection lost on its way.
    """

    def __init__(
        self, port: int, token: str, on_rows: Callable[[Observations], None], on_missing: Callable[[int], None]
    ) -> None:
        self._port = port
        self._token = token
        self._on_rows = on_rows
        self._on_missing = on_missing
        self._received = 0
        self._missing = 0

    @property
    def passed(self) -> int:
        """How many rows need not be waited for any more: those that were handed on, and those that are lost."""
        return self._received + self._missing

    def read(self) -> None:
        """Read one connection to its end, in order (the return) or not (one of ``FEED_ERRORS``)."""
        # Arrow is loaded by whoever reads a feed, not by everybody who imports the shell.
        from yarnspec.feed.arrow import read_stream

        with socket.create_connection((_LOOPBACK, self._port), timeout=_CONNECT_S) as connection:
            connection.sendall(self._token.encode() + b"\n")
            with io.BufferedReader(connection.makefile("rb", buffering=0), _BUFFER_BYTES) as stream:
                head = stream.read(8)
                if len(head) < 8:  # noqa: PLR2004 - the length of an integer
                    raise EOFError("the feed was closed before it began: another token, or the JVM is ending")
                self._count_missing(struct.unpack(">q", head)[0])
                # A driver may do nothing for hours.
                connection.settimeout(None)
                for rows in read_stream(stream):
                    self._on_rows(rows)
                    self._received += len(rows)

    def _count_missing(self, handed: int) -> None:
        lost = handed - self.passed
        if lost > 0:
            self._missing += lost
            self._on_missing(lost)
