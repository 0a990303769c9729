"""Precision and recall of what is learnt about hosts' speed; what counts as which is said in ``injection``."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from integration.bench.detection.injection import Stream
from yarnspec.core.detectors import detector_of
from yarnspec.core.host_speed import HostSpeeds
from yarnspec.core.settings import DetectorSettings
from yarnspec.core.tasks import TaskTable

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
    table, speeds = TaskTable(), HostSpeeds(settings)
    detector = detector_of(settings, speeds)
    slow_tasks: set[int] = set()
    slowness = stream.slowness
    said: dict[str, int] = {}
    for now_ms, rows in stream.batches(settings.check_interval_ms):
        speeds.observe(table, table.observe(rows), now_ms)
        for verdict in speeds.slow(now_ms):
            said.setdefault(verdict.host, now_ms)
        slow_tasks.update(task.task_id for task in detector.judge(table, now_ms).verdicts)
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
        slow_tasks=len(slow_tasks),
    )


def score(found: Iterable[Found]) -> Score:
    """Sum up."""
    each = list(found)
    return Score(
        streams=len(each), hits=sum(one.hit for one in each), false_hosts=sum(len(one.false_hosts) for one in each)
    )
