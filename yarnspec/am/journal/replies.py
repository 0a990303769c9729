"""Brings the driver the core's answers to its questions: each once its records are durable, and none too late.

Questions about shuffles and those about writes have a thread each, because a write may have to wait for minutes. Each
answer has a deadline of its own, counted from its question. So in a file system that hangs they do not wait in turn.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, Protocol, TypeAlias

import msgspec
import structlog

from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages import writeevents as wr
from yarnspec.core.messages.events import Event
from yarnspec.journal.errors import Fenced
from yarnspec.journal.writer import Stopped

_log = structlog.get_logger()

_SHUFFLE_S = 28.0
"""After 30 s without an answer about a shuffle the driver goes on, and asks no more."""
_WRITE_S = 300.0
"""After 600 s without an answer about a write the driver's program ends with an error."""
_TELL_S = 3.0
"""The part of that time that is kept for telling the driver."""
_ENDING_S = 60.0
_LOOK_PAUSE_S = 0.5
_NOT_TOLD = f"yarnspec could not find out within {_WRITE_S:g} s whether a later driver epoch has begun"
_NO_WORD = f"yarnspec could not tell a next driver within {_WRITE_S:g} s that later writes are not recorded"
_TELL_PAUSE_S = 0.2

Answer: TypeAlias = rc.AnswerShuffle | rc.AnswerWrite


class Answering(Protocol):
    """The driver's bridge."""

    def answer_shuffle(
        self, question: int, *, shuffle: int | None, restore: bool, record: bool, whole: bool, reason: str = ""
    ) -> None:
        """Answer a question about a shuffle; one of ``BRIDGE_ERRORS`` when the driver does not listen."""

    def answer_write(self, question: int, answer: rc.AnswerWrite) -> None:
        """Answer a question about what the program writes or reads; raises as the other."""


class _Waiting(NamedTuple):
    """An answer, what must be on disk before it is given, and when it has to be given at the latest.

    ``fresh``: the record was not on disk yet when the answer was decided. So once it is there, it shows that no later
    epoch has begun.
    """

    command: Answer
    durable: Future[int] | None
    fresh: bool
    until_s: float


class Replies:
    """The answers to one driver, which may not be connected yet.

    Args:
        look: raises Fenced when a later epoch has begun, and an error of the file system when it cannot tell.
        leave_word: writes for later epochs why the journal has not all of this one. May raise a file system's error.
        clock: seconds that only grow.
        refused: called at once when ``refused_writes`` grows by one.

    ``refused_writes``: how often the driver was kept from a step of a write because a later epoch has begun.
    """

    def __init__(
        self,
        look: Callable[[], None],
        leave_word: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._look = look
        self._leave_word = leave_word
        self._clock = clock
        self._word_left = False
        self.refused_writes = 0
        self._refused = refused
        self._post: Callable[[Event], None] = lambda _: None
        self._bridge: Answering | None = None
        self._stopped: Stopped | None = None
        self._ended = threading.Event()
        self._shuffles: queue.SimpleQueue[_Waiting] = queue.SimpleQueue()
        self._writes: queue.SimpleQueue[_Waiting] = queue.SimpleQueue()

    def start(self, post: Callable[[Event], None]) -> None:
        """Begin to answer; ``post`` hands the core an event."""
        self._post = post
        for name, waiting in (("shuffle-answers", self._shuffles), ("write-answers", self._writes)):
            threading.Thread(target=self._answer_all, args=(waiting,), name=name, daemon=True).start()

    def connected(self, bridge: Answering) -> None:
        """The driver's bridge is there. From any thread."""
        self._bridge = bridge

    def stopping(self, stopped: Stopped) -> None:
        """Note that the journal writes nothing any more. The core hears of this next. From any thread."""
        if self._stopped is None or stopped.fenced:
            self._stopped = stopped

    def stopped(self) -> None:
        """The core was told: what waited for something durable is answered without. From any thread."""
        self._ended.set()

    def put(self, command: Answer, durable: Future[int] | None) -> None:
        """Answer as soon as ``durable`` is done: when the last record is on disk. Returns at once."""
        now_s = self._clock()
        fresh = durable is not None and not durable.done()
        if isinstance(command, rc.AnswerShuffle):
            self._shuffles.put(_Waiting(command, durable, fresh, now_s + _SHUFFLE_S - command.waited_ms / 1000))
        else:
            self._writes.put(_Waiting(command, durable, fresh, now_s + _WRITE_S))

    def _answer_all(self, waiting: queue.SimpleQueue[_Waiting]) -> None:
        while True:
            one = waiting.get()
            try:
                self._tell(self._settled(one), one.until_s)
            except Exception as error:  # the next question is another one
                _log.warning("the driver got no answer", question=one.command.question, why=str(error))

    def _left_s(self, waiting: _Waiting) -> float:
        return max(0.0, waiting.until_s - _TELL_S - self._clock())

    def _settled(self, waiting: _Waiting) -> Answer:
        command = waiting.command
        if isinstance(command, rc.AnswerWrite):
            try:
                why = self._why_stop(command, waiting)
            except Fenced as fenced:
                why = fenced.message
                self.refused_writes += 1
                self._refused()
            if not why:
                return command
            self._post(wr.WriteRefused(question=command.question, why=why))
            return msgspec.structs.replace(command, action="stop", reason=f"this driver must not go on: {why}")
        return msgspec.structs.replace(command, record=command.record and self._is_recorded(command, waiting))

    def _is_recorded(self, command: rc.AnswerShuffle, waiting: _Waiting) -> bool:
        if waiting.durable is None:
            return True
        try:
            waiting.durable.result(self._left_s(waiting))
        except Exception as error:
            why = f"the journal did not record it in time: {str(error) or type(error).__name__}"
            # Before the driver hears it: of what it computes from this one the core must know that when it is asked.
            shuffle = command.declared if command.shuffle is None else command.shuffle
            self._post(rec.RecordingStopped(shuffle=shuffle, why=why))
            return False
        return True

    def _why_stop(self, command: rc.AnswerWrite, waiting: _Waiting) -> str:
        """Why the driver must not go on. Fenced: because a later epoch has begun.

        A record that gets durable now shows that there is no later epoch. Without a journal the job goes on under two
        conditions: no later epoch runs, and a later one can know that the journal lacks something.
        """
        if not command.fenced:
            return ""
        lost = command.unrecorded or self._stopped is not None
        if waiting.durable is not None and not lost:
            try:
                lost = waiting.durable.exception(self._left_s(waiting)) is not None
            except TimeoutError:
                return _NOT_TOLD
            if waiting.fresh and not lost:
                return ""
        if lost and not command.unrecorded:
            self._ended.wait(min(_ENDING_S, self._left_s(waiting)))
            if self._stopped is None:
                return "the journal is closed"
        stopped = self._stopped
        if stopped is not None and stopped.fenced:
            raise Fenced(stopped.why)
        # In this order: a later epoch that was not there yet reads the word.
        not_left = self._word(waiting, "" if stopped is None else stopped.why) if lost else ""
        return not_left or self._persistently(self._look, waiting, _NOT_TOLD)

    def _word(self, waiting: _Waiting, why: str) -> str:
        """Tell later epochs, once, that the journal does not have all that is written; returns why that failed."""
        if not self._word_left:
            why = why or "it was not open yet"
            said = self._persistently(lambda: self._leave_word(why), waiting, _NO_WORD)
            self._word_left = not said
            return said
        return ""

    def _persistently(self, call: Callable[[], None], waiting: _Waiting, failed: str) -> str:
        """Repeat the call until it succeeds or there is no time left; returns why not. Fenced: no time will be left."""
        while True:
            try:
                call()
            except Fenced:
                raise
            except Exception as error:
                if not self._left_s(waiting):
                    return f"{failed}: {error}"
                time.sleep(_LOOK_PAUSE_S)
            else:
                return ""

    def _tell(self, command: Answer, until_s: float) -> None:
        while not self._told(command, last=self._clock() >= until_s):
            time.sleep(_TELL_PAUSE_S)

    def _told(self, command: Answer, *, last: bool) -> bool:
        bridge = self._bridge
        if bridge is None:
            return last
        try:
            if isinstance(command, rc.AnswerWrite):
                bridge.answer_write(command.question, command)
                return True
            bridge.answer_shuffle(
                command.question,
                shuffle=command.shuffle,
                restore=command.restore,
                record=command.record,
                whole=command.whole,
                reason=command.reason,
            )
        except Exception:
            if last:
                raise
            return False
        return True
