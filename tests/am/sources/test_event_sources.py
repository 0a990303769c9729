"""What the provider, the driver and the program tell, as the core's events."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.am.world import HandMadeBridge, HandMadeService
from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.sources import event_sources as sources
from yarnspec.am.sources.allocations import Allocations
from yarnspec.am.sources.event_sources import DriverEvents, ProgramReports, ProviderEvents, TaskFeed
from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.observations import ObservationsBuilder
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
        self.counts_cores = False
        self.events = ProviderEvents(path, self.allocations, self.posted.append, self._look, self._count_cores)

    def _look(self) -> None:
        self.looks += 1

    def _count_cores(self) -> None:
        self.counts_cores = True

    def tells(self, *records: dict[str, Any] | str) -> list[Event]:
        before = len(self.posted)
        with self.path.open("a") as file:
            for record in records:
                file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")
        self.events.catch_up()
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
        events.ProblemNoticed(message="placement: placement.json cannot be read"),
        events.ProblemNoticed(message="placement: no such label"),
        events.ContainersPreempted(container_ids=("c1", "c2"), strict=False),
    ]


def test_the_registration_says_whether_the_scheduler_counts_cores(provider: Provider) -> None:
    provider.tells({"type": "registered", "reregistration": False, "counts_cores": False})
    assert not provider.counts_cores
    provider.tells({"type": "registered", "reregistration": True, "counts_cores": True})
    assert provider.counts_cores


def test_changed_hosts_are_looked_at(provider: Provider) -> None:
    provider.tells({"type": "nodes", "count": 4, "updated": []})
    assert provider.looks == 1


def test_a_record_that_cannot_be_understood_does_not_take_the_next_ones_along(provider: Provider) -> None:
    assert provider.tells("{half", {"type": "acknowledged"}, {"type": "acknowledged", "version": 2}) == [
        events.PlacementAcknowledged(version=2)
    ]


OBSERVED = events.Observed(rows=ObservationsBuilder().observations())


class HandMadeFeed:
    """A feed whose connections each lose two rows and bring three."""

    breaks = False

    def __init__(self, port: int, token: str, on_rows: Callable[..., None], on_missing: Callable[[int], None]) -> None:
        assert (port, token) == (5, "t")
        self.passed = 0
        self.on_rows = on_rows
        self.on_missing = on_missing

    def read(self) -> None:
        self.on_missing(2)
        self.on_rows(OBSERVED.rows)
        self.passed += 5
        if self.breaks:
            raise ConnectionResetError("broken")


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
        monkeypatch.setattr(sources, "is_alive", lambda _: self.alive)
        self.feed = TaskFeed(self.announcement, self.posted.append)
        self.events = DriverEvents(
            self.announcement, self.containers, self.posted.append, self._on_connected, self.feed
        )

    def _on_connected(self, bridge: object) -> None:
        if self.refuse_connection:
            raise ConnectionRefusedError("not yet")
        self.connected.append(bridge)

    def announce(self) -> None:
        self.announcement.write_text('{"port": 1, "token": "t", "pid": 2, "feed_port": 5}')


def test_nothing_before_the_driver_announces_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(tmp_path, HandMadeBridge(), monkeypatch)
    driver.events._step()
    assert driver.connected == []
    assert driver.posted == []


def test_what_the_driver_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = HandMadeBridge(
        [
            {"seq": 1, "type": "backend_started", "driver_url": "spark://d", "ui_url": None, "dynamic_bounds": [1, 8]},
            {"seq": 2, "type": "target_executors", "count": 4},
            {
                **{"seq": 2, "type": "target_executors", "count": 5},
                "profiles": [{"id": 1, "count": 2, "memory_mb": 3, "heap_mb": 2, "cores": 1, "slots": 1}],
                "local_tasks": [{"profile": 1, "tasks": 9, "total": 8, "hosts": {"a": 6}}],
            },
        ],
        [
            {"seq": 3, "type": "executor_registered", "executor_id": "5", "host": "h", "cores": 2},
            {"seq": 4, "type": "kill_executors", "ids": ["5"]},
            {"seq": 5, "type": "job_started", "job": 2, "stages": [1, 3], "parents": [[3, [1]]]},
            {"seq": 6, "type": "copy_refused", "stage": 1, "stage_attempt": 0, "index": 7, "why": "it has ended"},
            {"seq": 7, "type": "job_ended", "job": 2, "failure": None},
            {"seq": 8, "type": "executor_removed", "executor_id": "5", "reason": "x"},
            {"seq": 9, "type": "executor_disconnected", "executor_id": "6"},
            {"seq": 9, "type": "executors_decommissioned", "executor_ids": ["7"]},
            {"seq": 10, "type": "feed_dropped", "count": 7},
            {"seq": 11, "type": "program_warned", "key": "speculation.enabled", "message": "a stream"},
            {"seq": 12, "type": "stopping"},
        ],
    )
    driver = Driver(tmp_path, bridge, monkeypatch)
    driver.announce()
    driver.events._step()
    driver.events._step()
    assert driver.connected == [bridge]
    assert driver.posted == [
        events.DriverReady(driver_url="spark://d", dynamic_bounds=(1, 8)),
        events.TargetExecutorsChanged(count=4),
        events.TargetExecutorsChanged(
            count=5,
            profiles=(events.ExecutorProfile(id=1, count=2, memory_mb=3, heap_mb=2),),
            local_tasks=(events.LocalTasks(profile=1, tasks=9, total=8, hosts={"a": 6}),),
        ),
        events.ContainerStarted(executor_id="5", container_id="", host="h", cores=2),
        events.ExecutorsUnwanted(executor_ids=("5",)),
        events.JobStarted(job=2, stages=(1, 3), parents=((3, (1,)),)),
        events.CopyRefused(stage=1, stage_attempt=0, index=7, why="it has ended"),
        events.JobEnded(job=2),
        events.ExecutorRemoved(executor_id="5", reason="x"),
        events.ExecutorRemoved(executor_id="6", reason="its connection broke"),
        events.ExecutorsDecommissioned(executor_ids=("7",)),
        events.FeedLagged(count=7),
        events.ProgramWarned(key="speculation.enabled", value="", message="a stream"),
        events.DriverStopping(),
    ]
    driver.events._step()
    assert bridge.after == [0, 2, 12]  # everything is acknowledged once
    assert driver.events.watcher._stop.is_set()  # the JVM has gone: nothing more will come


def test_the_driver_is_asked_for_more_without_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for the answers to some of its events, such as one for each shuffle."""
    waits: list[float | None] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return super().wait(0)

    job = {"type": "job_ended", "job": 2}
    driver = Driver(
        tmp_path, HandMadeBridge([{"seq": 1, **job}], [{"seq": 2, **job}], [{"seq": 3, **job}]), monkeypatch
    )
    driver.announce()
    driver.events.watcher._stop = Stop()
    driver.events.watcher._run()  # until the bridge ends
    assert len(driver.posted) == 3
    assert not any(waits)


def test_what_was_observed_before_an_event_comes_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways out of the driver keep their order: an event says how many rows were told before it."""
    ended = {"seq": 1, "type": "job_ended", "job": 2, "feed_rows": 5}
    driver = Driver(tmp_path, HandMadeBridge([ended], []), monkeypatch)
    monkeypatch.setattr(sources, "FeedReader", HandMadeFeed)
    driver.announce()
    feed = threading.Thread(target=driver.feed._step)
    told = threading.Thread(target=driver.events._step)
    told.start()
    feed.start()
    for thread in (feed, told):
        thread.join(10)
    assert driver.feed.wait_for(5)
    assert driver.posted == [events.FeedLagged(count=2), OBSERVED, events.JobEnded(job=2)]


def test_a_feed_that_stands_still_holds_events_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(tmp_path, HandMadeBridge(), monkeypatch)
    assert not driver.feed.wait_for(1, deadline_s=0.001)
    assert not driver.feed.wait_for(1, deadline_s=3600)
    assert driver.feed.wait_for(0, deadline_s=3600)


def test_the_drivers_end_comes_after_everything_that_it_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(tmp_path, HandMadeBridge(), monkeypatch)
    monkeypatch.setattr(sources, "FeedReader", HandMadeFeed)
    finished = events.DriverFinished(exit_code=0)
    driver.feed.post_last(finished)  # it never announced itself: there is nothing to wait for
    assert driver.posted.pop() == finished
    driver.announce()
    last = threading.Thread(target=driver.feed.post_last, args=(finished,))
    last.start()
    driver.feed._step()
    last.join(10)
    assert driver.posted == [events.FeedLagged(count=2), OBSERVED, finished]
    assert driver.feed.watcher._stop.is_set()


def test_a_feed_that_breaks_off_is_opened_again_while_the_driver_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(tmp_path, HandMadeBridge(), monkeypatch)
    monkeypatch.setattr(sources, "FeedReader", HandMadeFeed)
    monkeypatch.setattr(HandMadeFeed, "breaks", True)
    driver.announce()
    driver.alive = True
    driver.feed._step()
    driver.feed._step()
    assert driver.posted == [events.FeedLagged(count=2), OBSERVED] * 2
    assert driver.feed._passed == 10  # the same reader counts on
    assert not driver.feed.watcher._stop.is_set()


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
    assert sources.is_alive(os.getpid())
    assert sources.is_alive(1)
    assert not sources.is_alive(child.pid)


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
