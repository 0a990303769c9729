"""The ratio of two sides' times that were measured in pairs, with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

_RESAMPLES = 10_000
_SEED = 20_261_121


class Ratio(msgspec.Struct, frozen=True):
    """How many times as long; ``low`` and ``high`` bound the 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As tables show it."""
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The geometric mean of the pairs' ratios, with a bootstrap interval over the pairs (percentiles, fixed seed)."""
    logs = np.log(np.asarray(ours, dtype=float) / np.asarray(theirs, dtype=float))
    drawn = np.random.default_rng(_SEED).choice(logs, size=(_RESAMPLES, len(logs)))
    low, high = np.percentile(drawn.mean(axis=1), [2.5, 97.5])
    return Ratio(float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high)))
