"""The driver epochs in this container, one after the other, and the resources of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.attempt.history import ApplicationHistory
from yarnspec.am.driver.driver_epoch import DriverEpoch
from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.journal.background_journal import BackgroundJournal
from yarnspec.am.journal.epoch_journal import EpochJournal
from yarnspec.am.sources.event_sources import DriverEvents, TaskFeed
from yarnspec.core.messages.events import Event
from yarnspec.plan import Plan
from yarnspec.spark.bridge import DriverBridge
from yarnspec.spark.driver import STDERR_FILE, STDOUT_FILE, bridge_file


class Listener(Protocol):
    """The shell's side, which hears a driver's messages."""

    def post(self, event: Event, epoch: int | None = None) -> None:
        """Take an event of that epoch's driver."""

    def driver_connected(self, bridge: DriverBridge) -> None:
        """The driver's bridge is there."""


class DriverEpochs:
    """Begins one driver epoch after the other. Every question is about the newest one.

    Each epoch has a port, a bridge with a token, a feed and a journal of its own. Each message carries its epoch, so
    that no late message is taken for one of the running epoch. ``listener`` is set before the first one begins.
    """

    def __init__(
        self, plan: Plan, place: AmContainer, history: ApplicationHistory, containers: ExecutorContainers
    ) -> None:
        self._plan = plan
        self._place = place
        self._history = history
        self._containers = containers
        self._newest: _Epoch | None = None
        self._ports: set[int] = set()
        self.listener: Listener | None = None

    @property
    def streams(self) -> dict[str, Path]:
        """The files of the driver's output: of all its epochs, one after the other."""
        return {"stdout": self._place.log_directory / STDOUT_FILE, "stderr": self._place.log_directory / STDERR_FILE}

    @property
    def epoch(self) -> int:
        """The number of the newest epoch."""
        return self._now.driver.epoch

    @property
    def address(self) -> str:
        """``host:port`` at which executors that are asked for now will look for the driver."""
        return self._now.driver.address

    @property
    def gate(self) -> str:
        """``host:port`` that is open when they may."""
        return self._now.driver.gate

    @property
    def recording(self) -> BackgroundJournal | None:
        """The journal of this epoch, or None if nothing is recorded."""
        return self._now.kept.recording

    def begin(self, epoch: int, attempt_before_ended_ms: int = 0) -> None:
        """Begin a new epoch: its journal opens, as soon as the last one's is closed. The driver itself starts later.

        ``attempt_before_ended_ms`` is for the first one: when the attempt before had ended; 0: that is not known.
        """
        last = self._newest
        driver = DriverEpoch(self._plan, self._place, epoch, not_ports=self._ports)
        self._ports.add(driver.port)
        kept = EpochJournal.of(
            self._plan,
            self._place,
            epoch,
            self._history,
            after=last.kept if last is not None else None,
            previous_ended_ms=last.driver.ended_ms if last is not None else attempt_before_ended_ms,
        )
        assert self.listener is not None  # noqa: S101 - see the class
        self._newest = _Epoch(driver, kept, self._containers, self._place.directory / bridge_file(epoch), self.listener)
        if last is not None:
            last.stop()
        self._newest.begin()

    def listens_at(self, address: str) -> None:
        """The driver is ready for executors, and really listens there."""
        self._now.driver.listens_at(address)

    def open_gate(self) -> None:
        """Executors may look for the driver."""
        self._now.driver.open_gate()

    def close_gate(self) -> None:
        """No executor may that was asked for so far."""
        self._now.driver.close_gate()

    def start(self, *, awaits_negotiator: bool) -> int:
        """Start the driver; returns its process id. Its tasks start by Spark's own rule, or by the negotiator's."""
        return self._now.driver.start(awaits_negotiator=awaits_negotiator)

    def stop(self, grace_s: float = 5.0) -> None:
        """End the driver and everything below it."""
        if self._newest is not None:
            self._newest.driver.stop(grace_s)

    def begin_close(self) -> None:
        """The last driver has ended: begin to close the journal."""
        self._now.kept.begin_close()

    def close(self) -> None:
        """Close the journal, and listen to nobody any more."""
        self._now.kept.close()
        self._now.stop()

    @property
    def _now(self) -> _Epoch:
        assert self._newest is not None  # noqa: S101 - the first one begins before anything can be asked of it
        return self._newest


class _Epoch:
    def __init__(
        self,
        driver: DriverEpoch,
        kept: EpochJournal,
        containers: ExecutorContainers,
        announcement: Path,
        listener: Listener,
    ) -> None:
        post = partial(listener.post, epoch=driver.epoch)
        self.driver = driver
        self.kept = kept
        self._post: Callable[[Event], None] = post
        self._feed = TaskFeed(announcement, post)
        self._told = DriverEvents(
            announcement, containers, post, partial(_connected, listener, kept.recording), self._feed
        )
        driver.post = self._feed.post_last
        driver.saved = kept.saved_file

    def begin(self) -> None:
        self.kept.start(self._post)
        self._feed.watcher.start()
        self._told.watcher.start()

    def stop(self) -> None:
        self.driver.shut()
        # Watchers end with the driver's process. Nobody waits on for a driver that never announced itself.
        self._feed.watcher.stop(0)
        self._told.watcher.stop(0)


def _connected(listener: Listener, recording: BackgroundJournal | None, bridge: DriverBridge) -> None:
    listener.driver_connected(bridge)
    if recording is not None:
        recording.connected(bridge)
