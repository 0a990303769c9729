"""Durations, sizes and counts as people write them: ``5 min``; ``512m``, ``2 GiB``; ``1 task``, ``2 tasks``."""

from __future__ import annotations

import re

_DURATION_MS = {
    "ms": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "seconds": 1000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "minutes": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "hours": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "days": 86_400_000,
}
# Powers of 1024 under every name, as Spark and Hadoop read them.
_SIZE_BYTES = {"b": 1} | {
    letter + ending: 1024**power for power, letter in enumerate("kmgtp", start=1) for ending in ("", "i", "b", "ib")
}
_QUANTITY = re.compile(r"\s*([0-9]+)\s*([a-z]*)\s*", re.ASCII)
# Java's Long: what is larger cannot be asked of YARN or told to a JVM.
_LARGEST = 2**63 - 1


def parse_duration_ms(text: str) -> int:
    """Return milliseconds; raise ValueError when there is no unit or it is not a duration."""
    return _parse(text, _DURATION_MS, "a duration", "like '30s', '5 min' or '7 d'")


def parse_size_bytes(text: str, default_unit: str = "") -> int:
    """Return bytes; raise ValueError when it is not a size, or has no unit and there is no default for it."""
    return _parse(text, _SIZE_BYTES, "a size", "like '512m' or '2g'", default_unit)


def format_duration(duration_ms: int) -> str:
    """Write milliseconds with the largest unit that divides them; ``parse_duration_ms`` reads it back."""
    for unit in ("d", "h", "min", "s"):
        if duration_ms and duration_ms % _DURATION_MS[unit] == 0:
            return f"{duration_ms // _DURATION_MS[unit]} {unit}"
    return f"{duration_ms} ms"


def format_size(size_bytes: int) -> str:
    """Write bytes with the largest unit that divides them; ``parse_size_bytes`` reads it back."""
    for unit in ("p", "t", "g", "m", "k"):
        if size_bytes and size_bytes % _SIZE_BYTES[unit] == 0:
            return f"{size_bytes // _SIZE_BYTES[unit]}{unit}"
    return f"{size_bytes}b"


def counted(number: int, one: str, many: str = "") -> str:
    """So many of something: ``1 task``, ``1,200 tasks``. ``many``: the plural where it is not ``one`` and an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _parse(text: str, units: dict[str, int], kind: str, examples: str, default_unit: str = "") -> int:
    match = _QUANTITY.fullmatch(text.lower())
    if match is None:
        raise ValueError(f"'{text}' is not {kind}: write a whole number and a unit, {examples}")
    unit = match[2] or default_unit
    if not unit:
        raise ValueError(f"'{text}' has no unit: write {kind} {examples}")
    if unit not in units:
        raise ValueError(f"'{text}' is not {kind}: there is no unit '{unit}'; write it {examples}")
    value = int(match[1]) * units[unit]
    if value > _LARGEST:
        raise ValueError(f"'{text}' is too large for {kind}")
    return value
