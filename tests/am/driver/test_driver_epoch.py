"""One life of the driver: what it is given, and what its end means."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import msgspec
import pytest

from tests.spark.plain_plan import plan
from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.driver.driver_epoch import DriverEpoch
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event
from yarnspec.plan import OWN_NAMES, SPARK_PROPERTIES_FILE, SPARK_SECRET_FILE
from yarnspec.spark.driver import DriverExit, DriverProcess


class Life:
    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, **more: object) -> None:
        self.directory = directory
        self.posted: list[Event] = []
        self.owned: dict[str, str] = {}
        self.sized: tuple[str, ...] = ()
        self.defaults: dict[str, str] = {}
        self.end: Callable[[DriverExit], None] = lambda _: None
        shipped = {"spark.driver.memory": "1g", "spark.executor.memory": "2g", "spark.sql.x": "1"}
        (directory / SPARK_PROPERTIES_FILE).write_bytes(msgspec.json.encode(shipped))
        (directory / SPARK_SECRET_FILE).write_text("s3cret")

        def start(driver: DriverProcess, on_exit: Callable[[DriverExit], None]) -> int:
            self.owned, self.sized, self.defaults = driver.owned, driver.sized, driver.defaults
            self.end = on_exit
            return 42

        monkeypatch.setattr(DriverProcess, "start", start)
        place = AmContainer(
            application_id="application_1_0001",
            attempt=1,
            container_id="c",
            host="127.0.0.1",
            directory=directory,
            log_directory=directory,
        )
        made = plan(
            owned_keys=("spark.driver.host", "spark.not.there"),
            sized_properties=("spark.driver.memory",),
            executor_properties=("spark.executor.memory",),
            **more,
        )
        self.life = DriverEpoch(made, place, 1)
        self.life.post = self.posted.append

    def stop(self) -> None:
        self.life.stop()

    def die(self) -> None:
        self.end(DriverExit(exit_code=-9, crashed=True))


@pytest.fixture
def life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    life = Life(tmp_path, monkeypatch)
    assert life.life.start(awaits_negotiator=False) == 42
    yield life
    life.stop()


def test_the_driver_gets_its_address_and_the_secret_in_a_private_file(life: Life) -> None:
    host, port = life.life.address.split(":")
    text = (life.directory / f"{OWN_NAMES}spark.properties").read_text()
    assert f"spark.driver.host={host}\n" in text
    assert f"spark.driver.port={port}\n" in text
    assert "spark.authenticate.secret=s3cret\n" in text
    assert "spark.sql.x=1\n" in text
    assert (life.directory / f"{OWN_NAMES}spark.properties").stat().st_mode & 0o077 == 0


def test_its_address_is_the_one_where_it_really_listens(life: Life) -> None:
    life.life.listens_at("127.0.0.1:77")
    assert life.life.address == "127.0.0.1:77"


def passes(gate: str) -> bool:
    host, port = gate.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("end", [Life.stop, Life.die])
def test_executors_may_come_from_when_it_is_ready_until_its_end(life: Life, end: Callable[[Life], None]) -> None:
    gate = life.life.gate
    assert not passes(gate)
    life.life.open_gate()
    life.life.open_gate()
    assert [passes(gate) for _ in range(3)] == [True, True, True]
    end(life)
    assert not passes(gate)
    # Its first word may be heard after its end.
    life.life.open_gate()
    assert not passes(gate)


@pytest.mark.parametrize("open_before", [True, False])
def test_executors_that_are_given_back_do_not_come_and_later_ones_do(life: Life, *, open_before: bool) -> None:
    gate = life.life.gate
    if open_before:
        life.life.open_gate()
    life.life.close_gate()
    assert not passes(life.life.gate)
    life.life.open_gate()
    assert [passes(gate), passes(life.life.gate)] == [False, True]


def test_what_the_program_cannot_override(life: Life) -> None:
    assert life.owned == {"spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g"}
    assert life.sized == ("spark.driver.memory",)
    assert life.defaults == {"spark.executor.memory": "2g"}


def test_a_programs_own_end_is_final_and_names_its_exception(life: Life) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1\nBadInput: row 7\nis not a number'
    life.end(DriverExit(exit_code=1, crashed=False, traceback=text, reason="BadInput: row 7"))
    assert life.posted == [events.DriverFinished(exit_code=1, reason="BadInput: row 7", traceback=text)]


def test_success(life: Life) -> None:
    life.end(DriverExit(exit_code=0, crashed=False))
    assert life.posted == [events.DriverFinished(exit_code=0)]


def test_a_crash_is_a_loss(life: Life) -> None:
    life.end(DriverExit(exit_code=-9, crashed=True))
    (lost,) = life.posted
    assert isinstance(lost, events.DriverLost)
    assert lost.exit_code == -9


def test_a_program_that_makes_no_context_in_time_has_failed_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(tmp_path, monkeypatch, context_wait_ms=50)
    told: SimpleQueue[Event] = SimpleQueue()
    life.life.post = told.put
    life.life.start(awaits_negotiator=False)
    end = told.get(timeout=20)
    assert isinstance(end, events.DriverFinished)
    assert (end.exit_code, "no SparkContext within 50 ms" in end.reason) == (13, True)


def test_a_context_that_was_made_in_time_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life(tmp_path, monkeypatch, context_wait_ms=50)
    life.life.start(awaits_negotiator=False)
    life.life.listens_at("127.0.0.1:1")
    life.life._made_no_context()
    assert life.posted == []
    life.stop()


def test_an_end_that_was_asked_for_is_no_news(life: Life) -> None:
    life.life.stop(0)
    life.end(DriverExit(exit_code=143, crashed=True))
    assert life.posted == []
