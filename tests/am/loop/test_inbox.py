"""The inbox: events keep their order, and observations come in pieces of a good size."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from yarnspec.am.loop.inbox import Inbox, Question, Told
from yarnspec.core.messages import events
from yarnspec.core.messages.observations import ObservationsBuilder, RowKind
from yarnspec.core.negotiator import Negotiator


def observed(*indices: int) -> events.Observed:
    rows = ObservationsBuilder()
    for index in indices:
        rows.add(kind=RowKind.TASK_ENDED, index=index)
    return events.Observed(rows=rows.observations())


def taken(inbox: Inbox) -> list[object]:
    found: list[object] = []
    while (message := inbox.get(0)) is not None:
        assert isinstance(message, Told)
        event = message.event
        found.append(event.rows.index.tolist() if isinstance(event, events.Observed) else event)
    return found


def test_observations_that_follow_each_other_are_joined_and_nothing_changes_places() -> None:
    inbox = Inbox()
    stopping = events.DriverStopping()
    for event in (observed(1), observed(2, 3), stopping, observed(4), observed(5)):
        inbox.put(event)
    assert taken(inbox) == [[1, 2, 3], stopping, [4, 5]]


def test_what_two_lives_of_a_driver_saw_is_never_joined() -> None:
    inbox = Inbox()
    for number, epoch in ((1, 1), (2, 1), (3, 2)):
        inbox.put(observed(number), epoch)
    told = [inbox.get(0), inbox.get(0)]
    assert [(one.epoch, len(one.event.rows)) for one in told if isinstance(one, Told)] == [(1, 2), (2, 1)]  # type: ignore[attr-defined]


def test_a_piece_does_not_grow_beyond_its_bound() -> None:
    inbox = Inbox(joined_rows_max=3)
    for each in ((1, 2), (3,), (4,), (5, 6, 7, 8)):
        inbox.put(observed(*each))
    assert taken(inbox) == [[1, 2, 3], [4], [5, 6, 7, 8]]


def test_who_brings_too_much_waits_and_others_do_not() -> None:
    inbox = Inbox(waiting_rows_max=4)
    inbox.put(observed(1, 2, 3, 4))
    bringing = threading.Thread(target=inbox.put, args=(observed(5),))
    bringing.start()
    stopping = events.DriverStopping()
    inbox.put(stopping)
    bringing.join(0.05)
    assert bringing.is_alive()
    assert taken(inbox)[:2] == [[1, 2, 3, 4], stopping]
    bringing.join(10)
    assert not bringing.is_alive()
    inbox.close()


def test_nobody_waits_for_a_loop_that_has_ended() -> None:
    inbox = Inbox(waiting_rows_max=1)
    inbox.put(observed(1))
    bringing = threading.Thread(target=inbox.put, args=(observed(2),))
    bringing.start()
    inbox.close()
    bringing.join(10)
    assert not bringing.is_alive()


def test_nothing_comes_in_time() -> None:
    assert Inbox().get(0.001) is None


def test_what_a_question_raises_is_its_askers() -> None:
    core = cast(Negotiator, None)  # nobody looks at it
    good: Question[int] = Question(lambda _, now_ms: now_ms)
    good.answer(core, 7)
    assert good.wait(1) == 7

    def fail(_: Negotiator, __: int) -> None:
        raise KeyError("no such task")

    bad = Question(fail)
    bad.answer(core, 7)
    with pytest.raises(KeyError, match="no such task"):
        bad.wait(1)
    with pytest.raises(TimeoutError):
        Question(fail).wait(0.001)
