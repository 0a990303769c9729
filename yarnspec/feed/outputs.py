"""The negotiator's end of the stream of finished map outputs: frames on a loopback socket of the driver's JVM.

The client sends the bridge's token and a line end. The server answers with 8 bytes, a big-endian integer: how many
frames it handed to the connections before this one. Frames follow (``yarnspec.journal.frames``), each once.
"""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Callable
from typing import Any

from yarnspec.journal.frames import read_frames

_CONNECT_S = 10.0
_BUFFER_BYTES = 1 << 18
_LOOPBACK = "127.0.0.1"
_COUNT = struct.Struct(">q")

OUTPUTS_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, ValueError)
"""The errors of reading when the driver's JVM is gone or going: a socket's, and a torn frame's."""


class OutputsReader:
    """Reads the frames of one driver's JVM, over as many connections as it takes.

    Args:
        port: where the JVM listens on loopback.
        token: the bridge's.
        on_frame: is handed each header and blob; while it does not return nothing is read.
        on_missing: is told how many frames an earlier connection lost on its way.
    """

    def __init__(
        self,
        port: int,
        token: str,
        on_frame: Callable[[dict[str, Any], bytes], None],
        on_missing: Callable[[int], None],
    ) -> None:
        self._port = port
        self._token = token
        self._on_frame = on_frame
        self._on_missing = on_missing
        self._passed = 0

    def read(self) -> None:
        """Read one connection to its end, in order (the return) or not (one of ``OUTPUTS_ERRORS``)."""
        with socket.create_connection((_LOOPBACK, self._port), timeout=_CONNECT_S) as connection:
            connection.sendall(self._token.encode() + b"\n")
            with io.BufferedReader(connection.makefile("rb", buffering=0), _BUFFER_BYTES) as stream:
                head = stream.read(_COUNT.size)
                if len(head) < _COUNT.size:
                    raise EOFError("the stream was closed before it began: another token, or the JVM is ending")
                self._count_missing(_COUNT.unpack(head)[0])
                # Maps may take hours.
                connection.settimeout(None)
                for header, blob in read_frames(stream.read1):
                    self._on_frame(header, blob)
                    self._passed += 1

    def _count_missing(self, handed: int) -> None:
        if handed > self._passed:
            self._on_missing(handed - self._passed)
            self._passed = handed
