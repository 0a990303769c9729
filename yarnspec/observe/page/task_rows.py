"""Tasks with more than one attempt, the attempts of each side by side, and the copies among them with the ledger."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from yarnspec.core.messages.observations import State
from yarnspec.observe.forms.document import CopyTotals
from yarnspec.observe.forms.told import clipped
from yarnspec.observe.page.drawing import Scale, took
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.spans import CopyAsked
from yarnspec.observe.page.timeline import kind_of
from yarnspec.observe.status.progress import short_stage

_MOST_OF_A_STAGE = 200
_MOST_TASKS = 700
_MOST_ATTEMPTS = 12
_MOST_COPIES = 400


@dataclass(slots=True)
class AttemptRow:
    """One attempt in the drawing of its task."""

    x: str
    width: str
    kind: str
    copy: bool
    words: str
    why: str


@dataclass(slots=True)
class TaskRow:
    """A task with several attempts; ``outcome`` is what came of it, in words."""

    id: str
    task: str
    outcome: str
    attempts: list[AttemptRow]
    more_attempts: int
    why: str


@dataclass(slots=True)
class TaskGroup:
    """The tasks of one stage, those that took longest first, and how many more it has."""

    place: int
    label: str
    name: str
    tasks: list[TaskRow]
    more: int


@dataclass(slots=True)
class CopyRow:
    """One copied task: its original, its copy, which was first, and what that gained or wasted."""

    id: str
    task: str
    original: str
    copy: str
    winner: str
    tone: str
    balance: str
    why: str


def task_groups(scene: Scene) -> list[TaskGroup]:
    """By stage, the newest stage first."""
    attempts = scene.attempts
    if not len(attempts):
        return []
    keys = attempts.task_keys
    order = np.lexsort((attempts.launch_ms, keys))
    found, begins, counts = np.unique(keys[order], return_index=True, return_counts=True)
    several = np.flatnonzero(counts > 1)
    by_stage: dict[int, list[tuple[int, list[int]]]] = {}
    for one in several.tolist():
        rows = order[begins[one] : begins[one] + counts[one]].tolist()
        by_stage.setdefault(int(found[one] >> 32), []).append((int(attempts.took_ms[rows].max()), rows))
    groups = []
    left = scene.few(_MOST_TASKS)
    for place in sorted(by_stage, reverse=True):
        tasks = sorted(by_stage[place], key=lambda one: -one[0])
        shown = tasks[: min(_MOST_OF_A_STAGE, left)]
        left -= len(shown)
        stage = scene.fold.stages[place]
        groups.append(
            TaskGroup(
                place=place, label=stage.label, name=clipped(short_stage(stage.name), 80),
                tasks=[_task(scene, rows) for _, rows in shown], more=len(tasks) - len(shown),
            )
        )  # fmt: skip
    return groups


def copy_rows(scene: Scene) -> tuple[list[CopyRow], int]:
    """The fate of each copy, the newest first, and how many more there were."""
    attempts = scene.attempts
    copied = np.flatnonzero(attempts.copies)
    keys = attempts.task_keys
    newest = copied[np.argsort(-attempts.launch_ms[copied], kind="stable")][: scene.few(_MOST_COPIES)]
    started: dict[tuple[int, int], list[CopyAsked]] = {}
    for one in scene.fold.copies:
        if not one.not_started:
            started.setdefault((one.stage, one.index), []).append(one)
    of_task: dict[int, list[int]] = {}
    for row in np.flatnonzero(np.isin(keys, keys[newest])).tolist():
        of_task.setdefault(int(keys[row]), []).append(row)
    rows = [_copy(scene, row, of_task[int(keys[row])], started) for row in newest.tolist()]
    never = [(number, one) for number, one in enumerate(scene.fold.copies) if one.not_started][-scene.few(50) :]
    for number, one in reversed(never):
        name = scene.fold.stages[one.stage].task(one.index)
        rows.append(CopyRow(f"never-{number}", name, "-", "never started", "-", "calm", one.not_started, one.reason))
    return rows, len(copied) - len(newest)


def ledger_of(scene: Scene) -> CopyTotals | None:
    """The ledger of all copies. An application attempt that has just begun does not know of those of earlier ones."""
    attempts, speculation = scene.attempts, scene.document.speculation
    if speculation is None or np.count_nonzero(attempts.copies) <= speculation.ledger.copies_launched:
        return speculation.ledger if speculation is not None else None
    ended, won = attempts.copies & ~attempts.running, attempts.copies & attempts.succeeded
    return msgspec.structs.replace(
        speculation.ledger,
        copies_launched=int(np.count_nonzero(attempts.copies)),
        copies_running=int(np.count_nonzero(attempts.copies & attempts.running)),
        copies_won=int(np.count_nonzero(won)),
        copies_failed=int(np.count_nonzero(attempts.copies & attempts.failed)),
        copies_cancelled=int(np.count_nonzero(attempts.copies & (attempts.killed | attempts.lost))),
        gained_ms=None,
        spent_ms=int(attempts.took_ms[ended].sum()),
        wasted_ms=int(attempts.took_ms[ended & ~won].sum()),
    )


def _task(scene: Scene, rows: list[int]) -> TaskRow:
    attempts = scene.attempts
    shown = rows[:_MOST_ATTEMPTS]
    begin, end = int(attempts.launch_ms[rows].min()), int(attempts.finish_ms[rows].max())
    scale = Scale(begin, max(end, begin + 1))
    first = rows[0]
    place, index = int(attempts.stage[first]), int(attempts.index[first])
    told = scene.fold.verdicts.get((place, index))
    winner = next((row for row in rows if attempts.state[row] == State.SUCCESS), None)
    if winner is None:
        lost = "lost with the driver" if attempts.lost[rows].any() else "not finished"
        outcome = "runs" if attempts.running[rows].any() else lost
    else:
        which = "copy" if attempts.speculative[winner] == 1 else "attempt"
        outcome = f"{which} {int(attempts.attempt[winner])} finished, {took(end - begin)} in all"
    return TaskRow(
        id=f"{place}-{index}",
        task=scene.fold.stages[place].task(index),
        outcome=outcome,
        attempts=[
            AttemptRow(
                x=scale.at(int(attempts.launch_ms[row])),
                width=scale.width(int(attempts.launch_ms[row]), max(int(attempts.finish_ms[row]), begin + 1)),
                kind=kind_of(int(attempts.state[row]), copy=bool(attempts.speculative[row] == 1)),
                copy=bool(attempts.speculative[row] == 1),
                words=f"{'copy' if attempts.speculative[row] == 1 else 'attempt'} {int(attempts.attempt[row])} on "
                f"{scene.host_at(row)}: {scene.how(row)}, {took(int(attempts.took_ms[row]))}",
                why=clipped(scene.failure(row), 160),
            )
            for row in shown
        ],
        more_attempts=len(rows) - len(shown),
        why=clipped(told[1].reason, 240) if told is not None else "",
    )  # fmt: skip


def _copy(scene: Scene, row: int, rows: list[int], started: dict[tuple[int, int], list[CopyAsked]]) -> CopyRow:
    attempts = scene.attempts
    place, index = int(attempts.stage[row]), int(attempts.index[row])
    originals = [one for one in rows if attempts.speculative[one] != 1]
    original = min(originals, key=lambda one: int(attempts.launch_ms[one]), default=None)
    winner = next((one for one in rows if attempts.state[one] == State.SUCCESS), None)
    copy_took = int(attempts.took_ms[row])
    asked = started.get((place, index), [])
    if attempts.state[row] == State.RUNNING:
        won, tone, balance = "both run", "calm", ""
    elif winner == row:
        told = next((one.gained_ms for one in asked if one.gained_ms is not None), None)
        gained = told if told is not None else _gained_ms(scene, row, original)
        balance = f"about {took(gained)} gained" if gained else "the gain is not known"
        won, tone = "the copy", "good"
    else:
        won = "none" if winner is None else "the original" if winner == original else "another attempt"
        tone, balance = "warn", f"{took(copy_took)} wasted"
    copies = sorted((one for one in rows if attempts.speculative[one] == 1), key=lambda one: attempts.launch_ms[one])
    # The newest copies are those that were asked for last: the oldest requests may be forgotten.
    nth = copies.index(row) - max(0, len(copies) - len(asked))
    reason = asked[nth].reason if nth >= 0 and asked else ""
    if not reason and (place, index) in scene.fold.verdicts:
        reason = scene.fold.verdicts[place, index][1].reason
    return CopyRow(
        id=f"{place}-{int(attempts.task_id[row])}",
        task=scene.fold.stages[place].task(index),
        original=f"{scene.host_at(original)}, {took(int(attempts.took_ms[original]))}" if original is not None else "-",
        copy=f"{scene.host_at(row)}, {took(copy_took)}" + (", failed" if attempts.failed[row] else ""),
        winner=won,
        tone=tone,
        balance=balance,
        why=clipped(reason, 240),
    )


def _gained_ms(scene: Scene, copy: int, original: int | None) -> int:
    """About how much earlier the copy ended than the original would have, where no ledger tells.

    By the slowness of the original's host over the whole run.
    """
    attempts = scene.attempts
    if original is None or attempts.host[original] < 0:
        return 0
    whole = float(scene.speeds.factor[attempts.host[original]]) * int(attempts.took_ms[copy])
    return max(0, int(attempts.launch_ms[original] + whole - attempts.finish_ms[copy]))
