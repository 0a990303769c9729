"""The cluster's own list of blocked hosts, as blocks of this application at the level ``cluster``.

The list is the truth: a new entry becomes a block, a changed entry changes its block, and an entry that goes ends its
block. The entries of the list's owner, an admin, come first, whatever the share of blocked hosts is. But one running
host is always left. Entries of other users are taken within the share: first the oldest entry of each user, then each
one's next. So one user cannot take the hosts from all. An entry that an earlier look has found counts as older than one
that it has not, whatever the files' times say (``counts_since_ms``). Blocks that people made for this application alone
count before the list. Automatic blocks do not count, and give way to the list.

Which entries hold is worked out anew whenever any of this changes. An entry that is refused is told once, and taken as
soon as there is room. An entry that does not fit any more, because hosts were lost, is lifted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from yarnspec.core.blocking.blockedshare import nothing_left, over_share
from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.blocks import WIDE, Block, Key
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import ClusterBlock, ClusterBlocksRead


class ClusterList:
    """Keeps the blocks of level ``cluster`` equal to what holds of the list that was read last."""

    def __init__(self, blocklist: Blocklist, hosts: Hosts, share: float) -> None:
        self._blocklist = blocklist
        self._hosts = hosts
        self._share = share
        self._entries: dict[str, ClusterBlock] = {}
        self._told: set[ClusterBlock] = set()
        self.changed = False
        """Something has changed by which other entries may hold."""
        blocklist.register(self)

    def read(self, event: ClusterBlocksRead) -> None:
        """Take the list as it stands; ``settle`` makes the blocks."""
        self._entries = {entry.host: entry for entry in event.blocks if entry.host}
        self.changed = True

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Listen to the blocklist."""
        self.changed |= any(block.level in WIDE and not block.executor_id for block in (*added, *lifted))

    def settle(self, now_ms: int) -> list[Command]:
        """Make, change and end blocks until they are what holds of the list; no hosts known: later."""
        if not self.changed or not self._hosts.reported:
            return []
        blocks = [block for block in self._blocklist.wide if not block.executor_id]
        asked = {block.host for block in blocks if block.level == "application" and not block.automatic}
        entries = [entry for entry in self._entries.values() if not _over(entry, now_ms)]
        refused = objections(entries, self._hosts.running, asked, self._share)
        held = {entry.host: entry for entry in entries if not refused[entry]}
        done: list[Command] = []
        for block in blocks:
            if block.level == "cluster" and block.host not in held:
                entry = self._entries.get(block.host)
                why = refused.get(entry, "") if entry is not None else ""
                said = (
                    f"{block.host} stays on the cluster's list: {why}" if why else "the cluster's list has it no more"
                )
                done.append(self._blocklist.lift(block.key, said))
        for entry in held.values():
            done += self._take(entry)
        for entry, why in refused.items():
            if why and entry not in self._told:
                done.append(self._blocklist.refuse(entry.host, f"{_said(entry)}: {why}"))
        self._told = {entry for entry, why in refused.items() if why}
        self.changed = False
        return done

    def _take(self, entry: ClusterBlock) -> list[Command]:
        block = Block(
            host=entry.host,
            reason=entry.reason,
            by=entry.by,
            since_ms=entry.since_ms,
            until_ms=entry.until_ms,
            automatic=False,
            level="cluster",
        )
        known = self._blocklist.get(Key("cluster", entry.host)) == block
        return [] if known else self._blocklist.put(block, _said(entry))


def objections(
    entries: Iterable[ClusterBlock], running: AbstractSet[str], asked: AbstractSet[str], share: float
) -> dict[ClusterBlock, str]:
    """Why each entry does not hold, or an empty string: in their turns, beside what people ``asked`` for already.

    An entry about a host that does not run takes nothing from anybody.
    """
    off = set(asked & running)
    found: dict[ClusterBlock, str] = {}
    for entry in _in_turn(entries):
        after = off | {entry.host}
        why = ""
        if entry.host in running and entry.host not in off:
            why = nothing_left(after, running)
            why = why or ("" if entry.admin else over_share(len(after), running, share, " for the whole cluster"))
            off = off if why else after
        found[entry] = why
    return found


def counts_since_ms(told_ms: int, now_ms: int, looked_ms: int | None) -> int:
    """The moment from which an entry counts that is new or changed since the look before, at ``looked_ms``.

    Only the first look (``looked_ms`` is None) believes the time in the entry's file, because the file's owner can set
    it back. So nobody gets before the entries that were there already.
    """
    earliest_ms = 0 if looked_ms is None else looked_ms + 1
    return max(min(told_ms, now_ms), earliest_ms)


def _said(entry: ClusterBlock) -> str:
    return f"{entry.reason} (on the cluster's list of blocked hosts, by {entry.by})"


def _in_turn(entries: Iterable[ClusterBlock]) -> list[ClusterBlock]:
    """Entries of the list's owner, then each user's oldest, then each user's second, and so on."""
    taken: Counter[str] = Counter()
    ranked: list[tuple[bool, int, int, ClusterBlock]] = []
    for entry in sorted(entries, key=lambda one: (one.since_ms, one.host)):
        ranked.append((not entry.admin, 0 if entry.admin else taken[entry.by], len(ranked), entry))
        taken[entry.by] += 1
    return [entry for *_, entry in sorted(ranked, key=lambda one: one[:3])]


def _over(entry: ClusterBlock, now_ms: int) -> bool:
    return entry.until_ms is not None and entry.until_ms <= now_ms
