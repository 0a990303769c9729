"""When which host was blocked, from an application's events, and which containers started there all the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# An order to start that was on its way when the block was acknowledged reaches the host a little later.
ON_ITS_WAY_MS = 1000


@dataclass(frozen=True)
class Start:
    """A host was told to start a container."""

    container_id: str
    host: str
    time_ms: int


@dataclass(frozen=True)
class Blocked:
    """A host was blocked from the acknowledgement of it until its end (None: until the application's)."""

    host: str
    from_ms: int
    until_ms: int | None


def blocked(records: Iterable[Mapping[str, Any]]) -> list[Blocked]:
    """The blocks of an application, whatever its attempts did in between.

    A block counts from the moment at which the ResourceManager had it for the first time. An attempt that ends does not
    lift it.
    """
    sent: dict[int, set[str]] = {}
    begun: dict[str, int] = {}
    ends: dict[str, int | None] = {}
    over: list[Blocked] = []
    epoch = 0

    def lift(host: str, time_ms: int) -> None:
        if host in begun:
            over.append(Blocked(host, begun.pop(host), time_ms))
        ends.pop(host, None)

    for record in records:
        if record["epoch"] != epoch:
            epoch = record["epoch"]
            sent.clear()
        now_ms = int(record["time_ms"])
        for host in [host for host, end_ms in ends.items() if end_ms is not None and end_ms <= now_ms]:
            lift(host, ends[host] or now_ms)
        match record["type"]:
            case "BlockHost":
                ends[record["host"]] = record["until_ms"]
            case "UnblockHost":
                lift(record["host"], now_ms)
            case "UpdatePlacement":
                sent[int(record["version"])] = set(record["blocked_hosts"])
            case "PlacementAcknowledged":
                known = [version for version in sent if version <= record["version"]]
                for host in sent[max(known)] & set(ends) if known else ():
                    begun.setdefault(host, now_ms)
    return over + [Blocked(host, from_ms, ends[host]) for host, from_ms in begun.items()]


def started_while_blocked(starts: Iterable[Start], blocks: Iterable[Blocked]) -> list[str]:
    """The containers that started on a blocked host, in words."""
    found = []
    for start in starts:
        for block in blocks:
            after = start.time_ms > block.from_ms + ON_ITS_WAY_MS
            before = block.until_ms is None or start.time_ms < block.until_ms
            if start.host == block.host and after and before:
                late_s = (start.time_ms - block.from_ms) / 1000
                found.append(f"{start.container_id} started on {start.host} {late_s:.1f} s after its block")
    return found
