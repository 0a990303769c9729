"""The protocol of a detector of slow tasks, and the form of its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from yarnspec.core.messages.commands import Verdict
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.slowness.host_speed import HostSpeeds
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import StageKey, TaskTable

MB = 1 << 20
MAX_VERDICTS = 200
"""Most verdicts of one pass. The worst come first; the others come in a later pass if they are still slow then."""


PutOff = Callable[[StageTasks, Column], Column]
"""Says which tasks of a stage, by their indexes, get no copy now: they must not take the places of other tasks.

1 or True puts a task among those that have a copy already, 2 after them.
"""


def nobody(_stage: StageTasks, index: Column) -> Column:
    """No task is put off."""
    return np.zeros(len(index), dtype=bool)


class SlownessExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a task is or is not slow now: one sentence, and the numbers in it."""

    stage: int
    stage_attempt: int
    index: int
    detector: str
    slow: bool
    text: str
    numbers: dict[str, float]


class SlowAttempt(msgspec.Struct, frozen=True):
    """An attempt that a pass found slow; ``remaining_ms``: how much longer it would run, NaN without an estimate."""

    found: SlowAttempts
    position: int
    index: int
    task_id: int
    host: str
    remaining_ms: float

    @property
    def stage(self) -> StageTasks:
        """The stage attempt that the attempt belongs to."""
        return self.found.stage

    @property
    def overtaken(self) -> bool:
        """Whether a further copy would probably end before each running attempt of the task."""
        return self.found.overtaken is None or bool(self.found.overtaken[self.position])

    @property
    def verdict(self) -> Verdict:
        """The verdict of this pass. It is written only when asked for: most attempts are never told of."""
        return self.found.judge(self.position)


class Judged(NamedTuple):
    """The findings of a pass: at most ``MAX_VERDICTS`` attempts, and the number of slow tasks as far as it looked."""

    worst: list[SlowAttempt]
    """First attempts of tasks that may get a copy, then of those that have one or get none now; the worst first."""
    slow: dict[StageKey, int]
    """How many tasks are slow, by the stage attempts that have any.

    With ``progress`` there may be more, if more running attempts of a stage may be slow than it looks at in a pass.
    """

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on the worst."""
        return [one.verdict for one in self.worst]


class Detector(Protocol):
    """Finds the running attempts that are slow. Times are milliseconds since the Unix epoch."""

    name: str

    def judge(self, table: TaskTable, now_ms: int, put_off: PutOff = nobody) -> Judged:
        """The attempts that are slow now, given the hosts' speed at the last look."""

    def explain(self, stage: StageTasks, index: int, now_ms: int) -> SlownessExplanation:
        """The numbers of one task, slow or not."""

    def min_finished(self, stage: StageTasks) -> int:
        """How many tasks must have finished before others of the stage are compared with them."""

    def threshold_ms(self, stage: StageTasks, now_ms: int) -> int | None:
        """The running time from which a task of typical input is late now; None while there is none.

        With ``progress`` the host of a late task is weighed next. With the others a late task is slow.
        """


class Kind(NamedTuple):
    """A detector, as its file offers it to the registry."""

    name: str
    about: str
    """Its rule in one clause, for the comment of ``detector.kind``."""
    settings: type[CommonDetectorSettings]
    """The options that it reads: the shared ones and its own."""
    make: Callable[[Any, HostSpeeds, int], Detector]
    """Make one from its settings, the speed of hosts, and how many tasks of a stage a pass looks at closely."""


def verdict(
    stage: StageTasks, row: int, now_ms: int, *, detector: str, numbers: Mapping[str, float], reason: str
) -> Verdict:
    """The verdict on the attempt of one row."""
    rows = stage.rows
    return Verdict(
        stage=stage.stage,
        stage_attempt=stage.stage_attempt,
        index=int(rows["index"][row]),
        attempt=int(rows["attempt"][row]),
        task_id=int(rows["task_id"][row]),
        host=stage.places.host_names[int(rows["host"][row])],
        executor_id=stage.places.executor_names[int(rows["executor"][row])],
        detector=detector,
        elapsed_ms=now_ms - int(rows["launch_ms"][row]),
        numbers=dict(numbers),
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class SlowAttempts:
    """The slow attempts of one stage."""

    stage: StageTasks
    rows: Column
    badness: Column
    remaining_ms: Column
    judge: Callable[[int], Verdict]
    """The verdict on the attempt at a position in ``rows``."""
    overtaken: Column | None = None
    """Whether a further copy would end before each running attempt of the task; None from who makes no estimates."""


def worst_first(found: Sequence[SlowAttempts], put_off: PutOff) -> Judged:
    """The worst over all stages, those of tasks that have a copy or are put off after the rest."""
    if not found:
        return Judged([], {})
    owner = np.repeat(np.arange(len(found)), [len(each.rows) for each in found])
    position = np.concatenate([np.arange(len(each.rows)) for each in found])
    index = _column(found, "index")
    several = [each.stage.active(each.stage.rows["index"][each.rows]) > 1 for each in found]
    later = [
        np.maximum(more, put_off(each.stage, each.stage.rows["index"][each.rows]))
        for each, more in zip(found, several, strict=True)
    ]
    slow = {each.stage.key: _tasks(each, more) for each, more in zip(found, several, strict=True)}
    badness = np.concatenate([each.badness for each in found])
    score = badness - np.concatenate(later) * (float(badness.max(initial=0)) - float(badness.min(initial=0)) + 1.0)
    worst = np.arange(len(score))
    if len(score) > MAX_VERDICTS:
        worst = np.argpartition(-score, MAX_VERDICTS)[:MAX_VERDICTS]
    worst = worst[np.lexsort((worst, -score[worst]))]
    remaining_ms = np.concatenate([each.remaining_ms for each in found])
    columns = (owner, position, index, _column(found, "task_id"), _column(found, "host"), remaining_ms)
    rows = zip(*(column[worst].tolist() for column in columns), strict=True)
    names = found[0].stage.places.host_names
    worst_of_all = [SlowAttempt(found[of], at, task, id_, names[host], left) for of, at, task, id_, host, left in rows]
    return Judged(worst_of_all, slow)


def _column(found: Sequence[SlowAttempts], name: str) -> Column:
    return np.concatenate([each.stage.rows[name][each.rows] for each in found])


def _tasks(found: SlowAttempts, several: Column) -> int:
    """How many tasks these attempts are of; ``several``: which are of tasks with more than one running attempt."""
    return (
        len(several) - int(np.count_nonzero(several)) + len(np.unique(found.stage.rows["index"][found.rows[several]]))
    )


def input_numbers(stage: StageTasks, row: int, read_bytes: float = 0.0) -> dict[str, float]:
    """The input of an attempt as known before it read, or else what it has read so far, where that stands in for it."""
    told = int(stage.rows["input_bytes"][row])
    if told >= 0:
        return {"input_bytes": float(told)}
    return {"read_bytes": read_bytes} if read_bytes > 0 else {}
