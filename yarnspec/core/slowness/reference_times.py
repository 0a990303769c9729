"""The usual times of a stage's tasks: the ended attempts with which a running one on another host is compared."""

from __future__ import annotations

import numpy as np

from yarnspec.core.messages.observations import NONE, StageFlag, State
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.tasks.columns import Column, distinct, median_by, numbered
from yarnspec.core.tasks.stagetasks import StageTasks

SAMPLE = 1_024
WARM, NEW, COLD = range(3)
"""How warm an attempt's executor was when it began. Cold: none of its tasks had ended. New: none of this stage, whose
code each executor loads and compiles with its first tasks."""
_WARMTHS = (WARM, NEW, COLD)
_EXACT_HOSTS = 16
_EXACT_SHARE = 0.1
_SIZES_KNOWN = 0.8
_SPREADS = 3.0
_MULTIPLIER_MAX = 8.0
_ANY = -1
_ENOUGH_WITHIN = 6
_EXPLAINED = 0.8
"""The least correlation of the logarithms of bytes and times."""
_VARIES = 0.1
"""Where inputs differ by less than a tenth, nothing is known of what more bytes would take."""


class References:
    """The stage's newest successful attempts, at most ``sample``.

    A task is compared with tasks on *other* hosts: its own host's would hide what is wrong with it. Its expected time
    is their median, or more when its input is larger than theirs: then their time per byte, for its bytes. Tasks of the
    same warmth are compared with each other where there are enough.
    """

    __slots__ = (
        "_baselines",
        "_cold_ms",
        "_enough",
        "_exact",
        "_explained",
        "by_estimate",
        "expected_ms",
        "host",
        "multiplier",
        "rows",
        "sample",
        "size",
        "stage",
        "state",
        "took_ms",
        "warmth",
    )

    def __init__(self, stage: StageTasks, settings: CommonDetectorSettings, sample: int = SAMPLE) -> None:
        rows = stage.rows
        won = stage.winners[-sample:]
        won = won[(rows["state"][won] == State.SUCCESS) & (rows["launch_ms"][won] != NONE)]
        self.stage = stage
        self.sample = sample
        self.state = reference_state(stage)
        self._enough = settings.min_finished
        self._cold_ms = settings.cold_start_ms
        self._baselines: dict[tuple[int, int], tuple[float, float]] = {}
        self.rows = won
        self.host: Column = rows["host"][won]
        self.took_ms: Column = np.maximum(rows["finish_ms"][won] - rows["launch_ms"][won], 1)
        self.warmth = self.warmth_of(won)
        told = rows["input_bytes"][won]
        self.by_estimate = bool(len(won) and np.mean(told > 0) >= _SIZES_KNOWN)
        self.size: Column = told if self.by_estimate else rows["bytes_read"][won]
        if len(won) and np.mean(self.size > 0) < _SIZES_KNOWN:
            self.size = np.zeros(len(won))
        self._exact = weighty_hosts(self.host)
        self._explained: bool | None = None
        self.expected_ms = self.expected(won, self.size, self.warmth)
        self.multiplier = self._multiplier(settings.baseline_multiplier)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def by_read(self) -> bool:
        """Whether tasks are compared by what they have read, as their inputs are not known before."""
        return not self.by_estimate and bool(self.size.any())

    @property
    def explained(self) -> bool:
        """Whether bytes explain what tasks take: on each host those with more take longer, in proportion.

        A filter, a function, a join or a key may make of equal bytes very different work.
        """
        if self._explained is None:
            self._explained = self._explain()
        return self._explained

    def _explain(self) -> bool:
        sized = self.size > 0
        if not self.by_estimate or np.count_nonzero(sized) < _ENOUGH_WITHIN:
            return False
        _, host = numbered(self.host[sized])
        took, size = (
            values - np.bincount(host, values)[host] / np.bincount(host)[host]
            for values in (np.log(self.took_ms[sized]), np.log(self.size[sized]))
        )
        product = float(np.sqrt(np.sum(took**2) * np.sum(size**2)))
        return bool(np.std(size) > _VARIES and np.sum(took * size) >= _EXPLAINED * product)

    def warmth_of(self, rows: Column) -> Column:
        """How warm the executor of each attempt was when it began."""
        columns = self.stage.rows
        # numpy's own kind of index: with others it looks up at a third of the speed.
        executor = columns["executor"][rows].astype(np.intp)
        launch_ms = columns["launch_ms"][rows]
        # Asked anew each time: executors come while the references stay.
        warm_ms = self.stage.places.warm_since_ms(python=StageFlag.PYTHON in self.stage.flags)
        found: Column = np.where(launch_ms < self.stage.first_ended_ms()[executor], NEW, WARM)
        found[launch_ms < warm_ms[executor]] = COLD
        return found

    def allowance_ms(self, warmth: Column) -> Column:
        """The part of an attempt's time that is not counted."""
        return np.where(warmth == COLD, self._cold_ms, 0)

    def cold_allowance_ms(self, rows: Column) -> Column:
        """``allowance_ms`` for the attempts in these rows."""
        return self.allowance_ms(self.warmth_of(rows))

    def size_of(self, rows: Column) -> Column:
        """The input of running attempts: the estimate where the references go by it, else what was read, at least."""
        column = self.stage.rows["input_bytes" if self.by_estimate else "bytes_read"][rows]
        return np.maximum(column, 0)

    def expected(self, rows: Column, size: Column, warmth: Column) -> Column:
        """The time that attempts would take on another host, in milliseconds; NaN if too little is known."""
        found = np.full(len(rows), np.nan)
        if len(self.rows) < self._enough:
            return found
        host = self.stage.rows["host"][rows]
        group = self._groups(host, warmth)
        for each in distinct(group).tolist():
            inside = group == each
            median_ms, per_byte = self._baseline(*_host_and_warmth(each))
            found[inside] = np.maximum(median_ms, per_byte * size[inside])
        return found

    def usual(self, size: Column, warmth: Column) -> Column:
        """``expected`` by the tasks of all hosts, its own among them."""
        found = np.full(len(size), np.nan)
        if len(self.rows) >= self._enough:
            for each in _WARMTHS:
                median_ms, per_byte = self._baseline(_ANY, each)
                found[warmth == each] = np.maximum(median_ms, per_byte * size[warmth == each])
        return found

    def fair(self, rows: Column, warmth: Column) -> Column:
        """Whether the references of attempts ran on other hosts, and on cold executors only if the attempts did."""
        group = self._groups(self.stage.rows["host"][rows], warmth)
        found = np.zeros(len(rows), dtype=bool)
        for each in distinct(group).tolist():
            host, own = _host_and_warmth(each)
            found[group == each] = np.count_nonzero(self._as_cold(host, own)) >= self._enough
        return found

    def typical_ms(self) -> float:
        """The smallest median that any attempt is compared with; NaN when there is none."""
        hosts = (_ANY, *self._exact.tolist())
        groups = [self._baseline(host, warmth)[0] for host in hosts for warmth in _WARMTHS]
        known = [each for each in groups if not np.isnan(each)]
        return min(known, default=float("nan"))

    def _groups(self, host: Column, warmth: Column) -> Column:
        """Groups attempts that are compared with the same ones: by their warmth, and by a weighty host."""
        if not len(self._exact):
            return warmth
        groups: Column = np.where(np.isin(host, self._exact), host - _ANY, 0) * len(_WARMTHS) + warmth
        return groups

    def _as_cold(self, host: int, warmth: int) -> Column:
        """The references that ran on other hosts, and on cold executors just if this one was cold."""
        found: Column = (self.host != host) & ((self.warmth == COLD) == (warmth == COLD))
        return found

    def _baseline(self, host: int, warmth: int) -> tuple[float, float]:
        """The median time of the other hosts' tasks, and their time per byte."""
        key = (host, warmth)
        if key not in self._baselines:
            as_cold = self._as_cold(host, warmth)
            everybody = np.ones(len(self.host), dtype=bool)
            # Nobody else has ended anything yet: better its own host than nothing.
            for chosen in (as_cold & (self.warmth == warmth), as_cold, self.host != host, everybody):
                if np.count_nonzero(chosen) >= self._enough:
                    break
            self._baselines[key] = _medians(self.took_ms[chosen], self.size[chosen], self._enough)
        return self._baselines[key]

    def _multiplier(self, least: float) -> float:
        """From how many times its expected time on a task is late: more where a stage's tasks differ much."""
        known = ~np.isnan(self.expected_ms)
        if not known.any():
            return least
        ratios = np.log(self.took_ms[known] / self.expected_ms[known])
        spread = min(_spread(ratios - np.median(ratios)), _spread_within(ratios, self.host[known]))
        return max(least, min(float(np.exp(_SPREADS * spread)), _MULTIPLIER_MAX))


def _host_and_warmth(group: int) -> tuple[int, int]:
    host, warmth = divmod(group, len(_WARMTHS))
    return host + _ANY, warmth


def weighty_hosts(host: Column) -> Column:
    """The hosts whose own share could bend a median over all: every one of few, and those with much of it."""
    counts = np.bincount(host)
    hosts = np.flatnonzero(counts)
    counts = counts[hosts]
    return hosts if len(hosts) <= _EXACT_HOSTS else hosts[counts > _EXACT_SHARE * len(host)]


def reference_state(stage: StageTasks) -> tuple[int, int]:
    """Changes when a stage's references do."""
    return len(stage.winners), stage.lost


def _spread(deviations: Column) -> float:
    """The standard deviation of a normal distribution with this median of absolute deviations."""
    return 1.4826 * float(np.median(np.abs(deviations)))


def _spread_within(values: Column, host: Column) -> float:
    """How much the tasks of one host differ: a slow host's own tasks are no less alike."""
    hosts, group = numbered(host)
    counts = np.bincount(group)
    own = median_by(group, values, len(hosts))
    # The median of few values is too near to them: that of a single one is the value itself.
    several = counts[group] > 1
    if np.count_nonzero(several) < _ENOUGH_WITHIN:
        return float("inf")
    widened = np.sqrt(counts[group] / np.maximum(counts[group] - 1, 1))
    return _spread(((values - own[group]) * widened)[several])


def _medians(took_ms: Column, size: Column, enough: int) -> tuple[float, float]:
    if len(took_ms) < enough:
        return float("nan"), 0.0
    median_ms = float(np.median(took_ms))
    sized = size > 0
    if not sized.any():
        return median_ms, 0.0
    # Weighted by bytes: what empty and tiny tasks take is overhead, and says nothing about a byte.
    per_byte = took_ms[sized] / size[sized]
    order = np.argsort(per_byte)
    weight = np.cumsum(size[sized][order])
    return median_ms, float(per_byte[order[np.searchsorted(weight, weight[-1] / 2)]])
