"""Hands state over to the next application master, and takes over the state of the last one.

Within one application master this state lives on by itself from one driver to the next. In case the master dies too,
changes are recorded: blocks at once, the rest if it was last looked at some seconds ago. The first journal that is
replayed gives back what the attempt before knew. Requests of people since this attempt began are newer, and hold. Some
blocks are not handed over. The cluster's list is read anew. Every attempt knows the blocks made at submit. Blocks of
executors, stages and tasks end with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yarnspec.core.blocking.blocklist import SUBMIT, Blocklist
from yarnspec.core.blocking.blocks import Block, Key, joined
from yarnspec.core.copies.ledger import Ledger
from yarnspec.core.copies.speculation import Speculation
from yarnspec.core.lifecycle.phases import Lifecycle
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.carried import (
    KINDS,
    CarriedBlock,
    CarriedBlocks,
    CarriedCopies,
    CarriedHost,
    CarriedHosts,
    CarriedPart,
    kind_of,
)
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.guard import Guard
from yarnspec.core.messages.recoverycommands import CarryOver, RecordState
from yarnspec.core.messages.timers import Timers

CARRY_TIMER = "record-state"

_BLOCKS_MS = 1_000
_LEARNT_MS = 5_000
"""A longer pause, because learnt and counted numbers change all the time."""
_HOSTS_MAX = 500
_REASON_CHARS = 500
_TELLS = (ev.Observed, ev.CopyRefused, ev.UnblockRequested, ev.DriverLost)


class MasterHandover:
    """Records the negotiator's state, and takes over that of the attempt before."""

    def __init__(
        self, *, lifecycle: Lifecycle, timers: Timers, blocklist: Blocklist, speculation: Speculation, enabled: bool
    ) -> None:
        self._lifecycle = lifecycle
        self._timers = timers
        self._blocklist = blocklist
        self._speculation = speculation
        self._enabled = enabled
        self._first = True
        self._recording = False
        self._recorded: dict[str, Any] = {"blocks": (), "hosts": (), "copies": Ledger().figures()}
        self._blocks_changed = False
        self._touched = False
        self._looked_ms = -_LEARNT_MS
        self._timer_ms = 0
        self._blocked_here: set[str] = set()
        self._vouched_for: set[str] = set()
        self.restored: frozenset[str] = frozenset()
        """The hosts whose blocks were taken over."""
        self._guard = Guard(self._broken)
        blocklist.register(self)

    # what happens elsewhere

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Listen to the blocklist."""
        self._blocks_changed |= any(_handed_over(block) for block in (*added, *lifted))

    def asked(self, host: str) -> None:
        """Somebody asks for a block in this attempt."""
        self._blocked_here.add(host)

    def vouched(self, host: str) -> None:
        """Somebody wants a host back in this attempt."""
        self._vouched_for.add(host)

    def epoch_over(self) -> None:
        """The driver has died, and its journal closes."""
        self._recording = False

    def replayed(self, event: rec.JournalReplayed, now_ms: int) -> list[Command]:
        """The journal of an epoch is open."""
        return self._guard.run(self._replayed, event, now_ms)

    def look(self, event: ev.Event, now_ms: int) -> list[Command]:
        """The parts of the state that must be recorded now, after an event."""
        if not self._enabled:
            return []
        self._touched |= isinstance(event, _TELLS) or bool(self._speculation.table.stages)
        if not self._recording or not (self._touched or self._blocks_changed):
            return []
        return self._guard.run(self._look, now_ms)

    def _broken(self) -> list[Command]:
        said = f"a next attempt will not know the blocks, nor what was learnt of hosts: {self._guard.fault}"
        return [CarryOver(failed=True, reason=said)]

    # taking over

    def _replayed(self, event: rec.JournalReplayed, now_ms: int) -> list[Command]:
        first = self._first
        # One that cannot be opened has given back nothing yet.
        self._first = first and bool(event.off)
        self._recording = not event.off
        if not first or event.carried:
            # The newest that this journal knows may be older than what was recorded last.
            self._recorded.clear()
            self._blocks_changed = True
        if not first:
            return []
        commands: list[Command] = []
        unread = event.problem or event.off
        if unread and self._lifecycle.epoch > 1:
            said = f"this epoch does not know what earlier ones learnt of hosts and copies: {unread}"
            commands.append(CarryOver(failed=True, reason=said))
        if event.carried_problem:
            said = f"not all that earlier epochs knew is carried over, a record cannot be read: {event.carried_problem}"
            commands.append(CarryOver(failed=True, reason=said))
        return commands + (self._take_over(event.carried, now_ms) if event.carried else [])

    def _take_over(self, parts: Sequence[CarriedPart], now_ms: int) -> list[Command]:
        commands: list[Command] = []
        told = []
        ledger = None
        for part in sorted(parts, key=lambda part: list(KINDS).index(kind_of(part))):
            match part:
                case CarriedBlocks():
                    taken, said = self._take_blocks(part, now_ms)
                    commands += taken
                    told.append(said)
                case CarriedHosts():
                    self._take_hosts(part, now_ms)
                    told.append(f"what was learnt of {len(part.hosts)} hosts")
                case CarriedCopies():
                    ledger = self._speculation.copies.carry_over(part.ledger)
                    told.append(f"the counts of {ledger.copies_launched} copies")
        said = f"carried over from epoch {max(part.epoch for part in parts)}: {', '.join(told)}"
        return [*commands, CarryOver(ledger=ledger, reason=said)]

    def _take_blocks(self, part: CarriedBlocks, now_ms: int) -> tuple[list[Command], str]:
        commands: list[Command] = []
        restored = set()
        over = 0
        for one in part.blocks:
            key = Key("application", one.host)
            known = self._blocklist.get(key)
            # A second block of a host is the guess after what somebody asked for.
            second = one.host in restored
            here = known is not None and not second and one.host in self._blocked_here
            if here or one.host in self._vouched_for or (known is not None and known.by == SUBMIT):
                continue
            if one.until_ms is not None and one.until_ms <= now_ms:
                over += 1
                if one.cause == "slow":
                    self._speculation.slow_hosts.came_back(one.host, now_ms)
                continue
            block = Block(
                host=one.host,
                reason=one.reason,
                by=one.by,
                since_ms=one.since_ms,
                until_ms=one.until_ms,
                automatic=one.automatic,
                cause=one.cause,
            )
            if known is not None and second:
                block = joined(known, block) or known
            restored.add(one.host)
            how_long = "until it is unblocked" if one.until_ms is None else f"for {(one.until_ms - now_ms) / 1000:g} s"
            said = f"carried over from epoch {part.epoch}: {one.reason} (blocked {how_long} more by {one.by})"
            commands += self._blocklist.put(block, said)
        self.restored = frozenset(restored)
        return commands, f"{len(restored)} blocks" + (f" ({over} more were over)" if over else "")

    def _take_hosts(self, part: CarriedHosts, now_ms: int) -> None:
        speculation = self._speculation
        hosts = [one for one in part.hosts if one.host not in self._vouched_for]
        speeds = {one.host: one.speed for one in hosts if one.speed is not None}
        speculation.speeds.carry_over(speeds, part.time_ms, now_ms)
        speculation.faults.carry_over({one.host: one.faults for one in hosts if one.faults})
        for one in hosts:
            if one.came_back_ms:
                speculation.slow_hosts.came_back(one.host, one.came_back_ms)

    # handing over

    def _look(self, now_ms: int) -> list[Command]:
        due_ms = self._looked_ms + (_BLOCKS_MS if self._blocks_changed else _LEARNT_MS)
        if now_ms < due_ms:
            # While stages run there is always a next event.
            waits = self._blocks_changed or not self._speculation.table.stages
            if not waits or (self._timers.wanted(CARRY_TIMER) and self._timer_ms <= due_ms):
                return []
            self._timer_ms = due_ms
            return [self._timers.set(CARRY_TIMER, due_ms, "what has changed is to be recorded for a next attempt")]
        self._looked_ms = now_ms
        self._touched = self._blocks_changed = False
        self._timers.cancel(CARRY_TIMER)
        changed = []
        for part, compared in self._parts(now_ms):
            kind = kind_of(part)
            if self._recorded.get(kind) != compared:
                self._recorded[kind] = compared
                changed.append(part)
        if not changed:
            return []
        said = f"a next attempt is to know of {', '.join(kind_of(part) for part in changed)}"
        return [RecordState(parts=tuple(changed), reason=said)]

    def _parts(self, now_ms: int) -> list[tuple[CarriedPart, object]]:
        """Each part, and what of it makes a difference."""
        epoch = self._lifecycle.epoch
        blocks = tuple(
            _carried(each) for block in self._blocklist.blocks if _handed_over(block) for each in block.in_turn
        )
        hosts = self._hosts(now_ms)
        ledger = self._speculation.copies.total().figures()
        return [
            (CarriedBlocks(epoch=epoch, time_ms=now_ms, blocks=blocks), blocks),
            (CarriedHosts(epoch=epoch, time_ms=now_ms, hosts=hosts), tuple(_roughly(one) for one in hosts)),
            (CarriedCopies(epoch=epoch, time_ms=now_ms, ledger=ledger), ledger),
        ]

    def _hosts(self, now_ms: int) -> tuple[CarriedHost, ...]:
        speculation = self._speculation
        speeds = speculation.speeds.worst(_HOSTS_MAX, now_ms)
        faults = speculation.faults.rounds
        came_back_ms = speculation.slow_hosts.when_back(now_ms)
        often = sorted(faults, key=lambda host: (-faults[host], host))[:_HOSTS_MAX]
        return tuple(
            CarriedHost(
                host=host,
                faults=faults.get(host, 0),
                came_back_ms=came_back_ms.get(host, 0) if host in speeds else 0,
                speed=speeds.get(host),
            )
            for host in dict.fromkeys((*speeds, *often))
        )


def _handed_over(block: Block) -> bool:
    return block.level == "application" and not block.executor_id and block.by != SUBMIT


def _carried(block: Block) -> CarriedBlock:
    return CarriedBlock(
        host=block.host,
        reason=block.reason[:_REASON_CHARS],
        by=block.by,
        since_ms=block.since_ms,
        until_ms=block.until_ms,
        automatic=block.automatic,
        cause=block.cause,
    )


def _roughly(one: CarriedHost) -> tuple[object, ...]:
    """Evidence fades all the time, and that the next attempt can reckon by itself."""
    speed = one.speed
    rough = None if speed is None else (round(speed.log_odds), round(2 * speed.log_factor / max(speed.weight, 1.0)))
    return one.host, one.faults, one.came_back_ms, rough
