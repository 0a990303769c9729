"""Proves a blocked host healthy, by the tasks that ended there last, once they are enough.

The cause of the slowness may be over during the block, and the tasks that were late by it end first. So tasks are taken
in the order of their ends, whenever they were launched. Their best run up to the last one counts (the cumulative sum of
``likelihood``, for the opposite question). A task that was launched before the block counts as well. Such a task may
take no longer than others although it ran while the host was slow. Then it hardly felt the slowness, because it was all
but done when the slowness began.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from yarnspec.core.tasks.columns import Column


@dataclass(slots=True)
class Seen:
    """The single observations of a stage: ``told`` is what each says for its host's being slow."""

    host: Column
    end_ms: Column
    """Now for what still runs, because it is late or at a normal rate."""
    told: Column


class HealthyRun(NamedTuple):
    """The best run up to the last task: what it says in logarithms of odds, and of how many tasks of either kind."""

    told: float
    normal: int
    late: int
    latest_ms: int


def best_run(seen: Iterable[Seen], host: int, since_ms: int) -> HealthyRun:
    """The best run among a host's tasks that ended since then; an empty run if none did."""
    of_host = [(each, (each.host == host) & (each.end_ms >= since_ms)) for each in seen]
    if not any(here.any() for _, here in of_host):
        return HealthyRun(0.0, 0, 0, 0)
    end_ms = np.concatenate([each.end_ms[here] for each, here in of_host])
    told = np.concatenate([each.told[here] for each, here in of_host])
    # Among tasks that ended at the same moment the late ones count as the last, so that no run leaves them out.
    backwards = np.lexsort((told, end_ms))[::-1]
    sums = np.cumsum(told[backwards])
    best = int(np.argmin(sums))
    run = told[backwards[: best + 1]]
    return HealthyRun(
        float(sums[best]), int(np.count_nonzero(run < 0)), int(np.count_nonzero(run > 0)), int(end_ms.max())
    )
