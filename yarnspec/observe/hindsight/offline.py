"""Finds slow tasks and hosts in a job that is over: shows its observations to the detectors as if it ran now.

Copies and blocks change what follows; here nothing does. So each task and each host is told of once, when it would have
been found slow for the first time.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from yarnspec.core.detectors import SlowAttempt, detector_of
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages.commands import Verdict
from yarnspec.core.messages.observations import COLUMNS, NONE, Observations, RowKind
from yarnspec.core.slowness.host_speed import HostSpeeds, HostVerdict
from yarnspec.core.tasks.columns import Column
from yarnspec.core.tasks.stagetasks import StageTasks
from yarnspec.core.tasks.task_table import StageKey, TaskTable

_SILENCE_MS = 60_000
"""Where nothing was heard of for so long the looks come at longer and longer intervals, up to this one."""


class SlowTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that was found slow, by its first attempt that was; ``at_ms``: since the Unix epoch, as all times here."""

    at_ms: int
    verdict: Verdict


class SlowHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host that was found slow."""

    at_ms: int
    verdict: HostVerdict


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The findings in their order. ``began_ms``: the time of the first observation."""

    began_ms: int
    attempts: int
    stages: int
    tasks: tuple[SlowTask, ...]
    hosts: tuple[SlowHost, ...]


def find(batches: Iterable[tuple[int, Observations]], settings: DetectorSettings) -> Findings:
    """Show what was heard of up to each of these moments to the detector that the settings name."""
    table, speeds = TaskTable(), HostSpeeds(settings)
    detector = detector_of(settings, speeds, many=sys.maxsize)
    tasks = _SlowTasks()
    hosts: dict[str, SlowHost] = {}
    stages: set[tuple[int, int]] = set()
    began_ms = attempts = 0
    for now_ms, rows in batches:
        began_ms = began_ms or now_ms
        speeds.observe(table, table.observe(rows), now_ms)
        stages.update(table.stages)
        attempts += int(np.count_nonzero(rows.kind == RowKind.TASK_STARTED))
        speeds.refresh(table, now_ms)
        for host in speeds.slow():
            hosts.setdefault(host.host, SlowHost(at_ms=now_ms, verdict=host))
        while tasks.take(detector.judge(table, now_ms, tasks.put_off).worst, now_ms):
            pass  # a look tells of the worst only
    return Findings(
        began_ms=began_ms,
        attempts=attempts,
        stages=len(stages),
        tasks=tuple(tasks.found),
        hosts=tuple(hosts.values()),
    )


class _SlowTasks:
    """The tasks that were found slow so far, each once."""

    def __init__(self) -> None:
        self.found: list[SlowTask] = []
        self._known: defaultdict[StageKey, set[int]] = defaultdict(set)

    def take(self, worst: Sequence[SlowAttempt], now_ms: int) -> bool:
        """Keep those that are new; tell whether any is."""
        known = len(self.found)
        for one in worst:
            if one.index not in self._known[one.stage.key]:
                self._known[one.stage.key].add(one.index)
                self.found.append(SlowTask(at_ms=now_ms, verdict=one.verdict))
        return len(self.found) > known

    def put_off(self, stage: StageTasks, index: Column) -> Column:
        """Known tasks come last, after those that Spark itself has copied."""
        return 2 * np.isin(index, list(self._known[stage.key]))


def as_it_happened(rows: Observations, every_ms: int) -> Iterator[tuple[int, Observations]]:
    """Moments, and what was heard of between each and the one before; rows without a time say nothing."""
    timed = np.flatnonzero(rows.time_ms != NONE)
    order = timed[np.argsort(rows.time_ms[timed], kind="stable")]
    if not len(order):
        return
    times = rows.time_ms[order]
    now_ms, at, step_ms = int(times[0]), 0, every_ms
    while at < len(order):
        until = int(np.searchsorted(times, now_ms, side="right"))
        yield now_ms, _part(rows, order[at:until])
        silent = until == at and now_ms - int(times[at - 1]) >= _SILENCE_MS
        step_ms = min(2 * step_ms, _SILENCE_MS) if silent else every_ms
        at = until
        now_ms += step_ms


def _part(rows: Observations, chosen: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Observations:
    columns = {name: getattr(rows, name)[chosen] for name in COLUMNS}
    texts = {at: rows.texts[row] for at, row in enumerate(chosen.tolist()) if row in rows.texts}
    return replace(rows, **columns, texts=texts)
