"""What the negotiator answers over REST."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
import pytest

from yarnspec.am.loop.answers import Answers
from yarnspec.am.loop.output_readers import Patience
from yarnspec.am.loop.shell import Shell
from yarnspec.core.blocking.blocks import Block
from yarnspec.core.copies.speculationview import Explanation, SpeculationView
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, HostReport
from yarnspec.core.messages.figures import LedgerFigures, StageSpeculation
from yarnspec.observe.forms.document import BlockedHost, BlockStatus, ContainerStatus, StageStatus, StatusDocument
from yarnspec.observe.http.rest import BlockBody, UnblockBody
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.status.speculation import with_speculation


class Core:
    """What the core knows of speculation: one stage with a slow task, and a blocked host."""

    def speculation_view(self, now_ms: int) -> SpeculationView:
        stage = StageSpeculation(
            stage=3, stage_attempt=0, name="c", tasks=8, state="RUNNING", slow_tasks=1, effective_copies=2,
            min_finished_for_speculation=6, finished_executions=5, speculative_executions=3,
            speculative_threshold_ms=60_000.0, running_ms_by_index={4: 70_000}, fastest_copies=2, running_copies=1,
            gained_ms=9_000, wasted_ms=500,
        )  # fmt: skip
        block = Block(
            host="h1", reason="slow", by="yarnspec", since_ms=now_ms, until_ms=9_000, automatic=True, cause="slow",
            level="stage", stage=3,
        )  # fmt: skip
        ledger = LedgerFigures(
            copies_asked=4, copies_launched=3, copies_running=1, copies_won=2, copies_failed=0, copies_cancelled=0,
            copies_refused=1, copies_withdrawn=0, gained_ms=9_000, wasted_ms=500, spent_ms=1_500,
        )  # fmt: skip
        return SpeculationView(
            enabled=True, stopped="a fault", detector="progress", slow_tasks=1, effective_copies=2, waiting_copies=0,
            extra_containers=1, stages=(stage,), blocks=(block,), ledger=ledger,
        )  # fmt: skip

    hosts_left_in_use: ClassVar = {"a": "never blocked"}

    def explain_task(self, stage: int, index: int, now_ms: int) -> Explanation | None:
        if stage != 3:
            return None
        return Explanation(subject=f"task {stage}.{index}", verdict="slow", numbers={"now_ms": now_ms}, lines=())

    def explain_host(self, host: str, now_ms: int) -> Explanation | None:
        return Explanation(subject=host, verdict="healthy", numbers={"now_ms": now_ms}, lines=())


class Loop:
    """A shell that answers what a test says."""

    def __init__(self) -> None:
        self.asked: list[Event] = []
        self.answer: list[Command] = []
        self.core = Core()
        self.busy = False
        self.heard = True

    def ask(self, event: Event) -> list[Command]:
        self.asked.append(event)
        return self.answer

    def in_force(self, deadline_s: float) -> bool:  # noqa: ARG002
        return self.heard

    def inspect(self, ask: Callable[[Any, int], Any], deadline_s: float = 5.0) -> Any:  # noqa: ARG002
        if self.busy:
            raise TimeoutError
        return ask(self.core, 1_000)


class Desk:
    def __init__(self, directory: Path) -> None:
        self.loop = Loop()
        self.log = EventLogs(2)
        self.stdout = directory / "driver.stdout"
        self.document = StatusDocument(application_id="application_1_0001", state="RUNNING")
        self.hosts: list[HostReport] = []
        self.answers = Answers(
            shell=cast(Shell, self.loop),
            log=self.log,
            document=lambda: self.document,
            hosts=lambda: self.hosts,
            streams={"stdout": self.stdout, "stderr": directory / "driver.stderr"},
            attempt=2,
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


def test_a_block_that_the_driver_has_not_heard_of_says_so(desk: Desk) -> None:
    desk.loop.answer = [commands.BlockHost(reason="asked for by me", host="h", until_ms=None, by="me")]
    desk.loop.heard = False
    answer = desk.answers.block(BlockBody(host="h", duration_ms=None, reason="slow", by="me"))
    assert answer.accepted
    assert answer.reason.startswith("asked for by me; the driver has not confirmed it yet")


def test_a_refusal_carries_its_reason(desk: Desk) -> None:
    desk.loop.answer = [commands.RefuseBlock(reason="2 of 4 hosts are too many", host="h")]
    answer = desk.answers.block(BlockBody(host="h", duration_ms=None, reason="slow", by="me"))
    assert (answer.accepted, answer.reason) == (False, "2 of 4 hosts are too many")


def test_an_unblock_that_changes_nothing(desk: Desk) -> None:
    answer = desk.answers.unblock(UnblockBody(host="h", by="me"))
    assert (answer.accepted, answer.reason) == (True, "nothing had to change")
    assert desk.loop.asked == [events.UnblockRequested(host="h", by="me")]


def test_the_answer_is_the_decision_and_not_what_follows_from_it(desk: Desk) -> None:
    """The share may end a guess, and an entry of the cluster's list may not hold any more beside a forced block."""
    desk.loop.answer = [
        commands.BlockHost(reason="asked for by me", host="h", until_ms=None, by="me"),
        commands.UnblockHost(reason="too many", host="g", level="cluster"),
        commands.RefuseBlock(reason="too many", host="g"),
    ]
    answer = desk.answers.block(BlockBody(host="h", duration_ms=None, reason="slow", by="me", force=True))
    assert (answer.accepted, answer.reason) == (True, "asked for by me")


def test_an_unblock_tells_that_the_clusters_list_still_blocks_the_host(desk: Desk) -> None:
    desk.loop.answer = [commands.UnblockHost(reason="unblocked by me", host="h")]
    assert not desk.answers.unblock(UnblockBody(host="h", by="me")).still_blocked
    block = BlockStatus(level="cluster", cause="asked", host="h", reason="disk", by="ann", since_ms=0, until_ms=None)
    desk.document = msgspec.structs.replace(desk.document, blocks=(block,))
    assert desk.answers.unblock(UnblockBody(host="h", by="me")).still_blocked
    assert not desk.answers.unblock(UnblockBody(host="g", by="me")).still_blocked


def test_output_by_offset(desk: Desk) -> None:
    empty = desk.answers.output("stdout", 0, 100, "me")
    assert (empty.data, empty.next_offset, empty.ended) == (b"", 0, False)
    desk.stdout.write_bytes(b"0123456789")
    piece = desk.answers.output("stdout", 2, 5, "me")
    assert (piece.data, piece.next_offset, piece.ended, piece.attempt) == (b"23456", 7, False, 2)


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
    assert (first.left_in_use, second.left_in_use) == ("never blocked", "")
    assert (first.host, first.containers, first.blocked, first.reason) == ("a", 1, False, "")
    assert (second.host, second.state, second.blocked, second.reason, second.until_ms) == (
        "b",
        "LOST",
        True,
        "slow disk",
        5,
    )
    desk.loop.busy = True
    assert [one.left_in_use for one in desk.answers.hosts()] == ["", ""]


def test_events_of_this_epoch(desk: Desk) -> None:
    desk.log.append(events.DriverStarted(pid=1), 5)
    desk.log.append(events.DriverStopping(), 6)
    chunk = desk.answers.events(2, 1, 1000)
    assert (chunk.epoch, [line.seq for line in chunk.lines]) == (2, [2])
    assert desk.answers.status().application_id == desk.document.application_id


STAGES = tuple(
    StageStatus(stage=number, stage_attempt=0, name="c", tasks=8, finished=5, failed=0, state="RUNNING")
    for number in (2, 3)
)


def test_the_status_has_the_cores_numbers_of_speculation(desk: Desk) -> None:
    desk.document = msgspec.structs.replace(desk.document, stages=STAGES)
    status = desk.answers.status()
    other, stage = status.stages
    assert other.metrics is None
    assert stage.metrics is not None
    assert (stage.metrics.slow_tasks, stage.metrics.slow_execution_vertices) == (1, 1)
    assert (stage.metrics.effective_copies, stage.metrics.effective_speculative_executions) == (2, 2)
    assert (stage.copies_running, stage.gained_ms, stage.wasted_ms) == (1, 9_000, 500)
    assert stage.metrics.running_ms_by_index == {4: 70_000}
    (block,) = status.blocks
    assert (block.level, block.stage, block.executor_id, block.cause) == ("stage", 3, None, "slow")
    assert status.speculation is not None
    assert (status.speculation.detector, status.speculation.extra_containers) == ("progress", 1)
    assert status.speculation.stopped == "a fault"
    assert status.speculation.ledger.gained_ms == 9_000


def test_of_running_times_the_longest_are_shown() -> None:
    (figures,) = Core().speculation_view(0).stages
    figures = msgspec.structs.replace(figures, running_ms_by_index={index: 1_000 + index for index in range(1_000)})
    running = with_speculation(STAGES[1], figures)
    ended = with_speculation(msgspec.structs.replace(STAGES[1], state="SUCCEEDED"), figures)
    assert running.metrics is not None
    assert ended.metrics is not None
    assert list(running.metrics.running_ms_by_index) == list(range(900, 1_000))
    assert list(ended.metrics.running_ms_by_index) == list(range(980, 1_000))


@pytest.mark.parametrize(("known", "shown"), [("SUCCESS", "SUCCEEDED"), ("KILLED", "FAILED"), ("RUNNING", "RUNNING")])
def test_a_stage_whose_end_was_lost_ends_when_the_core_ends_it(known: str, shown: str) -> None:
    (figures,) = Core().speculation_view(0).stages
    stage = with_speculation(STAGES[1], msgspec.structs.replace(figures, state=known))
    assert stage.state == shown
    assert stage.metrics is not None
    assert stage.metrics.slow_tasks == (1 if shown == "RUNNING" else 0)


def test_a_busy_core_does_not_hold_up_the_status(desk: Desk) -> None:
    desk.loop.busy = True
    assert desk.answers.status().speculation is None
    desk.loop.busy = False
    desk.answers.status()
    desk.loop.busy = True
    speculation = desk.answers.status().speculation
    assert speculation is not None
    assert speculation.ledger.copies_won == 2


def test_what_the_core_explains(desk: Desk) -> None:
    found = desk.answers.explain_task(3, 4)
    assert found is not None
    assert (found.subject, found.numbers) == ("task 3.4", {"now_ms": 1_000})
    assert desk.answers.explain_task(9, 4) is None
    found = desk.answers.explain_host("h1")
    assert found is not None
    assert found.verdict == "healthy"
