"""What the driver's scheduler is told to do: over the bridge, while there is one."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence

import structlog

from yarnspec.core import commands, events
from yarnspec.core.commands import Command
from yarnspec.core.events import Event
from yarnspec.spark.bridge import BRIDGE_ERRORS, DriverBridge

_log = structlog.get_logger()

ORDERS = (
    commands.UpdateTaskBlocks,
    commands.LaunchCopy,
    commands.WithdrawCopy,
    commands.KillAttempt,
    commands.RemoveExecutor,
)
"""The commands that the driver carries out."""

_KEPT_MAX = 10_000


class Orders:
    """Gives the core's orders to the driver.

    Where no task may start is told again on each connection. A copy that could not be ordered is refused, so that the
    core can decide anew; what ends something is kept and told later.
    """

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._bridge: DriverBridge | None = None
        self._blocks = commands.UpdateTaskBlocks(hosts=(), reason="nothing is blocked yet")
        self._core_tells_blocks = False
        self._kept: deque[Command] = deque(maxlen=_KEPT_MAX)

    def connected(self, bridge: DriverBridge) -> None:
        """The driver's bridge is there. From any thread."""
        bridge.set_blocks(self._blocks)
        self._bridge = bridge
        # A change between the two lines above would have missed the bridge.
        bridge.set_blocks(self._blocks)
        while self._kept:
            self._give(bridge, [self._kept[0]])
            self._kept.popleft()

    def running_tasks(self) -> int:
        """How many tasks the driver says run now; 0 when it says nothing. From any thread."""
        try:
            return self._bridge.running_tasks() if self._bridge is not None else 0
        except BRIDGE_ERRORS:
            return 0

    def placement_blocks(self, hosts: tuple[str, ...]) -> None:
        """No container comes to these hosts: no task either, unless the core tells of tasks by itself."""
        if not self._core_tells_blocks and hosts != self._blocks.hosts:
            self._perform([commands.UpdateTaskBlocks(hosts=hosts, reason="no container comes to these hosts")])

    def perform(self, orders: Sequence[Command]) -> None:
        """Give orders, all of one kind."""
        self._core_tells_blocks = self._core_tells_blocks or isinstance(orders[0], commands.UpdateTaskBlocks)
        self._perform(orders)

    def _perform(self, orders: Sequence[Command]) -> None:
        for command in orders:
            if isinstance(command, commands.UpdateTaskBlocks):
                self._blocks = command
        if self._bridge is None:
            self._not_given(orders, "the driver is not connected")
            return
        try:
            self._give(self._bridge, orders)
        except BRIDGE_ERRORS as error:
            why = str(error).strip() or type(error).__name__
            _log.warning("the driver could not be told", command=type(orders[0]).__name__, why=why)
            self._not_given(orders, f"the driver could not be told: {why}")

    def _give(self, bridge: DriverBridge, orders: Sequence[Command]) -> None:
        match orders[0]:
            case commands.UpdateTaskBlocks():
                bridge.set_blocks(self._blocks)
            case commands.LaunchCopy():
                copies = [one for one in orders if isinstance(one, commands.LaunchCopy)]
                for copy, why in zip(copies, bridge.launch_copies(copies), strict=True):
                    if why:
                        self._refuse(copy, why)
            case commands.WithdrawCopy():
                bridge.withdraw_copies([one for one in orders if isinstance(one, commands.WithdrawCopy)])
            case commands.KillAttempt():
                for one in orders:
                    if isinstance(one, commands.KillAttempt):
                        bridge.kill_attempt(one.task_id, one.reason)
            case commands.RemoveExecutor():
                for one in orders:
                    if isinstance(one, commands.RemoveExecutor):
                        bridge.remove_executor(one.executor_id, one.exit_code, one.caused_by_app, one.reason)

    def _not_given(self, orders: Sequence[Command], why: str) -> None:
        for one in orders:
            if isinstance(one, commands.LaunchCopy):
                self._refuse(one, why)
            elif isinstance(one, commands.WithdrawCopy | commands.KillAttempt):
                self._kept.append(one)

    def _refuse(self, copy: commands.LaunchCopy, why: str) -> None:
        self._post(events.CopyRefused(stage=copy.stage, stage_attempt=copy.stage_attempt, index=copy.index, why=why))


def grouped(answer: Sequence[Command]) -> list[list[Command]]:
    """The commands in order; orders of one kind that follow each other are together, so that they cost one call."""
    groups: list[list[Command]] = []
    for kind, found in itertools.groupby(answer, key=type):
        same = list(found)
        groups += [same] if kind in ORDERS else [[one] for one in same]
    return groups
