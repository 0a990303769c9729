"""The commands for the driver's scheduler: they go over the bridge, by a thread of its own.

A driver's JVM may collect garbage for half a minute: the shell hands commands over and goes on. They are given in
order, one call after the other.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence

import structlog

from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.spark.bridge import BRIDGE_ERRORS, DriverBridge

_log = structlog.get_logger()

ORDERS = (
    commands.UpdateTaskBlocks,
    commands.DeclareReady,
    commands.LaunchCopy,
    commands.WithdrawCopy,
    commands.AskHeldBlocks,
    commands.KillAttempt,
    commands.RemoveExecutor,
    commands.DecommissionHost,
    rc.GiveUpHost,
)
"""The commands that the driver carries out."""

_KEPT = (commands.WithdrawCopy, commands.KillAttempt, commands.DecommissionHost, rc.GiveUpHost)
"""The commands that are kept while the driver is not connected."""
_KEPT_MAX = 10_000
_TELL_AGAIN_S = 1.0


class DriverCommandQueue:
    """Gives the core's orders to the driver.

    The list of places where no task may start is told on each connection, and again until the driver has heard it. If
    several such lists wait, the newest is told. No copy is ordered before the list is in force. The driver is told that
    tasks may start until it has heard it, too. A copy that could not be ordered is refused, so that the core can decide
    anew. Commands that end something are kept, and told on the next connection.
    """

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._changed = threading.Condition()
        self._waiting: deque[Sequence[Command] | Callable[[], None]] = deque()
        self._busy = False
        self._thread: threading.Thread | None = None
        self._bridge: DriverBridge | None = None
        self._epochs_over = 0
        self._blocks = commands.UpdateTaskBlocks(hosts=(), reason="nothing is blocked yet")
        self._blocks_told: commands.UpdateTaskBlocks | None = None
        self._core_tells_blocks = False
        self._ready_untold: commands.DeclareReady | None = None
        self._kept: deque[Command] = deque(maxlen=_KEPT_MAX)
        self._told_why = ""

    def connected(self, bridge: DriverBridge) -> None:
        """The driver's bridge is there; returns once it knows where no task may start. From any thread.

        Raises:
            Exception: one of ``BRIDGE_ERRORS``; then the bridge is not taken.
        """
        blocks, over = self._blocks, self._epochs_over
        bridge.set_blocks(blocks)
        with self._changed:
            if over != self._epochs_over:  # the driver has died meanwhile
                return
            self._bridge, self._blocks_told = bridge, blocks
            if self._blocks is not blocks:  # they have changed meanwhile, when there was nobody to be told
                self._waiting.append([self._blocks])
            if self._ready_untold is not None:
                self._waiting.append([self._ready_untold])
            self._waiting.extendleft([kept] for kept in reversed(self._kept))
            self._kept.clear()
            self._wake()

    def driver_lost(self) -> int:
        """The driver has died: drop its commands, which are of no use to the next driver. Returns how many they were.

        The command that is being sent now is not counted. From any thread.
        """
        with self._changed:
            self._bridge = self._blocks_told = self._ready_untold = None
            self._epochs_over += 1
            dropped = [*self._kept]
            for orders in self._waiting:
                dropped += [] if callable(orders) else orders
            self._kept.clear()
            self._waiting = deque(one for one in self._waiting if callable(one))
        # Where no task may start holds for the next one, too.
        return sum(not isinstance(one, commands.UpdateTaskBlocks) for one in dropped)

    def running_tasks(self) -> int:
        """How many tasks the driver says run now; 0 when it says nothing. From any thread."""
        bridge = self._bridge
        try:
            return bridge.running_tasks() if bridge is not None else 0
        except BRIDGE_ERRORS:
            return 0

    def placement_blocks(self, hosts: tuple[str, ...]) -> None:
        """No container comes to these hosts: no task either, unless the core tells of tasks by itself."""
        if not self._core_tells_blocks and hosts != self._blocks.hosts:
            self._hand_over([commands.UpdateTaskBlocks(hosts=hosts, reason="no container comes to these hosts")])

    def perform(self, orders: Sequence[Command]) -> None:
        """Give orders, all of one kind; returns at once."""
        self._core_tells_blocks = self._core_tells_blocks or isinstance(orders[0], commands.UpdateTaskBlocks)
        self._hand_over(orders)

    def then(self, do: Callable[[], None]) -> None:
        """Do something once the orders before it have been given: now, when there are none."""
        with self._changed:
            if self._waiting or self._busy:
                self._waiting.append(do)
                return
        do()

    def settled(self, deadline_s: float) -> bool:
        """Wait until everything is given and where no task may start is in force; False when not in time.

        Where no driver is connected nothing starts before it knows.
        """
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._waiting and not self._busy and self._unheard is None, deadline_s
            )

    @property
    def _blocks_unheard(self) -> bool:
        return self._bridge is not None and self._blocks_told is not self._blocks

    @property
    def _unheard(self) -> Command | None:
        """The command that is sent to the driver again until it has arrived."""
        if self._blocks_unheard:
            return self._blocks
        return self._ready_untold if self._bridge is not None else None

    def _hand_over(self, orders: Sequence[Command]) -> None:
        with self._changed:
            for command in orders:
                if isinstance(command, commands.UpdateTaskBlocks):
                    self._blocks = command
                elif isinstance(command, commands.DeclareReady):
                    self._ready_untold = command
            self._waiting.append(orders)
            self._wake()

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="driver-orders", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting, _TELL_AGAIN_S if self._unheard else None)
                doing = self._waiting.popleft() if self._waiting else [self._unheard or self._blocks]
                self._busy = True
                bridge, over = self._bridge, self._epochs_over
            try:
                if callable(doing):
                    doing()
                else:
                    self._tell(bridge, over, doing)
            except Exception as error:  # the next one is to be given all the same
                _log.exception("an order failed")
                self._post(events.ProblemNoticed(message=f"an order failed: {error}"))

    def _tell(self, bridge: DriverBridge | None, over: int, orders: Sequence[Command]) -> None:
        if bridge is None:
            self._not_given(None, orders, over, "the driver is not connected")
            return
        try:
            self._give(bridge, orders)
        except BRIDGE_ERRORS as error:
            why = str(error).strip() or type(error).__name__
            if why != self._told_why:
                _log.warning("the driver could not be told", command=type(orders[0]).__name__, why=why)
            self._told_why = why
            self._not_given(bridge, orders, over, f"the driver could not be told: {why}")

    def _give(self, bridge: DriverBridge, orders: Sequence[Command]) -> None:
        match orders[0]:
            case commands.UpdateTaskBlocks():
                self._tell_blocks(bridge)
            case commands.DeclareReady():
                if self._ready_untold is orders[0]:
                    self._tell_blocks(bridge)
                    bridge.declare_ready()
                    self._ready_untold = None
            case commands.LaunchCopy():
                # No copy may start on a host whose block the driver has not heard of.
                self._tell_blocks(bridge)
                copies = [one for one in orders if isinstance(one, commands.LaunchCopy)]
                for copy, why in zip(copies, bridge.launch_copies(copies), strict=True):
                    if why:
                        self._refuse(copy, why)
            case commands.WithdrawCopy():
                bridge.withdraw_copies([one for one in orders if isinstance(one, commands.WithdrawCopy)])
            case commands.AskHeldBlocks():
                # The data of a task that is to start on no such executor any more would not be seen.
                self._tell_blocks(bridge)
                for asked in [one.executor_id for one in orders if isinstance(one, commands.AskHeldBlocks)]:
                    self._post(events.HeldBlocksTold(executor_id=asked, count=bridge.held_blocks(asked)))
            case _:
                for one in orders:
                    _give_one(bridge, one)

    def _tell_blocks(self, bridge: DriverBridge) -> None:
        blocks = self._blocks
        if self._blocks_told is not blocks:
            bridge.set_blocks(blocks)
            self._blocks_told = blocks

    def _not_given(self, bridge: DriverBridge | None, orders: Sequence[Command], over: int, why: str) -> None:
        for one in orders:
            if isinstance(one, commands.LaunchCopy):
                self._refuse(one, why)
            elif isinstance(one, commands.AskHeldBlocks):
                self._post(events.HeldBlocksTold(executor_id=one.executor_id, count=-1))
        ending = [one for one in orders if isinstance(one, _KEPT)]
        with self._changed:
            if not ending or over != self._epochs_over:  # what was for a driver that has died meanwhile is for no other
                return
            if self._bridge is bridge:
                self._kept += ending
            else:  # the driver has connected meanwhile
                self._waiting.appendleft(ending)

    def _refuse(self, copy: commands.LaunchCopy, why: str) -> None:
        self._post(events.CopyRefused(stage=copy.stage, stage_attempt=copy.stage_attempt, index=copy.index, why=why))


def _give_one(bridge: DriverBridge, order: Command) -> None:
    match order:
        case commands.KillAttempt():
            bridge.kill_attempt(order.task_id, order.reason)
        case commands.RemoveExecutor():
            bridge.remove_executor(order.executor_id, order.exit_code, order.caused_by_app, order.reason)
        case commands.DecommissionHost():
            bridge.decommission_host(order.host)
        case rc.GiveUpHost():
            bridge.host_gone(order.host)


def grouped(answer: Sequence[Command]) -> list[list[Command]]:
    """The commands in order; orders of one kind that follow each other are together, so that they cost one call."""
    groups: list[list[Command]] = []
    for kind, found in itertools.groupby(answer, key=type):
        same = list(found)
        groups += [same] if kind in ORDERS else [[one] for one in same]
    return groups
