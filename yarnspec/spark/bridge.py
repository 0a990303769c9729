"""The negotiator's end of the bridge into the driver's JVM: py4j over loopback, with a token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

BRIDGE_ERRORS: tuple[type[Exception], ...] = (Py4JError, OSError)
"""What a call on a bridge raises when the driver's JVM is gone or going."""


class Announcement(msgspec.Struct, frozen=True):
    """What the driver's JVM writes once it listens: its port on loopback, the token, its process id."""

    port: int
    token: str
    pid: int


class DriverBridge:
    """Commands to, and events from, the scheduler backend in the driver's JVM.

    Safe for several threads at once: each call takes a connection of its own, or one that no call uses.
    """

    def __init__(
        self, announcement: Announcement, *, read_timeout_s: float = 30.0, progress_timeout_s: float = 2.0
    ) -> None:
        self._gateway = _gateway(announcement, read_timeout_s)
        self._entry: Any = self._gateway.entry_point
        # Somebody waits for the progress, and a JVM that collects garbage must not keep them for as long as others.
        self._progress_gateway = _gateway(announcement, progress_timeout_s)
        self._progress_entry: Any = self._progress_gateway.entry_point

    @staticmethod
    def announced(path: Path) -> Announcement | None:
        """The announcement in ``path``, or None while there is none."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=Announcement)
        except FileNotFoundError:
            return None

    def poll(self, after: int, timeout_s: float) -> list[dict[str, Any]]:
        """Events numbered above ``after``; waits up to ``timeout_s`` for one. Acknowledges those up to ``after``."""
        answer = json.loads(self._entry.poll(after, int(timeout_s * 1000)))
        return list(answer)

    def set_blocked_hosts(self, hosts: tuple[str, ...]) -> None:
        """No task starts on these hosts once this returns; running ones go on."""
        self._entry.setBlockedHosts(json.dumps(list(hosts)))

    def remove_executor(self, executor_id: str, exit_code: int, caused_by_app: bool, reason: str) -> None:
        """Tell Spark that an executor is gone, and whether its tasks' failures count."""
        self._entry.removeExecutor(executor_id, exit_code, caused_by_app, reason)

    def running_tasks(self) -> int:
        """How many tasks run now."""
        return int(json.loads(self._progress_entry.progress())["tasks_running"])

    def close(self) -> None:
        """Drop the connections; the JVM goes on."""
        self._gateway.close()
        self._progress_gateway.close()


def _gateway(announcement: Announcement, read_timeout_s: float) -> JavaGateway:
    return JavaGateway(
        gateway_parameters=GatewayParameters(
            address="127.0.0.1",
            port=announcement.port,
            auth_token=announcement.token,
            auto_convert=False,
            read_timeout=read_timeout_s,
        )
    )
