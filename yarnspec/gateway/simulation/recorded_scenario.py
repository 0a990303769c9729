"""A scenario out of a job that ran: its stages with the time that each task took, and the hosts that were slow."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import yaml

from yarnspec.core.messages.events import Event, JobStarted, Observed
from yarnspec.core.messages.observations import NONE, Observations, RowKind, State
from yarnspec.errors import UsageError
from yarnspec.observe.forms.moments import span

_SLOW = 1.5
_ENOUGH = 3

_Span = tuple[int, int]


@dataclass
class _RecordedStage:
    number: int
    began_ms: int
    ended_ms: int = 0
    parents: tuple[int, ...] = ()
    tasks: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By partition: how many milliseconds it took, and on which host."""


@dataclass
class _RecordedJob:
    """Its stages ran: those that Spark skipped are not in it."""

    stages: list[_RecordedStage]

    @property
    def began_ms(self) -> int:
        return min(stage.began_ms for stage in self.stages)

    @property
    def ended_ms(self) -> int:
        return max(stage.ended_ms for stage in self.stages)

    @property
    def last(self) -> list[_RecordedStage]:
        """The stages that no other one of the job reads."""
        read = {parent for stage in self.stages for parent in stage.parents}
        return [stage for stage in self.stages if stage.number not in read]


def scenario_text(events: Sequence[Event], name: str) -> str:
    """The scenario as a file; raise UsageError for a job without a task that succeeded."""
    stages: dict[int, _RecordedStage] = {}
    busy: defaultdict[tuple[str, str], list[_Span]] = defaultdict(list)
    for event in events:
        if isinstance(event, Observed):
            _read(event.rows, stages, busy)
    ran = {number: stage for number, stage in stages.items() if stage.tasks}
    if not ran:
        raise UsageError(f"{name} tells of no task that succeeded: there is no scenario in it")
    slow = _slow_hosts(list(ran.values()))
    lives = {one: (min(begin for begin, _ in spans), max(end for _, end in spans)) for one, spans in busy.items()}
    on_host: defaultdict[str, list[_Span]] = defaultdict(list)
    for (host, _), life in lives.items():
        on_host[host].append(life)
    slots = max(_at_once(spans) for spans in busy.values())
    document = {
        "name": f"{name}, as it ran",
        "hosts": [
            {"name": host, "executors": _at_once(there)} | ({"slow": round(slow[host], 2)} if host in slow else {})
            for host, there in sorted(on_host.items())
        ],
        "executors": {"count": _at_once(lives.values()), "cores": slots},
        "jobs": [{"stages": _told(jobs, slow)} for jobs in _side_by_side(_jobs(events, ran))],
    }
    took_ms = max(stage.ended_ms for stage in ran.values()) - min(stage.began_ms for stage in ran.values())
    head = (
        "# Made by yarnspec replay --to-scenario. A task takes what it took then, without what its host was slow by.\n"
        f"# The job took {span(took_ms)} then, from its first stage to the end of its last task.\n"
    )
    return head + yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120)


def _read(
    rows: Observations, stages: dict[int, _RecordedStage], busy: defaultdict[tuple[str, str], list[_Span]]
) -> None:
    for row in range(len(rows)):
        kind, number = int(rows.kind[row]), int(rows.stage[row])
        stage = stages.setdefault(number, _RecordedStage(number, int(rows.time_ms[row])))
        if kind == RowKind.TASK_ENDED and int(rows.state[row]) == State.SUCCESS:
            launch_ms, finish_ms = int(rows.launch_ms[row]), int(rows.finish_ms[row])
            took_ms, run_ms = max(1, finish_ms - launch_ms), int(rows.run_ms[row])
            host = rows.hosts[int(rows.host[row])]
            # The driver notes the finish only after it has launched the next task in the same slot.
            occupied_ms = min(took_ms, run_ms) if run_ms > 0 else took_ms
            busy[host, rows.executors[int(rows.executor[row])]].append((launch_ms, launch_ms + occupied_ms))
            partition = int(rows.partition[row])
            if partition == NONE:
                partition = int(rows.index[row])
            if partition not in stage.tasks:
                stage.tasks[partition] = took_ms, host
                stage.ended_ms = max(stage.ended_ms, finish_ms)


def _at_once(spans: Iterable[_Span]) -> int:
    """How many of them there were at once at most."""
    changes = sorted(change for begin_ms, end_ms in spans for change in ((begin_ms, 1), (end_ms, -1)))
    return max(accumulate(step for _, step in changes))


def _jobs(events: Sequence[Event], ran: dict[int, _RecordedStage]) -> list[_RecordedJob]:
    """The jobs with stages that ran, in the order in which they began; each stage is in one of them."""
    jobs: list[_RecordedJob] = []
    left = dict(ran)
    for event in events:
        if isinstance(event, JobStarted):
            parents = dict(event.parents)
            stages = [left.pop(number) for number in event.stages if number in left]
            for stage in stages:
                stage.parents = tuple(parent for parent in parents.get(stage.number, ()) if parent in ran)
            if stages:
                jobs.append(_RecordedJob(stages))
    jobs.extend(_RecordedJob([stage]) for stage in left.values())
    return sorted(jobs, key=lambda job: job.began_ms)


def _side_by_side(jobs: list[_RecordedJob]) -> list[list[_RecordedJob]]:
    """The jobs one after the other, those together that ran at the same time."""
    groups: list[list[_RecordedJob]] = []
    for job in jobs:
        if groups and job.began_ms < max(one.ended_ms for one in groups[-1]):
            groups[-1].append(job)
        else:
            groups.append([job])
    return groups


def _slow_hosts(stages: list[_RecordedStage]) -> dict[str, float]:
    """The hosts whose tasks took longer than those of their stages, and how many times."""
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    for stage in stages:
        median = statistics.median(took_ms for took_ms, _ in stage.tasks.values())
        for took_ms, host in stage.tasks.values():
            ratios[host].append(took_ms / median)
    factors = {host: statistics.median(found) for host, found in ratios.items() if len(found) >= _ENOUGH}
    return {host: factor for host, factor in factors.items() if factor >= _SLOW}


def _told(jobs: list[_RecordedJob], slow: dict[str, float]) -> list[dict[str, object]]:
    """The stages of jobs that ran side by side, as one job."""
    stages = sorted((stage for job in jobs for stage in job.stages), key=lambda one: (one.began_ms, one.number))
    places = {stage.number: place for place, stage in enumerate(stages)}
    told = []
    for place, stage in enumerate(stages):
        parents = [one for one in stage.parents if places.get(one, place) < place] or _before(stage, jobs)
        works = [round(took_ms / slow.get(host, 1.0)) for _, (took_ms, host) in sorted(stage.tasks.items())]
        told.append({"works": [f"{max(1, one)} ms" for one in works], "parents": [places[one] for one in parents]})
    return told


def _before(stage: _RecordedStage, jobs: list[_RecordedJob]) -> list[int]:
    """The stages after which a stage began that reads none of its job: the last ones of jobs that had ended."""
    ended = [job for job in jobs if job.ended_ms <= stage.began_ms]
    newest_ms = max((job.began_ms for job in ended), default=0)
    return [one.number for job in ended if job.ended_ms >= newest_ms for one in job.last]
