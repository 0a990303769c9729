"""The stream of map outputs: what the driver's JVM sends arrives in order, over as many connections as it takes."""

from __future__ import annotations

import json
import os
import queue
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from yarnspec.am.sources import mapoutputs
from yarnspec.am.sources.mapoutputs import MapOutputs
from yarnspec.journal.frames import encode_frame

TOKEN = "t0ken"
DEADLINE_S = 20.0


class Driver:
    """The JVM's end: accepts connections, and sends what a test says."""

    def __init__(self, directory: Path) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(DEADLINE_S)
        self.announcement = directory / "bridge.json"
        self.announce(self.server.getsockname()[1])
        self.alive = True
        self.got: queue.SimpleQueue[tuple[dict[str, Any], bytes]] = queue.SimpleQueue()
        self.lost: list[int] = []
        self.outputs = MapOutputs(
            self.announcement, lambda header, blob: self.got.put((header, blob)), self.lost.append
        )

    def announce(self, port: int) -> None:
        told = {"port": 1, "token": TOKEN, "pid": os.getpid(), "outputs_port": port}
        self.announcement.write_text(json.dumps(told))

    def connected(self, handed: int) -> socket.socket:
        connection, _ = self.server.accept()
        line = b""
        while not line.endswith(b"\n"):
            line += connection.recv(1)
        assert line == TOKEN.encode() + b"\n"
        connection.sendall(struct.pack(">q", handed))
        return connection

    def next(self) -> int:
        header, blob = self.got.get(timeout=DEADLINE_S)
        assert blob == b"blob %d" % header["index"]
        return int(header["index"])


def frame(index: int) -> bytes:
    return encode_frame({"kind": "map_finished", "index": index}, b"blob %d" % index)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    made = Driver(tmp_path)
    monkeypatch.setattr(mapoutputs, "is_alive", lambda _: made.alive)
    monkeypatch.setattr(mapoutputs, "_RECONNECT_PAUSE_S", 0.01)
    yield made
    made.alive = False
    made.server.close()
    made.outputs.watcher.stop()


def test_frames_arrive_in_order_until_the_driver_ends(driver: Driver) -> None:
    assert not driver.outputs.wait_for_end(0.0)
    driver.outputs.watcher.start()
    with driver.connected(0) as connection:
        connection.sendall(frame(0) + frame(1)[:5])
        assert driver.next() == 0
        connection.sendall(frame(1)[5:])
        assert driver.next() == 1
        driver.alive = False
    assert driver.outputs.wait_for_end(DEADLINE_S)
    assert driver.lost == []


def test_what_a_broken_connection_lost_is_counted(driver: Driver) -> None:
    driver.outputs.watcher.start()
    with driver.connected(0) as connection:
        connection.sendall(frame(0) + frame(1)[:9])
    with driver.connected(2) as connection:
        connection.sendall(frame(2))
        assert [driver.next(), driver.next()] == [0, 2]
        driver.alive = False
    assert driver.outputs.wait_for_end(DEADLINE_S)
    assert driver.lost == [1]


def test_a_damaged_frame_is_not_handed_on(driver: Driver) -> None:
    driver.outputs.watcher.start()
    damaged = bytearray(frame(1))
    damaged[-1] ^= 1
    with driver.connected(0) as connection:
        connection.sendall(frame(0) + bytes(damaged))
        assert driver.next() == 0
    with driver.connected(2) as connection:
        connection.sendall(frame(2))
        assert driver.next() == 2
        driver.alive = False
    assert driver.outputs.wait_for_end(DEADLINE_S)


def test_a_driver_that_tells_nothing_is_not_waited_for(driver: Driver) -> None:
    driver.announce(0)
    driver.outputs.watcher.start()
    assert driver.outputs.wait_for_end(DEADLINE_S)


def test_what_cannot_be_taken_does_not_end_the_reading(driver: Driver) -> None:
    """And is told: what comes after it may rest on it."""
    taken = driver.outputs._take
    refused = threading.Event()

    def choosy(header: dict[str, Any], blob: bytes) -> None:
        if header["index"] == 0:
            refused.set()
            raise KeyError("stage")
        taken(header, blob)

    driver.outputs._take = choosy
    driver.outputs.watcher.start()
    with driver.connected(0) as connection:
        connection.sendall(frame(0) + frame(1))
        assert driver.next() == 1
        driver.alive = False
    assert refused.is_set()
    assert driver.lost == [1]
