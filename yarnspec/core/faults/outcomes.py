"""How tasks ended on each host of late, and how likely chance alone puts so many failures on one host.

Some failures have nothing to do with hosts, as when a service does not answer now and then. These fall on hosts as
tasks do: a host with a quarter of the tasks gets a quarter of them. The more failures a host has beyond its share, the
less likely chance explains them (Fisher's exact test). With few hosts each of them is tested, and the unluckiest one
counts.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping

_SLICES = 20
"""The window goes on in steps of so many parts."""
_NEGLIGIBLE = 1e-6


class Outcomes:
    """The tasks that ended well on each host in the last ``window_ms``."""

    def __init__(self, window_ms: int) -> None:
        self._slice_ms = max(1, window_ms // _SLICES)
        self._slices: deque[tuple[int, Counter[str]]] = deque()

    def add(self, counts: Mapping[str, int], now_ms: int) -> None:
        """Count tasks that have just ended well on each of these hosts."""
        if not counts:
            return
        at = now_ms // self._slice_ms
        if not self._slices or self._slices[-1][0] < at:
            self._slices.append((at, Counter()))
        self._slices[-1][1].update(counts)
        self._let_go(now_ms)

    def well(self, now_ms: int) -> Counter[str]:
        """How many tasks ended well on each host."""
        self._let_go(now_ms)
        found: Counter[str] = Counter()
        for _, counts in self._slices:
            found.update(counts)
        return found

    def forget(self, host: str) -> None:
        """Forget how tasks ended on a host so far."""
        for _, counts in self._slices:
            counts.pop(host, None)

    def _let_go(self, now_ms: int) -> None:
        while self._slices and self._slices[0][0] < now_ms // self._slice_ms - _SLICES:
            self._slices.popleft()


def by_chance(host: str, failed: Mapping[str, int], well: Mapping[str, int]) -> float:
    """How likely one of the hosts has so many of all failures or more when they fall on tasks at random, at most 1.

    ``failed``, ``well``: attempts by host. One host alone can be compared with nobody: 1.
    """
    hosts = {one for counts in (failed, well) for one, count in counts.items() if count}
    failures, attempts = sum(failed.values()), sum(failed.values()) + sum(well.values())
    here = failed.get(host, 0) + well.get(host, 0)
    # The hypergeometric distribution: of `attempts` tasks `failures` fail, and `here` of all are on the host.
    count = failed.get(host, 0)
    probability = math.exp(
        _log_choose(here, count) + _log_choose(attempts - here, failures - count) - _log_choose(attempts, failures)
    )
    total = 0.0
    while count <= min(failures, here):
        total += probability
        if probability <= _NEGLIGIBLE * total:
            break
        rest = attempts - failures - here + count + 1
        probability *= (failures - count) * (here - count) / ((count + 1) * rest)
        count += 1
    return min(1.0, total * len(hosts))


def _log_choose(of: int, many: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(many + 1) - math.lgamma(of - many + 1)
