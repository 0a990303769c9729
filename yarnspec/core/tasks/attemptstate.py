"""Chooses the attempt that represents a task: the one that is likeliest to finish.

The speculative execution proposal (FLINK-10644, "State Priority") ranks six states: FINISHED > RUNNING > INITIALIZING >
DEPLOYING > SCHEDULED > CREATED. Among equals the attempt that was created first comes first. Spark's driver tells of
two states: an attempt runs, from its launch on, or it has finished. Attempts that ended otherwise rank below these. So
a task whose attempts have all failed is still represented by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yarnspec.core.messages.observations import State
from yarnspec.core.tasks.stagetasks import StageTasks, TaskAttempt

_RANKS = {State.SUCCESS: 2, State.RUNNING: 1}
"""The higher, the likelier to finish; every other state can no longer."""


def representative(attempts: Sequence[TaskAttempt]) -> TaskAttempt | None:
    """The likeliest of these attempts to finish; None when there are none."""
    return min(
        attempts, key=lambda one: (-_RANKS.get(one.state, 0), one.launch_ms, one.attempt, one.task_id), default=None
    )


def winner(stage: StageTasks, index: int) -> TaskAttempt | None:
    """The one attempt of a task whose output counts; None while none has finished.

    When two finish together it is the one whose end Spark's driver heard of first, as that is the one that it takes.
    """
    row = int(stage.won(np.array([index]))[0])
    return None if row < 0 else stage.attempt_at(row)


def stands_for(stage: StageTasks, index: int) -> TaskAttempt | None:
    """The attempt that stands for a task: the winner, else the likeliest to finish; None when it has none."""
    return winner(stage, index) or representative(stage.attempts_of(index))
