"""Waiting for an application: output, progress, and the exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, cast

import pytest

from yarnspec.errors import ClusterUnreachable
from yarnspec.gateway.application import Application
from yarnspec.gateway.client import OutputPiece
from yarnspec.gateway.following import exit_code, follow
from yarnspec.observe.document import Final, StatusDocument

ID = "application_1700000000000_0001"


def document(state: str, code: int | None = None) -> StatusDocument:
    final = None if code is None else Final(status="FAILED", exit_code=code, reason="r")
    return StatusDocument(application_id=ID, state=state, final=final)


class Screen:
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.shown: list[StatusDocument] = []
        self.said: list[str] = []
        self.written = b""
        self.closed = False

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, document: StatusDocument) -> None:
        self.shown.append(document)

    def say(self, line: str) -> None:
        self.said.append(line)

    def write(self, data: bytes) -> None:
        if self.closed:
            raise BrokenPipeError
        self.written += data


class Running:
    """An application that ends after some looks at it."""

    def __init__(self, looks: int, pieces: list[OutputPiece | Exception] | None = None) -> None:
        self.id = ID
        self.looks = looks
        self.pieces = pieces or []
        self.statuses: list[StatusDocument | Exception] = []
        self.ended = threading.Event()
        self.output_done = threading.Event()

    @property
    def client(self) -> Running:
        return self

    def output(self, application_ended: Callable[[], bool]) -> Iterator[OutputPiece]:  # noqa: ARG002
        try:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.output_done.set()

    def has_ended(self) -> bool:
        self.looks -= 1
        if self.looks < 0:
            self.ended.set()
        return self.ended.is_set()

    def status(self) -> StatusDocument:
        if self.statuses and not self.ended.is_set():
            found = self.statuses.pop(0)
            if isinstance(found, Exception):
                raise found
            return found
        return document("SUCCEEDED" if self.ended.is_set() else "RUNNING")


def follow_it(running: Any, screen: Screen, *, output: bool = True) -> StatusDocument:
    return follow(cast(Application, running), screen, output=output, poll_s=0.001)


def test_the_whole_output_and_the_last_status() -> None:
    pieces: list[OutputPiece | Exception] = [
        OutputPiece(data=b"one\n", epoch=1),
        OutputPiece(data=b"", epoch=2, restarted=True),
        OutputPiece(data=b"two\n", epoch=2),
    ]
    screen = Screen()
    last = follow_it(Running(3, pieces), screen)
    assert last.state == "SUCCEEDED"
    assert screen.written == b"one\ntwo\n"
    assert screen.said == ["the driver began again, and so does its output"]
    assert [one.state for one in screen.shown] == ["RUNNING"] * 3 + ["SUCCEEDED"]


def test_in_cluster_mode_the_output_is_not_asked_for() -> None:
    running = Running(1, [OutputPiece(data=b"one", epoch=1)])
    screen = Screen()
    follow_it(running, screen, output=False)
    assert screen.written == b""
    assert not running.output_done.is_set()


def test_a_status_that_cannot_be_had_is_said_and_asked_again() -> None:
    running = Running(2)
    running.statuses = [ClusterUnreachable("the ResourceManager restarts"), document("RUNNING")]
    screen = Screen()
    assert follow_it(running, screen).state == "SUCCEEDED"
    assert screen.said == ["the ResourceManager restarts"]


def test_output_that_breaks_off_is_said_and_the_end_still_waited_for() -> None:
    screen = Screen()
    running = Running(2, [OutputPiece(data=b"one", epoch=1), ClusterUnreachable("gone")])
    assert follow_it(running, screen).state == "SUCCEEDED"
    assert screen.written == b"one"
    assert screen.said == ["the output cannot be followed any more: gone"]


def test_when_nobody_reads_the_output_waiting_ends() -> None:
    screen = Screen()
    screen.closed = True
    with pytest.raises(BrokenPipeError):
        follow_it(Running(1_000_000, [OutputPiece(data=b"one", epoch=1)]), screen)


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (document("SUCCEEDED", 0), 0),
        (document("FAILED", 1), 1),
        (document("FAILED", 42), 1),
        (document("FAILED"), 1),
        (document("FAILED", 6), 6),
        (document("KILLED"), 7),
        (document("KILLED", 7), 7),
    ],
)
def test_exit_codes(last: StatusDocument, code: int) -> None:
    assert exit_code(last) == code
