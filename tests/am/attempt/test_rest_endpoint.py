"""The REST server's address reaches HDFS, sooner or later."""

from __future__ import annotations

import threading

from yarnspec.am.attempt.rest_endpoint import RestEndpoint


class Server:
    url = "http://h:1"

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.started = 0

    def start(self) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("no port")
        self.started += 1


def test_what_fails_is_tried_again_and_the_server_starts_once() -> None:
    announced = threading.Event()
    tried: list[str] = []

    def announce(url: str) -> None:
        tried.append(url)
        if len(tried) < 3:
            raise OSError("the NameNode is in safe mode")
        announced.set()

    server = Server(failures=1)
    doors = RestEndpoint(server, announce, first_pause_s=0.001)
    doors.open()
    assert announced.wait(10)
    doors.close()
    assert tried == ["http://h:1"] * 3
    assert server.started == 1


def test_once_closed_it_is_not_tried_again() -> None:
    tried = threading.Event()

    def announce(_: str) -> None:
        tried.set()
        raise OSError("no")

    doors = RestEndpoint(Server(), announce, first_pause_s=3600)
    doors.open()
    assert tried.wait(10)
    doors.close()
    doors._thread.join(30)
    assert not doors._thread.is_alive()
