"""Which hosts are kept out of placement, why, and until when.

A block never touches what already runs on the host: running executors and their tasks go on, new ones go elsewhere.
A block has one target (a host) and one reach (the application); blocks of other targets and reaches, such as one
executor or one stage only, fit beside it as further keys of the same table.

Automatic blocks are guesses: they always expire, and all blocks together never exceed the share of running hosts
that an automatic block may bring them to. A user may go over the share by force, but nobody can block every host.
"""

from __future__ import annotations

import math

import msgspec

from yarnspec.core.commands import BlockHost, Command, RefuseBlock, UnblockHost
from yarnspec.core.events import BlockRequested, UnblockRequested
from yarnspec.core.hosts import Hosts
from yarnspec.core.timers import Timers

TIMER_FAMILY = "block"
SUBMIT = "submit"


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One blocked host; ``until_ms`` of None lasts until somebody unblocks it."""

    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None
    automatic: bool


class Blocklist:
    """The blocked hosts of this application. Times are milliseconds since the Unix epoch."""

    def __init__(self, hosts: Hosts, timers: Timers, *, share: float, automatic_block_ms: int) -> None:
        self._hosts = hosts
        self._timers = timers
        self._share = share
        self._automatic_block_ms = automatic_block_ms
        self._blocks: dict[str, Block] = {}
        self.refused = 0

    def __contains__(self, host: object) -> bool:
        return host in self._blocks

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, sorted by host."""
        return tuple(self._blocks[host] for host in sorted(self._blocks))

    @property
    def hosts(self) -> tuple[str, ...]:
        """All blocked hosts, sorted."""
        return tuple(sorted(self._blocks))

    @property
    def limit(self) -> int:
        """How many hosts may be blocked without force, of the hosts that run now."""
        return blocked_limit(self._share, len(self._hosts.running))

    def request(self, wish: BlockRequested, now_ms: int) -> list[Command]:
        """Block a host, extend its block, or refuse with the reason."""
        duration_ms = wish.duration_ms
        if duration_ms is None and wish.automatic:
            duration_ms = self._automatic_block_ms
        until_ms = None if duration_ms is None else now_ms + duration_ms
        old = self._blocks.get(wish.host)
        refusal = self._objection(wish, duration_ms, known_already=old is not None)
        if refusal:
            self.refused += 1
            return [RefuseBlock(host=wish.host, reason=refusal)]
        if old is not None and not _later(until_ms, old.until_ms):
            said = (
                f"already blocked {_until(old.until_ms, now_ms)} by {old.by} ({old.reason}); a block is never shortened"
            )
            return [BlockHost(host=old.host, until_ms=old.until_ms, by=old.by, reason=said)]
        block = Block(
            host=wish.host,
            reason=wish.reason,
            by=wish.by,
            since_ms=now_ms if old is None else old.since_ms,
            until_ms=until_ms,
            automatic=wish.automatic and (old is None or old.automatic),
        )
        self._blocks[block.host] = block
        what = "extended" if old else "blocked"
        said = f"{wish.reason} ({what} {_until(until_ms, now_ms)} by {wish.by}; {self._count()})"
        done: list[Command] = [BlockHost(host=block.host, until_ms=until_ms, by=block.by, reason=said)]
        name = f"{TIMER_FAMILY}:{block.host}"
        if until_ms is None:
            self._timers.cancel(name)
        else:
            done.append(self._timers.set(name, until_ms, f"the block of {block.host} ends"))
        return done

    def release(self, wish: UnblockRequested) -> list[Command]:
        """Unblock a host because somebody asks for it."""
        if wish.host not in self._blocks:
            self.refused += 1
            listed = ", ".join(self.hosts) or "none"
            return [
                RefuseBlock(host=wish.host, kind="unblock", reason=f"{wish.host} is not blocked (blocked: {listed})")
            ]
        return [self._lift(wish.host, f"unblocked by {wish.by}")]

    def expire(self, host: str) -> list[Command]:
        """End a block whose time is over."""
        block = self._blocks.get(host)
        if block is None:
            return []
        lasted_s = ((block.until_ms or block.since_ms) - block.since_ms) // 1000
        return [self._lift(host, f"the block of {lasted_s} s by {block.by} is over ({block.reason})")]

    def keep_one_host(self) -> list[Command]:
        """Lift automatic blocks, the next to expire first, while every running host is blocked.

        Users' blocks stay: they promise that nothing starts there, and the resource wait tells when that costs the job.
        """
        done: list[Command] = []
        running = self._hosts.running
        while running and running <= self._blocks.keys():
            guesses = [block for block in self.blocks if block.automatic and block.host in running]
            if not guesses:
                break
            first = min(guesses, key=lambda block: (block.until_ms or 0, block.host))
            done.append(
                self._lift(first.host, f"all {len(running)} running hosts were blocked; {first.by}'s was a guess")
            )
        return done

    def _lift(self, host: str, reason: str) -> UnblockHost:
        del self._blocks[host]
        self._timers.cancel(f"{TIMER_FAMILY}:{host}")
        return UnblockHost(host=host, reason=f"{reason}; {self._count()}")

    def _objection(self, wish: BlockRequested, duration_ms: int | None, *, known_already: bool) -> str:
        if not wish.host:
            return "no host was named"
        if duration_ms is not None and duration_ms <= 0:
            return f"a block of {duration_ms} ms is none"
        if known_already:
            return ""
        granted = wish.by == SUBMIT or wish.earlier
        if not self._hosts.reported:
            return "" if granted else "the cluster's hosts are not known yet; try again in a moment"
        if wish.host in self._hosts.known:
            return self._too_many(wish)
        # A host that was excluded or blocked before was known then; it may be down now, and come back.
        return "" if granted else self._unknown(wish.host)

    def _unknown(self, host: str) -> str:
        near = self._hosts.near(host)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"the ResourceManager knows no host {host!r} among its {len(self._hosts.known)}{meant}"

    def _too_many(self, wish: BlockRequested) -> str:
        running = self._hosts.running
        if not running - self._blocks.keys() - {wish.host}:
            return f"none of the {len(running)} running hosts would be left to place containers on"
        after = len(self._hosts.known & self._blocks.keys()) + 1
        if after <= self.limit or (wish.force and not wish.automatic):
            return ""
        said = (
            f"{after} of {len(running)} running hosts would be blocked, and {self.limit} may be "
            f"(max(1, {self._share:g} x {len(running)}))"
        )
        return said if wish.automatic else f"{said}; force it (--force) if you mean it"

    def _count(self) -> str:
        return f"{len(self._blocks)} blocked of {len(self._hosts.running)} running hosts"


def _later(new_ms: int | None, old_ms: int | None) -> bool:
    if old_ms is None:
        return False
    return new_ms is None or new_ms > old_ms


def _until(until_ms: int | None, now_ms: int) -> str:
    return "until it is unblocked" if until_ms is None else f"for {(until_ms - now_ms) / 1000:g} s"


def blocked_limit(share: float, running: int) -> int:
    """How many of ``running`` hosts a share allows to block: at least one."""
    # The small addition undoes binary fractions: 0.29 x 100 is 28.999999999999996.
    return max(1, math.floor(share * running + 1e-9))
