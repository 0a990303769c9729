"""Decides whether the counters of a stage's running tasks tell how far those tasks are, and how fast each goes.

The JVM reads a task's input ahead of the Python worker, and an operator that sorts or aggregates reads everything
before it does anything else. So counters are believed only after a look at tasks that have ended. The counts of the
last heartbeat before the end must fit the share of the task's time that had passed by then.

A task's input is its part of the files. The task may read much less, for example only some columns or row groups of a
Parquet or ORC file. Tasks that have ended tell how much it will read, if they read about the same share of their
inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from yarnspec.core.messages.observations import StageFlag
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks

_LOOKED_AT = 64
_ENOUGH = 4
_EARLY, _LATE = 0.1, 0.9
_OFF_BY = 0.2
_NEARLY_ALL = 0.95
_SHARES_DIFFER = 0.2
"""By so much, as a part of it, the shares of their inputs that tasks read may differ from the usual one."""
_LEAST_BYTES = 512 << 10
"""Files are counted by the buffer, in steps of up to 192 KiB: less than a few of them tell no rate."""


def counters_track(stage: StageTasks) -> bool:
    """Whether the share of input that is counted as read is the share of the work that is done.

    Before four ended tasks can be looked at, counters are believed of stages that run no Python.
    """
    rows = stage.rows
    ended = stage.winners[-_LOOKED_AT:]
    ended = ended[(rows["counted_bytes"][ended] >= 0) & (rows["bytes_read"][ended] > 0)]
    took_ms = np.maximum(rows["finish_ms"][ended] - rows["launch_ms"][ended], 1)
    passed = (rows["counted_ms"][ended] - rows["launch_ms"][ended]) / took_ms
    telling = (passed > _EARLY) & (passed < _LATE)
    if np.count_nonzero(telling) < _ENOUGH:
        return StageFlag.PYTHON not in stage.flags
    ended, passed = ended[telling], passed[telling]
    read = rows["counted_bytes"][ended] / rows["bytes_read"][ended]
    return bool(np.median(np.abs(read - passed)) <= _OFF_BY)


def share_read(stage: StageTasks) -> float | None:
    """How much of its input a task reads, by those that have ended; None when they tell nothing in common.

    While none has ended it is taken to be all: running tasks are compared with each other then.
    """
    rows = stage.rows
    ended = stage.winners[-_LOOKED_AT:]
    ended = ended[(rows["input_bytes"][ended] > 0) & (rows["bytes_read"][ended] >= 0)]
    if not len(ended):
        return 1.0
    shares = rows["bytes_read"][ended] / rows["input_bytes"][ended]
    usual = float(np.median(shares))
    if np.median(np.abs(shares - usual)) > _SHARES_DIFFER * usual:
        return None
    return usual


@dataclass(frozen=True, slots=True)
class Rates:
    """Running attempts that can be judged by their counters: the milliseconds that each needs for a byte."""

    rows: Column
    size: Column
    """How many bytes each will have read when it ends."""
    ms_per_byte: Column
    typical_ms_per_byte: float


def rates(
    stage: StageTasks, cold_ms: Callable[[Column], Column], min_age_ms: int, suspicious: float, sample: int
) -> Rates | None:
    """The rates of a stage's running attempts; None when its counters say nothing.

    ``cold_ms``: the part of each row's time that is not the task's own. If there are many attempts, those are rated
    that are ``suspicious`` times slower than is typical, at most ``sample``, the slowest first. A sample of the others
    is rated as well.
    """
    rows = stage.rows
    candidates = np.flatnonzero(stage.is_running() & (rows["counted_bytes"] >= _LEAST_BYTES))
    if not len(candidates) or not counters_track(stage):
        return None
    share = share_read(stage)
    if not share:
        return None
    passed_ms = rows["counted_ms"][candidates] - rows["launch_ms"][candidates]
    done = rows["counted_bytes"][candidates].astype(float)
    size = rows["input_bytes"][candidates] * share
    usable = (passed_ms >= min_age_ms) & (done < _NEARLY_ALL * size)

    def worked_ms(places: Column) -> Column:
        found: Column = passed_ms[places] - cold_ms(candidates[places])
        return found

    old = np.flatnonzero(usable)
    sampled = old[:: max(1, -(-len(old) // sample))]
    sampled_ms = worked_ms(sampled)
    sampled, sampled_ms = sampled[sampled_ms >= min_age_ms], sampled_ms[sampled_ms >= min_age_ms]
    if not len(sampled):
        return None
    sampled_rate = sampled_ms / done[sampled]
    typical = float(np.median(sampled_rate))
    # Attempts are many, and few of them seem slow: only those are asked whether they were cold as well.
    late_ms = np.maximum(done * (typical * suspicious), min_age_ms)
    slow = np.flatnonzero(usable & (passed_ms >= late_ms))
    slow_ms = worked_ms(slow)
    late = slow_ms >= late_ms[slow]
    slow, slow_rate = slow[late], slow_ms[late] / done[slow[late]]
    if len(slow) > sample:
        slowest = np.argpartition(slow_rate, len(slow) - sample)[len(slow) - sample :]
        slow, slow_rate = slow[slowest], slow_rate[slowest]
    kept, first = np.unique(np.concatenate([sampled, slow]), return_index=True)
    return Rates(candidates[kept], size[kept], np.concatenate([sampled_rate, slow_rate])[first], typical)
