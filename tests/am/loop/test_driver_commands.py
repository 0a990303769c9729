"""What the driver is told: in few calls, again when it comes back, and a refusal where it cannot be told."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from tests.am.world import HandMadeBridge
from yarnspec.am.loop import driver_commands as orders
from yarnspec.am.loop.driver_commands import DriverCommandQueue, grouped
from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.spark.bridge import DriverBridge


def copy(index: int) -> commands.LaunchCopy:
    return commands.LaunchCopy(stage=1, stage_attempt=0, index=index, not_hosts=("a",), reason="slow")


def refused(index: int, why: str) -> events.CopyRefused:
    return events.CopyRefused(stage=1, stage_attempt=0, index=index, why=why)


def withdraw(index: int) -> commands.WithdrawCopy:
    return commands.WithdrawCopy(stage=1, stage_attempt=0, index=index, reason="it has ended")


def kill(task_id: int) -> commands.KillAttempt:
    return commands.KillAttempt(stage=1, stage_attempt=0, index=4, task_id=task_id, reason="another attempt won")


def held(executor_id: str) -> commands.AskHeldBlocks:
    return commands.AskHeldBlocks(executor_id=executor_id, reason="idle")


def blocks(*hosts: str) -> commands.UpdateTaskBlocks:
    return commands.UpdateTaskBlocks(hosts=hosts, reason="slow")


class World:
    def __init__(self) -> None:
        self.posted: list[Event] = []
        self.orders = DriverCommandQueue(self.posted.append)
        self.bridge = HandMadeBridge()

    def connect(self) -> None:
        self.orders.connected(cast(DriverBridge, self.bridge))
        assert self.orders.settled(10)

    def give(self, *answer: Command, settles: bool = True) -> None:
        for group in grouped(answer):
            self.orders.perform(group)
        assert self.orders.settled(10 if settles else 0.05) is settles

    def told(self) -> list[tuple[object, ...]]:
        told, self.bridge.told = self.bridge.told, []
        return told


def test_orders_of_one_kind_that_follow_each_other_are_one_call() -> None:
    stop = commands.StopDriver(reason="r")
    answer: list[Command] = [blocks("a"), copy(4), copy(5), stop, stop, kill(1), copy(6)]
    assert grouped(answer) == [[blocks("a")], [copy(4), copy(5)], [stop], [stop], [kill(1)], [copy(6)]]


def test_the_driver_does_what_it_is_told() -> None:
    world = World()
    world.connect()
    world.bridge.refusals[5] = "the task has ended"
    world.give(blocks("a"), copy(4), copy(5), withdraw(4), kill(77), kill(78))
    assert world.told() == [
        ("blocked", ()),
        ("blocked", ("a",)),
        ("copies", 4, 5),
        ("withdrawn", 4),
        ("killed", 77, "another attempt won"),
        ("killed", 78, "another attempt won"),
    ]
    assert world.posted == [refused(5, "the task has ended")]


def test_who_cannot_be_told_refuses_copies_and_hears_the_rest_later() -> None:
    world = World()
    world.give(copy(4))
    assert world.posted == [refused(4, "the driver is not connected")]
    world.connect()
    world.bridge.broken = True
    world.give(blocks("b"), copy(5), withdraw(4), kill(77), settles=False)
    assert world.posted[1:] == [refused(5, "the driver could not be told: the JVM has gone")]
    world.told()
    world.bridge.broken = False
    world.connect()
    assert world.told() == [("blocked", ("b",)), ("withdrawn", 4), ("killed", 77, "another attempt won")]
    world.connect()
    assert world.told() == [("blocked", ("b",))]


def test_the_driver_is_asked_what_executors_hold_once_they_take_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "_TELL_AGAIN_S", 60)
    world = World()
    world.bridge.held["7"] = 3
    world.give(held("7"))
    assert world.posted == [events.HeldBlocksTold(executor_id="7", count=-1)]
    world.connect()
    world.told()
    world.give(blocks("a"), held("7"), held("8"))
    assert world.told() == [("blocked", ("a",)), ("held", "7"), ("held", "8")]
    world.bridge.deaf = 2
    world.give(blocks("b"), held("8"), settles=False)
    assert [(one.executor_id, one.count) for one in world.posted if isinstance(one, events.HeldBlocksTold)] == [
        ("7", -1), ("7", 3), ("8", 0), ("8", -1),
    ]  # fmt: skip


def test_what_is_blocked_is_told_until_the_driver_hears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "_TELL_AGAIN_S", 0.001)
    world = World()
    world.connect()
    world.bridge.broken = True
    world.give(blocks("b"), settles=False)
    world.told()
    world.bridge.broken = False
    assert world.orders.settled(10)
    assert world.told() == [("blocked", ("b",))]


def test_no_copy_is_ordered_before_the_driver_knows_what_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "_TELL_AGAIN_S", 60)
    world = World()
    world.connect()
    world.told()
    world.bridge.deaf = 2
    done = threading.Event()
    world.orders.perform([blocks("b")])
    world.orders.perform([copy(5)])
    world.orders.then(done.set)
    assert done.wait(10)
    assert world.posted == [refused(5, "the driver could not be told: it did not hear")]
    world.give(copy(6))
    assert world.told() == [("blocked", ("b",)), ("copies", 6)]


def test_a_driver_that_hangs_holds_nobody_up_and_hears_the_newest_list() -> None:
    world = World()
    world.connect()
    world.told()
    world.bridge.hangs.clear()
    released: list[str] = []
    world.give(blocks("a"), copy(4), blocks("b"), blocks("c"), settles=False)
    world.orders.then(lambda: released.append("1"))
    assert not released
    world.bridge.hangs.set()
    assert world.orders.settled(10)
    assert world.told() in (
        [("blocked", ("a",)), ("blocked", ("c",)), ("copies", 4)],
        [("blocked", ("c",)), ("copies", 4)],  # all were there before the first was given
    )
    assert released == ["1"]
    world.orders.then(lambda: released.append("2"))
    assert released == ["1", "2"]


def test_what_fails_is_told_and_the_next_is_done() -> None:
    world = World()
    world.connect()
    world.bridge.hangs.clear()
    world.give(kill(1), settles=False)

    def fail() -> None:
        raise RuntimeError("the disk is full")

    world.orders.then(fail)
    world.bridge.hangs.set()
    world.give(kill(2))
    assert world.posted == [events.ProblemNoticed(message="an order failed: the disk is full")]
    assert [one[1] for one in world.told() if one[0] == "killed"] == [1, 2]


def test_hosts_without_containers_get_no_task_until_the_core_tells_of_tasks_itself() -> None:
    world = World()
    world.connect()
    world.told()
    world.orders.placement_blocks(("a",))
    assert world.orders.settled(10)
    world.orders.placement_blocks(("a",))
    world.give(blocks("a", "b"))
    world.orders.placement_blocks(("c",))
    assert world.orders.settled(10)
    assert world.told() == [("blocked", ("a",)), ("blocked", ("a", "b"))]


def test_a_host_that_is_given_up_is_told_when_the_driver_is_there() -> None:
    world = World()
    world.give(rc.GiveUpHost(host="a", reason="it is blocked"))
    world.connect()
    assert ("host gone", "a") in world.told()
    world.give(rc.GiveUpHost(host="b", reason="too late"))
    assert world.told() == [("host gone", "b")]


def test_a_host_that_yarn_decommissions_is_told_when_the_driver_is_there() -> None:
    world = World()
    world.give(commands.DecommissionHost(host="a", reason="YARN decommissions it"))
    world.connect()
    assert ("host decommissioned", "a") in world.told()


def test_what_a_dead_driver_was_to_do_is_not_told_to_its_next_life() -> None:
    world = World()
    world.connect()
    world.bridge.broken = True
    world.give(kill(7))
    assert world.orders.driver_lost() == 1
    assert world.orders.driver_lost() == 0
    assert world.orders.running_tasks() == 0
    world.give(blocks("h1"))
    world.bridge = HandMadeBridge()
    world.connect()
    assert world.told() == [("blocked", ("h1",))]


def test_nor_is_what_it_was_being_told_when_it_died() -> None:
    world = World()
    asked, died = threading.Event(), threading.Event()

    class Dying(HandMadeBridge):
        def kill_attempt(self, task_id: int, reason: str) -> None:
            asked.set()
            assert died.wait(10)
            raise ConnectionError(f"nobody ends {task_id} any more: {reason}")

    world.bridge = Dying()
    world.connect()
    world.orders.perform([kill(7)])
    assert asked.wait(10)
    world.orders.perform([blocks("h1")])
    world.orders.perform([kill(8)])
    assert world.orders.driver_lost() == 1
    died.set()
    world.bridge = HandMadeBridge()
    world.connect()
    assert world.told() == [("blocked", ("h1",))]
    world.connect()
    assert world.told() == [("blocked", ("h1",))]


def test_what_is_blocked_while_the_driver_connects_is_told_too() -> None:
    world = World()

    class Connecting(HandMadeBridge):
        def set_blocks(self, update: commands.UpdateTaskBlocks) -> None:
            super().set_blocks(update)
            if not update.hosts:
                world.orders.perform([blocks("h1")])
                assert world.orders.settled(10)  # there is nobody yet to be told

    world.bridge = Connecting()
    world.connect()
    assert world.told() == [("blocked", ()), ("blocked", ("h1",))]


def test_what_fails_while_the_driver_connects_anew_is_told_over_its_new_bridge() -> None:
    world = World()
    anew = HandMadeBridge()

    class Failing(HandMadeBridge):
        def kill_attempt(self, task_id: int, reason: str) -> None:
            world.orders.connected(cast(DriverBridge, anew))
            raise ConnectionError(f"nobody ends {task_id} here: {reason}")

    world.bridge = Failing()
    world.connect()
    world.give(kill(7))
    assert anew.told == [("blocked", ()), ("killed", 7, "another attempt won")]


def test_a_driver_that_dies_while_it_connects_is_not_there() -> None:
    world = World()

    class Dying(HandMadeBridge):
        def set_blocks(self, update: commands.UpdateTaskBlocks) -> None:
            super().set_blocks(update)
            world.orders.driver_lost()

    world.bridge = Dying()
    world.connect()
    world.give(kill(7))
    assert world.told() == [("blocked", ())]


def test_that_tasks_may_start_is_told_until_the_driver_has_heard_it_and_to_no_other_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(orders, "_TELL_AGAIN_S", 0.01)
    ready = commands.DeclareReady(reason="3 executors")
    world = World()
    world.orders.perform([ready])  # before it is connected
    world.connect()
    assert world.told() == [("blocked", ()), ("ready",)]

    world = World()
    world.connect()
    world.bridge.deaf = 2
    world.give(ready)
    assert world.told() == [("blocked", ()), ("ready",)]
    world.orders.driver_lost()
    world.bridge = HandMadeBridge()
    world.connect()
    assert world.told() == [("blocked", ())]
