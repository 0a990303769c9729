"""Which of a task's attempts stands for it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.core.taskworld import TaskWorld
from yarnspec.core.messages.observations import Failure, State
from yarnspec.core.tasks.attemptstate import representative, stands_for, winner
from yarnspec.core.tasks.stagetasks import TaskAttempt


def attempt(number: int, state: State, launch_ms: int = 0, **fields: Any) -> TaskAttempt:
    return TaskAttempt(
        **{
            "task_id": number,
            "index": 0,
            "attempt": number,
            "host": "h",
            "executor_id": "1",
            "speculative": number > 0,
            "state": state,
            "failure": Failure.NONE,
            "launch_ms": launch_ms,
            "finish_ms": None if state is State.RUNNING else launch_ms + 10,
            **fields,
        }
    )


def test_a_finished_attempt_stands_before_a_running_one_and_that_before_failed_ones() -> None:
    failed, running, done = attempt(0, State.FAILED), attempt(1, State.RUNNING, 5), attempt(2, State.SUCCESS, 9)
    for order in permutations([failed, running, done]):
        assert representative(order) is done
    assert representative([failed, running]) is running
    assert representative([failed]) is failed
    assert representative([]) is None


def test_the_earliest_wins_a_tie() -> None:
    late, early = attempt(0, State.RUNNING, 20), attempt(1, State.RUNNING, 10)
    assert representative([late, early]) is early


@given(st.lists(st.sampled_from([State.SUCCESS, State.FAILED, State.KILLED]), min_size=1, max_size=5), st.randoms())
def test_exactly_one_wins_the_one_that_was_heard_of_first(states: list[State], random: Any) -> None:
    those = TaskWorld()
    those.stage(1)
    launched = [those.launch(0, f"h{number}", number, copy=number > 0) for number in range(len(states))]
    ends = list(zip(launched, states, strict=True))
    random.shuffle(ends)
    for one, state in ends:
        those.end(one, 100, state)
    those.observe()
    heard = [one.task_id for one, state in ends if state is State.SUCCESS]
    first = winner(those.running(), 0)
    assert (first.task_id if first is not None else None) == (heard[0] if heard else None)
    stands = stands_for(those.running(), 0)
    assert stands is not None
    assert stands.task_id == (heard[0] if heard else 0)


def test_a_success_that_was_lost_wins_no_more() -> None:
    those = TaskWorld()
    those.stage(1)
    one = those.launch(0, "h")
    those.end(one, 100)
    those.end(one, 200, State.FAILED, Failure.EXECUTOR_LOST)
    again = those.launch(0, "h", 300)
    those.observe()
    assert winner(those.running(), 0) is None
    stands = stands_for(those.running(), 0)
    assert stands is not None
    assert stands.task_id == again.task_id
