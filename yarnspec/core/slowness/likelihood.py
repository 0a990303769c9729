"""How much better the times of a host's tasks fit a slow host than a healthy one: the test behind each block.

Each observation is ``x``, the logarithm of a task's time over its expected time. The null hypothesis: the host is like
the others, so its x are drawn from *their* distribution. This is a smoothed histogram of the other hosts' x, which may
be skewed, in two heaps, or with a long tail. The alternative: three quarters of the host's tasks take ``factor`` times
as long. The logarithm of the ratio of the two likelihoods is the evidence. Nobody knows the factor, so each task takes
the one that fits it best, at a discount.

* Some tenths of a second are added to both times. So a hiccup (garbage collection, a class loaded, a busy moment) does
  not make a short task look many times too long. For the first task of an executor some seconds are added.
* One task says only so much, however late it is: it may just have more to do. The more of all tasks were on the host,
  the less one task says. Among four hosts the two largest of some tasks fall on the same host every fourth time.
* All tasks of a host within a second count as one witness, however many they are: they suffered the same hiccups.
* Each of the other hosts has the same say, because a quick host does most of the tasks.
* A host may become slow, or recover, at any time. So its worst run of tasks up to now counts (a cumulative sum, Page
  1954), and the tasks before that run count for little. Tasks are in the order of their launch. In the order of their
  ends, those that run late now would all come last, behind the normal ones that were launched after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from yarnspec.core.tasks.columns import Column

FACTORS = np.log(np.array([2.0, 3.0, 4.5, 7.0, 11.0, 17.0, 30.0]))
"""How slow a slow host may be, in logarithms."""
AFFECTED = 0.75
"""The share of a slow host's tasks that are slow. The host may be slow only at times, or only in a part of its work."""
BEST_FIT = 0.6
"""Nobody knows how slow a slow host is. So the factor that fits a task best counts this much less than a known one."""
LEAST, MOST, MOST_AGAINST_COPY = -1.5, 3.0, 3.5
"""Bounds of one task's evidence; more if a copy has shown how long the task takes elsewhere."""
BEYOND_CHANCE = 1.0
"""How much one task's evidence may exceed that of chance: the largest tasks may all be on one host by chance."""
_LOW, _STEP, _BINS = -3.0, 0.1, 80
_KERNEL = 0.15
"""How much tasks that do the same differ, in logarithms."""
_WIDE, _WIDE_WEIGHT = 0.35, 1.5
"""Few tasks do not show how much tasks differ. This wide a spread, with this weight, is assumed beside them."""
_NEVER = 1e-6
_UNFINISHED = 0.5
"""A running task of another host may well take this much (a logarithm) longer than it has."""
_WITNESS_MS = 1_000
"""A host's tasks count as one in so much time, when they are more."""
_PAIRED_WEIGHT = 20.0
"""A run of the same task on another host says as much as so many other tasks."""
_HOST_MOST = 4.0
"""A host that does most of the tasks, because it is quick, is no measure for the others by itself."""


def _heavy(distance: Column, width: float) -> Column:
    """Student's t with two degrees of freedom, not normalised."""
    found: Column = (2.0 + (distance / width) ** 2) ** -1.5
    return found


_CENTRES = _LOW + _STEP * (np.arange(_BINS) + 0.5)
_SMOOTH = _heavy(_CENTRES[:, None] - _CENTRES[None, :], _KERNEL)
_SMOOTH /= _SMOOTH.sum(axis=1, keepdims=True)
_SMOOTH_WIDE = _heavy(_CENTRES[:, None] - _CENTRES[None, :], _WIDE)
_SMOOTH_WIDE /= _SMOOTH_WIDE.sum(axis=1, keepdims=True)


def _bin(x: Column) -> Column:
    return np.clip(((x - _LOW) / _STEP).astype(np.int64), 0, _BINS - 1)


@dataclass(frozen=True, slots=True)
class Sample:
    """Observations of one stage. ``host``: 0 to ``hosts`` - 1; ``running``: ``x`` is a lower bound."""

    host: Column
    hosts: int
    x: Column
    shift: Column
    """For each factor by how much a host that is so slow moves x: less for short tasks (a row for each observation)."""
    running: Column
    by_rate: Column
    """Compared by its time for a byte: that it has more to do cannot be."""
    paired: Column
    """Compared with a copy of the same task."""
    judged: Column
    """Speaks for or against its own host; the others only tell what tasks on other hosts take."""
    launch_ms: Column
    end_ms: Column


def shifts(expected_ms: Column, hiccup_ms: Column) -> Column:
    """For each task and factor by how much x moves on a host that is so slow."""
    share = expected_ms / (expected_ms + hiccup_ms)
    found: Column = np.log1p(share[:, None] * np.expm1(FACTORS))
    return found


@dataclass(frozen=True, slots=True)
class Weighed:
    """The evidence of observations, added up by host.

    ``told``: the evidence of each observation. ``worst``: by host, of its worst run of tasks up to now (0 or more).
    ``in_run``: the observations of that run. ``whole``: by host, of all its tasks.
    """

    told: Column
    in_run: Column
    worst: Column
    whole: Column


def weigh(sample: Sample, apart: Column) -> Weighed:
    """The evidence that hosts are slow, as logarithms of likelihood ratios.

    ``apart``: the hosts whose own tasks would bend the distribution of all; they are compared with the others alone.
    Each host must have an observation.
    """
    told = _log_ratios(sample, apart)
    sums = add_up(sample.host, sample.hosts, told, sample.launch_ms, sample.end_ms)
    return Weighed(told=told, in_run=sums.in_run, worst=sums.worst, whole=sums.whole)


class Sums(NamedTuple):
    """See ``Weighed``."""

    in_run: Column
    worst: Column
    whole: Column


def add_up(host: Column, hosts: int, told: Column, launch_ms: Column, end_ms: Column) -> Sums:
    """The sum of the evidence of single observations. Each of the hosts 0 to ``hosts`` - 1 must have one."""
    weight = _weights(host, hosts, launch_ms, end_ms)
    order = np.lexsort((launch_ms, host))
    sums = np.cumsum((told * weight[host])[order])
    sizes = np.bincount(host, minlength=hosts)
    last = np.cumsum(sizes) - 1
    first = last - sizes + 1
    before = np.concatenate([[0.0], sums])
    lowest = np.minimum(np.minimum.reduceat(before[:-1], first), sums[last])
    # The worst run begins where the sum is lowest: up to there it has not reached that yet, or not for the last time.
    below = np.where(before[:-1] <= lowest[host[order]], np.arange(len(sums)), -1)
    begins = np.maximum.reduceat(below, first) if len(first) else below
    worst = sums[last] - lowest
    in_run = np.zeros(len(sums), dtype=bool)
    in_run[order] = (np.arange(len(sums)) >= begins[host[order]]) & (worst > 0)[host[order]]
    return Sums(in_run, worst, sums[last] - before[first])


def _log_ratios(sample: Sample, apart: Column) -> Column:
    row = np.full(len(sample.x), len(apart))
    at = np.minimum(np.searchsorted(apart, sample.host), max(len(apart) - 1, 0))
    if len(apart):
        own = apart[at] == sample.host
        row[own] = at[own]
    becomes = _bin(sample.x + np.where(sample.running, _UNFINISHED, 0.0))
    sizes = np.bincount(sample.host, minlength=sample.hosts)
    share = np.minimum(1.0, _HOST_MOST / np.maximum(sizes, 1))[sample.host]
    counts = np.bincount(row * _BINS + becomes, share, minlength=(len(apart) + 2) * _BINS).reshape(-1, _BINS)
    total = counts.sum(axis=0)
    others = total - counts
    others[len(apart)] = total
    others[len(apart) + 1] = 0.0
    others[len(apart) + 1, _bin(np.zeros(1))] = _PAIRED_WEIGHT
    row[sample.paired] = len(apart) + 1
    seen = others.sum(axis=1, keepdims=True)
    wide = _WIDE_WEIGHT / (seen + _WIDE_WEIGHT)
    density = ((1 - wide) * (others @ _SMOOTH) + wide * (others @ _SMOOTH_WIDE)) / np.maximum(seen, _NEVER)
    # And what is beyond each bin: all that is known of a task that still runs.
    tables = np.stack([density, np.cumsum(density[:, ::-1], axis=1)[:, ::-1]]) + _NEVER
    kind = sample.running.astype(np.int64)
    healthy = tables[kind, row, _bin(sample.x)]
    moved = tables[kind[:, None], row[:, None], _bin(sample.x[:, None] - sample.shift)]
    slow = np.where(sample.running, moved.mean(axis=1), moved.max(axis=1) * BEST_FIT)
    ratio = np.log((1 - AFFECTED) + AFFECTED * slow / healthy)
    # Whatever makes tasks large, the largest are on this host with the chance of its share of them.
    by_chance = np.where(sample.by_rate, MOST, BEYOND_CHANCE - np.log(sizes[sample.host] / len(sample.host)))
    most = np.where(sample.paired, MOST_AGAINST_COPY, np.minimum(MOST, by_chance))
    found: Column = np.clip(ratio, LEAST, most)
    found[~sample.judged | (seen[row, 0] == 0)] = 0.0  # nobody to compare with
    return found


def _weights(host: Column, hosts: int, launch_ms: Column, end_ms: Column) -> Column:
    """By host: what one of its tasks counts, by how many they are in their time."""
    begin = np.full(hosts, np.inf)
    end = np.full(hosts, -np.inf)
    np.minimum.at(begin, host, launch_ms)
    np.maximum.at(end, host, end_ms)
    count = np.bincount(host, minlength=hosts)
    # Clocks may be set back: a time below none is none.
    found: Column = 1.0 / np.maximum(count * _WITNESS_MS / (np.maximum(end - begin, 0.0) + _WITNESS_MS), 1.0)
    return found
