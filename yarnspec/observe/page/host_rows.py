"""The table of hosts, the worst first, with the history of each one's slowness."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from yarnspec.observe.forms.document import BlockStatus
from yarnspec.observe.forms.moments import until
from yarnspec.observe.page.drawing import steps, times
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.spans import WIDE, BlockSpan, reach
from yarnspec.observe.page.speeds import history_of

_MOST_HOSTS = 200
_SPARK_WIDTH, _SPARK_HEIGHT = 1000.0, 24.0


@dataclass(slots=True)
class HostRow:
    """One host. ``tone``: how bad its state is. ``copies_away``: of its tasks so many had a copy on another host.

    ``why`` begins with ``reason``, if a block gives one.
    """

    number: int
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
    reason: str
    block: BlockStatus | None


def host_rows(scene: Scene) -> tuple[list[HostRow], int]:
    """The rows in the order that the timeline has too, and how many more hosts there are."""
    document, attempts = scene.document, scene.attempts
    wide = {one.host: one for one in document.blocks if one.executor_id is None and one.level in WIDE}
    narrow: dict[str, list[BlockStatus]] = {}
    for one in document.blocks:
        if one.executor_id is not None or one.level not in WIDE:
            narrow.setdefault(one.host, []).append(one)
    live = Counter(one.host for one in document.containers if one.role == "executor" and one.state == "RUNNING")
    kept = {one.host: one for one in document.recovery.kept} if document.recovery is not None else {}
    away = _copied_away(scene)
    rows = []
    for number, host in enumerate(scene.hosts):
        mine = scene.of_host(number)
        block, parts = wide.get(host), narrow.get(host, [])
        history = history_of(attempts, scene.speeds, mine, scene.scale.begin_ms, scene.scale.end_ms)
        slow, factor = scene.speeds.slow(number), float(scene.speeds.factor[number])
        state, tone = _state(scene, block, parts, host, factor if slow else None)
        why, reason = _why(scene, block, parts, host)
        outputs = kept.get(host)
        rows.append(
            HostRow(
                number=number, host=host, state=state, tone=tone,
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
                why=why, reason=reason, block=block,
            )
        )  # fmt: skip
    ranks = {"bad": 0, "warn": 1, "calm": 2}
    # By the slowness as it is shown: smaller differences would move the hosts at each refresh.
    rows.sort(key=lambda one: (ranks[one.tone], -round(one.factor or 0.0, 1), -one.failed, one.host))
    most = scene.few(_MOST_HOSTS)
    return rows[:most], max(0, len(rows) - most)


def _state(
    scene: Scene, block: BlockStatus | None, parts: list[BlockStatus], host: str, slow: float | None
) -> tuple[str, str]:  # fmt: skip
    if block is not None:
        end = "" if scene.ended else f", {until(block.until_ms, scene.now_ms)}"
        return f"blocked for the {block.level} ({block.cause}){end}", "bad"
    before = _blocked_before([one for one in scene.fold.blocks if one.host == host and one.ended_ms is not None])
    words = "; ".join([*([f"slow, {slow:.1f} times"] if slow is not None else []), *_blocked_in_part(parts), *before])
    if slow is not None:
        return words, "bad"
    return (words, "warn") if words else ("ok", "calm")


def _blocked_in_part(parts: list[BlockStatus]) -> list[str]:
    """The host takes work, but one of its executors does not, or not from one stage or task."""
    if not parts:
        return []
    first = parts[0]
    whom = f"executor {first.executor_id} blocked" if first.executor_id else "blocked"
    others = len(parts) - 1
    more = f", and {others} more such block{'s' if others > 1 else ''}" if others else ""
    return [f"{whom} for {reach(first.level, first.stage, first.index)} ({first.cause}){more}"]


def _blocked_before(blocks: list[BlockSpan]) -> list[str]:
    whole = sum(one.of_whole_host for one in blocks)
    executors = sum(bool(one.executor_id) for one in blocks)
    narrow = len(blocks) - whole - executors
    return [
        *([f"was blocked {times(whole)}"] if whole else []),
        *([f"was blocked for single stages or tasks {times(narrow)}"] if narrow else []),
        *([f"executors of it were blocked {times(executors)}"] if executors else []),
    ]


def _why(scene: Scene, block: BlockStatus | None, parts: list[BlockStatus], host: str) -> tuple[str, str]:
    """Why a host is in its state, and the reason in that of a block that holds. First comes what is about all of it."""
    before = [one for one in scene.fold.blocks if one.host == host]
    whole = [one.reason for one in before if one.of_whole_host]
    if block is None and whole:
        return whole[-1], ""
    if block is None and host in scene.fold.spared:
        return f"left in use: {scene.fold.spared[host]}", ""
    holds = block or next(iter(parts), None)
    if holds is not None:
        return f"{holds.reason} (by {holds.by})" if holds.by else holds.reason, holds.reason
    if before:
        return before[-1].reason, ""
    _, reason = scene.fold.would_be_slow.get(host, (0, ""))
    return f"would have been found slow: {reason}" if reason else "", ""


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
    return steps(points, _SPARK_WIDTH, _SPARK_HEIGHT, max(top * 1.1, 2.0))


def _range(history: list[tuple[float, float]]) -> str:
    if not history:
        return ""
    values = [value for _, value in history]
    return f"from {min(values):.1f} to {max(values):.1f} times as long as usual"
