"""The words that all detectors explain a task with."""

from __future__ import annotations

import re
from collections.abc import Mapping

from yarnspec.core.detectors.protocol import MB
from yarnspec.core.messages.observations import State
from yarnspec.core.tasks.stagetasks import StageTasks

FACTOR = re.compile(r"([\d.]+) x the ")
"""Finds the number of ``times_the`` in a sentence."""
_SHORT_MS = 95.0


def times_the(factor: float) -> str:
    """How many times as long a task takes as what the next words name."""
    return f"{factor:.1f} x the"


def running_text(stage: StageTasks, index: int, now_ms: int) -> tuple[str, int | None]:
    """How a task stands, in words, and for how long its oldest running attempt has run."""
    attempts = stage.attempts_of(index)
    what = f"task {stage.stage}.{index}"
    if not attempts:
        return f"{what} has not been launched", None
    won = [each for each in attempts if each.state is State.SUCCESS and each.finish_ms is not None]
    if won and won[0].finish_ms is not None:
        return f"{what} finished on {won[0].host} after {seconds(won[0].finish_ms - won[0].launch_ms)}", None
    running = [each for each in attempts if each.state is State.RUNNING]
    if not running:
        return f"{what} does not run: its {len(attempts)} attempts have ended", None
    oldest = running[0]
    elapsed_ms = now_ms - oldest.launch_ms
    return f"{what} has run for {seconds(elapsed_ms)} on {oldest.host} ({len(running)} attempts run)", elapsed_ms


def input_said(numbers: Mapping[str, float]) -> str:
    """Words for the input of an attempt, or for the measure that stands in for it."""
    if "input_bytes" in numbers:
        return f"{numbers['input_bytes'] / MB:.1f} MB of input"
    if "read_bytes" in numbers:
        return f"inputs unknown: by the {numbers['read_bytes'] / MB:.1f} MB that it has read so far"
    return "inputs unknown: by time alone"


def seconds(value_ms: float) -> str:
    """A time for a sentence; a short one in milliseconds, as it would be 0.0 s."""
    if value_ms < _SHORT_MS:
        return f"{value_ms:.2g} ms"
    return f"{value_ms / 1000:.1f} s"
