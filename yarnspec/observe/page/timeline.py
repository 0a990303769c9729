"""The timeline by host and slot: the attempts as rectangles, or as a heat strip where there are too many of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from yarnspec.core.messages.observations import IntColumn, State
from yarnspec.observe.page.attempts import LOST_WITH_DRIVER, Attempts, BoolColumn
from yarnspec.observe.page.drawing import STRIP_HEIGHT, Scale, busy, percent, strip, times, took
from yarnspec.observe.page.host_rows import HostRow
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.spans import BlockSpan, ContainerSpan, reach
from yarnspec.observe.page.speeds import LATE_FACTOR, Speeds
from yarnspec.units import counted

MOST_RECTANGLES = 4_000
_MOST_SINGLED_OUT = 1_500
_MOST_HOSTS = 80
_CELLS = 24_000
_BINS = 600
_ROW, _BAR = 9, 7
_NARROW_BLOCK = 5.0
_MOST_HEIGHT = 180
_STRIP_PIXELS = 18
_LEVELS = (0.0, 0.25, 0.5, 0.75)
_NOTHING = 0.002
"""A smaller share than this is a rounding error of the sums."""
_NARROWEST = 0.0006
"""A bar that would be narrower than this share of the width gets this width, so that it is seen."""

KINDS = ("ok", "won", "killed", "lost", "failed", "running")
"""In the order in which they are drawn: what matters more lies above."""


@dataclass(slots=True)
class Bar:
    """A rectangle: x and width in percent, y and height in pixels; ``text`` is what it is."""

    x: str
    width: str
    y: float
    height: float
    text: str
    copy: bool = False


@dataclass(slots=True)
class Band:
    """One host."""

    host: str
    factor: float
    slow: bool
    blocked: bool
    was_blocked: bool
    height: float
    label: str
    bars: dict[str, list[Bar]] = field(default_factory=dict)
    strips: list[tuple[str, str]] = field(default_factory=list)
    blocks: list[Bar] = field(default_factory=list)
    narrow: list[Bar] = field(default_factory=list)
    """Blocks of one executor, or for one stage or task: a thin line, for the rest of the host went on."""
    absent: list[Bar] = field(default_factory=list)


@dataclass(slots=True)
class Timeline:
    """The whole drawing; ``moments`` are x, kind and words of the lines through all hosts."""

    bands: list[Band]
    ticks: list[tuple[str, str]]
    moments: list[tuple[str, str, str]]
    bins: int
    strip_height: int
    singled_out: int
    more_hosts: int
    attempts: int
    lost: int
    many: bool


def timeline(scene: Scene, hosts: list[HostRow]) -> Timeline:
    """Draw the attempts of the first of these hosts, in their order."""
    fold, attempts, speeds, names = scene.fold, scene.attempts, scene.speeds, scene.hosts
    blocked = {one.host for one in fold.blocks if one.of_whole_host}
    containers: defaultdict[str, list[ContainerSpan]] = defaultdict(list)
    for one in fold.containers.values():
        if one.role == "executor":
            containers[one.host].append(one)
    known = {
        number
        for number, name in enumerate(names)
        if len(scene.of_host(number)) or name in blocked or name in containers
    }  # fmt: skip
    shown = [one.number for one in hosts if one.number in known][: scene.few(_MOST_HOSTS)]
    many = len(attempts) > scene.few(MOST_RECTANGLES)
    bins = min(_BINS, max(60, _CELLS // max(len(shown), 1)))
    strips = _strips(scene, shown, bins) if many else {}
    chosen = (
        _singled_out(attempts, speeds, scene.few(_MOST_SINGLED_OUT)) if many else np.ones(len(attempts), dtype=np.bool_)
    )
    return Timeline(
        bands=[_band(scene, one, chosen, containers[names[one]], strips.get(one, [])) for one in shown],
        ticks=scene.scale.ticks(),
        moments=[(scene.scale.at(one.time_ms), one.kind, one.text) for one in fold.moments if one.kind != "ready"],
        bins=bins,
        strip_height=STRIP_HEIGHT,
        singled_out=int(np.count_nonzero(chosen)) if many else 0,
        more_hosts=len(known) - len(shown),
        attempts=len(attempts),
        lost=int(np.count_nonzero(attempts.lost)),
        many=many,
    )


def kind_of(state: int, *, copy: bool) -> str:
    """How an attempt is drawn."""
    if state == State.RUNNING:
        return "running"
    if state == State.SUCCESS:
        return "won" if copy else "ok"
    if state == LOST_WITH_DRIVER:
        return "lost"
    return "failed" if state == State.FAILED else "killed"


def _singled_out(attempts: Attempts, speeds: Speeds, most: int) -> BoolColumn:
    """The attempts with a rectangle of their own where there are too many.

    Running ones, copies, failed and lost ones, late ones: of each kind the most late come first. Running ones take half
    of the places, and those that the others leave.
    """
    ratio = np.nan_to_num(speeds.ratio, nan=0.0)
    late = ratio >= LATE_FACTOR * 2
    rank = np.select([attempts.running, attempts.copies, attempts.failed | attempts.lost, late], [1, 4, 3, 2], 0)
    # Where nothing is usual yet, the longest stand for the most late.
    order = np.lexsort((-attempts.took_ms, -ratio))
    rank[order[attempts.running[order]][: most // 2]] = 5
    first = order[np.argsort(-rank[order], kind="stable")][:most]
    chosen = np.zeros(len(attempts), dtype=np.bool_)
    chosen[first[rank[first] > 0]] = True
    return chosen


def _strips(scene: Scene, shown: list[int], bins: int) -> dict[int, list[tuple[str, str]]]:
    """For each host a path for each level of how busy it was, and one for where most of that was late."""
    attempts, scale = scene.attempts, scene.scale
    edges = np.linspace(scale.begin_ms, scale.begin_ms + scale.length_ms, bins + 1)
    mine = {one: scene.of_host(one) for one in shown}
    loads = {one: busy(attempts.launch_ms[rows], attempts.finish_ms[rows], edges) for one, rows in mine.items()}
    peak = max((float(load.max(initial=0.0)) for load in loads.values()), default=1.0) or 1.0
    found = {}
    for one, load in loads.items():
        share = load / peak
        levels = np.digitize(share, _LEVELS[1:]) + 1
        levels[share <= _NOTHING] = 0
        late = mine[one][np.nan_to_num(scene.speeds.ratio[mine[one]]) >= LATE_FACTOR]
        slow = busy(attempts.launch_ms[late], attempts.finish_ms[late], edges)
        paths = [(f"l{level}", strip(levels, level)) for level in range(1, len(_LEVELS) + 1)]
        paths.append(("late", strip(((slow > load / 2) & (levels > 0)).astype(np.int64), 1)))
        found[one] = [(name, path) for name, path in paths if path]
    return found


def _band(
    scene: Scene, number: int, chosen: BoolColumn, containers: list[ContainerSpan], strips: list[tuple[str, str]]
) -> Band:  # fmt: skip
    attempts, scale, host = scene.attempts, scene.scale, scene.hosts[number]
    mine = scene.of_host(number)
    drawn = mine[chosen[mine]]
    drawn = drawn[np.argsort(attempts.launch_ms[drawn], kind="stable")]
    numbers = scene.fold.executors
    cores = {numbers[one.executor_id]: one.cores for one in containers if one.cores and one.executor_id in numbers}
    slots, rows = _slots(attempts.launch_ms[drawn], attempts.finish_ms[drawn], attempts.executor[drawn], cores)
    top = _STRIP_PIXELS + 4 if strips else 2
    step = min(_ROW, (_MOST_HEIGHT - top) / max(rows, 1))
    bars: dict[str, list[Bar]] = {kind: [] for kind in KINDS}
    for at, slot in zip(drawn.tolist(), slots, strict=True):
        copy = bool(attempts.speculative[at] == 1)
        begin, end = int(attempts.launch_ms[at]), int(attempts.finish_ms[at])
        width = max((min(end, scale.end_ms) - max(begin, scale.begin_ms)) / scale.length_ms, _NARROWEST)
        y, height = round(top + slot * step, 1), round(min(_BAR, step * 0.8), 1)
        bar = Bar(scale.at(begin), percent(width), y, height, scene.words(at), copy)
        bars[kind_of(int(attempts.state[at]), copy=copy)].append(bar)
    height = round(top + max(rows, 0 if strips else 1) * step + 2, 1)
    blocks = [one for one in scene.fold.blocks if one.host == host]
    wide = [one for one in blocks if one.of_whole_host]
    factor, slow = float(scene.speeds.factor[number]), scene.speeds.slow(number)
    label = f"{host}: {counted(len(mine), 'attempt')}" + (f", {factor:.1f} times as long as elsewhere" if slow else "")
    return Band(
        host=host,
        factor=factor,
        slow=slow,
        blocked=any(one.ended_ms is None for one in wide) and not scene.ended,
        was_blocked=bool(wide),
        height=height,
        label=label + (f", blocked {times(len(wide))}" if wide else ""),
        bars={kind: found for kind, found in bars.items() if found},
        strips=strips,
        blocks=[_block_bar(one, scale, height) for one in wide],
        narrow=[_block_bar(one, scale, _NARROW_BLOCK) for one in blocks if not one.of_whole_host],
        absent=_absent(containers, scale, height) if containers else [],
    )


def _slots(begin_ms: IntColumn, end_ms: IntColumn, executor: IntColumn, cores: dict[int, int]) -> tuple[list[int], int]:
    """A row for each span; the spans are in the order of their beginnings.

    Spark launches the next task a little before it tells of the end of the last one. So the spans of an executor have
    no more rows than it has cores: a further one begins in the row that is free the soonest.
    """
    free_ms: list[int] = []
    holder: list[int] = []
    slots = []
    for begin, end, who in zip(begin_ms.tolist(), end_ms.tolist(), executor.tolist(), strict=True):
        busy_rows = [row for row, until in enumerate(free_ms) if until > begin]
        mine = [row for row in busy_rows if holder[row] == who]
        if len(mine) >= cores.get(who, len(begin_ms)):
            slot = min(mine, key=free_ms.__getitem__)
        elif len(busy_rows) < len(free_ms):
            slot = next(row for row, until in enumerate(free_ms) if until <= begin)
        else:
            slot = len(free_ms)
            free_ms.append(0)
            holder.append(who)
        free_ms[slot], holder[slot] = max(end, free_ms[slot]), who
        slots.append(slot)
    return slots, len(free_ms)


def _block_bar(block: BlockSpan, scale: Scale, height: float) -> Bar:
    end_ms = block.ended_ms if block.ended_ms is not None else scale.end_ms
    about = f"executor {block.executor_id} " if block.executor_id else ""
    where = reach(block.level, block.stage, block.index)
    words = f"{about}blocked for {where} ({block.cause}), {took(end_ms - block.began_ms)}: {block.reason}"
    width = percent(max((min(end_ms, scale.end_ms) - block.began_ms) / scale.length_ms, _NARROWEST * 4))
    return Bar(scale.at(block.began_ms), width, 0, height, words)


def _absent(containers: list[ContainerSpan], scale: Scale, height: float) -> list[Bar]:
    """The spans in which the host had no container of the application."""
    spans = sorted((one.began_ms, one.ended_ms if one.ended_ms is not None else scale.end_ms) for one in containers)
    found: list[Bar] = []
    free_from = scale.begin_ms
    for begin, end in [*spans, (scale.end_ms, scale.end_ms)]:
        if begin > free_from:
            width = scale.width(free_from, begin)
            found.append(Bar(scale.at(free_from), width, 0, height, "no container here"))
        free_from = max(free_from, end)
    return found
