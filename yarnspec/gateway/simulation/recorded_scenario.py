"""A scenario out of a job that ran: its stages with the time that each task took, and the hosts that were slow."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field

import yaml

from yarnspec.core.messages.observations import Observations, RowKind, State
from yarnspec.errors import UsageError

_SLOW = 1.5
_ENOUGH = 3
_SECONDS = 10


@dataclass
class _RecordedStage:
    began_ms: int
    ended_ms: int = 0
    tasks: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By partition: how many milliseconds it took, and on which host."""


def scenario_text(rows: Observations, name: str) -> str:
    """The scenario as a file; raise UsageError for a job without a task that succeeded."""
    stages: dict[int, _RecordedStage] = {}
    executors: dict[str, str] = {}
    _read(rows, stages, executors)
    ran = [stage for stage in sorted(stages.values(), key=lambda one: one.began_ms) if stage.tasks]
    if not ran:
        raise UsageError(f"{name} tells of no task that succeeded: there is no scenario in it")
    slow = _slow_hosts(ran)
    on_host: defaultdict[str, int] = defaultdict(int)
    for host in executors.values():
        on_host[host] += 1
    document = {
        "name": f"{name}, as it ran",
        "hosts": [
            {"name": host, "executors": count} | ({"slow": round(slow[host], 2)} if host in slow else {})
            for host, count in sorted(on_host.items())
        ],
        "executors": {"count": len(executors), "cores": _slots(ran, len(executors))},
        "jobs": [{"stages": [_told(stage, ran[:number], slow) for number, stage in enumerate(ran)]}],
    }
    head = (
        "# Made by yarnspec replay --to-scenario. A task takes what it took then, without what its host was slow by.\n"
        "# A stage reads the one that ended last before it began; the log does not say which it read.\n"
    )
    return head + yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120)


def _read(rows: Observations, stages: dict[int, _RecordedStage], executors: dict[str, str]) -> None:
    for row in range(len(rows)):
        kind, stage = int(rows.kind[row]), int(rows.stage[row])
        time_ms = int(rows.time_ms[row])
        if kind == RowKind.STAGE_STARTED:
            stages.setdefault(stage, _RecordedStage(time_ms))
        elif kind == RowKind.TASK_STARTED:
            executors[rows.executors[int(rows.executor[row])]] = rows.hosts[int(rows.host[row])]
        elif kind == RowKind.TASK_ENDED and int(rows.state[row]) == State.SUCCESS:
            found = stages.setdefault(stage, _RecordedStage(time_ms))
            took_ms = max(1, int(rows.finish_ms[row]) - int(rows.launch_ms[row]))
            found.tasks.setdefault(int(rows.index[row]), (took_ms, rows.hosts[int(rows.host[row])]))
            found.ended_ms = max(found.ended_ms, int(rows.finish_ms[row]))


def _slow_hosts(stages: list[_RecordedStage]) -> dict[str, float]:
    """The hosts whose tasks took longer than those of their stages, and how many times."""
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    for stage in stages:
        median = statistics.median(took_ms for took_ms, _ in stage.tasks.values())
        for took_ms, host in stage.tasks.values():
            ratios[host].append(took_ms / median)
    factors = {host: statistics.median(found) for host, found in ratios.items() if len(found) >= _ENOUGH}
    return {host: factor for host, factor in factors.items() if factor >= _SLOW}


def _slots(stages: list[_RecordedStage], executors: int) -> int:
    """How many tasks an executor took at once, from how much work there was in how much time."""
    busy = [
        sum(took_ms for took_ms, _ in stage.tasks.values()) / max(1, stage.ended_ms - stage.began_ms)
        for stage in stages
    ]
    return max(1, round(max(busy) / max(1, executors)))


def _told(stage: _RecordedStage, before: list[_RecordedStage], slow: dict[str, float]) -> dict[str, object]:
    works = [round(took_ms / slow.get(host, 1.0)) for _, (took_ms, host) in sorted(stage.tasks.items())]
    ended = [number for number, one in enumerate(before) if one.ended_ms <= stage.began_ms + _SECONDS]
    parents = [max(ended, key=lambda number: before[number].ended_ms)] if ended else []
    return {"works": [f"{max(1, one)} ms" for one in works], "parents": parents}
