"""Which of a task's attempts stands for the task (seed 000, "State Priority").

The attempt that is likeliest to finish: FINISHED > RUNNING > INITIALIZING > DEPLOYING > SCHEDULED > CREATED, and among
equals the one that was created first. Spark tells less than Flink: its task states LAUNCHING (sent to an executor) and
RUNNING come to the driver's listeners as one, and attempts that end otherwise can no longer finish. Those rank below
all others here, so that a task whose attempts have all failed is still represented by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from yarnspec.core.messages.observations import State
from yarnspec.core.tasks.stagetasks import StageTasks, TaskAttempt


class Priority(IntEnum):
    """The states of seed 000; a higher one is likelier to finish."""

    ENDED = 0
    CREATED = 1
    SCHEDULED = 2
    DEPLOYING = 3
    INITIALIZING = 4
    RUNNING = 5
    FINISHED = 6


OF_SPARK = {
    "PENDING": Priority.SCHEDULED,
    "LAUNCHING": Priority.DEPLOYING,
    "RUNNING": Priority.RUNNING,
    "FINISHED": Priority.FINISHED,
    "SUCCESS": Priority.FINISHED,
    "FAILED": Priority.ENDED,
    "KILLED": Priority.ENDED,
    "LOST": Priority.ENDED,
}
"""Spark's task states, and those of its listeners' task infos, by name; PENDING waits in its task set for a slot."""


def priority(state: State) -> Priority:
    """How an attempt ranks."""
    return OF_SPARK[state.name]


def representative(attempts: Sequence[TaskAttempt]) -> TaskAttempt | None:
    """The likeliest of these attempts to finish; None when there are none."""
    return min(attempts, key=lambda one: (-priority(one.state), one.launch_ms, one.attempt, one.task_id), default=None)


def winner(stage: StageTasks, index: int) -> TaskAttempt | None:
    """The one attempt of a task whose output counts; None while none has finished.

    When two finish together it is the one whose end Spark's driver heard of first, as that is the one that it takes.
    """
    row = int(stage.won(np.array([index]))[0])
    return None if row < 0 else stage.attempt_at(row)


def stands_for(stage: StageTasks, index: int) -> TaskAttempt | None:
    """The attempt that stands for a task: the winner, else the likeliest to finish; None when it has none."""
    return winner(stage, index) or representative(stage.attempts_of(index))
