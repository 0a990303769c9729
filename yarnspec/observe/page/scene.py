"""All that the sections of one page are made of: what happened, how things stand, who was how fast, and the scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yarnspec.core.messages.observations import IntColumn, State
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.told import clipped
from yarnspec.observe.page.attempts import LOST_WITH_DRIVER, Attempts
from yarnspec.observe.page.drawing import Scale, took
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.observe.page.spans import StageSpan
from yarnspec.observe.page.speeds import Speeds, speeds_of

_HOW: dict[int, str] = {
    State.RUNNING: "runs", State.SUCCESS: "finished", State.FAILED: "failed", State.KILLED: "ended early",
    LOST_WITH_DRIVER: "lost with the driver",
}  # fmt: skip


@dataclass(slots=True)
class Scene:
    """One page's material. ``now_ms``: the moment that it shows."""

    fold: PageFold
    document: StatusDocument
    now_ms: int
    attempts: Attempts
    speeds: Speeds
    scale: Scale
    hosts: list[str]
    executors: list[str]
    judged: dict[int, set[str]]
    """The hosts of the attempts that a detector found slow, for each stage by its place."""
    _order: npt.NDArray[np.intp]
    _ends: npt.NDArray[np.intp]
    _stage_order: npt.NDArray[np.intp]
    _stage_ends: npt.NDArray[np.intp]
    share: float = 1.0
    """Which part of what is usually shown: less where the page would become too large."""

    def few(self, most: int) -> int:
        """How many of something are shown at most, where usually so many are."""
        return max(1, int(most * self.share))

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more; of a log of Spark's only its own end is known."""
        return _ended(self.document)

    def of_host(self, number: int) -> IntColumn:
        """The rows of a host's attempts."""
        return self._order[self._ends[number] : self._ends[number + 1]]

    def of_stage(self, place: int) -> IntColumn:
        """The rows of a stage's attempts."""
        return self._stage_order[self._stage_ends[place] : self._stage_ends[place + 1]]

    def stage_at(self, row: int) -> StageSpan:
        """The stage of an attempt."""
        return self.fold.stages[int(self.attempts.stage[row])]

    def host_at(self, row: int) -> str:
        """The host of an attempt."""
        number = int(self.attempts.host[row])
        return self.hosts[number] if number >= 0 else "?"

    def how(self, row: int) -> str:
        """How an attempt ended, in a word."""
        return _HOW[int(self.attempts.state[row])]

    def failure(self, row: int) -> str:
        """Why an attempt failed or was killed."""
        return self.fold.attempts.text(int(self.attempts.stage[row]), int(self.attempts.task_id[row]))

    def words(self, row: int) -> str:
        """Say in one line where an attempt ran, and how it ended."""
        attempts = self.attempts
        executor = self.executors[int(attempts.executor[row])] if attempts.executor[row] >= 0 else "?"
        kind = "copy" if attempts.speculative[row] == 1 else "attempt"
        who = f"task {self.stage_at(row).stage}.{int(attempts.index[row])}, {kind} {int(attempts.attempt[row])}"
        text = "" if attempts.state[row] == State.SUCCESS else self.failure(row)
        words = f"{who}, executor {executor}: {self.how(row)}, {took(int(attempts.took_ms[row]))}"
        return f"{words}: {clipped(text, 120)}" if text else words


def scene_of(fold: PageFold, document: StatusDocument, now_ms: int) -> Scene:
    """Everything that the sections need, worked out once."""
    end_ms = document.finished_ms or (fold.last_ms if document.ended else now_ms)
    attempts = fold.everything(end_ms, over=_ended(document))
    hosts = fold.host_names
    begins = [one for one in (document.started_ms, fold.first_ms) if one]
    first_launch = int(attempts.launch_ms.min()) if len(attempts) else 0
    begin_ms = min([*begins, first_launch] if first_launch else begins, default=end_ms)
    last = int(attempts.finish_ms.max()) if len(attempts) else 0
    judged: dict[int, set[str]] = {}
    for (stage, _), (_, verdict) in fold.verdicts.items():
        judged.setdefault(stage, set()).add(verdict.host)
    order = np.argsort(attempts.host, kind="stable")
    stage_order = np.argsort(attempts.stage, kind="stable")
    return Scene(
        fold=fold,
        document=document,
        now_ms=now_ms,
        attempts=attempts,
        speeds=speeds_of(attempts, len(hosts), len(fold.stages)),
        scale=Scale(begin_ms, max(end_ms, last, begin_ms + 1)),
        hosts=hosts,
        executors=fold.executor_names,
        judged=judged,
        _order=order,
        _ends=np.searchsorted(attempts.host[order], np.arange(len(hosts) + 1)),
        _stage_order=stage_order,
        _stage_ends=np.searchsorted(attempts.stage[stage_order], np.arange(len(fold.stages) + 1)),
    )


def _ended(document: StatusDocument) -> bool:
    return document.ended or document.finished_ms is not None
