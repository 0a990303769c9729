"""How fast each host was, out of the attempts that ended: by time alone, over the whole run and over time.

A detector of the core knows more while it runs (inputs, counters, odds), and its decisions are among the records. This
measure exists for every host of every application. Anybody who looks at the tasks' times finds the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yarnspec.core.messages.observations import IntColumn
from yarnspec.core.tasks.columns import median_by
from yarnspec.observe.page.attempts import Attempts, BoolColumn
from yarnspec.observe.page.drawing import FloatColumn

SLOW_FACTOR = 1.5
"""From here on a host counts as slow on the page; yarnspec's own verdict asks for more."""
LATE_FACTOR = 2.0
_LONGEST_START_MS = 10_000
"""If an executor's first tasks take longer than others, at most so much of that is put down to its start."""
_ENOUGH = 3
_BINS = 40


@dataclass(frozen=True, slots=True)
class Speeds:
    """``ratio``: of each attempt, how many times as long it took as such tasks of its stage usually do; NaN: not known.

    ``factor`` and ``compared`` are by the number of a host: the median of its ratios, and of how many.
    """

    ratio: FloatColumn
    usual_ms: FloatColumn
    factor: FloatColumn
    compared: npt.NDArray[np.int64]
    tells: BoolColumn

    def slow(self, host: int) -> bool:
        """Whether a host's tasks took clearly longer than those of others."""
        return bool(self.compared[host] >= _ENOUGH and self.factor[host] >= SLOW_FACTOR)


def speeds_of(attempts: Attempts, hosts: int, stages: int) -> Speeds:
    """Compare each attempt with its stage: what is usual there is what the middle one of its hosts takes.

    An executor's first attempts in a stage load its code as well, and start Python or the JVM. So they are compared
    with first attempts of other executors.

    An attempt that was killed counts if it had run for longer: it was at least so slow. One that was lost with its
    driver does not count, because nobody knows for how long it ran.
    """
    took = attempts.took_ms.astype(np.float64)
    usual, first = _usual(attempts, took, attempts.succeeded, hosts, stages), _first_of_executor(attempts)
    start = np.clip(_usual(attempts, took, attempts.succeeded & first, hosts, stages) - usual, 0, _LONGEST_START_MS)
    of_stage = usual[attempts.stage] + np.where(first, start[attempts.stage], 0) if len(attempts) else np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(of_stage > 0, took / of_stage, np.nan)
    late = np.nan_to_num(ratio) > 1.0
    tells = (attempts.host >= 0) & ~np.isnan(ratio)
    tells &= attempts.succeeded | ((attempts.killed | attempts.running) & late)
    factor, compared = np.ones(hosts), np.zeros(hosts, dtype=np.int64)
    if tells.any():
        place = attempts.host[tells]
        compared = np.bincount(place, minlength=hosts)
        medians = median_by(place, ratio[tells], hosts)
        factor = np.where(compared > 0, medians, 1.0)
    return Speeds(ratio=ratio, usual_ms=usual, factor=factor, compared=compared, tells=tells)


def history_of(
    attempts: Attempts, speeds: Speeds, rows: IntColumn, begin_ms: int, end_ms: int
) -> list[tuple[float, float]]:  # fmt: skip
    """The factor over time of the host whose attempts these are: where in the run (0 to 1), and the factor then."""
    mine = rows[speeds.tells[rows]]
    if len(mine) < _ENOUGH:
        return []
    length = max(end_ms - begin_ms, 1)
    bins = np.clip((attempts.finish_ms[mine] - begin_ms) * _BINS // length, 0, _BINS - 1)
    medians = median_by(bins, speeds.ratio[mine], _BINS)
    return [(place / _BINS, float(medians[place])) for place in np.unique(bins).tolist()]


def _first_of_executor(attempts: Attempts) -> BoolColumn:
    """The attempts that began before one of their stage had ended on their executor, well or with a failure."""
    if not len(attempts):
        return np.zeros(0, dtype=np.bool_)
    _, place = np.unique((attempts.stage << 32) | (attempts.executor + 1), return_inverse=True)
    first_end_ms = np.full(int(place.max()) + 1, np.iinfo(np.int64).max)
    ended = attempts.succeeded | attempts.failed
    np.minimum.at(first_end_ms, place[ended], attempts.finish_ms[ended])
    found: BoolColumn = (attempts.launch_ms < first_end_ms[place]) & (attempts.executor >= 0)
    return found


def _usual(attempts: Attempts, took: FloatColumn, chosen: BoolColumn, hosts: int, stages: int) -> FloatColumn:
    """The usual time of the chosen tasks of each stage: the lower middle one of its hosts' medians; 0 where none is."""
    usual = np.zeros(stages)
    good = chosen & (attempts.host >= 0)
    if not good.any():
        return usual
    pair = attempts.stage[good] * hosts + attempts.host[good]
    found, place = np.unique(pair, return_inverse=True)
    medians = median_by(place, took[good], len(found))
    stage = found // hosts
    order = np.lexsort((medians, stage))
    begins = np.flatnonzero(np.concatenate(([True], stage[order][1:] != stage[order][:-1])))
    sizes = np.diff(np.concatenate((begins, [len(order)])))
    middle = order[begins + (sizes - 1) // 2]
    usual[stage[middle]] = np.maximum(medians[middle], 1.0)
    return usual
