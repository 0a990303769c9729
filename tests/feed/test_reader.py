"""The feed over a socket: from the first row to the end, and over connections that break."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.feed.wire import stream_of
from yarnspec.core.messages.observations import Observations, ObservationsBuilder, RowKind
from yarnspec.feed.reader import FEED_ERRORS, FeedReader

TOKEN = "secret"


def batch(count: int) -> Observations:
    rows = ObservationsBuilder()
    for index in range(count):
        rows.add(kind=RowKind.TASK_ENDED, stage=1, index=index, host="127.0.0.2")
    return rows.observations()


class Driver:
    """The driver's end: serves one connection after the other, each with what a test wrote down."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.tokens: list[bytes] = []
        self.pool = ThreadPoolExecutor(1)

    def serve(self, handed: int, data: bytes) -> None:
        self.pool.submit(self._serve, handed, data)

    def _serve(self, handed: int, data: bytes) -> None:
        connection, _ = self.server.accept()
        with connection, connection.makefile("rb") as asked:
            self.tokens.append(asked.readline())
            connection.sendall(struct.pack(">q", handed) + data)

    def refuse(self) -> None:
        self.server.accept()[0].close()

    def close(self) -> None:
        self.server.close()
        self.pool.shutdown()


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.close()


class Read:
    """A reader of that feed, and what it brought."""

    def __init__(self, driver: Driver, on_rows: Callable[[Observations], None] = lambda _: None) -> None:
        self.rows: list[Observations] = []
        self.missing: list[int] = []

        def take(rows: Observations) -> None:
            on_rows(rows)
            self.rows.append(rows)

        self.reader = FeedReader(driver.server.getsockname()[1], TOKEN, take, self.missing.append)


def test_a_feed_is_read_to_its_end(driver: Driver) -> None:
    read = Read(driver)
    driver.serve(0, stream_of(batch(3), batch(2)))
    read.reader.read()
    assert [len(each) for each in read.rows] == [3, 2]
    assert read.reader.passed == 5
    assert driver.tokens == [b"secret\n"]


def test_what_an_earlier_connection_lost_is_counted_once(driver: Driver) -> None:
    read = Read(driver)
    driver.serve(0, stream_of(batch(3), batch(4))[:-300])
    with pytest.raises(FEED_ERRORS):
        read.reader.read()
    assert [len(each) for each in read.rows] == [3]
    driver.serve(7, stream_of(batch(2)))
    read.reader.read()
    driver.serve(9, stream_of(batch(1)))
    read.reader.read()
    assert read.missing == [4]
    assert read.reader.passed == 10


def test_a_wrong_token_gets_nothing(driver: Driver) -> None:
    read = Read(driver)
    driver.pool.submit(driver.refuse)
    with pytest.raises(FEED_ERRORS):
        read.reader.read()
    assert read.rows == []


def test_while_a_batch_is_not_taken_nothing_more_is_read(driver: Driver) -> None:
    """What the driver has sent waits on its side: the reader holds one batch, not all of them."""
    go_on = threading.Event()
    entered = threading.Semaphore(0)

    def wait(_: Observations) -> None:
        entered.release()
        assert go_on.wait(10)

    read = Read(driver, wait)
    driver.serve(0, stream_of(*[batch(5)] * 4))
    thread = threading.Thread(target=read.reader.read)
    thread.start()
    assert entered.acquire(timeout=10)
    assert not entered.acquire(timeout=0.05)
    assert read.reader.passed == 0
    go_on.set()
    thread.join(10)
    assert read.reader.passed == 20


def test_no_driver_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(FEED_ERRORS):
        FeedReader(port, TOKEN, lambda _: None, lambda _: None).read()
