"""Precision and recall of what is learnt about hosts' speed; what counts as which is said in ``injection``."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from integration.bench.detection.injection import Stream
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.observe.hindsight.offline import find

LATEST_MS = 1_000
"""A host is called slow too late when the last task that felt it ended so long ago."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of the hosts of one stream."""

    run: str
    factor: float
    hit: bool
    false_hosts: tuple[str, ...]
    after_ms: int
    """From the moment when the host became slow until it was said; 0 when it was not."""
    tasks: int
    slow_tasks: int
    """Of these the detector would have copied so many."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over streams."""

    streams: int
    hits: int
    false_hosts: int

    @property
    def recall(self) -> float:
        """The share of slow hosts that were found."""
        return self.hits / self.streams if self.streams else float("nan")

    @property
    def precision(self) -> float:
        """The share of the hosts called slow that were."""
        said = self.hits + self.false_hosts
        return self.hits / said if said else float("nan")


def watch(stream: Stream, settings: DetectorSettings) -> Found:
    """Let the detector see a stream as it would see a running application."""
    found = find(stream.batches(settings.check_interval_ms), settings)
    slowness = stream.slowness
    said = {each.verdict.host: each.at_ms for each in found.hosts}
    slow_host = slowness.host if slowness is not None else ""
    hit = (
        slowness is not None
        and slow_host in said
        and slowness.begin_ms <= said[slow_host] <= stream.felt_until_ms + LATEST_MS
    )
    return Found(
        run=stream.run,
        factor=slowness.factor if slowness is not None else 1.0,
        hit=hit,
        false_hosts=tuple(host for host in said if host != slow_host or not hit),
        after_ms=said[slow_host] - slowness.begin_ms if hit and slowness is not None else 0,
        tasks=len(stream.placed),
        slow_tasks=len(found.tasks),
    )


def score(found: Iterable[Found]) -> Score:
    """Sum up."""
    each = list(found)
    return Score(
        streams=len(each), hits=sum(one.hit for one in each), false_hosts=sum(len(one.false_hosts) for one in each)
    )
