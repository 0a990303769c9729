"""How the hosts do in one stage: what each task took, or takes already, against what it was expected to take.

Every attempt that ended well, that is late already, that was late when another one won, or whose counters tell its
speed, is an observation of its host. From them a host gets evidence, in logarithms of odds, that it is slow: a late
task counts for it by how rare late tasks are on the other hosts, a normal one against it. One late task is never
proof, however late; two at once on one host, while the others have none, are about enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from yarnspec.core.columns import Column, median_by
from yarnspec.core.counters import Rates, rates
from yarnspec.core.observations import State
from yarnspec.core.places import UNKNOWN
from yarnspec.core.references import References, weighty_hosts
from yarnspec.core.settings import DetectorSettings
from yarnspec.core.stagetasks import StageTasks

LATE_ON_SLOW = 0.7
"""The share of late tasks on a host that is slow: it may be slow for a part of the time, or for a part of the tasks."""
RARE, RAREST, RARE_AGAINST_COPY = 0.05, 0.02, 0.01
"""A task is late without its host's fault at least so often: just late, very late, late while a copy of it was not."""
OLD_NORMAL_MIN = -1.8
"""What normal tasks from before a host's first late one count at most: a host may have become slow just now."""
NORMAL_MIN, LATE_MAX = -6.0, 8.0
_LATEST = 16
"""So many of a host's latest tasks are weighed: what came before says little of how it does now."""
_UNSEEN = 0.25
"""What was not seen among the others may still be: it counts as a quarter of a task."""
_ABOUT = 0.8
_HOSTS_WEIGHED = 64
_YOUNG_NOISES = 5
_TELLING_NOISES = 2
"""A task that is expected to take less than so many times the noise does not speak for its host."""


@dataclass(frozen=True, slots=True)
class HostEvidence:
    """What one stage says about hosts, by the numbers of the table's hosts."""

    host: Column
    log_odds: Column
    """From a host's late tasks, and those that ended normally since the first of them should have ended."""
    single: Column
    """Whether one late task is all there is against a host, and no copy of it has shown that it need not have been."""
    old_log_odds: Column
    """From the normal tasks before."""
    log_factor: Column
    """The median over the host's tasks of the logarithm of time over expected time."""
    weight: Column
    """How many tasks that is from."""
    observed: Column
    late: Column
    latest_late_ms: Column


class Pace:
    """A stage's observations at one moment. ``ratio``: time, or time so far at least, over expected time."""

    __slots__ = (
        "by_rate",
        "end_ms",
        "evidence",
        "host",
        "late",
        "normal",
        "overdue_ms",
        "paired",
        "ratio",
        "references",
        "rows",
        "telling",
        "unfinished",
    )

    def __init__(
        self, references: References, now_ms: int, settings: DetectorSettings, since_ms: Column | None = None
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
        late_cold = references.is_cold(late_rows)
        late_ms = references.expected(late_rows, references.size_of(late_rows), late_cold)
        paired, late_ms = self._against_copies(late_rows, late_ms)
        late_own = np.maximum(late_took - references.allowance_ms(late_cold), 1)
        done_own = np.maximum(references.took_ms - references.allowance_ms(references.cold), 1)
        own = np.concatenate([done_own, late_own, rated_ratio * rated_ms])
        expected_ms = np.concatenate([references.expected_ms, late_ms, rated_ms])
        raw = np.concatenate([references.took_ms, late_own, rated_ratio * rated_ms])
        known = ~np.isnan(expected_ms) & (self.host != UNKNOWN)
        if since_ms is not None:
            known &= columns["launch_ms"][self.rows] >= since_ms[self.host]
        threshold_ms = np.maximum(expected_ms * references.multiplier, expected_ms + settings.noise_ms)
        self.ratio: Column = np.where(known, raw / np.where(known, expected_ms, 1.0), 1.0)
        self.late: Column = known & (own >= threshold_ms)
        ended = np.zeros(len(self.rows), dtype=bool)
        ended[: len(done_rows)] = True
        ended[len(done_rows) + len(late_rows) :] = True  # what goes at a normal rate is as good as ended well
        self.unfinished = np.zeros(len(self.rows), dtype=bool)
        self.unfinished[len(done_rows) : len(done_rows) + len(late_rows)] = True
        self.paired = np.zeros(len(self.rows), dtype=bool)
        self.paired[len(done_rows) : len(done_rows) + len(late_rows)] = paired
        self.normal: Column = known & ended & (raw < threshold_ms)
        # Of what is over in a moment even ten times as slow would hardly be seen.
        self.telling: Column = self.late | (self.normal & (expected_ms >= settings.noise_ms * _TELLING_NOISES))
        self.overdue_ms = columns["launch_ms"][self.rows] + np.where(known, expected_ms, 0)
        finish_ms = columns["finish_ms"][self.rows]
        self.end_ms: Column = np.where(columns["state"][self.rows] == State.RUNNING, now_ms, finish_ms)
        self.evidence = self._weigh()

    def _unfinished(self, stage: StageTasks, now_ms: int) -> tuple[Column, Column]:
        """Attempts that run for long already, or did until another one won: their time is a lower bound.

        Those whose task has finished by another attempt and that are being ended tell of their hosts as well: a stage
        may be over before they are.
        """
        shortest_ms = self.references.typical_ms() * self.references.multiplier
        if np.isnan(shortest_ms):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        columns = stage.rows
        running = stage.running_since(now_ms - shortest_ms)[: self.references.sample]
        killed = np.flatnonzero(columns["state"] == State.KILLED)[-self.references.sample :]
        killed = killed[stage.finished_tasks(columns["index"][killed])]
        took = columns["finish_ms"][killed] - columns["launch_ms"][killed]
        killed, took = killed[took >= shortest_ms], took[took >= shortest_ms]
        return np.concatenate([running, killed]), np.concatenate([now_ms - columns["launch_ms"][running], took])

    def _against_copies(self, rows: Column, expected_ms: Column) -> tuple[Column, Column]:
        """Which attempts another attempt of the same task has beaten, and then its time instead of the expected one.

        That is the best of comparisons: the same work on another host. Where the winner took long as well, the task
        has much to do, and that says nothing of the host.
        """
        columns = self.references.stage.rows
        won = self.references.stage.won(columns["index"][rows])
        beaten = (won >= 0) & (won != rows)
        took = columns["finish_ms"][won[beaten]] - columns["launch_ms"][won[beaten]]
        expected_ms[beaten] = np.maximum(took, 1)
        return beaten, expected_ms

    def _rated(self, rows: Column) -> tuple[Column, Column]:
        """For attempts judged by their counters: how slow each is in relation to others, and its expected time."""
        if self.by_rate is None:
            return np.empty(0), np.empty(0)
        columns = self.references.stage.rows
        size = columns["input_bytes"][rows]
        typical = _others_rate(self.by_rate, columns["host"][rows])
        # By finished tasks where there are: they tell the whole of a task, with its start and its end.
        expected_ms = self.references.expected(rows, size, self.references.is_cold(rows))
        by_estimate = ~np.isnan(expected_ms) & self.references.by_estimate
        expected_ms = np.where(by_estimate, expected_ms, typical * size)
        return self.by_rate.ms_per_byte * size / expected_ms, expected_ms

    def _weigh(self) -> HostEvidence:
        seen = self.late | self.normal
        hosts, host = np.unique(self.host[seen], return_inverse=True)
        late, ratio, telling = self.late[seen], self.ratio[seen], self.telling[seen]
        count = len(hosts)
        lates = np.bincount(host[late], minlength=count)
        observed = np.bincount(host, minlength=count)
        trusted = _unsuspected(lates, observed)
        usual = _late_elsewhere(lates, observed, trusted)
        floor = np.clip(RARE * 1.5 / np.maximum(ratio, 1.0), RAREST, RARE)
        chance = np.minimum(
            np.maximum(floor, _as_late_elsewhere(ratio, host, late, trusted[host], self.unfinished[seen])), 0.5
        )
        chance[self.paired[seen]] = RARE_AGAINST_COPY
        against = np.log((1 - LATE_ON_SLOW) / (1 - np.minimum(np.maximum(usual, RARE), 0.5)))
        end_ms = self.end_ms[seen]
        latest = np.zeros(count, dtype=np.int64)
        np.maximum.at(latest, host[late], end_ms[late])
        weighed = _latest_by(host, end_ms, observed)
        late = late & weighed
        first_overdue = np.full(count, np.inf)
        np.minimum.at(first_overdue, host[late], self.overdue_ms[seen][late])
        normal = weighed & telling & ~self.late[seen]
        since = normal & (end_ms >= first_overdue[host])
        before = normal & ~since
        single = (np.bincount(host[late], minlength=count) == 1) & (
            np.bincount(host[late & self.paired[seen]], minlength=count) == 0
        )
        for_slow = np.bincount(host[late], np.log(LATE_ON_SLOW / chance[late]), minlength=count)
        return HostEvidence(
            host=hosts,
            log_odds=for_slow + np.bincount(host[since], minlength=count) * against,
            single=single,
            old_log_odds=np.bincount(host[before], minlength=count) * against,
            log_factor=median_by(host[telling], np.log(ratio[telling]), count),
            weight=np.bincount(host[telling], minlength=count),
            observed=observed,
            late=lates,
            latest_late_ms=latest,
        )


def _rates(references: References, settings: DetectorSettings) -> Rates | None:
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
    kept = ~np.isin(rows, others)
    return rows[kept], values[kept]


def _unsuspected(late: Column, observed: Column) -> Column:
    """By host: whether it can be compared with. Few that seem to be slow themselves are not, many are as things are."""
    suspect = late * 2 > observed
    if np.count_nonzero(suspect) > max(1, len(late) // 3):
        return np.ones(len(late), dtype=bool)
    return ~suspect


def _late_elsewhere(late: Column, observed: Column, trusted: Column) -> Column:
    """By host: how often tasks are late on the others."""
    counted_late, counted = late * trusted, observed * trusted
    share: Column = (counted_late.sum() - counted_late + _UNSEEN) / (counted.sum() - counted + 1)
    return share


def _as_late_elsewhere(ratio: Column, host: Column, late: Column, trusted: Column, unfinished: Column) -> Column:
    """For each late task how often tasks on other hosts are about as late, or later, or may still become so."""
    share = np.ones(len(ratio))
    becomes = np.where(unfinished, np.inf, ratio)
    everywhere = np.sort(becomes[trusted])
    hosts, counts = np.unique(host[late], return_counts=True)
    for each in hosts[np.argsort(-counts, kind="stable")[:_HOSTS_WEIGHED]].tolist():
        mine = late & (host == each)
        here = np.sort(becomes[trusted & (host == each)])
        from_here_on = ratio[mine] * _ABOUT
        as_late = len(everywhere) - np.searchsorted(everywhere, from_here_on)
        as_late -= len(here) - np.searchsorted(here, from_here_on)
        share[mine] = (as_late + _UNSEEN) / (len(everywhere) - len(here) + 1)
    return share


def _latest_by(group: Column, end_ms: Column, sizes: Column) -> Column:
    """Which of the observations are among the latest of their group."""
    order = np.lexsort((end_ms, group))
    behind = np.repeat(np.cumsum(sizes), sizes) - 1 - np.arange(len(order))
    found = np.zeros(len(order), dtype=bool)
    found[order[behind < _LATEST]] = True
    return found
