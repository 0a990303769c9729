"""Answers to the driver: when what they say is durable, and each by its own deadline."""

from __future__ import annotations

import queue
from concurrent.futures import Future
from typing import Any

import pytest

from yarnspec.am.journal.replies import Replies
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoverycommands import AnswerShuffle, AnswerWrite
from yarnspec.errors import ClusterUnreachable, YarnspecError
from yarnspec.journal.errors import Fenced, JournalStopped
from yarnspec.journal.writer import Stopped

DEADLINE_S = 20.0
DRIVER_WAITS_S = 30.0


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Hanging(Future[int]):
    """Never done: whoever waits for it waits to the end of his time."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def result(self, timeout: float | None = None) -> int:
        assert timeout is not None
        self.clock.now_s += timeout
        raise TimeoutError

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.result(timeout)
        return None


class Bridge:
    """What the driver heard, and when by this clock."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.heard: queue.SimpleQueue[tuple[int, Any, float]] = queue.SimpleQueue()

    def answer_shuffle(self, question: int, *, record: bool, **_answer: Any) -> None:
        self.heard.put((question, record, self.clock()))

    def answer_write(self, question: int, answer: AnswerWrite) -> None:
        self.heard.put((question, answer.action, self.clock()))


class Driver:
    """One that asks, and is answered."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.bridge = Bridge(self.clock)
        self.told: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.found: YarnspecError | None = None
        self.words: list[str] = []
        self.no_room: YarnspecError | None = None
        self.replies = Replies(self.look, self.leave_word, self.clock)

    def look(self) -> None:
        """For a later epoch, of which an error tells."""
        if self.found is not None:
            self.clock.now_s += 100
            raise self.found

    def leave_word(self, why: str) -> None:
        """For later epochs, where there is room for it."""
        if self.no_room is not None:
            self.clock.now_s += 100
            raise self.no_room
        self.words.append(why)

    def begin(self) -> None:
        self.replies.connected(self.bridge)
        self.replies.start(self.told.put)

    def ask(self, question: int, durable: Future[int] | None, *, waited_ms: int = 0) -> None:
        answer = AnswerShuffle(question=question, shuffle=None, record=True, waited_ms=waited_ms, reason="new")
        self.replies.put(answer, durable)

    def ask_to_write(self, question: int, durable: Future[int] | None, *, unrecorded: bool = False) -> None:
        self.replies.put(AnswerWrite(question=question, fenced=True, unrecorded=unrecorded, reason="go on"), durable)

    def heard(self) -> tuple[int, Any, float]:
        return self.bridge.heard.get(timeout=DEADLINE_S)


@pytest.fixture
def driver() -> Driver:
    return Driver()


def done(result: int | Exception = 1) -> Future[int]:
    future: Future[int] = Future()
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future


def test_questions_in_a_file_system_that_hangs_do_not_wait_for_each_others_time(driver: Driver) -> None:
    asked_s = {}
    for question in range(4):
        asked_s[question] = driver.clock.now_s
        driver.ask(question, Hanging(driver.clock))
        driver.clock.now_s += 1
    driver.begin()
    for each in range(4):
        question, record, at_s = driver.heard()
        assert (question, record) == (each, False)
        assert at_s - asked_s[question] < DRIVER_WAITS_S


@pytest.mark.parametrize(("saved", "refused"), [(None, 20), (7, 7)])
def test_what_could_not_be_recorded_in_time_is_refused_before_the_driver_goes_on(
    driver: Driver, saved: int | None, refused: int
) -> None:
    """Maps that run again are not recorded then: what is saved must not be mixed with what is read from those."""
    answer = AnswerShuffle(question=1, shuffle=saved, restore=saved is not None, record=True, declared=20, reason="new")
    driver.replies.put(answer, Hanging(driver.clock))
    driver.begin()
    assert driver.heard()[:2] == (1, False)
    told = driver.told.get_nowait()
    assert isinstance(told, rec.RecordingStopped)
    assert told.shuffle == refused


def test_what_a_question_has_waited_before_counts(driver: Driver) -> None:
    began_s = driver.clock.now_s
    driver.ask(1, Hanging(driver.clock), waited_ms=20_000)
    driver.ask(2, Hanging(driver.clock), waited_ms=70_000)
    driver.begin()
    for _ in range(2):
        _, record, at_s = driver.heard()
        assert not record
        assert at_s - began_s < DRIVER_WAITS_S - 20


def test_an_answer_waits_for_its_record_and_a_write_not_for_a_shuffle(driver: Driver) -> None:
    shuffle: Future[int] = Future()
    driver.begin()
    driver.ask(1, shuffle)
    driver.ask_to_write(2, done())
    assert driver.heard()[:2] == (2, "run")
    assert driver.bridge.heard.empty()
    shuffle.set_result(7)
    assert driver.heard()[:2] == (1, True)


def test_a_write_of_which_nobody_knows_whether_it_may_go_on_does_not_and_others_are_answered(driver: Driver) -> None:
    driver.ask_to_write(1, Hanging(driver.clock))
    driver.ask_to_write(2, done())
    began_s = driver.clock.now_s
    driver.begin()
    question, action, at_s = driver.heard()
    assert (question, action) == (1, "stop")
    assert at_s - began_s < 600
    assert driver.heard()[:2] == (2, "run")
    refused = driver.told.get(timeout=DEADLINE_S)
    assert isinstance(refused, wr.WriteRefused)
    assert "300 s" in refused.why


@pytest.mark.parametrize("record", [done(JournalStopped("it is over")), done()], ids=["lost", "of before"])
@pytest.mark.parametrize(("fenced", "action"), [(False, "run"), (True, "stop")])
def test_without_a_journal_a_write_goes_on_unless_a_later_epoch_has_begun(
    driver: Driver, fenced: bool, action: str, record: Future[int]
) -> None:
    driver.replies.stopping(Stopped("it is over", fenced=fenced))
    driver.replies.stopped()
    driver.begin()
    driver.ask_to_write(1, record)
    driver.ask_to_write(2, None, unrecorded=True)
    for question in (1, 2):
        assert driver.heard()[:2] == (question, action)
        assert driver.words == ([] if fenced else ["it is over"])  # said once, before anything goes on
    assert driver.told.empty() is not fenced


@pytest.mark.parametrize("opened", [True, False])
def test_what_no_later_epoch_could_know_to_be_missing_is_not_written(driver: Driver, opened: bool) -> None:
    """The next driver would write it again: neither a record nor word that there is none can be left."""
    if opened:
        driver.replies.stopping(Stopped("the disk is full", fenced=False))
        driver.replies.stopped()
    driver.no_room = ClusterUnreachable("there is room for nothing")
    driver.begin()
    driver.ask_to_write(1, done(JournalStopped("the disk is full")) if opened else None, unrecorded=not opened)
    assert driver.heard()[:2] == (1, "stop")
    refused = driver.told.get(timeout=DEADLINE_S)
    assert isinstance(refused, wr.WriteRefused)
    assert "room for nothing" in refused.why
    driver.no_room = None
    driver.ask_to_write(2, None, unrecorded=True)
    assert driver.heard()[:2] == (2, "run")
    assert driver.words == ["the disk is full" if opened else "it was not open yet"]


@pytest.mark.parametrize("error", [Fenced("epoch 2 has begun"), ClusterUnreachable("HDFS is away")])
def test_a_later_epoch_is_looked_for_when_nothing_gets_durable(driver: Driver, error: YarnspecError) -> None:
    """What cannot be looked for in time is taken for there."""
    driver.replies.stopping(Stopped("the disk is full", fenced=False))
    driver.replies.stopped()
    driver.begin()
    driver.found = error
    driver.ask_to_write(1, done())
    assert driver.heard()[:2] == (1, "stop")
    refused = driver.told.get(timeout=DEADLINE_S)
    assert isinstance(refused, wr.WriteRefused)
    assert error.message in refused.why
