"""Which of a task's attempts stands for it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yarnspec.core.attemptstate import OF_SPARK, Priority, representative, winner
from yarnspec.core.observations import Failure, State
from yarnspec.core.stagetasks import Attempt


def attempt(number: int, state: State, launch_ms: int = 0, **fields: Any) -> Attempt:
    return Attempt(
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


def test_the_states_rank_as_in_the_seed() -> None:
    order = ["FINISHED", "RUNNING", "INITIALIZING", "DEPLOYING", "SCHEDULED", "CREATED"]
    assert sorted(order, key=lambda name: -Priority[name]) == order
    assert all(Priority[name] > Priority.ENDED for name in order)
    assert OF_SPARK["LAUNCHING"] is Priority.DEPLOYING


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


@given(st.lists(st.tuples(st.sampled_from(list(State)), st.integers(0, 3)), max_size=5), st.randoms())
def test_exactly_one_wins_whatever_the_order(states: list[tuple[State, int]], random: Any) -> None:
    attempts = [attempt(number, state, launch_ms) for number, (state, launch_ms) in enumerate(states)]
    first = winner(attempts)
    assert (first is not None) == any(one.state is State.SUCCESS for one in attempts)
    shuffled = list(attempts)
    random.shuffle(shuffled)
    assert winner(shuffled) is first
