"""Reads the news of finished map outputs from the driver's JVM, for as long as it lives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from yarnspec.am.sources.event_sources import is_alive
from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.feed.outputs import OUTPUTS_ERRORS, OutputsReader
from yarnspec.spark.bridge import Announcement, DriverBridge

_log = structlog.get_logger()

_ANNOUNCE_PAUSE_S = 0.05
_RECONNECT_PAUSE_S = 0.5


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
        self._announced: Announcement | None = None
        self._reader: OutputsReader | None = None
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
        if self._reader is None or announced != self._announced:
            self._announced = announced
            self._reader = OutputsReader(announced.outputs_port, announced.token, self._on_frame, self._lost)
        try:
            self._reader.read()
        except OUTPUTS_ERRORS as error:
            _log.info("the stream of map outputs broke off", why=f"{type(error).__name__}: {error}")
        if is_alive(announced.pid):
            self.watcher.pause(_RECONNECT_PAUSE_S)
        else:
            self._end()

    def _end(self) -> None:
        self._ended.set()
        self.watcher.stop()

    def _on_frame(self, header: dict[str, Any], blob: bytes) -> None:
        try:
            self._take(header, blob)
        except Exception:  # those after it are to be read all the same
            _log.exception("a map output is not recorded", told=header)
            self._lost(1)
