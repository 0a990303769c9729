"""The negotiator's end of the bridge into the driver's JVM: py4j over loopback, with a token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from yarnspec.core.messages.commands import LaunchCopy, UpdateTaskBlocks, WithdrawCopy
from yarnspec.core.messages.recoverycommands import AnswerWrite

BRIDGE_ERRORS: tuple[type[Exception], ...] = (Py4JError, OSError)
"""The errors of a call on a bridge when the driver's JVM is gone or going."""


class Announcement(msgspec.Struct, frozen=True):
    """The announcement of the driver's JVM once it listens: its ports on loopback, the token, its process id.

    ``feed_port`` is where the feed of stages and tasks is read (``yarnspec.feed``), ``outputs_port`` where the frames
    of finished map outputs are (``yarnspec.feed.outputs``; 0 when recovery is off).
    """

    port: int
    token: str
    pid: int
    feed_port: int = 0
    outputs_port: int = 0


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

    def set_blocks(self, blocks: UpdateTaskBlocks) -> None:
        """Let no task start in these places, which replace those set before. Running tasks go on."""
        stages = [
            {"stage": one.stage, "index": one.index, "hosts": one.hosts, "executors": one.executors}
            for one in blocks.stages
        ]
        self._entry.setBlocks(json.dumps({"hosts": blocks.hosts, "executors": blocks.executors, "stages": stages}))

    def declare_ready(self) -> None:
        """The program goes on, and its tasks may start: there are executors enough."""
        self._entry.declareReady()

    def launch_copies(self, copies: Sequence[LaunchCopy]) -> list[str]:
        """Ask for further attempts of tasks; for each why it was refused, or nothing when it will start."""
        asked = [
            {
                "stage": one.stage,
                "stage_attempt": one.stage_attempt,
                "index": one.index,
                "not_hosts": one.not_hosts,
                "attempts_max": one.attempts_max,
            }
            for one in copies
        ]
        return list(json.loads(self._entry.launchCopies(json.dumps(asked))))

    def withdraw_copies(self, copies: Sequence[WithdrawCopy]) -> None:
        """Forget copies that were asked for and have not started; those that have go on."""
        named = [{"stage": one.stage, "stage_attempt": one.stage_attempt, "index": one.index} for one in copies]
        self._entry.withdrawCopies(json.dumps(named))

    def answer_shuffle(
        self, question: int, *, shuffle: int | None, restore: bool, record: bool, whole: bool, reason: str = ""
    ) -> None:
        """Say what becomes of a shuffle that the driver declared; one of its threads waits for that.

        Args:
            question: its number in the declaration.
            shuffle: the saved shuffle that it is; None for a fresh one.
            restore: begin it with the saved one's outputs, as far as executors have taken them over.
            record: tell of its maps when they finish.
            whole: all maps come back, or none does.
            reason: for the record.
        """
        answer = {"shuffle": shuffle, "restore": restore, "record": record, "whole": whole, "reason": reason}
        self._entry.answerShuffle(question, json.dumps(answer))

    def answer_write(self, question: int, answer: AnswerWrite) -> None:
        """Say whether the driver goes on with what it writes or reads; one of its threads waits for that."""
        self._entry.answerWrite(question, msgspec.json.encode(answer).decode())

    def decommission_host(self, host: str) -> None:
        """Spark's executors on a host finish, and get no more tasks: YARN takes the host out of service."""
        self._entry.decommissionHost(host)

    def host_gone(self, host: str) -> None:
        """Wait no more for map outputs that an earlier driver left on that host. Tasks that waited for one go on."""
        self._entry.hostGone(host)

    def kill_attempt(self, task_id: int, reason: str) -> None:
        """End one attempt of a task; nothing happens when it has ended."""
        self._entry.killAttempt(task_id, reason)

    def held_blocks(self, executor_id: str) -> int:
        """How many blocks of cached or locally checkpointed data an executor holds; below 0: see ``HeldBlocksTold``."""
        return int(self._entry.heldBlocks(executor_id))

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
