"""What the negotiator answers over REST."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

import pytest

from yarnspec.am.answers import Answers
from yarnspec.am.readers import Patience
from yarnspec.am.shell import Shell
from yarnspec.core import commands, events
from yarnspec.core.commands import Command
from yarnspec.core.events import Event, HostReport
from yarnspec.observe.document import BlockedHost, ContainerStatus, StatusDocument
from yarnspec.observe.eventlog import EventLog
from yarnspec.observe.rest import BlockBody, UnblockBody


class Loop:
    """A shell that answers what a test says."""

    def __init__(self) -> None:
        self.asked: list[Event] = []
        self.answer: list[Command] = []

    def ask(self, event: Event) -> list[Command]:
        self.asked.append(event)
        return self.answer


class Desk:
    def __init__(self, directory: Path) -> None:
        self.loop = Loop()
        self.log = EventLog(2)
        self.stdout = directory / "driver.stdout"
        self.document = StatusDocument(application_id="application_1_0001", state="RUNNING")
        self.hosts: list[HostReport] = []
        self.answers = Answers(
            shell=cast(Shell, self.loop),
            log=self.log,
            document=lambda: self.document,
            hosts=lambda: self.hosts,
            streams={"stdout": self.stdout, "stderr": directory / "driver.stderr"},
            epoch=2,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_block_is_asked_for_and_the_decision_answered(desk: Desk) -> None:
    desk.loop.answer = [commands.BlockHost(reason="asked for by me", host="h", until_ms=None, by="me")]
    answer = desk.answers.block(BlockBody(host="h", duration_ms=1000, reason="slow", by="me", force=True))
    assert (answer.accepted, answer.reason) == (True, "asked for by me")
    assert desk.loop.asked == [
        events.BlockRequested(host="h", reason="slow", by="me", duration_ms=1000, force=True, automatic=False)
    ]


def test_a_refusal_carries_its_reason(desk: Desk) -> None:
    desk.loop.answer = [commands.RefuseBlock(reason="2 of 4 hosts are too many", host="h")]
    answer = desk.answers.block(BlockBody(host="h", duration_ms=None, reason="slow", by="me"))
    assert (answer.accepted, answer.reason) == (False, "2 of 4 hosts are too many")


def test_an_unblock_that_changes_nothing(desk: Desk) -> None:
    answer = desk.answers.unblock(UnblockBody(host="h", by="me"))
    assert (answer.accepted, answer.reason) == (True, "nothing had to change")
    assert desk.loop.asked == [events.UnblockRequested(host="h", by="me")]


def test_output_by_offset(desk: Desk) -> None:
    empty = desk.answers.output("stdout", 0, 100, "me")
    assert (empty.data, empty.next_offset, empty.ended) == (b"", 0, False)
    desk.stdout.write_bytes(b"0123456789")
    piece = desk.answers.output("stdout", 2, 5, "me")
    assert (piece.data, piece.next_offset, piece.ended, piece.epoch) == (b"23456", 7, False, 2)


def test_output_ends_after_its_last_byte(desk: Desk) -> None:
    desk.stdout.write_bytes(b"all")
    desk.answers.end_streams(Patience(first_s=0))
    assert not desk.answers.output("stdout", 0, 100, "me").ended
    assert desk.answers.output("stdout", 3, 100, "me").ended


def test_nobody_is_waited_for_when_nobody_reads(desk: Desk) -> None:
    thread = threading.Thread(target=desk.answers.end_streams, args=(Patience(stalled_s=60),))
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


def test_a_reader_gets_the_rest_before_the_end(desk: Desk) -> None:
    desk.stdout.write_bytes(b"all")
    desk.answers.output("stdout", 0, 1, "me")
    thread = threading.Thread(target=desk.answers.end_streams, args=(Patience(stalled_s=60),))
    thread.start()
    offset = 1
    while not (piece := desk.answers.output("stdout", offset, 1, "me")).ended:
        offset = piece.next_offset
    assert offset == 3
    thread.join(5)
    assert not thread.is_alive()


def test_hosts_with_what_is_on_them(desk: Desk) -> None:
    desk.hosts = [HostReport(host="b", state="LOST"), HostReport(host="a")]
    desk.document = StatusDocument(
        application_id="application_1_0001",
        state="RUNNING",
        containers=(
            ContainerStatus(id="c1", host="a", role="am", state="RUNNING"),
            ContainerStatus(id="c2", host="a", role="executor", state="COMPLETE", executor_id="1"),
        ),
        blocked_hosts=(BlockedHost(host="b", reason="slow disk", until_ms=5),),
    )
    first, second = desk.answers.hosts()
    assert (first.host, first.containers, first.blocked, first.reason) == ("a", 1, False, "")
    assert (second.host, second.state, second.blocked, second.reason, second.until_ms) == (
        "b",
        "LOST",
        True,
        "slow disk",
        5,
    )


def test_events_of_this_epoch(desk: Desk) -> None:
    desk.log.append(events.DriverStarted(pid=1), 5)
    desk.log.append(events.DriverStopping(), 6)
    chunk = desk.answers.events(1, 1000)
    assert (chunk.epoch, [line.seq for line in chunk.lines]) == (2, [2])
    assert desk.answers.status() is desk.document
