"""The shipped detector: a running attempt is slow when it is late, its host is to blame, and a copy would end sooner.

*When would the attempt end?* If its counters can be believed (see ``counters``), they say so: its own rate against its
known input. Else its time does: a late attempt is expected to need as long again, or as long as its host's speed says.

*When would a copy end?* After the start of a copy and the expected time of the task. This is the median of the stage's
tasks on other hosts, or their time per byte for its bytes. Three tasks to compare with are enough: nobody need wait for
a quarter of the stage, or for three quarters. If there are none, because the stage has one task only or has just begun,
the known speed of the host is used instead. MapReduce and LATE (Zaharia et al., 2008) have the same test. They copy the
task that would end last, and only if the copy would end first.

*Is the host to blame?* A task that is late on a host where others are not late has more work than they have. A copy
would take just as long. So each late task is weighed with everything that is known of its host (see ``host_speed``). A
task that hangs for no visible reason is slow after ``stuck_multiplier`` times its expected time.

A task that has a copy gets a further one only if that would end before each of its running attempts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from yarnspec.core.detectors.protocol import (
    Judged,
    Kind,
    PutOff,
    SlowAttempts,
    SlownessExplanation,
    input_numbers,
    nobody,
    verdict,
    worst_first,
)
from yarnspec.core.detectors.words import input_said, running_text, seconds, times_the
from yarnspec.core.messages.commands import Verdict
from yarnspec.core.messages.observations import State
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.options.types import Factor, Probability
from yarnspec.core.slowness.host_speed import HostSpeeds
from yarnspec.core.slowness.stage_evidence import StageEvidence
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import StageKey, TaskTable

MANY = 2_048
"""How many attempts of a stage one pass looks at closely, for each of three reasons, the oldest first. They are late by
time, late by their counters, or on slow hosts. A pass tells of fewer. All of 100,000 would take milliseconds longer."""
_NO_ROWS = np.empty(0, dtype=np.int64)
_ON_SLOW_HOST = 1.1
"""On a host that is proven slow a task need only be as late as this to be one of its victims."""
_EXPLAINED = 2.0
"""Log odds for blaming the host where bytes explain the tasks' times: then a task is not late because of more work."""
_YOUNG_NOISES = 5


class ProgressSettings(CommonDetectorSettings, frozen=True, kw_only=True):
    """The options of this detector alone."""

    copy_start_ms: int = 300
    """Time that a copy takes to start. A copy must gain at least as much to be worth it."""

    stuck_multiplier: Factor = 20.0
    """A task hangs when it has run for this many times its expected time, and for baseline_lower_bound. A task that
    hangs is slow even if its host seems healthy."""

    task_proof: Probability = 0.3
    """A late task gets a copy only if its host is slow with at least this probability. On a healthy host a task is late
    because it has more work, and a copy would be just as late."""


class _Compared(NamedTuple):
    """The numbers of some running attempts of a stage by themselves, without their hosts' speed."""

    elapsed_ms: Column
    own_ms: Column
    expected_ms: Column
    late_from: Column
    total_ms: Column
    by_counters: Column
    sized: Column
    by_bytes: Column
    read_bytes: Column


@dataclass(frozen=True, slots=True)
class _Assessment:
    """The numbers of some running attempts. ``expected_ms`` is NaN where nothing is known to compare with."""

    elapsed_ms: Column
    start_ms: Column
    """The part of the elapsed time that is not counted: the start of a cold executor; NaN when it was not cold."""
    expected_ms: Column
    ratio: Column
    late_from: Column
    remaining_ms: Column
    copy_ms: Column
    probability: Column
    factor: Column
    by_counters: Column
    by_input: Column
    read_bytes: Column
    """The bytes read so far, if they stand in for an unknown input; else NaN."""
    overtaken: Column
    """Whether the attempt is late, for whatever reason, and a copy that starts now would end first."""
    slow: Column

    def numbers(self, at: int) -> dict[str, float]:
        """The known numbers of one attempt, with three digits after the point. NaN is left out: JSON has none."""
        named = {
            "elapsed_ms": self.elapsed_ms, "start_ms": self.start_ms, "expected_ms": self.expected_ms,
            "ratio": self.ratio, "late_from": self.late_from, "remaining_ms": self.remaining_ms,
            "copy_ms": self.copy_ms, "host_probability": self.probability, "host_factor": self.factor,
            "by_counters": self.by_counters, "by_input": self.by_input, "read_bytes": self.read_bytes,
        }  # fmt: skip
        values = np.round(np.array([column[at] for column in named.values()], dtype=float), 3).tolist()
        return {name: value for name, value in zip(named, values, strict=True) if not math.isnan(value)}


class ProgressDetector:
    """Finds attempts that a copy would overtake. ``many``: how many of each kind a pass looks at closely."""

    name = "progress"

    def __init__(self, settings: ProgressSettings, speeds: HostSpeeds, many: int = MANY) -> None:
        self._settings = settings
        self._speeds = speeds
        self._many = many
        self._slow: dict[StageKey, tuple[StageTasks, Column]] = {}

    def judge(self, table: TaskTable, now_ms: int, put_off: PutOff = nobody) -> Judged:
        """The attempts that are slow now, those that a copy gains most on first."""
        for key in self._slow.keys() - table.stages.keys():
            del self._slow[key]
        stages = [stage for stage in table.stages.values() if stage.running]
        looked_at = [(stage, rows) for stage in stages if len(rows := self._looked_at(stage, now_ms))]
        return worst_first(list(self._slow_attempts(looked_at, now_ms)), put_off)

    def _looked_at(self, stage: StageTasks, now_ms: int) -> Column:
        known, earlier = self._slow.get(stage.key, (None, _NO_ROWS))
        self._slow[stage.key] = stage, _NO_ROWS
        if known is not stage or stage.key in self._speeds.turn:
            return self._candidates(stage, now_ms)
        # A pass looks through only some of many stages. In the others it judges again the attempts that were slow.
        rows = earlier[stage.is_running(earlier)]
        found: Column = rows[~stage.finished_tasks(stage.rows["index"][rows])]
        return found

    def _slow_attempts(self, looked_at: Sequence[tuple[StageTasks, Column]], now_ms: int) -> Iterator[SlowAttempts]:
        if not looked_at:
            return
        assessed = self._assess(looked_at, now_ms)
        begin = 0
        for stage, rows in looked_at:
            slow = np.flatnonzero(assessed.slow[begin : begin + len(rows)])
            self._slow[stage.key] = stage, rows[slow]
            if len(slow):
                yield self._slow_ones(stage, rows, assessed, begin, now_ms)
            begin += len(rows)

    def _slow_ones(
        self, stage: StageTasks, looked_at: Column, assessed: _Assessment, begin: int, now_ms: int
    ) -> SlowAttempts:
        here = slice(begin, begin + len(looked_at))
        slow = np.flatnonzero(assessed.slow[here])
        rows, places = looked_at[slow], begin + slow

        def judge(position: int) -> Verdict:
            row = int(rows[position])
            numbers = assessed.numbers(int(places[position])) | input_numbers(stage, row)
            return verdict(stage, row, now_ms, detector=self.name, numbers=numbers, reason=self._said(numbers))

        gains_ms = (assessed.remaining_ms - assessed.copy_ms)[places]
        index = stage.rows["index"]
        overtaken = stage.active(index[rows]) == 1  # what is slow is overtaken
        if not overtaken.all():
            attempts = np.bincount(index[looked_at[assessed.overtaken[here]]])[index[rows]]
            overtaken = attempts >= stage.active(index[rows])
        return SlowAttempts(stage, rows, gains_ms, np.round(assessed.remaining_ms[places], 3), judge, overtaken)

    def explain(self, stage: StageTasks, index: int, now_ms: int) -> SlownessExplanation:
        """The numbers of one task, slow or not."""
        text, _ = running_text(stage, index, now_ms)
        running = [row for row in stage.rows_of(index) if stage.rows["state"][row] == State.RUNNING]
        numbers: dict[str, float] = {}
        slow = False
        if running and not stage.finished_tasks(np.array([index]))[0]:
            assessed = self._assess([(stage, np.array(running))], now_ms)
            at = int(np.argmax(assessed.slow))
            slow = bool(assessed.slow[at])
            numbers = assessed.numbers(at) | input_numbers(stage, running[at])
            text = f"{text}: {self._said(numbers)}"
        return SlownessExplanation(
            stage=stage.stage, stage_attempt=stage.stage_attempt, index=index, detector=self.name, slow=slow,
            text=text, numbers=numbers,
        )  # fmt: skip

    def min_finished(self, stage: StageTasks) -> int:
        """Tasks that must have finished before others are compared with them. A host known as slow needs none."""
        return min(self._settings.min_finished, stage.tasks)

    def threshold_ms(self, stage: StageTasks, now_ms: int) -> int | None:  # noqa: ARG002 - as the last pass saw it
        """From when on a task of typical input is late, before its host is weighed; None with nothing to compare."""
        pace = self._speeds.pace(stage)
        if pace is None or np.isnan(pace.references.typical_ms()):
            return None
        return int(pace.references.typical_ms() * pace.references.multiplier)

    def _candidates(self, stage: StageTasks, now_ms: int) -> Column:
        """Rows that may be slow: late by time, slow by their counters, or on a host that is known as slow."""
        columns = stage.rows
        pace = self._speeds.pace(stage)
        found = []
        if pace is not None:
            typical_ms = pace.references.typical_ms()
            if not np.isnan(typical_ms):
                found.append(stage.overdue(now_ms - typical_ms * pace.references.multiplier)[: self._many])
            if pace.by_rate is not None:
                late = pace.rows[pace.late]
                found.append(late[stage.is_running(late)][-self._many :])
        slow_hosts = self._slow_hosts(stage)
        if len(slow_hosts):
            found.append(stage.overdue(now_ms - _YOUNG_NOISES * self._settings.noise_ms, slow_hosts)[: self._many])
        if not found:
            return _NO_ROWS
        rows = np.sort(np.concatenate(found)) if len(found) > 1 else found[0]
        if len(found) > 1:
            rows = rows[np.diff(rows, prepend=-1) != 0]
        kept: Column = rows[~stage.finished_tasks(columns["index"][rows])]
        return kept

    def _slow_hosts(self, stage: StageTasks) -> Column:
        hosts = np.arange(1, len(stage.places.host_names))
        probability, factor = self._speeds.by_number(hosts)
        settings = self._settings
        return hosts[(probability >= settings.host_proof) & (factor >= settings.host_slow_factor)]

    def _compare(self, stage: StageTasks, rows: Column, now_ms: int) -> _Compared:
        pace = self._speeds.pace(stage)
        elapsed_ms = (now_ms - stage.rows["launch_ms"][rows]).astype(float)
        unknown, no = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool)
        if pace is None:
            late_from = np.full(len(rows), self._settings.baseline_multiplier)
            return _Compared(elapsed_ms, np.maximum(elapsed_ms, 1.0), unknown, late_from, unknown, no, no, no, unknown)
        references = pace.references
        warmth = references.warmth_of(rows)
        size = references.size_of(rows)
        expected_ms = references.expected(rows, size, warmth)
        by_counters, total_ms = _by_counters(pace, rows, expected_ms)
        sized = (size > 0) & references.by_estimate | by_counters
        return _Compared(
            elapsed_ms=elapsed_ms,
            own_ms=np.maximum(elapsed_ms - references.allowance_ms(warmth), 1.0),
            expected_ms=expected_ms,
            late_from=np.full(len(rows), references.multiplier),
            total_ms=total_ms,
            by_counters=by_counters,
            sized=sized,
            by_bytes=by_counters | (sized & references.explained),
            read_bytes=np.where(size > 0, size, np.nan) if references.by_read else unknown,
        )

    def _assess(self, looked_at: Sequence[tuple[StageTasks, Column]], now_ms: int) -> _Assessment:
        settings = self._settings
        hosts = np.concatenate([stage.rows["host"][rows] for stage, rows in looked_at])
        probability, factor = self._speeds.by_number(hosts)
        compared = [self._compare(stage, rows, now_ms) for stage, rows in looked_at]
        elapsed_ms, own_ms, expected_ms, late_from, total_ms, by_counters, sized, by_bytes, read_bytes = map(
            np.concatenate, zip(*compared, strict=True)
        )
        known = ~np.isnan(expected_ms)
        # Without anything to compare with: by its host's speed, and by the guess that it is half done.
        guessed_ms = 2.0 * own_ms / np.maximum(factor, 1.0)
        typical_ms = np.where(known, expected_ms, guessed_ms)
        ratio = np.where(by_counters, total_ms, own_ms) / typical_ms
        as_long_again = np.maximum(own_ms, factor * typical_ms - own_ms)
        remaining_ms = np.where(by_counters, np.maximum(total_ms - own_ms, 0.0), as_long_again)
        copy_ms = typical_ms + settings.copy_start_ms
        blame = probability / (1.0 - probability) * np.where(by_bytes, np.exp(_EXPLAINED), 1.0)
        suspected = blame / (1.0 + blame) >= settings.task_proof
        proven = (probability >= settings.host_proof) & (factor >= settings.host_slow_factor)
        noise = np.where(by_counters, 0.0, settings.noise_ms)
        late = known & (ratio >= late_from) & (own_ms >= typical_ms + noise) | (by_counters & (ratio >= late_from))
        stuck = known & (ratio >= settings.stuck_multiplier) & (own_ms >= settings.baseline_lower_bound_ms)
        victim = proven & (~known | (ratio >= _ON_SLOW_HOST)) & (elapsed_ms >= _YOUNG_NOISES * settings.noise_ms)
        pays = remaining_ms >= copy_ms + settings.copy_start_ms
        overtaken = pays & (late | stuck | victim)
        return _Assessment(
            elapsed_ms=elapsed_ms,
            start_ms=np.where(elapsed_ms - own_ms > 0, elapsed_ms - own_ms, np.nan),
            expected_ms=expected_ms,
            ratio=np.where(known, ratio, np.nan),
            late_from=np.where(proven, _ON_SLOW_HOST, late_from),
            remaining_ms=remaining_ms,
            copy_ms=copy_ms,
            probability=probability,
            factor=factor,
            by_counters=by_counters,
            by_input=sized,
            read_bytes=read_bytes,
            overtaken=overtaken,
            slow=overtaken & (suspected | stuck | victim),
        )

    def _said(self, numbers: dict[str, float]) -> str:
        settings = self._settings
        if "expected_ms" in numbers:
            judged = "by its counters it takes" if numbers["by_counters"] else "so far it took"
            if "start_ms" in numbers:
                judged = f"{seconds(numbers['start_ms'])} aside for its executor's start, {judged}"
            facts = (
                f"{judged} {times_the(numbers['ratio'])} {seconds(numbers['expected_ms'])} of such a task on other "
                f"hosts (late from {numbers['late_from']:.1f} x; {_inputs(numbers)})"
            )
        else:
            facts = "there is nothing to compare it with but the speed of its host"
        return (
            f"{facts}; it would need another {seconds(numbers['remaining_ms'])}, a copy "
            f"{seconds(numbers['copy_ms'])} and must gain {seconds(settings.copy_start_ms)}; its host is slow with "
            f"probability {numbers['host_probability']:.2f} (at least {settings.task_proof:g} is asked for) and by a "
            f"factor of {numbers['host_factor']:.1f}"
        )


def _inputs(numbers: dict[str, float]) -> str:
    """The input by which tasks were compared. An input that is known of this task alone is not said."""
    used = "input_bytes" if numbers["by_input"] else "read_bytes"
    return input_said({name: numbers[name] for name in numbers if name == used})


def _by_counters(pace: StageEvidence, rows: Column, expected_ms: Column) -> tuple[Column, Column]:
    """The rows that are judged by their counters, and the time that each takes in all by its own rate.

    Fills in ``expected_ms`` for those rows where no finished task told it.
    """
    found = np.zeros(len(rows), dtype=bool)
    total_ms = np.full(len(rows), np.nan)
    if pace.by_rate is None:
        return found, total_ms
    first = len(pace.rows) - len(pace.by_rate.rows)
    order = np.argsort(pace.rows[first:])
    rated = pace.rows[first:][order]
    at = np.minimum(np.searchsorted(rated, rows), len(rated) - 1)
    found = rated[at] == rows
    where = first + order[at[found]]
    own = pace.by_rate.ms_per_byte[order[at[found]]] * pace.by_rate.size[order[at[found]]]
    total_ms[found] = own
    expected_ms[found] = own / np.maximum(pace.ratio[where], 1e-9)
    return found, total_ms


KIND = Kind(
    ProgressDetector.name,
    "a task is slow that a copy of it would overtake, and whose host is probably slow",
    ProgressSettings,
    ProgressDetector,
)
