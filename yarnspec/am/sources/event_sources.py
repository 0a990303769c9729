"""The threads that events come from: they watch the provider, the driver and the ResourceManager."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import structlog

from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.sources.allocations import Allocations
from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.am.sources.shuffleevents import shuffle_event
from yarnspec.am.sources.tail import FileTail
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.observations import Observations
from yarnspec.feed.reader import FEED_ERRORS, FeedReader
from yarnspec.spark.bridge import BRIDGE_ERRORS, Announcement, DriverBridge

_log = structlog.get_logger()
Post = Callable[[Event], None]

_TAIL_PAUSE_S = 0.05
_POLL_S = 1.0
_ANNOUNCE_PAUSE_S = 0.05
_RECONNECT_PAUSE_S = 0.5
_ROWS_WAIT_S = 2.0
_ROWS_LOOK_S = 0.005
_END_WAIT_S = 10.0


class ProviderEvents:
    """The news of the proxy provider in Skein's JVM, as the core's events."""

    def __init__(
        self,
        path: Path,
        allocations: Allocations,
        post: Post,
        on_hosts_changed: Callable[[], None],
        on_cores_counted: Callable[[], None],
    ) -> None:
        self._tail = FileTail(path)
        self._on_cores_counted = on_cores_counted
        self._allocations = allocations
        self._post = post
        self._on_hosts_changed = on_hosts_changed
        self.watcher = Watcher("provider-events", self.catch_up, _TAIL_PAUSE_S)

    def catch_up(self) -> None:
        """Take what the provider has told since the last time."""
        for line in self._tail.lines():
            try:
                self._take(json.loads(line))
            except Exception:
                # One line that cannot be understood must not take those after it along.
                _log.exception("a record of the provider was left out", line=line.decode("utf-8", "replace"))

    def _take(self, told: dict[str, Any]) -> None:
        kind = told["type"]
        if kind == "acknowledged":
            self._post(events.PlacementAcknowledged(version=told["version"]))
        elif kind == "allocated":
            self._allocations.allocated(told)
        elif kind == "dropped":
            self._post(events.ContainerDropped(container_id=told["container_id"], host=told["host"]))
        elif kind == "completed":
            self._allocations.completed(told)
        elif kind == "registered":
            if told.get("counts_cores"):
                self._on_cores_counted()
            if told.get("reregistration"):
                self._post(events.ResourceManagerReconnected())
        elif kind == "preemption":
            self._post(
                events.ContainersPreempted(container_ids=tuple(told["container_ids"]), strict=bool(told["strict"]))
            )
        elif kind in {"error", "rejected"}:
            said = told.get("message") or told.get("why") or told
            self._post(events.ProblemNoticed(message=f"placement: {said}"))
        elif kind == "nodes":
            self._on_hosts_changed()


class TaskFeed:
    """The news of stages and tasks from the driver's listener, as the core's events, while the driver lives."""

    def __init__(self, announcement: Path, post: Post) -> None:
        self._announcement = announcement
        self._post = post
        self._reader: FeedReader | None = None
        self._announced: Announcement | None = None
        self._ended = threading.Event()
        self._stuck_at = -1
        self._told_why = ""
        self.watcher = Watcher("task-feed", self._step, _ANNOUNCE_PAUSE_S)

    def wait_for(self, rows: int, deadline_s: float = _ROWS_WAIT_S) -> bool:
        """Wait until the first ``rows`` rows have been posted or are lost; False when that does not come in time.

        After a wait in vain nobody waits again until the feed goes on.
        """
        until_s = time.monotonic() + deadline_s
        while self._passed < rows and not self._ended.is_set():
            if self._passed == self._stuck_at or time.monotonic() >= until_s:
                self._stuck_at = self._passed
                return False
            self._ended.wait(_ROWS_LOOK_S)
        return True

    def post_last(self, event: Event) -> None:
        """Post that the driver's process has ended, after everything that it had told."""
        if DriverBridge.announced(self._announcement) is not None and not self._ended.wait(_END_WAIT_S):
            _log.warning("the feed did not end with the driver")
        self._post(event)

    @property
    def _passed(self) -> int:
        return self._reader.passed if self._reader is not None else 0

    def _step(self) -> None:
        announced = DriverBridge.announced(self._announcement)
        if announced is None:
            return
        if self._reader is None or announced != self._announced:
            self._announced = announced
            self._reader = FeedReader(announced.feed_port, announced.token, self._rows, self._missing)
        why = "the driver closed it"
        try:
            self._reader.read()
        except FEED_ERRORS as error:
            why = f"{type(error).__name__}: {error}"
        if is_alive(announced.pid):
            if why != self._told_why:
                _log.info("the feed broke off; it is opened again", why=why)
            self._told_why = why
            self.watcher.pause(_RECONNECT_PAUSE_S)
        else:
            _log.info("the feed ended", rows=self._passed)
            self._ended.set()
            self.watcher.stop()

    def _rows(self, rows: Observations) -> None:
        self._post(events.Observed(rows=rows))

    def _missing(self, count: int) -> None:
        self._post(events.FeedLagged(count=count))


class DriverEvents:
    """The messages of the driver's scheduler backend, as the core's events."""

    def __init__(
        self,
        announcement: Path,
        containers: ExecutorContainers,
        post: Post,
        on_connected: Callable[[DriverBridge], None],
        feed: TaskFeed,
    ) -> None:
        self._announcement = announcement
        self._feed = feed
        self._containers = containers
        self._post = post
        self._on_connected = on_connected
        self._bridge: DriverBridge | None = None
        self._pid = 0
        self._seen = 0
        self.watcher = Watcher("driver-events", self._step, 0)

    def _step(self) -> None:
        announced = DriverBridge.announced(self._announcement)
        if announced is None:
            self.watcher.pause(_ANNOUNCE_PAUSE_S)
            return
        if announced.pid != self._pid:
            self._pid, self._seen = announced.pid, 0
        try:
            if self._bridge is None:
                bridge = DriverBridge(announced)
                # Kept only once the shell has it: if that fails, the next step tries again.
                self._on_connected(bridge)
                self._bridge = bridge
            # Without a pause between two of them: the driver waits for answers to some of its events.
            told = self._bridge.poll(self._seen, _POLL_S)
        except BRIDGE_ERRORS as error:
            self._broken(error)
            return
        for one in told:
            self._seen = one["seq"]
            # The driver's earlier observations come first.
            self._feed.wait_for(one.get("feed_rows", 0))
            event = self._event(one)
            if event is not None:
                self._post(event)

    def _broken(self, error: Exception) -> None:
        """Note that the channel broke. No event is lost: the JVM tells again what nobody has acknowledged."""
        alive = is_alive(self._pid)
        _log.info(
            "the driver's bridge broke" if alive else "the driver's bridge ended",
            why=str(error).splitlines()[0] if str(error) else type(error).__name__,
        )
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            with contextlib.suppress(*BRIDGE_ERRORS):
                bridge.close()
        if alive:
            self.watcher.pause(_RECONNECT_PAUSE_S)
        else:
            self.watcher.stop()

    def _event(self, told: dict[str, Any]) -> Event | None:
        match told["type"]:
            case "backend_started":
                event: Event | None = events.DriverReady(
                    driver_url=told["driver_url"],
                    ui_url=told.get("ui_url"),
                    executor=msgspec.convert(told.get("executor"), events.ExecutorProfile | None),
                    dynamic_bounds=msgspec.convert(told.get("dynamic_bounds"), tuple[int, int] | None),
                )
            case "target_executors":
                profiles = msgspec.convert(told.get("profiles", ()), tuple[events.ExecutorProfile, ...])
                local_tasks = msgspec.convert(told.get("local_tasks", ()), tuple[events.LocalTasks, ...])
                event = events.TargetExecutorsChanged(count=told["count"], profiles=profiles, local_tasks=local_tasks)
            case "kill_executors":
                event = events.ExecutorsUnwanted(executor_ids=tuple(told["ids"]))
            case "executor_registered":
                container_id = self._containers.container_of(told["executor_id"]) or ""
                event = events.ContainerStarted(
                    executor_id=told["executor_id"], container_id=container_id, host=told["host"], cores=told["cores"]
                )
            case "executor_removed" | "executor_disconnected" as kind:
                why = "its connection broke" if kind == "executor_disconnected" else told.get("reason") or ""
                event = events.ExecutorRemoved(executor_id=told["executor_id"], reason=why)
            case "feed_dropped":
                event = events.FeedLagged(count=told["count"])
            case "job_started":
                parents = tuple((stage, tuple(read)) for stage, read in told.get("parents", ()))
                event = events.JobStarted(job=told["job"], stages=tuple(told["stages"]), parents=parents)
            case "job_ended":
                event = events.JobEnded(
                    job=told["job"], failure=told.get("failure") or "", stream=told.get("stream", False)
                )
            case "copy_refused":
                event = events.CopyRefused(
                    stage=told["stage"], stage_attempt=told["stage_attempt"], index=told["index"], why=told["why"]
                )
            case "program_warned":
                event = events.ProgramWarned(key=told["key"], value="", message=told["message"])
            case "stopping":
                event = events.DriverStopping()
            case _:
                event = shuffle_event(told)
        return event


class ProgramReports:
    """The reports of the hook in the user's program: settings of ours that it tried to override."""

    def __init__(self, path: Path, post: Post) -> None:
        self._tail = FileTail(path)
        self._post = post
        self.watcher = Watcher("program-reports", self._step, 0.5)

    def _step(self) -> None:
        for line in self._tail.lines():
            told = json.loads(line)
            self._post(events.ProgramWarned(key=told["key"], value=told["value"], message=told["message"]))


def is_alive(pid: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
