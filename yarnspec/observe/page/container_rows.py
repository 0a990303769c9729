"""Executors over time (wanted, running, pending), their deaths, and the containers that each host holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from yarnspec.observe.forms.moments import day_clock
from yarnspec.observe.forms.told import clipped
from yarnspec.observe.page.drawing import Scale, steps, took
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.spans import ContainerSpan
from yarnspec.observe.status.progress import short_reason

_WIDTH, HEIGHT = 1000.0, 100.0
_MOST_CONTAINERS = 300
_MOST_DEATHS = 100


@dataclass(slots=True)
class Death:
    """An executor's or an application master's container that ended, in words."""

    x: str
    at: str
    who: str
    host: str
    ran: str
    exit_code: int | None
    why: str


@dataclass(slots=True)
class OverTime:
    """Three step lines in a box of 1000 by 100, up to ``top``, and the deaths on the same axis."""

    wanted: str
    running: str
    pending: str
    area: str
    top: int
    ticks: list[tuple[str, str]]
    deaths: list[Death]
    more_deaths: int
    waits: list[tuple[str, str]]


@dataclass(slots=True)
class OnHost:
    """Containers on one host."""

    host: str
    am: int
    running: int
    allocated: int
    ended: int


def over_time(scene: Scene) -> OverTime | None:
    """The drawing; None where the records know no containers (Spark's own log)."""
    spans = [one for one in scene.fold.containers.values() if one.role == "executor"]
    if not spans and not scene.fold.wanted:
        return None
    scale = scene.scale
    running = _sums([(one.started_ms, one.ended_ms) for one in spans if one.started_ms is not None])
    asked = [(time_ms, float(count)) for time_ms, count in scene.fold.wanted]
    pending = _difference(asked, running)
    top = int(max((value for _, value in (*running, *asked)), default=1.0)) or 1
    deaths = _deaths(scene)
    line = _line(running, scale, top)
    return OverTime(
        wanted=_line(asked, scale, top),
        running=line,
        area=f"{line}V{HEIGHT:g}H{line[1:].partition(' ')[0]}z" if line else "",
        pending=_line(pending, scale, top),
        top=top,
        ticks=scale.ticks(),
        deaths=deaths[-_MOST_DEATHS:],
        more_deaths=max(0, len(deaths) - _MOST_DEATHS),
        waits=[(day_clock(time_ms), short_reason(reason)) for time_ms, reason in scene.fold.pending if reason][-10:],
    )


def containers_by_host(scene: Scene) -> list[OnHost]:
    """How many containers of which kind are, or were, on each host."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in scene.document.containers:
        if one.state == "COMPLETE":
            counts[one.host]["ended"] += 1
        else:
            counts[one.host]["am" if one.role == "am" else one.state] += 1
    return [
        OnHost(host, found["am"], found["RUNNING"], found["ALLOCATED"], found["ended"])
        for host, found in sorted(counts.items())
    ]


def shown_containers(scene: Scene) -> tuple[list[ContainerSpan], int]:
    """Containers for the table: those that live, then the newest ended, and how many more there were."""
    known = list(scene.fold.containers.values())
    known.sort(key=lambda one: (one.ended_ms is not None, -(one.ended_ms or 0), one.id))
    return known[:_MOST_CONTAINERS], max(0, len(known) - _MOST_CONTAINERS)


def _deaths(scene: Scene) -> list[Death]:
    found = []
    for one in sorted(scene.fold.containers.values(), key=lambda one: one.ended_ms or 0):
        if one.ended_ms is None or (one.exit_code in (0, None) and one.role == "executor" and not one.diagnostics):
            continue
        if one.exit_code == 0 or (one.role == "am" and scene.ended and one.ended_ms >= scene.scale.end_ms):
            continue
        found.append(
            Death(
                x=scene.scale.at(one.ended_ms),
                at=day_clock(one.ended_ms),
                who="application master" if one.role == "am" else f"executor {one.executor_id}",
                host=one.host,
                ran=took(one.ended_ms - one.began_ms),
                exit_code=one.exit_code,
                why=clipped(" ".join(one.diagnostics.split()), 300),
            )
        )
    return found


def _sums(spans: list[tuple[int | None, int | None]]) -> list[tuple[int, float]]:
    """How many of the spans hold, after each moment at which that changes."""
    changes: Counter[int] = Counter()
    for begin, end in spans:
        if begin is not None:
            changes[begin] += 1
            if end is not None:
                changes[end] -= 1
    value, found = 0.0, []
    for time_ms in sorted(changes):
        value += changes[time_ms]
        found.append((time_ms, value))
    return found


def _difference(more: list[tuple[int, float]], less: list[tuple[int, float]]) -> list[tuple[int, float]]:
    moments = sorted({time_ms for time_ms, _ in (*more, *less)})
    found, at_more, at_less = [], 0, 0
    for time_ms in moments:
        while at_more < len(more) and more[at_more][0] <= time_ms:
            at_more += 1
        while at_less < len(less) and less[at_less][0] <= time_ms:
            at_less += 1
        high = more[at_more - 1][1] if at_more else 0.0
        low = less[at_less - 1][1] if at_less else 0.0
        found.append((time_ms, max(0.0, high - low)))
    return found


def _line(values: list[tuple[int, float]], scale: Scale, top: int) -> str:
    points = [((time_ms - scale.begin_ms) / scale.length_ms * _WIDTH, value) for time_ms, value in values]
    return steps(points, _WIDTH, HEIGHT, top * 1.1)
