"""The state that an application master hands to the next one through the journal: blocks, hosts, counts of copies.

Each part is a carried record of its own kind. So a part that cannot be read costs only itself, and a part that has not
changed is not written again. Times are milliseconds since the Unix epoch: clocks of hosts are taken to agree.
Fields may be added with a default; a name or a meaning never changes (`docs/journal-format.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from yarnspec.core.journal.journalrecords import Carried
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.messages.events import Cause
from yarnspec.core.messages.figures import LedgerFigures


class CarriedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a host for the application. If ``until_ms`` is null, it lasts until somebody unblocks the host."""

    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None = None
    automatic: bool = False
    cause: Cause = "asked"


class CarriedBlocks(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All blocks that held for the application, except those that every attempt knows by itself."""

    epoch: int
    time_ms: int
    blocks: tuple[CarriedBlock, ...] = ()


class HostSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence about a host's speed at a moment, as ``HostSpeeds`` pools it."""

    log_odds: float
    log_factor: float
    weight: float
    observed: float
    late: float
    latest_ms: int


class CarriedHost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The evidence against a host.

    Args:
        host: its name.
        faults: how often it was blocked as faulty.
        came_back_ms: when a block for slowness ended. Evidence from before that calls for no other block.
        speed: the evidence about its speed; null: nothing says that it is slower than others.
    """

    host: str
    faults: int = 0
    came_back_ms: int = 0
    speed: HostSpeed | None = None


class CarriedHosts(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The hosts with evidence against them, the worst first."""

    epoch: int
    time_ms: int
    hosts: tuple[CarriedHost, ...] = ()


class CarriedCopies(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The ledger of copies so far, over all epochs."""

    epoch: int
    time_ms: int
    ledger: LedgerFigures


CarriedPart: TypeAlias = CarriedBlocks | CarriedHosts | CarriedCopies

KINDS: Mapping[str, type[CarriedPart]] = {"blocks": CarriedBlocks, "hosts": CarriedHosts, "copies": CarriedCopies}
"""The kinds of carried records, in the order in which they are used."""
_KIND_OF = {part: kind for kind, part in KINDS.items()}


def kind_of(part: CarriedPart) -> str:
    """The kind of the record that a part is written as."""
    return _KIND_OF[type(part)]


def record_of_part(part: CarriedPart) -> Carried:
    """The record that a part is written as."""
    return Carried(kind=kind_of(part), payload=msgspec.msgpack.encode(part))


def parts_of(recorded: Recorded) -> tuple[tuple[CarriedPart, ...], str]:
    """The parts that earlier epochs left, and which parts cannot be read and why (empty: all can)."""
    parts: list[CarriedPart] = []
    problems = []
    for kind, part in KINDS.items():
        payload = recorded.carried.get(kind)
        if payload is None:
            continue
        try:
            parts.append(msgspec.msgpack.decode(payload, type=part))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problems.append(f"{kind}: {error}")
    return tuple(parts), "; ".join(problems)
