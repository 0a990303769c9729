"""The table of hosts, the worst first, with the history of each one's speed factor."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from yarnspec.observe.forms.document import BlockStatus
from yarnspec.observe.forms.moments import until
from yarnspec.observe.page.drawing import steps
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.speeds import history_of
from yarnspec.observe.page.timeline import WIDE

_MOST_HOSTS = 200
_SPARK_WIDTH, _SPARK_HEIGHT = 1000.0, 24.0


@dataclass(slots=True)
class HostRow:
    """One host. ``tone``: how bad its state is. ``copies_away``: of its tasks so many had a copy on another host."""

    host: str
    state: str
    tone: str
    factor: float | None
    history: str
    history_words: str
    executors: int
    running: int
    done: int
    failed: int
    killed: int
    lost: int
    copies_away: int
    kept_outputs: int
    kept_bytes: int
    why: str
    block: BlockStatus | None


def host_rows(scene: Scene) -> tuple[list[HostRow], int]:
    """The rows, and how many more hosts there are."""
    document, attempts = scene.document, scene.attempts
    wide = {one.host: one for one in document.blocks if one.executor_id is None and one.level in WIDE}
    narrow = {one.host: one for one in document.blocks}
    live = Counter(one.host for one in document.containers if one.role == "executor" and one.state == "RUNNING")
    kept = {one.host: one for one in document.recovery.kept} if document.recovery is not None else {}
    away = _copied_away(scene)
    rows = []
    for number, host in enumerate(scene.hosts):
        mine = scene.of_host(number)
        block = wide.get(host) or narrow.get(host)
        history = history_of(attempts, scene.speeds, mine, scene.scale.begin_ms, scene.scale.end_ms)
        slow, factor = scene.speeds.slow(number), float(scene.speeds.factor[number])
        state, tone = _state(scene, block, host, factor if slow else None)
        outputs = kept.get(host)
        rows.append(
            HostRow(
                host=host, state=state, tone=tone,
                factor=factor if scene.speeds.compared[number] else None,
                history=_sparkline(history), history_words=_range(history),
                executors=live[host],
                running=int(np.count_nonzero(attempts.running[mine])),
                done=int(np.count_nonzero(attempts.succeeded[mine])),
                failed=int(np.count_nonzero(attempts.failed[mine])),
                killed=int(np.count_nonzero(attempts.killed[mine])),
                lost=int(np.count_nonzero(attempts.lost[mine])),
                copies_away=away[number],
                kept_outputs=outputs.outputs if outputs else 0, kept_bytes=outputs.bytes if outputs else 0,
                why=_why(scene, block, host), block=block if block is not None and block.level in WIDE else None,
            )
        )  # fmt: skip
    ranks = {"bad": 0, "warn": 1, "calm": 2}
    rows.sort(key=lambda one: (ranks[one.tone], -(one.factor or 0.0), -one.failed, one.host))
    most = scene.few(_MOST_HOSTS)
    return rows[:most], max(0, len(rows) - most)


def _state(scene: Scene, block: BlockStatus | None, host: str, slow: float | None) -> tuple[str, str]:
    if block is not None and block.level in WIDE:
        end = "" if scene.ended else f", {until(block.until_ms, scene.now_ms)}"
        return f"blocked for the {block.level} ({block.cause}){end}", "bad"
    if block is not None:
        whom = f"executor {block.executor_id}" if block.executor_id else "blocked"
        return f"{whom} for {block.level} {_about(block)} ({block.cause})", "warn"
    before = [one for one in scene.fold.blocks if one.host == host and not one.executor_id]
    if slow is not None:
        return f"slow, {slow:.1f} times" + (f"; was blocked {_times(len(before))}" if before else ""), "bad"
    if before:
        return f"was blocked {_times(len(before))}", "warn"
    return "ok", "calm"


def _about(block: BlockStatus) -> str:
    if block.index is not None:
        return f"{block.stage}.{block.index}"
    return f"{block.stage}" if block.stage is not None else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _why(scene: Scene, block: BlockStatus | None, host: str) -> str:
    if block is not None:
        return f"{block.reason} (by {block.by})" if block.by else block.reason
    told = [one.reason for one in scene.fold.blocks if one.host == host]
    if told:
        return told[-1]
    if host in scene.fold.spared:
        return scene.fold.spared[host]
    _, reason = scene.fold.would_be_slow.get(host, (0, ""))
    return f"would have been found slow: {reason}" if reason else ""


def _copied_away(scene: Scene) -> Counter[int]:
    """Of each host the originals beside which a copy ran on another one."""
    attempts = scene.attempts
    found: Counter[int] = Counter()
    if not attempts.copies.any():
        return found
    keys = attempts.task_keys
    copied = dict(zip(keys[attempts.copies].tolist(), attempts.host[attempts.copies].tolist(), strict=True))
    originals = np.flatnonzero(~attempts.copies & np.isin(keys, list(copied)))
    for row in originals.tolist():
        host = int(attempts.host[row])
        if host >= 0 and copied[int(keys[row])] != host:
            found[host] += 1
    return found


def _sparkline(history: list[tuple[float, float]]) -> str:
    top = max((value for _, value in history), default=1.0)
    if top <= 0 or len(history) < 2:  # noqa: PLR2004 - a line needs two
        return ""
    points = [(place * _SPARK_WIDTH, value) for place, value in history]
    return steps(points, _SPARK_WIDTH, _SPARK_HEIGHT, max(top, 2.0))


def _range(history: list[tuple[float, float]]) -> str:
    if not history:
        return ""
    values = [value for _, value in history]
    return f"from {min(values):.1f} to {max(values):.1f} times as long as usual"
