"""The table of stages: how the times of each one's tasks are spread, and whether its data or a host made it late."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np

from yarnspec.core.messages.figures import StageMetrics
from yarnspec.core.messages.observations import IntColumn
from yarnspec.observe.forms.document import StageStatus
from yarnspec.observe.forms.told import clipped, why_failed
from yarnspec.observe.page.drawing import brief, percent, took
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.spans import StageSpan
from yarnspec.observe.page.speeds import LATE_FACTOR
from yarnspec.observe.page.timeline import kind_of
from yarnspec.observe.status.progress import short_stage

_MOST_STAGES = 200
_MOST_PLOTS = 40
_MOST_DOTS = 500
_DOTS_IN_ALL = 4_000
_SLOWEST = 10
_SHORTEST_MS = 1_000
_SHORT_NAME = 80


@dataclass(slots=True)
class Dot:
    """One attempt in the plot of its stage."""

    x: str
    y: str
    kind: str
    copy: bool
    slow_host: bool
    text: str


@dataclass(slots=True)
class Plot:
    """The attempts of a stage by their launch and how long they took."""

    dots: list[Dot]
    left_out: int
    ticks: list[tuple[str, str]]
    rules: list[tuple[str, str]]
    usual: str
    threshold: str
    threshold_words: str


@dataclass(slots=True)
class StageRow:
    """One stage attempt; ``low`` and ``high``: where its median and its maximum lie.

    ``box``: how far the 95th percentile is from the median."""

    place: int
    label: str
    name: str
    state: str
    epoch: int
    tasks: int
    done: int
    failed: int
    lost: int
    took: str
    median: str
    p95: str
    longest: str
    low: str
    box: str
    high: str
    verdict: str
    tone: str
    failure: str
    known: StageStatus
    slowest: list[tuple[str, str, str, str]] = field(default_factory=list)
    plot: Plot | None = None

    @property
    def metrics(self) -> StageMetrics | None:
        """What was found out about its slow tasks; None where nobody looked for them."""
        return self.known.metrics

    @property
    def metric_pairs(self) -> list[tuple[str, str]]:
        """The metrics under the names of the JSON form."""
        told = msgspec.to_builtins(self.metrics) if self.metrics is not None else {}
        return [(name, _metric(value)) for name, value in told.items()]


@dataclass(frozen=True, slots=True)
class StageLateness:
    """The cause of a late stage: ``kind`` is host, skew, uneven or even; ``ratio``: the longest to the median."""

    kind: str
    words: str
    ratio: float = 1.0


def stage_rows(scene: Scene) -> tuple[list[StageRow], int]:
    """The newest stages, oldest first, and how many more there were; the latest have plots."""
    stages = scene.fold.stages
    known = {(one.stage, one.stage_attempt): one for one in scene.document.stages}
    newest_epoch = stages[-1].epoch if stages else 0
    shown = range(max(0, len(stages) - scene.few(_MOST_STAGES)), len(stages))
    longest = max([1.0, *(_span(scene, mine) for one in shown if len(mine := scene.of_stage(one)))])
    rows: list[StageRow] = []
    dots = scene.few(_DOTS_IN_ALL)
    for place in reversed(shown):
        stage, mine = stages[place], scene.of_stage(place)
        told = known.get((stage.stage, stage.stage_attempt)) if stage.epoch == newest_epoch else None
        status = told if told is not None else _counted(scene, place)
        row = _row(scene, place, status, longest)
        if len(mine) and dots > 0 and len(rows) < scene.few(_MOST_PLOTS):
            row.slowest = _slowest(scene, mine)
            row.plot = _plot(scene, stage, mine, status, min(_MOST_DOTS, dots))
            dots -= len(row.plot.dots)
        rows.append(row)
    return rows[::-1], len(stages) - len(shown)


def lateness_of(scene: Scene, place: int) -> StageLateness:
    """Whether a stage was late, and whose fault that was: a host's, the data's, or nobody's."""
    attempts, speeds = scene.attempts, scene.speeds
    mine = scene.of_stage(place)
    told = mine[speeds.tells[mine]]
    if len(told) < 3 or speeds.usual_ms[place] <= 0:  # noqa: PLR2004
        return StageLateness("even", "")
    times, ratios = attempts.took_ms[told], speeds.ratio[told]
    late = told[(ratios >= LATE_FACTOR) & (times - times / np.maximum(ratios, 1.0) >= _SHORTEST_MS)]
    if not len(late):
        return StageLateness("even", "even")
    worst = int(late[np.argmax(speeds.ratio[late])])
    ratio = float(speeds.ratio[worst])
    hosts, counts = np.unique(attempts.host[late], return_counts=True)
    all_here = np.bincount(attempts.host[told], minlength=int(attempts.host[told].max()) + 1)
    judged = scene.judged.get(place, set[str]())
    guilty = [
        int(host) for host, count in zip(hosts.tolist(), counts.tolist(), strict=True)
        if scene.hosts[host] in judged or (count * 2 > all_here[host] and (count > 1 or speeds.slow(host)))
    ]  # fmt: skip
    by_host = sum(int(np.count_nonzero(attempts.host[late] == host)) for host in guilty)
    if guilty and by_host * 2 > len(late):
        names = ", ".join(scene.hosts[host] for host in guilty[:3])
        return StageLateness("host", f"slow host: {by_host} of {len(late)} late tasks ran on {names}", ratio)
    task, inputs = int(attempts.index[worst]), attempts.input_bytes[told]
    took_long = f"took {ratio:.1f} times as long as usual in its stage"
    usual_input = float(np.median(inputs[inputs > 0])) if (inputs > 0).any() else 0.0
    of_worst = float(attempts.input_bytes[worst])
    if usual_input and of_worst >= LATE_FACTOR * usual_input:
        words = f"skew: task {task} read {of_worst / usual_input:.1f} times the median and {took_long}"
        return StageLateness("skew", words, ratio)
    host = int(attempts.host[worst])
    if host in guilty or _was_slow(scene, host, mine):
        words = f"slow host: task {task} on {scene.hosts[host]} {took_long}"
        others = len(late) - int(np.count_nonzero(attempts.host[late] == host))
        words += f"; {others} of {len(late)} late tasks ran on other hosts" if others else ""
        return StageLateness("host", words, ratio)
    unknown = "" if usual_input else "; its input is not in the records"
    return StageLateness("uneven", f"uneven: task {task} {took_long}, and no host is to blame{unknown}", ratio)


def _was_slow(scene: Scene, host: int, mine: IntColumn) -> bool:
    """Whether a host was slow in the whole run, or blocked as slow while these attempts ran."""
    begin_ms, end_ms = int(scene.attempts.launch_ms[mine].min()), int(scene.attempts.finish_ms[mine].max())
    return scene.speeds.slow(host) or any(
        one.host == scene.hosts[host] and one.cause == "slow"
        and one.began_ms <= end_ms and (one.ended_ms is None or one.ended_ms >= begin_ms)
        for one in scene.fold.blocks
    )  # fmt: skip


def _span(scene: Scene, mine: IntColumn) -> float:
    return float(scene.attempts.took_ms[mine].max())


def _counted(scene: Scene, place: int) -> StageStatus:
    """The status of a stage of which the document does not tell: of an earlier driver epoch, or an old one."""
    attempts, stage, mine = scene.attempts, scene.fold.stages[place], scene.of_stage(place)
    status = StageStatus(
        stage=stage.stage, stage_attempt=stage.stage_attempt, name=stage.name, tasks=stage.tasks, state=stage.state,
        finished=len(np.unique(attempts.index[mine[attempts.succeeded[mine]]])),
        failed=int(np.count_nonzero(attempts.failed[mine])),
    )  # fmt: skip
    counts = scene.fold.copy_counts.get(stage.epoch)
    return status if counts is None else counts.with_metrics(status)


def _row(scene: Scene, place: int, status: StageStatus, longest: float) -> StageRow:
    attempts, stage, mine = scene.attempts, scene.fold.stages[place], scene.of_stage(place)
    good = mine[attempts.succeeded[mine]]
    times = attempts.took_ms[good]
    median, p95, most = np.percentile(times, (50, 95, 100)).tolist() if len(times) else (None, None, None)
    lateness = lateness_of(scene, place)
    end_ms = stage.ended_ms if stage.ended_ms is not None else scene.scale.end_ms
    began_ms = min(stage.began_ms, int(attempts.launch_ms[mine].min())) if len(mine) else stage.began_ms
    state = "FAILED" if scene.ended and status.state == "RUNNING" else status.state
    return StageRow(
        place=place, label=stage.label, name=clipped(short_stage(stage.name), _SHORT_NAME), state=state,
        epoch=stage.epoch,
        tasks=status.tasks, done=status.finished, failed=status.failed,
        lost=int(np.count_nonzero(attempts.lost[mine])),
        took=took(max(0, end_ms - began_ms)), median=took(median), p95=took(p95), longest=took(most),
        low=percent((median or 0) / longest), box=percent(((p95 or 0) - (median or 0)) / longest),
        high=percent((most or 0) / longest),
        verdict=lateness.words, tone={"host": "bad", "skew": "warn", "uneven": "warn", "even": "calm"}[lateness.kind],
        failure=why_failed(stage.failure), known=status,
    )  # fmt: skip


def _slowest(scene: Scene, mine: IntColumn) -> list[tuple[str, str, str, str]]:
    """Task, host, how long, and why; the longest attempts first."""
    worst = mine[np.argsort(-scene.attempts.took_ms[mine], kind="stable")][:_SLOWEST]
    found = []
    for row in worst.tolist():
        stage, index = int(scene.attempts.stage[row]), int(scene.attempts.index[row])
        told = scene.fold.verdicts.get((stage, index))
        why = told[1].reason if told is not None and told[1].task_id == scene.attempts.task_id[row] else ""
        kind = "copy, " if scene.attempts.speculative[row] == 1 else ""
        found.append(
            (f"{scene.fold.stages[stage].stage}.{index}", scene.host_at(row),
             f"{took(int(scene.attempts.took_ms[row]))} ({kind}{scene.how(row)})", why or scene.failure(row))
        )  # fmt: skip
    return found


def _plot(scene: Scene, stage: StageSpan, mine: IntColumn, status: StageStatus, most: int) -> Plot:
    attempts = scene.attempts
    weight = np.nan_to_num(scene.speeds.ratio[mine]) + 1e3 * attempts.copies[mine] + 1e2 * attempts.failed[mine]
    shown = mine
    if len(mine) > most:
        # All that stands out, and of the others each n-th: what is usual has the same shape then.
        out = mine[np.argsort(-weight, kind="stable")][: most // 2]
        rest = np.setdiff1d(mine, out)
        shown = np.concatenate((out, rest[:: max(1, len(rest) // (most - len(out)))]))[:most]
    begin, end = int(attempts.launch_ms[mine].min()), int(attempts.launch_ms[mine].max())
    length = max(end - begin, 1)
    threshold_ms = status.metrics.speculative_threshold_ms if status.metrics else None
    top = max(float(attempts.took_ms[mine].max()), threshold_ms or 0.0, 1.0) * 1.06
    dots = [
        Dot(
            x=percent(0.08 + 0.9 * (int(attempts.launch_ms[row]) - begin) / length),
            y=percent(1 - int(attempts.took_ms[row]) / top),
            kind=kind_of(int(attempts.state[row]), copy=bool(attempts.speculative[row] == 1)),
            copy=bool(attempts.speculative[row] == 1),
            slow_host=attempts.host[row] >= 0 and scene.speeds.slow(int(attempts.host[row])),
            text=f"{scene.host_at(row)}: {scene.words(row)}",
        )
        for row in shown.tolist()
    ]  # fmt: skip
    usual = float(scene.speeds.usual_ms[int(attempts.stage[mine[0]])])
    passed = begin - min(stage.began_ms, begin)
    return Plot(
        dots=dots,
        left_out=len(mine) - len(shown),
        ticks=[("1%", f"+{brief(passed)}"), ("99%", f"+{brief(passed + length)}")],
        rules=[(percent(1 - share), took(top * share)) for share in (0.0, 0.5, 0.94)],
        usual=percent(1 - usual / top) if usual else "",
        threshold=percent(1 - threshold_ms / top) if threshold_ms else "",
        threshold_words=took(threshold_ms) if threshold_ms else "",
    )


def _metric(value: object) -> str:
    if not isinstance(value, dict):
        return "-" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value)
    longest = sorted(value.items(), key=lambda one: -one[1])
    words = ", ".join(f"{index}: {took(running_ms)}" for index, running_ms in longest[:_SLOWEST])
    return words + (f" and {len(longest) - _SLOWEST} more" if len(longest) > _SLOWEST else "") or "none"
