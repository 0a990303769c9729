"""Tells many like verdicts as one, for people: how many there are, how bad they are, and the worst as an example."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from yarnspec.core.detectors.words import FACTOR
from yarnspec.core.messages.commands import Verdict
from yarnspec.observe.hindsight.offline import SlowTask

_TASK = re.compile(r"\btask (\d+)\.\d+")
_AMOUNT = re.compile(r"\d[\d.]*( m?s\b)?")
"""A number with its unit: a time in seconds and one in milliseconds are alike."""


class AlikeTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The slow tasks of one stage and one host with one kind of verdict.

    ``least`` and ``most`` are the factors of the verdicts; None where the detector had nothing to compare with.
    """

    stage: int
    host: str
    count: int
    least: float | None
    most: float | None
    first_ms: int
    worst: Verdict


def alike_tasks(tasks: Iterable[SlowTask]) -> list[AlikeTasks]:
    """The groups of like tasks, those with the worst first."""
    groups: dict[tuple[int, str, tuple[object, ...]], list[SlowTask]] = {}
    for task in tasks:
        one = task.verdict
        groups.setdefault((one.stage, one.host, _kind(one)), []).append(task)
    made = [_together(each) for each in groups.values()]
    return sorted(made, key=lambda each: _badness(each.worst), reverse=True)


def alike_lines(lines: Sequence[str]) -> list[str]:
    """Return lines of an explanation, of which those that differ only in the task of a stage and in numbers are one.

    These lines stand together, the worst first, where the first of them stood. All others stay as they are.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for at, line in enumerate(lines):
        task = _TASK.search(line)
        key = (task.group(1), _AMOUNT.sub("", line)) if task else (str(at),)
        groups.setdefault(key, []).append(line)
    many = sorted((each for each in groups.values() if len(each) > 1), key=_worst_factor, reverse=True)
    told: list[str] = []
    for each in groups.values():
        if len(each) == 1:
            told += each
        elif many:
            told += map(_one_line, many)
            many = []
    return told


def _kind(verdict: Verdict) -> tuple[object, ...]:
    """The measure by which a task was compared."""
    return verdict.detector, verdict.factor is None, bool(verdict.numbers.get("by_counters"))


def _badness(verdict: Verdict) -> tuple[float, int]:
    return verdict.factor or 0.0, verdict.elapsed_ms


def _together(tasks: list[SlowTask]) -> AlikeTasks:
    factors = [factor for task in tasks if (factor := task.verdict.factor) is not None]
    worst = max((task.verdict for task in tasks), key=_badness)
    return AlikeTasks(
        stage=worst.stage,
        host=worst.host,
        count=len(tasks),
        least=min(factors, default=None),
        most=max(factors, default=None),
        first_ms=min(task.at_ms for task in tasks),
        worst=worst,
    )


def _line_factor(line: str) -> float:
    found = FACTOR.search(line)
    return float(found.group(1)) if found else 0.0


def _worst_factor(lines: list[str]) -> float:
    return max(map(_line_factor, lines))


def _one_line(lines: list[str]) -> str:
    least, most = min(map(_line_factor, lines)), _worst_factor(lines)
    span = f" ({least:.1f} to {most:.1f} x)" if most else ""
    return f"{len(lines)} alike{span}, the worst: {max(lines, key=_line_factor)}"
