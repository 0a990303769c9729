"""Reads what the driver's JVM tells of finished map outputs, for as long as it lives.

The client sends the bridge's token and a line end. The server answers with 8 bytes, a big-endian integer: how many
frames it handed to the connections before this one. Frames follow (``yarnspec/journal/frames.py``).
"""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from yarnspec.am.sources import is_alive
from yarnspec.am.watcher import Watcher
from yarnspec.journal.frames import DamagedFrameError, read_frames
from yarnspec.spark.bridge import Announcement, DriverBridge

_log = structlog.get_logger()

_ANNOUNCE_PAUSE_S = 0.05
_RECONNECT_PAUSE_S = 0.5
_CONNECT_S = 10.0
_BUFFER_BYTES = 1 << 20
_HEAD = struct.Struct(">q")


class MapOutputs:
    """Hands each frame on, in order.

    Args:
        announcement: where the driver's JVM says where it listens.
        take: gets each frame's header and bytes.
        lost: is told when frames were lost on their way, and how many: what they told of is not recorded.
    """

    def __init__(
        self, announcement: Path, take: Callable[[dict[str, Any], bytes], None], lost: Callable[[int], None]
    ) -> None:
        self._announcement = announcement
        self._take = take
        self._lost = lost
        self._pid = 0
        self._received = 0
        self._ended = threading.Event()
        self.watcher = Watcher("map-outputs", self._step, _ANNOUNCE_PAUSE_S)

    def wait_for_end(self, deadline_s: float) -> bool:
        """Wait until all of a driver that has ended was handed on; False when that does not come in time."""
        return DriverBridge.announced(self._announcement) is None or self._ended.wait(deadline_s)

    def _step(self) -> None:
        announced = DriverBridge.announced(self._announcement)
        if announced is None:
            return
        if announced.outputs_port == 0:
            self._end()
            return
        if announced.pid != self._pid:
            self._pid, self._received = announced.pid, 0
        try:
            self._read(announced)
        except (OSError, EOFError, DamagedFrameError) as error:
            _log.info("the stream of map outputs broke off", why=f"{type(error).__name__}: {error}")
        if is_alive(announced.pid):
            self.watcher.pause(_RECONNECT_PAUSE_S)
        else:
            self._end()

    def _end(self) -> None:
        self._ended.set()
        self.watcher.stop()

    def _read(self, announced: Announcement) -> None:
        with socket.create_connection(("127.0.0.1", announced.outputs_port), timeout=_CONNECT_S) as connection:
            connection.sendall(announced.token.encode() + b"\n")
            with io.BufferedReader(connection.makefile("rb", buffering=0), _BUFFER_BYTES) as stream:
                head = stream.read(_HEAD.size)
                if len(head) < _HEAD.size:
                    raise EOFError("it was closed before it began: another token, or the JVM is ending")
                missing = _HEAD.unpack(head)[0] - self._received
                if missing > 0:
                    self._received += missing
                    self._lost(missing)
                # A driver may finish nothing for hours.
                connection.settimeout(None)
                for frame in read_frames(stream.read1):
                    self._received += 1
                    try:
                        self._take(frame.header, frame.blob)
                    except Exception:
                        _log.exception("a map output is not recorded", told=frame.header)
