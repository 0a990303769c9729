"""Times and spans as people read them."""

from __future__ import annotations

from datetime import datetime

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400
_LATEST_MS = 4_000_000_000_000


def at_time(time_ms: int) -> str:
    """Local date and time, to the second."""
    return _local(time_ms).strftime("%Y-%m-%d %H:%M:%S")


def zone(time_ms: int) -> str:
    """The zone of all these times, as of this moment."""
    local = _local(time_ms)
    offset = f"{local:%z}"
    ahead = f"UTC{offset[:3]}:{offset[3:5]}"
    name = local.tzname() or ahead
    return name if name == "UTC" else f"{name} ({ahead})"


def clock(time_ms: int) -> str:
    """Local time of day, to the millisecond."""
    return f"{_local(time_ms):%H:%M:%S}.{time_ms % 1000:03d}"


def span(duration_ms: int) -> str:
    """How long something takes or took, in its two largest units."""
    seconds = max(0, duration_ms) // 1000
    if seconds < _MINUTE_S:
        return f"{seconds} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min {seconds % _MINUTE_S} s"
    if seconds < _DAY_S:
        return f"{seconds // _HOUR_S} h {seconds % _HOUR_S // _MINUTE_S} min"
    return f"{seconds // _DAY_S} d {seconds % _DAY_S // _HOUR_S} h"


def until(time_ms: int | None, now_ms: int) -> str:
    """When a block ends."""
    if time_ms is None:
        return "until it is unblocked"
    if time_ms <= now_ms:
        return "over"
    return f"for {span(time_ms - now_ms)} more"


def day_clock(time_ms: int) -> str:
    """Local time of day, to the second."""
    return f"{_local(time_ms):%H:%M:%S}"


def _local(time_ms: int) -> datetime:
    # A record can be damaged, and its time then any number.
    return datetime.fromtimestamp(min(max(time_ms, 0), _LATEST_MS) / 1000).astimezone()
