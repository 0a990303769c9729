"""Finds slow hosts, over all stages, by how long their tasks take in relation to tasks on other hosts.

Each stage gives evidence about each host as logarithms of odds (see ``stage_evidence``). Here the evidence is pooled:
that of running stages as it is now, that of ended ones with half the weight after each half-life. The prior is that one
host in twenty is slow. A host is slow if that is probable enough *and* its tasks take clearly longer. A host is proven
healthy if several tasks that ended last since a given moment were normal (see ``health``). A host without any evidence
is neither.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec
import numpy as np

from yarnspec.core.messages.carried import HostSpeed
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.slowness.health import Seen, best_run
from yarnspec.core.slowness.likelihood import add_up
from yarnspec.core.slowness.reference_times import SAMPLE, References, reference_state
from yarnspec.core.slowness.stage_evidence import HostEvidence, StageEvidence
from yarnspec.core.tasks.columns import Column, Columns, numbered
from yarnspec.core.tasks.place_numbers import UNKNOWN, Names
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import Happened, StageKey, TaskTable

_PRIOR = math.log(0.05 / 0.95)
_BLOCKED_PRIOR = 2.5
"""Log odds that a blocked host is slow, before anything that ended there since is looked at."""
_SHRINK = 0.25
_WEIGHT_MAX = 8
_ENOUGH_NOW, _ENOUGH_THEN = 2, 4
"""With this many tasks of the running stages, or of one that ended, the factor seen before is irrelevant."""
_STAGES_KEPT = 16
GOOD_MIN, LATE_MAX = -1.0, 8.0
"""Bounds of the evidence of all of a host's tasks: the host may have become slow just now, or have recovered."""
_SINGLE_MAX = 1.0
"""One late task of a stage that is over leaves no more than this behind: it may just have had more to do."""
_JOINED_FROM = 1.0
"""Evidence from which on the stages' evidence about a host is added up exactly. Below it nobody is suspected."""
_NOBODY = -1
_SAMPLE_MIN = 256
_TELLING_ODDS, _TELLING_FACTOR = 0.5, 1.25
"""From such log odds that it is slow on, or such a factor, a host is worth to be known to a next attempt."""
_STAGES_AT_LEAST, _ROWS_AT_ONCE, _ROWS_BESIDE = 2, 8_000, 256
"""A look takes in stages of so many attempts together; each costs what so many take on top of its own."""


class HostVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence about a host's speed. ``factor``: how many times as long its tasks take as those of other hosts.

    ``latest_ms``: when the newest of the late tasks ended, or was seen running late. A host that was slow an hour ago
    and has had no task since is no news.
    """

    host: str
    factor: float
    probability: float
    observed: int
    late: int
    latest_ms: int
    reason: str
    numbers: dict[str, float]


class HostSpeeds:
    """The speed of each host, as far as it is known. Times are milliseconds since the Unix epoch."""

    def __init__(self, settings: CommonDetectorSettings) -> None:
        self._settings = settings
        self._names = Names()
        self._table: TaskTable | None = None
        self._places: object = None
        self._own: Column = np.zeros(0, dtype=np.int64)
        self._references: dict[StageKey, References] = {}
        self._paces: dict[StageKey, StageEvidence] = {}
        self._sample = SAMPLE
        self._fresh: tuple[int, int] = (-1, -1)
        self._looked: dict[StageKey, int] = {}
        self._looks = 0
        self.turn: set[StageKey] = set()
        """The stages that the last refresh looked at."""
        self._recent: deque[Seen] = deque(maxlen=_STAGES_KEPT)
        self._since_ms: dict[str, int] = {}
        self._ended = _Pool()
        self._ended_ms = 0
        self._pool: _Pool | None = None

    def observe(self, table: TaskTable, happened: Happened, now_ms: int) -> None:
        """A batch was applied to the table: keep what its ended stages say."""
        self._follow(table)
        for stage, _ in happened.stages_ended:
            pace = self._pace(stage, now_ms)
            self._references.pop(stage.key, None)
            self._paces.pop(stage.key, None)
            self._looked.pop(stage.key, None)
            if pace is not None:
                self._fade(now_ms)
                self._ended.take(pace, self._own)
                self._recent.append(self._seen(pace))
            self._fresh, self._pool = (-1, -1), None

    def refresh(self, table: TaskTable, now_ms: int) -> None:
        """Look at the running stages as they are now; a second look at the same moment costs nothing."""
        self._follow(table)
        if self._fresh == (now_ms, table.batches):
            return
        self._fresh = (now_ms, table.batches)
        self._fade(now_ms)
        for known in (self._references, self._paces, self._looked):
            for key in known.keys() - table.stages.keys():
                del known[key]
        self._sample = max(_SAMPLE_MIN, SAMPLE // max(1, len(table.stages)))
        self.turn = self._whose_turn(table)
        self._looks += 1
        for key in self.turn:
            self._looked[key] = self._looks
            self._look_at(table.stages[key], now_ms)
        self._pool = None

    def pace(self, stage: StageTasks) -> StageEvidence | None:
        """The last look's evidence of a running stage, or None while there is nothing to compare with."""
        return self._paces.get(stage.key)

    def slow(self) -> list[HostVerdict]:
        """The hosts that are slow by the last look, the most probable first."""
        settings = self._settings
        numbers = np.arange(1, len(self._names))
        slow = (self._probabilities(numbers) >= settings.host_proof) & (
            self._factors(numbers) >= settings.host_slow_factor
        )
        found = [self._verdict(number) for number in numbers[slow].tolist()]
        return sorted(found, key=lambda each: (-each.probability, -each.factor, each.host))

    def healthy(self, host: str, since_ms: int) -> HostVerdict | None:
        """The proof that a blocked host is healthy, from the tasks that ended there since then; None without it."""
        number = self._names.find(host)
        if number is None:
            return None
        seen = (*self._recent, *(self._seen(pace) for pace in self._paces.values()))
        run = best_run(seen, number, since_ms)
        probability = _probability(_BLOCKED_PRIOR + run.told)
        if probability > 1 - self._settings.host_proof:
            return None
        factor = self.factor(host)
        return HostVerdict(
            host=host,
            factor=factor,
            probability=probability,
            observed=run.normal + run.late,
            late=run.late,
            latest_ms=run.latest_ms,
            reason=f"{run.normal} of the {run.normal + run.late} tasks that ended last on {host} since its block were "
            f"as quick as on other hosts (probability that it is slow: {probability:.2f})",
            numbers={"normal": run.normal, "late": run.late, "probability": probability, "since_ms": since_ms},
        )

    def factor(self, host: str) -> float:
        """How many times as long as on other hosts tasks take here; 1.0: as long, or not known."""
        number = self._names.find(host)
        return 1.0 if number is None else float(self._factors(np.array([number]))[0])

    def probability(self, host: str) -> float:
        """How probable it is that the host is slow; the prior (0.05) for one that nothing is known of."""
        number = self._names.find(host)
        return _probability(_PRIOR) if number is None else float(self._probabilities(np.array([number]))[0])

    def forget(self, host: str, now_ms: int) -> None:
        """Drop what was learnt of a host; only attempts launched from now on tell of it again."""
        number = self._names.find(host)
        if number is None:
            return
        self._ended.clear(number)
        self._since_ms[host] = now_ms
        for seen in self._recent:
            seen.host[seen.host == number] = _NOBODY
        for pace in list(self._paces.values()):
            if number in self._own[pace.host]:
                self._look_at(pace.references.stage, now_ms)
        self._fresh, self._pool = (-1, -1), None

    def context_over(self) -> None:
        """The SparkContext is gone: what its running stages have shown stays, as of stages that have ended."""
        self._ended = self._with_running()
        self._recent.extend(self._seen(pace) for pace in self._paces.values())
        for known in (self._references, self._paces, self._looked):
            known.clear()
        self._fresh, self._pool = (-1, -1), None

    def worst(self, most: int, now_ms: int) -> dict[str, HostSpeed]:
        """The evidence against hosts that are not as quick as others, the likeliest to be slow first."""
        self._fade(now_ms)
        pool = self._with_running().reach(len(self._names))
        factors = np.exp(pool["log_factor"] / (pool["weight"] + _SHRINK))
        telling = np.flatnonzero((pool["log_odds"] >= _TELLING_ODDS) | (factors >= _TELLING_FACTOR))
        telling = telling[telling != UNKNOWN]
        telling = telling[np.argsort(-pool["log_odds"][telling], kind="stable")][:most]
        return {
            self._names[number]: HostSpeed(
                **{name: round(float(pool[name][number]), 3) for name in _Pool.CARRIED},
                latest_ms=int(pool["latest_ms"][number]),
            )
            for number in telling.tolist()
        }

    def carry_over(self, speeds: Mapping[str, HostSpeed], then_ms: int, now_ms: int) -> None:
        """Know what an earlier attempt had found by ``then_ms``."""
        self._fade(now_ms)
        share = self._share(now_ms - then_ms)
        for host, speed in speeds.items():
            number = self._names.number(host)
            columns = self._ended.reach(number + 1)
            for name in _Pool.CARRIED:
                columns[name][number] += share * getattr(speed, name)
            columns["log_odds"][number] = np.clip(columns["log_odds"][number], GOOD_MIN, LATE_MAX)
            columns["latest_ms"][number] = max(int(columns["latest_ms"][number]), speed.latest_ms)
        self._fresh = (-1, -1)

    def explain(self, host: str) -> str:
        """A host's speed, in one sentence with the numbers."""
        number = self._names.find(host)
        if number is None:
            return f"no task that ended on {host} could be compared with tasks on other hosts"
        return self._verdict(number).reason

    # by the table's host numbers, for detectors

    def by_number(self, hosts: Column) -> tuple[Column, Column]:
        """The probability that each host is slow, and its factor."""
        if self._table is not None:
            self._follow(self._table)
        own = self._own[hosts]
        return self._probabilities(own), self._factors(own)

    def _probabilities(self, own: Column) -> Column:
        now, ended = self._running().reach(len(self._names)), self._ended.reach(len(self._names))
        log_odds = _PRIOR + _together(ended["log_odds"][own], now["log_odds"][own], now["whole"][own])
        found: Column = 1.0 / (1.0 + np.exp(-log_odds))
        return found

    def _factors(self, own: Column) -> Column:
        now, ended = self._running().reach(len(self._names)), self._ended.reach(len(self._names))
        # How a host does now counts more than how it did: what was before fills in for what is not known of now.
        earlier = np.maximum(0.0, 1.0 - now["weight"][own] / _ENOUGH_NOW)
        total = now["log_factor"][own] + earlier * ended["log_factor"][own]
        weight = now["weight"][own] + earlier * ended["weight"][own]
        found: Column = np.exp(np.maximum(total / (weight + _SHRINK), 0.0))
        return found

    def _verdict(self, number: int) -> HostVerdict:
        now, ended = self._running().reach(len(self._names)), self._ended.reach(len(self._names))
        own = np.array([number])
        factor, probability = float(self._factors(own)[0]), float(self._probabilities(own)[0])
        observed = float(now["observed"][number] + ended["observed"][number])
        late = float(now["late"][number] + ended["late"][number])
        host = self._names[number]
        settings = self._settings
        reason = (
            f"tasks on {host} take {factor:.1f} x as long as on other hosts: {late:.0f} of the latest {observed:.0f} "
            f"were late, and the probability that the host is slow is {probability:.2f} (proof: "
            f"{settings.host_proof:g} and {settings.host_slow_factor:g} x)"
        )
        return HostVerdict(
            host=host,
            factor=factor,
            probability=probability,
            observed=round(observed),
            late=round(late),
            latest_ms=int(max(now["latest_ms"][number], ended["latest_ms"][number])),
            reason=reason,
            numbers={"factor": factor, "probability": probability, "observed": observed, "late": late},
        )

    def _follow(self, table: TaskTable) -> None:
        """Keep step with the table's host numbers; a table that was emptied numbers them anew."""
        if self._places is not table.places:
            self._places = table.places
            self._own, self._pool = np.zeros(0, dtype=np.int64), None
            for known in (self._references, self._paces, self._looked):
                known.clear()
        self._table = table
        names = table.places.host_names
        if len(self._own) < len(names):
            new = [self._names.number(names[each]) for each in range(len(self._own), len(names))]
            self._own = np.concatenate([self._own, np.array(new, dtype=np.int64)])

    def _whose_turn(self, table: TaskTable) -> set[StageKey]:
        """All stages that run, or those not looked at for longest: many large ones share the time of a look."""
        waiting = sorted(table.stages, key=lambda key: self._looked.get(key, -1))
        costs = accumulate(len(table.stages[key].rows) + _ROWS_BESIDE for key in waiting)
        within = sum(cost <= _ROWS_AT_ONCE for cost in costs)
        return set(waiting[: max(within, _STAGES_AT_LEAST)])

    def _pace(self, stage: StageTasks, now_ms: int) -> StageEvidence | None:
        references = self._references.get(stage.key)
        if references is None or references.stage is not stage or references.state != reference_state(stage):
            references = self._references[stage.key] = References(stage, self._settings, self._sample)
        pace = StageEvidence(references, now_ms, self._settings, self._since(stage))
        return pace if len(pace.rows) else None

    def _since(self, stage: StageTasks) -> Column | None:
        """For each host number of the table, the launch time from which attempts count; None if all count."""
        if not self._since_ms:
            return None
        names = stage.places.host_names
        return np.array([self._since_ms.get(names[each], 0) for each in range(len(names))], dtype=np.int64)

    def _seen(self, pace: StageEvidence) -> Seen:
        return Seen(self._own[pace.host], pace.end_ms, pace.told)

    def _look_at(self, stage: StageTasks, now_ms: int) -> None:
        pace = self._pace(stage, now_ms)
        if pace is not None:
            self._paces[stage.key] = pace
        else:
            self._paces.pop(stage.key, None)

    def _running(self) -> _Pool:
        """The last look's evidence of the stages that still run."""
        if self._pool is None:
            self._pool = _Pool()
            for pace in self._paces.values():
                self._pool.add(pace, self._own)
            if len(self._paces) > 1:
                self._pool.join(list(self._paces.values()), self._own)
        return self._pool

    def _with_running(self) -> _Pool:
        """The evidence if the running stages ended as they are now."""
        pool = self._ended.copy()
        for pace in self._paces.values():
            pool.take(pace, self._own)
        return pool

    def _fade(self, now_ms: int) -> None:
        passed_ms = now_ms - self._ended_ms
        if passed_ms > 0:
            self._ended.scale(self._share(passed_ms))
            self._ended_ms = now_ms

    def _share(self, passed_ms: int) -> float:
        """The share of evidence that is left after such a time."""
        share: float = 0.5 ** (max(0, passed_ms) / self._settings.host_memory_ms)
        return share


class _Pool:
    """Sums of evidence by host number."""

    CARRIED: Sequence[str] = ("log_odds", "log_factor", "weight", "observed", "late")
    _FADING: Sequence[str] = (*CARRIED, "whole")

    def __init__(self) -> None:
        self._columns = Columns({**dict.fromkeys(self._FADING, np.float64), "latest_ms": np.int64}, fill=0)

    def reach(self, count: int) -> Columns:
        self._columns.reach(count)
        return self._columns

    def copy(self) -> _Pool:
        copy = _Pool()
        columns = copy.reach(len(self._columns))
        for name in (*self._FADING, "latest_ms"):
            columns[name][:] = self._columns[name]
        return copy

    def scale(self, share: float) -> None:
        for name in self._FADING:
            self._columns[name][:] *= share

    def clear(self, host: int) -> None:
        if host < len(self._columns):
            for name in (*self._FADING, "latest_ms"):
                self._columns[name][host] = 0

    def add(self, pace: StageEvidence, own: Column) -> None:
        """The evidence of a running stage as it is now."""
        evidence = pace.evidence
        hosts = own[evidence.host]
        columns = self.reach(int(hosts.max(initial=0)) + 1)
        columns["log_odds"][hosts] += evidence.worst
        columns["whole"][hosts] += evidence.whole
        self._count(hosts, evidence, columns)

    def join(self, paces: Sequence[StageEvidence], own: Column) -> None:
        """Take the tasks of all running stages for one sequence: each stage's worst run by itself is its worst luck."""
        suspected = self._columns["log_odds"] >= _JOINED_FROM
        if not suspected.any():
            return
        parts = []
        for pace in paces:
            numbers = own[pace.host[pace.evidence.rows]]
            here = np.flatnonzero(suspected[numbers])
            rows = pace.evidence.rows[here]
            parts.append((numbers[here], pace.told[rows], pace.evidence.launch_ms[here], pace.end_ms[rows]))
        host, told, launch_ms, end_ms = (np.concatenate(column) for column in zip(*parts, strict=True))
        hosts, number = numbered(host)
        sums = add_up(number, len(hosts), told, launch_ms, end_ms)
        self._columns["log_odds"][hosts] = sums.worst
        self._columns["whole"][hosts] = sums.whole

    def take(self, pace: StageEvidence, own: Column) -> None:
        """Adds the evidence of an ended stage to that of those before."""
        evidence = pace.evidence
        hosts = own[evidence.host]
        columns = self.reach(int(hosts.max(initial=0)) + 1)
        most = np.where(evidence.single, _SINGLE_MAX, LATE_MAX)
        worst, whole = np.minimum(evidence.worst, most), np.minimum(evidence.whole, most)
        columns["log_odds"][hosts] = _together(columns["log_odds"][hosts], worst, whole)
        kept = np.maximum(0.0, 1.0 - np.minimum(evidence.weight, _WEIGHT_MAX) / _ENOUGH_THEN)
        columns["log_factor"][hosts] *= kept
        columns["weight"][hosts] *= kept
        self._count(hosts, evidence, columns)

    def _count(self, hosts: Column, evidence: HostEvidence, columns: Columns) -> None:
        weight = np.minimum(evidence.weight, _WEIGHT_MAX)
        columns["log_factor"][hosts] += weight * evidence.log_factor
        columns["weight"][hosts] += weight
        columns["observed"][hosts] += evidence.observed
        columns["late"][hosts] += evidence.late
        columns["latest_ms"][hosts] = np.maximum(columns["latest_ms"][hosts], evidence.latest_late_ms)


def _together(earlier: Column, worst: Column, whole: Column) -> Column:
    """A cumulative sum with a floor: a host with a good past may have become slow just now."""
    found: Column = np.clip(np.maximum(earlier + whole, GOOD_MIN + worst), GOOD_MIN, LATE_MAX)
    return found


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))
