"""The negotiator's end of the bridge: what crosses it, and how its end looks."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from yarnspec.core.messages.commands import LaunchCopy, TaskBlock, UpdateTaskBlocks, WithdrawCopy
from yarnspec.spark import bridge
from yarnspec.spark.bridge import Announcement, DriverBridge


def test_no_announcement_yet(tmp_path: Path) -> None:
    assert DriverBridge.announced(tmp_path / "bridge.json") is None


def test_an_announcement(tmp_path: Path) -> None:
    path = tmp_path / "bridge.json"
    path.write_text('{"port": 4711, "token": "t", "pid": 12, "feed_port": 4712}')
    assert DriverBridge.announced(path) == Announcement(port=4711, token="t", pid=12, feed_port=4712)


class Entry:
    """The entry point in the driver's JVM."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def poll(self, after: int, timeout_ms: int) -> str:
        self.calls.append(("poll", after, timeout_ms))
        return '[{"seq": 3, "type": "stopping"}]'

    def setBlocks(self, blocks: str) -> None:  # noqa: N802 - Java's name
        self.calls.append(("blocked", json.loads(blocks)))

    def launchCopies(self, copies: str) -> str:  # noqa: N802 - Java's name
        self.calls.append(("copies", json.loads(copies)))
        return '["", "the task has ended"]'

    def withdrawCopies(self, copies: str) -> None:  # noqa: N802 - Java's name
        self.calls.append(("withdrawn", json.loads(copies)))

    def killAttempt(self, *arguments: Any) -> None:  # noqa: N802 - Java's name
        self.calls.append(("killed", *arguments))

    def removeExecutor(self, *arguments: Any) -> None:  # noqa: N802 - Java's name
        self.calls.append(("removed", *arguments))

    def heldBlocks(self, executor_id: str) -> int:  # noqa: N802 - Java's name
        return 2 if executor_id == "7" else 0

    def progress(self) -> str:
        return '{"tasks_running": 4, "active_stages": 1}'


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Entry:
    entry = Entry()

    class Gateway:
        def __init__(self, gateway_parameters: Any) -> None:
            assert gateway_parameters.address == "127.0.0.1"
            assert gateway_parameters.auth_token == "t"
            assert gateway_parameters.port == 4711
            self.entry_point = entry

    monkeypatch.setattr(bridge, "JavaGateway", Gateway)
    return entry


def test_calls_carry_plain_values_and_json(entry: Entry) -> None:
    driver = DriverBridge(Announcement(port=4711, token="t", pid=12))
    assert driver.poll(2, 1.5) == [{"seq": 3, "type": "stopping"}]
    driver.set_blocks(
        UpdateTaskBlocks(
            hosts=("127.0.0.3",),
            executors=("4",),
            stages=(TaskBlock(stage=3, hosts=("127.0.0.2",)), TaskBlock(stage=3, index=9, executors=("5",))),
            reason="slow",
        )
    )
    driver.remove_executor("7", -102, False, "preempted")
    assert driver.running_tasks() == 4
    assert (driver.held_blocks("7"), driver.held_blocks("8")) == (2, 0)
    blocks = {
        "hosts": ["127.0.0.3"],
        "executors": ["4"],
        "stages": [
            {"stage": 3, "index": None, "hosts": ["127.0.0.2"], "executors": []},
            {"stage": 3, "index": 9, "hosts": [], "executors": ["5"]},
        ],
    }
    assert entry.calls == [("poll", 2, 1500), ("blocked", blocks), ("removed", "7", -102, False, "preempted")]


def test_copies_are_asked_for_in_one_call(entry: Entry) -> None:
    driver = DriverBridge(Announcement(port=4711, token="t", pid=12))
    copies = [
        LaunchCopy(stage=1, stage_attempt=0, index=index, not_hosts=("127.0.0.3",), attempts_max=3, reason="slow")
        for index in (4, 5)
    ]
    assert driver.launch_copies(copies) == ["", "the task has ended"]
    driver.withdraw_copies([WithdrawCopy(stage=1, stage_attempt=0, index=4, reason="done")])
    driver.kill_attempt(77, "another attempt won")
    asked = {"stage": 1, "stage_attempt": 0, "not_hosts": ["127.0.0.3"], "attempts_max": 3}
    assert entry.calls == [
        ("copies", [{**asked, "index": 4}, {**asked, "index": 5}]),
        ("withdrawn", [{"stage": 1, "stage_attempt": 0, "index": 4}]),
        ("killed", 77, "another attempt won"),
    ]


def test_progress_is_not_waited_for_as_long_as_the_rest() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        driver = DriverBridge(
            Announcement(port=silent.getsockname()[1], token="t", pid=12), read_timeout_s=60, progress_timeout_s=0.05
        )
        began = time.monotonic()
        with pytest.raises(bridge.BRIDGE_ERRORS):
            driver.running_tasks()
        assert time.monotonic() - began < 10
        driver.close()


def test_a_jvm_that_has_gone_is_one_of_the_expected_errors() -> None:
    from yarnspec.spark.properties import free_port

    driver = DriverBridge(Announcement(port=free_port("127.0.0.1"), token="t", pid=12))
    with pytest.raises(bridge.BRIDGE_ERRORS):
        driver.poll(0, 0.1)
    driver.close()
