"""The evidence of one stage about each host: the time of each task, so far or in all, against its expected time.

An attempt is an observation of its host if it ended well, is late already, or was late when another one won. So is an
attempt with counters that tell its speed. ``likelihood`` weighs the observations for and against a slow host. Tasks of
cold executors are compared with each other. A copy's time is no observation: its task was late elsewhere, and may well
have more to do than others. An original that its copy has beaten is compared with the copy. If the copy has run for
long as well and has not won, the original says nothing about its host.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from yarnspec.core.messages.observations import NONE, State
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.slowness.counters import Rates, rates
from yarnspec.core.slowness.likelihood import MOST, Sample, shifts, weigh
from yarnspec.core.slowness.reference_times import References, weighty_hosts
from yarnspec.core.tasks.columns import Column, numbered
from yarnspec.core.tasks.place_numbers import UNKNOWN
from yarnspec.core.tasks.stagetasks import StageTasks

_LATEST = 16
"""How many of a host's latest tasks are weighed. Earlier ones say little about the host now."""
_YOUNG_NOISES = 5
_HICCUP_NOISES = 2
"""Added to all times before they are compared, in noises: this much of a task's time says nothing about its host."""
_SUSPICIOUS = 2.0
"""Evidence from which on only a host's worst run tells how slow the host is."""
_COLD_AMONG_WARM = 3
"""A cold task that only warm ones can be compared with is allowed so many times the time of a start."""
_TELLING_NOISES = 2
"""A task that is expected to take less than so many times the noise does not tell how much slower its host is."""


@dataclass(frozen=True, slots=True)
class HostEvidence:
    """The evidence of one stage about hosts, by the numbers of the table's hosts."""

    rows: Column
    """The observations that it rests on, the latest of each host, by their places in the pace."""
    launch_ms: Column
    host: Column
    worst: Column
    """From its worst run of tasks up to now; 0 when that is none."""
    whole: Column
    """From all of its latest tasks."""
    single: Column
    """Whether one late task is all there is against a host, and no copy of it has shown that it need not have been."""
    log_factor: Column
    """The mean over the host's tasks, or over those of its worst run, of the logarithm of time over expected time."""
    weight: Column
    """How many tasks that is from."""
    observed: Column
    late: Column
    latest_late_ms: Column


class StageEvidence:
    """A stage's observations at one moment.

    ``ratio``: time, or time so far at least, over what is expected by the tasks of other hosts. ``x``: the logarithm
    of the same by one measure for all hosts, hiccups allowed for. ``told``: the evidence of each, 0 if it has none.
    """

    __slots__ = (
        "by_rate",
        "end_ms",
        "evidence",
        "fair",
        "host",
        "known",
        "late",
        "paired",
        "ratio",
        "references",
        "rows",
        "telling",
        "told",
        "unfinished",
        "x",
    )

    def __init__(
        self, references: References, now_ms: int, settings: CommonDetectorSettings, since_ms: Column | None = None
    ) -> None:
        stage = references.stage
        self.references = references
        self.by_rate = _rates(references, settings)
        late_rows, late_took = self._unfinished(stage, now_ms)
        done_rows = references.rows
        rated_rows = self.by_rate.rows if self.by_rate else np.empty(0, dtype=np.int64)
        late_rows, late_took = _without(late_rows, late_took, rated_rows)
        columns = stage.rows
        self.rows = np.concatenate([done_rows, late_rows, rated_rows])
        self.host: Column = columns["host"][self.rows]
        rated_ratio, rated_ms = self._rated(rated_rows)
        late_warmth = references.warmth_of(late_rows)
        late_ms = references.expected(late_rows, references.size_of(late_rows), late_warmth)
        paired, late_ms = self._against_copies(late_rows, late_ms)
        late_own = np.maximum(late_took - references.allowance_ms(late_warmth), 1)
        done_own = np.maximum(references.took_ms - references.allowance_ms(references.warmth), 1)
        own = np.concatenate([done_own, late_own, rated_ratio * rated_ms])
        expected_ms = np.concatenate([references.expected_ms, late_ms, rated_ms])
        took_ms = np.concatenate([references.took_ms, late_took, rated_ratio * rated_ms])
        allowed_ms = np.concatenate(
            [
                references.allowance_ms(references.warmth),
                references.allowance_ms(late_warmth),
                np.zeros(len(rated_rows)),
            ]
        )
        fair = np.concatenate(
            [
                references.fair(done_rows, references.warmth) & (columns["speculative"][done_rows] != 1),
                references.fair(late_rows, late_warmth) | paired,
                np.ones(len(rated_rows), dtype=bool),
            ]
        )
        raw = np.concatenate([references.took_ms, late_own, rated_ratio * rated_ms])
        known = ~np.isnan(expected_ms) & (self.host != UNKNOWN)
        if since_ms is not None:
            known &= columns["launch_ms"][self.rows] >= since_ms[self.host]
        threshold_ms = np.maximum(expected_ms * references.multiplier, expected_ms + settings.noise_ms)
        self.ratio: Column = np.where(known, raw / np.where(known, expected_ms, 1.0), 1.0)
        ended = np.zeros(len(self.rows), dtype=bool)
        ended[: len(done_rows)] = True
        ended[len(done_rows) + len(late_rows) :] = True  # what goes at a normal rate is as good as ended well
        self.unfinished = np.zeros(len(self.rows), dtype=bool)
        self.unfinished[len(done_rows) : len(done_rows) + len(late_rows)] = True
        self.paired = np.zeros(len(self.rows), dtype=bool)
        self.paired[len(done_rows) : len(done_rows) + len(late_rows)] = paired
        larger = self._larger(now_ms) & ~self.paired
        self.late: Column = known & (own >= threshold_ms) & ~larger
        normal = known & ended & (raw < threshold_ms)
        # In a task of a moment even a host ten times as slow would hardly be seen.
        self.telling: Column = (
            self.late | (known & self.paired) | (normal & (expected_ms >= settings.noise_ms * _TELLING_NOISES))
        )
        finish_ms = columns["finish_ms"][self.rows]
        self.end_ms: Column = np.where(stage.is_running(self.rows), now_ms, finish_ms)
        usual_ms = np.concatenate(
            [
                references.usual(references.size, references.warmth),
                np.where(paired, late_ms, references.usual(references.size_of(late_rows), late_warmth)),
                self._usual_by_rate(rated_rows),
            ]
        )
        usual_ms = np.where(known, usual_ms, 1.0)
        hiccup_ms = _HICCUP_NOISES * settings.noise_ms + allowed_ms * np.where(fair, 1, _COLD_AMONG_WARM)
        self.x: Column = np.log((took_ms + hiccup_ms) / (usual_ms + hiccup_ms))
        self.known: Column = known
        self.fair: Column = known & (fair | (allowed_ms > 0)) & ~larger
        self.told: Column = np.zeros(len(self.rows))
        self.evidence = self._weigh(hiccup_ms, usual_ms)

    def _unfinished(self, stage: StageTasks, now_ms: int) -> tuple[Column, Column]:
        """Attempts that run for long already, or did until another one won: their time is a lower bound.

        Originals whose copy finished first tell of their hosts as well, however short they ran: they are compared with
        the copy.
        """
        shortest_ms = self.references.typical_ms() * self.references.multiplier
        if np.isnan(shortest_ms):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        columns = stage.rows
        running = stage.running_since(now_ms - shortest_ms)[: self.references.sample]
        killed = np.flatnonzero((columns["state"] == int(State.KILLED)) & (columns["speculative"] != 1))
        killed = killed[-self.references.sample :]
        killed = killed[stage.finished_tasks(columns["index"][killed])]
        took = np.maximum(columns["finish_ms"][killed] - columns["launch_ms"][killed], 0)
        return np.concatenate([running, killed]), np.concatenate([now_ms - columns["launch_ms"][running], took])

    def _against_copies(self, rows: Column, expected_ms: Column) -> tuple[Column, Column]:
        """The attempts that another attempt of the same task has beaten, and its time in place of the expected one.

        This is the best comparison: the same work on another host. If the winner took long as well, the task has much
        to do, and that says nothing about the host.
        """
        columns = self.references.stage.rows
        won = self.references.stage.won(columns["index"][rows])
        beaten = (won >= 0) & (won != rows)
        took = columns["finish_ms"][won[beaten]] - columns["launch_ms"][won[beaten]]
        expected_ms[beaten] = np.maximum(took, 1)
        return beaten, expected_ms

    def _larger(self, now_ms: int) -> Column:
        """The observations whose copy has run for long as well without winning: these tasks are large."""
        stage = self.references.stage
        columns = stage.rows
        copies = np.flatnonzero(columns["speculative"] == 1)  # few
        copies = copies[(columns["state"][copies] != State.SUCCESS) & (columns["launch_ms"][copies] != NONE)]
        end_ms = np.where(stage.is_running(copies), now_ms, columns["finish_ms"][copies])
        took_ms = end_ms - columns["launch_ms"][copies] - self.references.cold_allowance_ms(copies)
        long = took_ms >= self.references.typical_ms() * self.references.multiplier
        found: Column = np.isin(columns["index"][self.rows], columns["index"][copies[long]])
        return found

    def _rated(self, rows: Column) -> tuple[Column, Column]:
        """For attempts judged by their counters: how slow each is in relation to others, and its expected time."""
        if self.by_rate is None:
            return np.empty(0), np.empty(0)
        columns = self.references.stage.rows
        typical = _others_rate(self.by_rate, columns["host"][rows])
        # By finished tasks where there are: they tell the whole of a task, with its start and its end.
        expected_ms = self.references.expected(rows, columns["input_bytes"][rows], self.references.warmth_of(rows))
        by_estimate = ~np.isnan(expected_ms) & self.references.by_estimate
        expected_ms = np.where(by_estimate, expected_ms, typical * self.by_rate.size)
        return self.by_rate.ms_per_byte * self.by_rate.size / expected_ms, expected_ms

    def _usual_by_rate(self, rows: Column) -> Column:
        if self.by_rate is None:
            return np.empty(0)
        size = self.references.stage.rows["input_bytes"][rows]
        usual_ms = self.references.usual(size, self.references.warmth_of(rows))
        known = ~np.isnan(usual_ms) & self.references.by_estimate
        return np.where(known, usual_ms, self.by_rate.typical_ms_per_byte * self.by_rate.size)

    def _weigh(self, hiccup_ms: Column, usual_ms: Column) -> HostEvidence:
        known = np.flatnonzero(self.known)
        hosts, host = numbered(self.host[known])
        count = len(hosts)
        latest = _latest_by(host, self.end_ms[known], np.bincount(host, minlength=count))
        rows, host = known[latest], host[latest]
        sample = Sample(
            host=host, hosts=count, x=self.x[rows], shift=shifts(usual_ms[rows], hiccup_ms[rows]),
            running=self.unfinished[rows], paired=self.paired[rows], judged=self.fair[rows],
            by_rate=rows >= len(self.rows) - (len(self.by_rate.rows) if self.by_rate else 0),
            launch_ms=self.references.stage.rows["launch_ms"][self.rows[rows]], end_ms=self.end_ms[rows],
        )  # fmt: skip
        weighed = weigh(sample, np.searchsorted(hosts, weighty_hosts(self.host[known])))
        self.told[rows] = weighed.told
        late = weighed.told > 0
        latest_late_ms = np.zeros(count, dtype=np.int64)
        np.maximum.at(latest_late_ms, host[late], self.end_ms[rows][late])
        # How slow a host is, is asked of the tasks that speak against it, once there are some.
        telling = self.telling[rows] & (weighed.in_run | (weighed.worst < _SUSPICIOUS)[host])
        weight = np.bincount(host[telling], minlength=count)
        strong = weighed.told > MOST / 4
        return HostEvidence(
            rows=rows,
            launch_ms=sample.launch_ms,
            host=hosts,
            worst=weighed.worst,
            whole=weighed.whole,
            single=(np.bincount(host[strong], minlength=count) == 1)
            & (np.bincount(host[strong & sample.paired], minlength=count) == 0),
            log_factor=np.bincount(host[telling], np.log(self.ratio[rows][telling]), count) / np.maximum(weight, 1),
            weight=weight,
            observed=np.bincount(host[sample.judged], minlength=count),
            late=np.bincount(host[late], minlength=count),
            latest_late_ms=latest_late_ms,
        )


def _rates(references: References, settings: CommonDetectorSettings) -> Rates | None:
    stage = references.stage
    if not stage.running or not (stage.rows["counted_bytes"] > 0).any():
        return None
    min_age_ms = _YOUNG_NOISES * settings.noise_ms
    found = rates(stage, references.cold_allowance_ms, min_age_ms, settings.baseline_multiplier, references.sample)
    if found is None or len(found.rows) <= settings.min_finished:
        return None
    return found


def _others_rate(by_rate: Rates, host: Column) -> Column:
    """For each rated attempt the median time per byte of those on other hosts."""
    found = np.full(len(host), by_rate.typical_ms_per_byte)
    for each in weighty_hosts(host).tolist():
        others = by_rate.ms_per_byte[host != each]
        found[host == each] = np.median(others) if len(others) else np.nan
    return found


def _without(rows: Column, values: Column, others: Column) -> tuple[Column, Column]:
    """The rows that are not among ``others``, and their values. ``others`` is sorted."""
    if not len(others):
        return rows, values
    kept = others[np.minimum(np.searchsorted(others, rows), len(others) - 1)] != rows
    return rows[kept], values[kept]


def _latest_by(group: Column, end_ms: Column, sizes: Column) -> Column:
    """The observations that are among the latest of their group."""
    order = np.lexsort((end_ms, group))
    behind = np.repeat(np.cumsum(sizes), sizes) - 1 - np.arange(len(order))
    found = np.zeros(len(order), dtype=bool)
    found[order[behind < _LATEST]] = True
    return found
