"""Records for the event log why slow tasks get no copy. The notes themselves go soon after their stage has ended.

Most reasons hold for many passes, with other numbers each time. Each reason is told once for a task, and one record
tells it for many tasks of a stage. So there are few records, however long tasks are slow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from yarnspec.core.copies.notes import topic_of
from yarnspec.core.detectors import SlowAttempt
from yarnspec.core.messages.commands import Command, WithholdCopies
from yarnspec.core.tasks.task_table import StageKey


class Withheld:
    """The reasons that were told, for each task of the running stages."""

    def __init__(self) -> None:
        self._told: defaultdict[StageKey, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))

    def tell(self, found: Iterable[tuple[SlowAttempt, str]]) -> list[Command]:
        """The news about slow tasks that get no copy now, each with the reason."""
        new: defaultdict[tuple[StageKey, str], list[int]] = defaultdict(list)
        for one, why in found:
            told = self._told[one.stage.key][topic_of(why)]
            if one.index not in told:
                told.add(one.index)
                new[one.stage.key, why].append(one.index)
        return [
            WithholdCopies(stage=stage, stage_attempt=stage_attempt, indexes=tuple(sorted(indexes)), reason=why)
            for ((stage, stage_attempt), why), indexes in new.items()
        ]

    def stage_ended(self, key: StageKey) -> None:
        """Forget a stage attempt: nothing more is told of it."""
        self._told.pop(key, None)

    def forget(self) -> None:
        """The SparkContext is gone with all its stages."""
        self._told.clear()
