"""What the provider, the driver and the program tell, as the core's events."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.am.world import HandMadeBridge, HandMadeService
from yarnspec.am import sources
from yarnspec.am.allocations import Allocations
from yarnspec.am.containers import ExecutorContainers
from yarnspec.am.sources import DriverEvents, ProgramReports, ProviderEvents
from yarnspec.am.watcher import Watcher
from yarnspec.core import events
from yarnspec.core.events import Event
from yarnspec.spark.bridge import DriverBridge


class Provider:
    """A provider that writes what a test says, and what came of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.service = HandMadeService()
        self.containers = ExecutorContainers(self.service)
        self.posted: list[Event] = []
        self.looks = 0
        self.allocations = Allocations(self.containers, self.posted.append)
        self.events = ProviderEvents(path, self.allocations, self.posted.append, self._look)

    def _look(self) -> None:
        self.looks += 1

    def tells(self, *records: dict[str, Any] | str) -> list[Event]:
        before = len(self.posted)
        with self.path.open("a") as file:
            for record in records:
                file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")
        self.events._step()
        self.allocations.step()
        return self.posted[before:]


@pytest.fixture
def provider(tmp_path: Path) -> Provider:
    return Provider(tmp_path / "rm-events.jsonl")


def test_a_container_from_its_allocation_to_its_end(provider: Provider) -> None:
    provider.containers.request("5", {})
    provider.service.booked[0] = "container_c"
    allocated = {"type": "allocated", "container_id": "container_c", "host": "127.0.0.2", "wanted_id": "9"}
    completed = {"type": "completed", "container_id": "container_c", "exit_code": -104, "diagnostics": "too much"}
    assert provider.tells({"n": 1, **allocated}, {"n": 2, **completed}) == [
        events.ContainerAllocated(executor_id="5", container_id="container_c", host="127.0.0.2", wanted_id="9"),
        events.ContainerLost(
            executor_id="5", container_id="container_c", host="127.0.0.2", exit_code=-104, diagnostics="too much"
        ),
    ]


def test_a_container_that_skein_has_not_booked_holds_nothing_else_up(provider: Provider) -> None:
    provider.containers.request("5", {})
    allocated = {"type": "allocated", "container_id": "container_c", "host": "127.0.0.2", "wanted_id": None}
    completed = {"type": "completed", "container_id": "container_c", "exit_code": 1, "diagnostics": None}
    told = provider.tells(allocated, completed, {"type": "acknowledged", "version": 4})
    assert told == [events.PlacementAcknowledged(version=4)]
    provider.service.booked[0] = "container_c"
    provider.allocations.step()
    assert provider.posted[1:] == [
        events.ContainerAllocated(executor_id="5", container_id="container_c", host="127.0.0.2"),
        events.ContainerLost(executor_id="5", container_id="container_c", host="127.0.0.2", exit_code=1),
    ]


def test_the_end_of_somebody_elses_container_is_nobodys_loss(provider: Provider) -> None:
    assert provider.tells({"type": "completed", "container_id": "container_am", "exit_code": 0}) == []


def test_other_records(provider: Provider) -> None:
    assert provider.tells(
        {"type": "registered", "reregistration": False},
        {"type": "registered", "reregistration": True},
        {"type": "acknowledged", "version": 4},
        {"type": "dropped", "container_id": "c", "host": "h", "wanted_id": None},
        {"type": "error", "message": "placement.json cannot be read"},
        {"type": "rejected", "wanted_id": "3", "why": "no such label"},
        {"type": "preemption", "container_ids": ["c1", "c2"], "strict": False},
        {"type": "bound", "wanted_id": "3", "priority": 1},
        {"type": "finished", "status": "SUCCEEDED"},
        {"type": "something new"},
    ) == [
        events.ResourceManagerReconnected(),
        events.PlacementAcknowledged(version=4),
        events.ContainerDropped(container_id="c", host="h"),
        events.PlacementProblem(message="placement.json cannot be read"),
        events.PlacementProblem(message="no such label"),
        events.ContainersPreempted(container_ids=("c1", "c2"), strict=False),
    ]


def test_changed_hosts_are_looked_at(provider: Provider) -> None:
    provider.tells({"type": "nodes", "count": 4, "updated": []})
    assert provider.looks == 1


def test_a_record_that_cannot_be_understood_does_not_take_the_next_ones_along(provider: Provider) -> None:
    assert provider.tells("{half", {"type": "acknowledged"}, {"type": "acknowledged", "version": 2}) == [
        events.PlacementAcknowledged(version=2)
    ]


class Driver:
    """Driver events with a bridge that a test made."""

    def __init__(self, directory: Path, bridge: HandMadeBridge, monkeypatch: pytest.MonkeyPatch) -> None:
        self.announcement = directory / "bridge.json"
        self.containers = ExecutorContainers(HandMadeService())
        self.posted: list[Event] = []
        self.connected: list[object] = []
        self.refuse_connection = False
        self.alive = False

        def connect(_: object) -> HandMadeBridge:
            return bridge

        connect.announced = DriverBridge.announced  # type: ignore[attr-defined]
        monkeypatch.setattr(sources, "DriverBridge", connect)
        monkeypatch.setattr(sources, "_RECONNECT_PAUSE_S", 0)
        monkeypatch.setattr(sources, "_alive", lambda _: self.alive)
        self.events = DriverEvents(self.announcement, self.containers, self.posted.append, self._on_connected)

    def _on_connected(self, bridge: object) -> None:
        if self.refuse_connection:
            raise ConnectionRefusedError("not yet")
        self.connected.append(bridge)

    def announce(self) -> None:
        self.announcement.write_text('{"port": 1, "token": "t", "pid": 2}')


def test_nothing_before_the_driver_announces_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(tmp_path, HandMadeBridge(), monkeypatch)
    driver.events._step()
    assert driver.connected == []
    assert driver.posted == []


def test_what_the_driver_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = {
        "stage": 1,
        "stage_attempt": 0,
        "index": 3,
        "attempt": 0,
        "task_id": 9,
        "executor_id": "5",
        "host": "h",
        "state": "FINISHED",
        "launch_ms": 1,
        "finish_ms": 2,
        "failure": "",
    }
    bridge = HandMadeBridge(
        [
            {"seq": 1, "type": "backend_started", "driver_url": "spark://d", "ui_url": None},
            {"seq": 2, "type": "target_executors", "count": 4},
        ],
        [
            {"seq": 3, "type": "executor_registered", "executor_id": "5", "host": "h", "cores": 2},
            {"seq": 4, "type": "kill_executors", "ids": ["5"]},
            {"seq": 5, "type": "stage_started", "stage": 1, "stage_attempt": 0, "name": "count", "tasks": 8},
            {"seq": 6, "type": "task_finished", **task},
            {"seq": 7, "type": "stage_finished", "stage": 1, "stage_attempt": 0, "failure": ""},
            {"seq": 8, "type": "executor_removed", "executor_id": "5", "reason": "x"},
            {"seq": 9, "type": "executor_disconnected", "executor_id": "6"},
            {"seq": 10, "type": "task_events_dropped", "count": 7},
            {"seq": 11, "type": "stopping"},
        ],
    )
    driver = Driver(tmp_path, bridge, monkeypatch)
    driver.announce()
    driver.events._step()
    driver.events._step()
    assert driver.connected == [bridge]
    assert driver.posted == [
        events.DriverReady(driver_url="spark://d"),
        events.TargetExecutorsChanged(count=4),
        events.ContainerStarted(executor_id="5", container_id="", host="h", cores=2),
        events.ExecutorsUnwanted(executor_ids=("5",)),
        events.StageStarted(stage=1, stage_attempt=0, name="count", tasks=8),
        events.TaskFinished(**task),  # type: ignore[arg-type]
        events.StageFinished(stage=1, stage_attempt=0),
        events.ExecutorRemoved(executor_id="5", reason="x"),
        events.ExecutorRemoved(executor_id="6", reason="its connection broke"),
        events.FeedLagged(count=7),
        events.DriverStopping(),
    ]
    driver.events._step()
    assert bridge.after == [0, 2, 11]  # everything is acknowledged once
    assert driver.events.watcher._stop.is_set()  # the JVM has gone: nothing more will come


def test_a_connection_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = HandMadeBridge([])
    driver = Driver(tmp_path, bridge, monkeypatch)
    driver.announce()
    driver.refuse_connection = True
    driver.alive = True
    driver.events._step()
    assert driver.connected == []
    driver.refuse_connection = False
    driver.events._step()
    assert driver.connected == [bridge]


def test_a_driver_that_lives_is_asked_again_after_its_bridge_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = HandMadeBridge([{"seq": 1, "type": "target_executors", "count": 4}])
    driver = Driver(tmp_path, bridge, monkeypatch)
    driver.announce()
    driver.alive = True
    driver.events._step()
    driver.events._step()  # breaks
    bridge.polls = [[{"seq": 2, "type": "stopping"}]]
    driver.events._step()
    assert driver.connected == [bridge, bridge]
    assert bridge.after == [0, 1, 1]
    assert driver.posted == [events.TargetExecutorsChanged(count=4), events.DriverStopping()]
    assert not driver.events.watcher._stop.is_set()


def test_a_process_is_there_or_gone() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert sources._alive(os.getpid())
    assert sources._alive(1)
    assert not sources._alive(child.pid)


def test_an_event_that_cannot_be_understood_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = HandMadeBridge([{"seq": 1, "type": "target_executors"}, {"seq": 2, "type": "stopping"}], [])
    driver = Driver(tmp_path, bridge, monkeypatch)
    driver.announce()
    with pytest.raises(KeyError):
        driver.events._step()
    driver.events._step()
    assert bridge.after == [0, 1]


def test_overrides_in_the_program_are_reported(tmp_path: Path) -> None:
    posted: list[Event] = []
    path = tmp_path / "report.jsonl"
    path.write_text('{"key": "spark.driver.host", "value": "x", "message": "warning: …"}\n')
    ProgramReports(path, posted.append)._step()
    assert posted == [events.ProgramWarned(key="spark.driver.host", value="x", message="warning: …")]


def test_a_watcher_goes_on_after_an_error_and_stops_when_told() -> None:
    again = threading.Event()
    steps = []

    def step() -> None:
        steps.append(1)
        if len(steps) == 1:
            raise ValueError("the first step fails")
        again.set()

    watcher = Watcher("test", step, 0.001)
    watcher.start()
    assert again.wait(10)
    watcher.stop()
    assert not watcher._thread.is_alive()
