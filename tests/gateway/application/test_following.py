"""Waiting for an application: output, progress, and the exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, cast

import msgspec
import pytest

from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.gateway.application.client import OutputCutOff, OutputPiece
from yarnspec.gateway.application.following import Followed, exit_code, follow
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.application.kill_cleanup import GivenUp
from yarnspec.observe.forms.document import ContainerStatus, Final, StatusDocument

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
        self.rest: list[OutputPiece | Exception] = []
        self.asked_for = (0, 0)
        self.outage: list[Exception] = []
        self.waits_for = ""
        self.attempt = 1
        self.killed = False
        self.because: GivenUp | None = None
        self.cleared = self.clearing_fails = False
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

    def rest_of_output(self, epoch: int, offset: int) -> Iterator[OutputPiece]:
        self.asked_for = (epoch, offset)
        for piece in self.rest:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def kill(self, because: GivenUp | None = None) -> bool:
        self.killed = True
        self.because = because
        self.ended.set()
        return True

    def clear_staging(self) -> None:
        assert self.ended.is_set()
        self.cleared = True
        if self.clearing_fails:
            raise ClusterUnreachable("HDFS is away")

    def has_ended(self) -> bool:
        if self.outage:
            raise self.outage.pop()
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
        if self.ended.is_set():
            last = document("KILLED" if self.killed else "SUCCEEDED")
            if self.because is None:
                return last
            told = Final(status="KILLED", exit_code=self.because.exit_code, reason=self.because.reason)
            return msgspec.structs.replace(last, final=told)
        if self.waits_for:
            waiting = document("ACCEPTED")
            return msgspec.structs.replace(waiting, attempt=self.attempt, pending_reason=self.waits_for)
        return document("RUNNING")

    def driver_log_pages(self) -> dict[str, str]:
        return {"stdout": "http://h:1/driver.stdout"}


def follow_it(running: Any, screen: Screen, *, output: bool = True, **more: Any) -> Followed:
    return follow(cast(Application, running), screen, output=output, poll_s=0.001, **more)


def test_the_whole_output_and_the_last_status() -> None:
    pieces: list[OutputPiece | Exception] = [
        OutputPiece(data=b"one\n", attempt=1),
        OutputPiece(data=b"", attempt=2, restarted=True),
        OutputPiece(data=b"two\n", attempt=2),
    ]
    screen = Screen()
    followed = follow_it(Running(3, pieces), screen)
    assert (followed.last.state, followed.whole_output, followed.exit_code) == ("SUCCEEDED", True, 0)
    assert screen.written == b"one\ntwo\n"
    assert screen.said == ["the driver began again, and so does its output"]
    assert [one.state for one in screen.shown] == ["RUNNING"] * 3 + ["SUCCEEDED"]


def test_the_pages_of_the_drivers_logs_are_told_once_for_each_attempt_to_who_asked_for_them() -> None:
    screen = Screen()
    follow_it(Running(3), screen)
    assert screen.said == []
    running = Running(4)
    second = msgspec.structs.replace(document("RUNNING"), attempt=2)
    running.statuses = [document("ACCEPTED"), document("RUNNING"), second, second]
    follow_it(running, screen, log_links=True)
    assert screen.said == ["Driver Logs (stdout): http://h:1/driver.stdout"] * 2


def test_who_waits_clears_what_the_application_left() -> None:
    running, screen = Running(1), Screen()
    assert follow_it(running, screen).exit_code == 0
    assert running.cleared
    running = Running(1)
    running.clearing_fails = True
    assert follow_it(running, screen).exit_code == 0
    assert screen.said == ["its staging directory is left to the next submit: HDFS is away"]


def test_in_cluster_mode_the_output_is_not_asked_for() -> None:
    running = Running(1, [OutputPiece(data=b"one", attempt=1)])
    screen = Screen()
    follow_it(running, screen, output=False)
    assert screen.written == b""
    assert not running.output_done.is_set()


def test_a_status_that_cannot_be_had_is_said_and_asked_again() -> None:
    running = Running(2)
    running.statuses = [ClusterUnreachable("the ResourceManager restarts"), document("RUNNING")]
    screen = Screen()
    assert follow_it(running, screen).last.state == "SUCCEEDED"
    assert screen.said == ["the ResourceManager restarts; asking on"]


def test_a_cut_output_is_completed_from_the_log() -> None:
    screen = Screen()
    running = Running(2, [OutputPiece(data=b"one\n", attempt=1), OutputCutOff("it ended")])
    running.rest = [OutputPiece(data=b"two\n", attempt=1)]
    followed = follow_it(running, screen)
    assert (followed.whole_output, followed.exit_code) == (True, 0)
    assert screen.written == b"one\ntwo\n"
    assert running.asked_for == (1, 4)
    assert screen.said == []


def test_output_that_cannot_be_had_is_no_success() -> None:
    screen = Screen()
    running = Running(2, [OutputPiece(data=b"one\n", attempt=1), OutputCutOff("it ended")])
    running.rest = [OutputPiece(data=b"tw", attempt=1), NotFound("the log is gone")]
    followed = follow_it(running, screen)
    assert (followed.last.state, followed.whole_output, followed.exit_code) == ("SUCCEEDED", False, 1)
    assert screen.said == ["the output breaks off after 6 bytes: the log is gone"]


def test_output_that_cannot_be_followed_comes_after_the_end() -> None:
    screen = Screen()
    running = Running(2, [OutputPiece(data=b"one", attempt=1), UsageError("another version")])
    running.rest = [OutputPiece(data=b"", attempt=2, restarted=True), OutputPiece(data=b"all", attempt=2)]
    assert follow_it(running, screen).exit_code == 0
    assert screen.written == b"oneall"
    assert "another version" in screen.said[0]


def test_an_outage_of_the_resource_manager_is_sat_out() -> None:
    running, screen = Running(2), Screen()
    running.outage = [ClusterUnreachable("no answer")] * 5
    assert follow_it(running, screen).last.state == "SUCCEEDED"
    assert screen.said == ["no answer; asking on"]


def test_a_resource_manager_that_stays_away_is_given_up() -> None:
    running, screen = Running(2), Screen()
    running.outage = [ClusterUnreachable("no answer")] * 50
    times = iter(range(0, 100_000, 100))
    with pytest.raises(ClusterUnreachable, match=r"no answer .*may well go on"):
        follow_it(running, screen, clock_s=lambda: next(times))
    assert not running.killed


def test_one_that_is_never_placed_is_killed() -> None:
    running, screen = Running(1_000_000), Screen()
    running.waits_for = "the queue's AM share is used up"
    times = iter(range(100_000))
    followed = follow_it(running, screen, start_wait_s=5, clock_s=lambda: next(times))
    assert running.killed
    assert (followed.last.state, followed.exit_code) == ("KILLED", 6)
    assert followed.last.final is not None
    assert "AM share is used up" in followed.last.final.reason


def test_a_later_attempt_that_is_never_placed_is_killed_too() -> None:
    running, screen = Running(1_000_000), Screen()
    running.statuses = [document("ACCEPTED"), *[document("RUNNING")] * 20]
    running.waits_for, running.attempt = "no room", 2
    times = iter(range(100_000))
    followed = follow_it(running, screen, start_wait_s=5, clock_s=lambda: next(times))
    assert followed.exit_code == 6
    assert followed.last.final is not None
    assert followed.last.final.reason == "the application master of attempt 2 got no container within 5 s: no room"


def test_each_wait_counts_by_itself() -> None:
    running, screen = Running(25), Screen()
    running.statuses = [*[document("ACCEPTED")] * 4, document("RUNNING")] * 5
    times = iter(range(100_000))
    assert follow_it(running, screen, start_wait_s=6, clock_s=lambda: next(times)).exit_code == 0
    assert not running.killed


def test_a_master_that_has_its_container_may_take_its_time() -> None:
    running, screen = Running(20), Screen()
    master = ContainerStatus(id="container_1", host="h1", role="am", state="RUNNING", attempt=1)
    running.statuses = [msgspec.structs.replace(document("ACCEPTED"), containers=(master,))] * 20
    times = iter(range(100_000))
    assert follow_it(running, screen, start_wait_s=5, clock_s=lambda: next(times)).exit_code == 0
    assert not running.killed


def test_without_a_limit_it_may_wait() -> None:
    running, screen = Running(20), Screen()
    running.waits_for = "no room"
    times = iter(range(100_000))
    assert follow_it(running, screen, start_wait_s=0, clock_s=lambda: next(times)).exit_code == 0
    assert not running.killed


def test_when_nobody_reads_the_output_waiting_ends() -> None:
    screen = Screen()
    screen.closed = True
    with pytest.raises(BrokenPipeError):
        follow_it(Running(1_000_000, [OutputPiece(data=b"one", attempt=1)]), screen)


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
