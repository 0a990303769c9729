"""What the driver is told: in few calls, again when it comes back, and a refusal where it cannot be told."""

from __future__ import annotations

from typing import cast

from tests.am.world import HandMadeBridge
from yarnspec.am.orders import Orders, grouped
from yarnspec.core import commands, events
from yarnspec.core.commands import Command
from yarnspec.core.events import Event
from yarnspec.spark.bridge import DriverBridge


def copy(index: int) -> commands.LaunchCopy:
    return commands.LaunchCopy(stage=1, stage_attempt=0, index=index, not_hosts=("a",), reason="slow")


def refused(index: int, why: str) -> events.CopyRefused:
    return events.CopyRefused(stage=1, stage_attempt=0, index=index, why=why)


def withdraw(index: int) -> commands.WithdrawCopy:
    return commands.WithdrawCopy(stage=1, stage_attempt=0, index=index, reason="it has ended")


def kill(task_id: int) -> commands.KillAttempt:
    return commands.KillAttempt(stage=1, stage_attempt=0, index=4, task_id=task_id, reason="another attempt won")


def blocks(*hosts: str) -> commands.UpdateTaskBlocks:
    return commands.UpdateTaskBlocks(hosts=hosts, reason="slow")


class World:
    def __init__(self) -> None:
        self.posted: list[Event] = []
        self.orders = Orders(self.posted.append)
        self.bridge = HandMadeBridge()

    def connect(self) -> None:
        self.orders.connected(cast(DriverBridge, self.bridge))


def test_orders_of_one_kind_that_follow_each_other_are_one_call() -> None:
    stop = commands.StopDriver(reason="r")
    answer: list[Command] = [blocks("a"), copy(4), copy(5), stop, stop, kill(1), copy(6)]
    assert grouped(answer) == [[blocks("a")], [copy(4), copy(5)], [stop], [stop], [kill(1)], [copy(6)]]


def test_the_driver_does_what_it_is_told() -> None:
    world = World()
    world.connect()
    world.bridge.told.clear()
    world.bridge.refusals[5] = "the task has ended"
    answer: list[Command] = [blocks("a"), copy(4), copy(5), withdraw(4), kill(77), kill(78)]
    for group in grouped(answer):
        world.orders.perform(group)
    assert world.bridge.told == [
        ("blocked", ("a",)),
        ("copies", 4, 5),
        ("withdrawn", 4),
        ("killed", 77, "another attempt won"),
        ("killed", 78, "another attempt won"),
    ]
    assert world.posted == [refused(5, "the task has ended")]


def test_who_cannot_be_told_refuses_copies_and_hears_the_rest_later() -> None:
    world = World()
    world.orders.perform([copy(4)])
    assert world.posted == [refused(4, "the driver is not connected")]
    world.connect()
    world.bridge.broken = True
    for group in grouped([blocks("b"), copy(5), withdraw(4), kill(77)]):
        world.orders.perform(group)
    assert world.posted[1:] == [refused(5, "the driver could not be told: the JVM has gone")]
    world.bridge.broken = False
    world.bridge.told.clear()
    world.connect()
    world.connect()
    assert world.bridge.told == [
        ("blocked", ("b",)),
        ("blocked", ("b",)),
        ("withdrawn", 4),
        ("killed", 77, "another attempt won"),
        ("blocked", ("b",)),
        ("blocked", ("b",)),
    ]


def test_hosts_without_containers_get_no_task_until_the_core_tells_of_tasks_itself() -> None:
    world = World()
    world.connect()
    world.bridge.told.clear()
    world.orders.placement_blocks(("a",))
    world.orders.placement_blocks(("a",))
    world.orders.perform([blocks("a", "b")])
    world.orders.placement_blocks(("c",))
    assert world.bridge.told == [("blocked", ("a",)), ("blocked", ("a", "b"))]
