"""One life of the driver after the other in one container, with a journal on this machine's files."""

from __future__ import annotations

import queue
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.am.world import HandMadeService
from tests.spark.plain_plan import keeping, plan
from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.attempt.history import ApplicationHistory
from yarnspec.am.driver.epochs import DriverEpochs
from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.core.journal.journalrecords import EpochBegan
from yarnspec.core.messages import events
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.events import Event
from yarnspec.journal.directory import JournalDirectory
from yarnspec.journal.replay import Past
from yarnspec.journal.stores import Store
from yarnspec.journal.writer import Journal, JournalOptions, Stopped
from yarnspec.plan import SPARK_PROPERTIES_FILE
from yarnspec.spark.bridge import DriverBridge
from yarnspec.spark.driver import DriverExit, DriverProcess
from yarnspec.yarn.files.local_files import LocalFiles

DEADLINE_S = 20.0


class History:
    def __init__(self, directory: Path) -> None:
        self.journal = JournalDirectory(LocalFiles(), f"{directory}/journal")

    def begin_journal(
        self,
        began: EpochBegan,
        options: JournalOptions,
        _store: Store,
        *,
        on_stopped: Callable[[Stopped], None],
        on_written: Callable[[int], None],
    ) -> tuple[Journal, Past]:
        return self.journal.begin(began, options=options, on_stopped=on_stopped, on_written=on_written)


class Listener:
    def __init__(self) -> None:
        self.told: queue.SimpleQueue[tuple[int | None, Event]] = queue.SimpleQueue()

    def post(self, event: Event, epoch: int | None = None) -> None:
        self.told.put((epoch, event))

    def driver_connected(self, bridge: DriverBridge) -> None:
        raise NotImplementedError


class World:
    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, *, recovery: bool) -> None:
        (directory / "app.py").write_text("print(1)")
        (directory / SPARK_PROPERTIES_FILE).write_bytes(msgspec.json.encode({}))
        self.ends: list[Callable[[DriverExit], None]] = []

        def start(_: DriverProcess, on_exit: Callable[[DriverExit], None]) -> int:
            self.ends.append(on_exit)
            return 4_000_000 + len(self.ends)

        monkeypatch.setattr(DriverProcess, "start", start)
        self.directory = directory
        self.history = History(directory)
        self.listener = Listener()
        place = AmContainer(
            application_id="application_1_0001",
            attempt=1,
            container_id="c",
            host="127.0.0.1",
            directory=directory,
            log_directory=directory,
        )
        made = plan(options=keeping(recovery), driver_python=sys.executable)
        containers = ExecutorContainers(HandMadeService())
        self.lives = DriverEpochs(made, place, cast(ApplicationHistory, self.history), containers)
        self.lives.listener = self.listener

    def told(self) -> tuple[int | None, Event]:
        return self.listener.told.get(timeout=DEADLINE_S)


Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    worlds: list[World] = []

    def made(*, recovery: bool) -> World:
        worlds.append(World(tmp_path, monkeypatch, recovery=recovery))
        return worlds[-1]

    yield made
    for world in worlds:
        world.lives.close()


def test_each_life_has_an_address_and_a_bridge_of_its_own(make: Make) -> None:
    world = make(recovery=False)
    seen = set()
    for epoch in (1, 2, 3):
        world.lives.begin(epoch)
        world.lives.start(awaits_negotiator=epoch == 2)
        told = (world.directory / "yarnspec-spark.properties").read_text()
        assert f"awaitsNegotiator={'true' if epoch == 2 else 'false'}\n" in told
        assert f"spark.yarnspec.epoch={epoch}\n" in told
        assert f"attempt.id={epoch}\n" in told
        (bridge,) = [line for line in told.splitlines() if line.startswith("spark.yarnspec.bridge.file")]
        seen.add((world.lives.epoch, world.lives.address, bridge))
    assert len({address for _, address, _ in seen}) == len({bridge for _, _, bridge in seen}) == len(seen) == 3


def test_what_a_life_tells_says_whose_it_is_however_late_it_comes(make: Make) -> None:
    world = make(recovery=False)
    world.lives.begin(1)
    world.lives.start(awaits_negotiator=False)
    world.lives.begin(2)
    world.lives.start(awaits_negotiator=False)
    for end in world.ends[::-1]:
        end(DriverExit(exit_code=-9, crashed=True))
    (last, lost), (first, _) = world.told(), world.told()
    assert (last, first) == (2, 1)
    assert isinstance(lost, events.DriverLost)
    assert lost.reason == "its process was ended by signal 9"


def test_a_journal_is_closed_in_order_before_the_next_life_s_opens(make: Make) -> None:
    world = make(recovery=True)
    world.lives.begin(1)
    epoch, opened = world.told()
    assert isinstance(opened, rec.JournalReplayed)
    assert (epoch, opened.epochs, opened.off) == (1, (), "")
    before = world.lives.recording
    world.lives.begin(2)
    epoch, opened = world.told()
    assert isinstance(opened, rec.JournalReplayed)
    assert (epoch, opened.epochs, opened.problem, opened.changed) == (2, (1,), "", ())
    assert world.lives.recording is not before
    assert [(each.epoch, each.sealed_by) for each in world.history.journal.verify()] == [(1, 1), (2, None)]


def test_a_life_that_is_over_before_its_journal_was_open_does_not_end_the_next_one_s(make: Make) -> None:
    world = make(recovery=True)
    for epoch in (1, 2, 3):
        world.lives.begin(epoch)
    told = dict(world.told() for _ in range(3))
    assert all(isinstance(event, rec.JournalReplayed) for event in told.values())
    third = told[3]
    assert isinstance(third, rec.JournalReplayed)
    assert (third.off, third.problem, third.epochs) == ("", "", (1, 2))


def test_the_journal_says_when_the_life_before_had_ended(make: Make) -> None:
    world = make(recovery=True)
    began_ms = int(time.time() * 1000)
    world.lives.begin(1, 1_234)
    world.told()
    world.lives.start(awaits_negotiator=False)
    world.ends[0](DriverExit(exit_code=-9, crashed=True))
    world.told()
    ended_ms = int(time.time() * 1000)
    for epoch in (2, 3):  # the second one's driver is never started
        world.lives.begin(epoch)
        world.told()
    replayed = world.history.journal.replay().recorded.epochs
    said = [replayed[epoch].previous_ended_ms for epoch in (1, 2, 3)]
    assert (said[0], said[2]) == (1_234, 0)
    assert began_ms <= said[1] <= ended_ms
