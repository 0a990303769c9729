"""Spark's settings that let yarnspec find and copy slow tasks, and the fate of Spark's own speculation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from yarnspec.core.detectors.registry import read_by
from yarnspec.errors import UsageError
from yarnspec.gateway.translation.sizes import duration_ms, truth
from yarnspec.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.options import Options

SPARKS_OWN = "spark.speculation"
_HEARTBEAT = "spark.executor.heartbeatInterval"
_MAX_FAILURES = "spark.executor.heartbeat.maxFailures"
_NETWORK_TIMEOUT = "spark.network.timeout"
_QUEUE = "spark.scheduler.listenerbus.eventqueue.yarnspec.capacity"
_PYTHON_KILL = "spark.python.task.killTimeout"

_PYTHON_KILL_MS = 200
_NETWORK_TIMEOUT_MS = 120_000
_QUEUED_EVENTS = 1_000_000
# Spark's executors end after 60 heartbeats, one each 10 s, that the driver did not answer.
_PATIENCE_MS = 600_000
_FEWEST_FAILURES = 60

_RATIO = "detector.baseline_ratio"
_OURS_INSTEAD = {
    "spark.speculation.interval": "detector.check_interval",
    "spark.speculation.multiplier": "detector.baseline_multiplier",
    "spark.speculation.quantile": _RATIO,
    "spark.speculation.minTaskRuntime": "detector.baseline_lower_bound",
}


def owned_keys(options: Options) -> tuple[str, ...]:
    """The properties of speculation that a program cannot override either."""
    return (SPARKS_OWN,) if options.speculation.enabled else ()


def properties(given: Mapping[str, str], options: Options, *, asked: bool) -> dict[str, str]:
    """The properties that the driver gets for it; those that the user may set are left to the user.

    ``asked``: somebody set ``speculation.enabled``; then a stream, which cannot be copied, is refused.

    Raises:
        UsageError: executors would report less often than Spark's network timeout allows.
    """
    enabled = options.speculation.enabled
    asked = asked or (SPARKS_OWN in given and truth(given[SPARKS_OWN], SPARKS_OWN))
    wanted = {
        "spark.yarnspec.speculation": str(enabled).lower(),
        "spark.yarnspec.speculationAsked": str(enabled and asked).lower(),
        "spark.yarnspec.copyWriters": str(options.speculation.copy_writers).lower(),
        "spark.yarnspec.copyReaders": str(options.speculation.copy_readers).lower(),
        "spark.yarnspec.copyCached": str(options.speculation.copy_cached).lower(),
    }
    if enabled:
        wanted[SPARKS_OWN] = "false"
        # An attempt that another one has overtaken holds its slot until its Python worker has gone.
        if _PYTHON_KILL not in given:
            wanted[_PYTHON_KILL] = f"{_PYTHON_KILL_MS}ms"
    if _QUEUE not in given:
        # The listener only copies and hands over, but it must never be Spark that drops what it was to see.
        wanted[_QUEUE] = str(_QUEUED_EVENTS)
    if enabled and _HEARTBEAT not in given:
        interval_ms = options.detector.heartbeat_interval_ms
        timeout_ms = _network_timeout_ms(given)
        if interval_ms >= timeout_ms:
            raise UsageError(
                f"detector.heartbeat_interval: {format_duration(interval_ms)} must be less than {_NETWORK_TIMEOUT}, "
                f"{format_duration(timeout_ms)}"
            )
        wanted[_HEARTBEAT] = f"{interval_ms}ms"
        if _MAX_FAILURES not in given:
            # The driver waits as long as with Spark's own interval, whatever ours is.
            wanted[_MAX_FAILURES] = str(max(_FEWEST_FAILURES, _PATIENCE_MS // interval_ms))
    return wanted


def warnings(given: Mapping[str, str], origins: Mapping[str, str], options: Options) -> list[str]:
    """Name the settings of Spark's own speculation that have no effect; none while that is left to Spark."""
    if not options.speculation.enabled:
        return []
    waiting = read_by(_RATIO.removeprefix("detector."))
    said = []
    for key in sorted(given):
        if key == SPARKS_OWN and truth(given[key], key):
            said.append(
                f"{key} ({origins[key]}) is ignored: yarnspec's own speculation replaces Spark's; with "
                "speculation.enabled=false Spark's is used"
            )
        elif key == SPARKS_OWN:
            said.append(
                f"{key} ({origins[key]}) turns off Spark's own speculation only; speculation.enabled=false turns off "
                "yarnspec's"
            )
        elif _OURS_INSTEAD.get(key) == _RATIO and options.detector.kind not in waiting:
            said.append(
                f"{key} ({origins[key]}) has no effect: yarnspec's detector {options.detector.kind} waits for no share "
                f"of a stage; {_RATIO} is what {' and '.join(waiting)} wait for (detector.kind)"
            )
        elif key in _OURS_INSTEAD:
            said.append(f"{key} ({origins[key]}) has no effect: yarnspec's own speculation has {_OURS_INSTEAD[key]}")
        elif key.startswith(f"{SPARKS_OWN}."):
            said.append(f"{key} ({origins[key]}) has no effect: yarnspec's own speculation replaces Spark's")
    return said


def _network_timeout_ms(given: Mapping[str, str]) -> int:
    text = given.get(_NETWORK_TIMEOUT, "")
    if not text:
        return _NETWORK_TIMEOUT_MS
    # Without a unit Spark reads this one in seconds.
    return duration_ms(f"{text.strip()}s" if re.fullmatch(r"\s*[0-9]+\s*", text) else text, _NETWORK_TIMEOUT)
