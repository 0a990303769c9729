"""The cluster's own list of blocked hosts, as blocks of this application at the level ``cluster``.

The list is the truth: an entry that appears becomes a block, one that changes changes it, one that goes ends it. The
entries of the list's owner, an admin, are taken first and whatever the share of blocked hosts; but whatever the list
says, a running host is left. What others added is taken within the share, the oldest entry of each user first and then
each one's next, so that one user cannot take the hosts from all. An entry that is refused is told once, and taken as
soon as there are hosts enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from yarnspec.core.blocklist import Blocklist
from yarnspec.core.blocks import Block, Key
from yarnspec.core.commands import Command
from yarnspec.core.events import ClusterBlock, ClusterBlocksRead


class ClusterList:
    """Keeps the blocks of level ``cluster`` equal to the list that was read last."""

    def __init__(self, blocklist: Blocklist) -> None:
        self._blocklist = blocklist
        self._entries: dict[str, ClusterBlock] = {}
        self._told: set[ClusterBlock] = set()

    def read(self, event: ClusterBlocksRead) -> None:
        """Take the list as it stands; ``apply`` makes the blocks."""
        self._entries = {entry.host: entry for entry in event.blocks if entry.host}

    def apply(self, now_ms: int) -> list[Command]:
        """Make, change and end blocks until they are what the list says."""
        entries = {host: entry for host, entry in self._entries.items() if not _over(entry, now_ms)}
        done: list[Command] = []
        for block in self._blocklist.blocks:
            if block.level == "cluster" and block.host not in entries:
                done.append(self._blocklist.lift(block.key, f"{block.host} is on the cluster's list no more"))
        for entry in _in_turn(entries.values()):
            done += self._take(entry)
        self._told &= set(entries.values())
        return done

    def _take(self, entry: ClusterBlock) -> list[Command]:
        key = Key("cluster", entry.host)
        old = self._blocklist.get(key)
        block = Block(
            host=entry.host,
            reason=entry.reason,
            by=entry.by,
            since_ms=entry.since_ms,
            until_ms=entry.until_ms,
            automatic=False,
            level="cluster",
        )
        if old == block:
            return []
        said = f"{entry.reason} (on the cluster's list of blocked hosts, by {entry.by})"
        refusal = "" if old is not None else self._objection(key, entry)
        if not refusal:
            self._told.discard(entry)
            return self._blocklist.put(block, said)
        if entry in self._told:
            return []
        self._told.add(entry)
        return [self._blocklist.refuse(entry.host, f"{said}: {refusal}")]

    def _objection(self, key: Key, entry: ClusterBlock) -> str:
        return self._blocklist.nothing_left(key) or ("" if entry.admin else self._blocklist.over_share(key))


def _in_turn(entries: Iterable[ClusterBlock]) -> list[ClusterBlock]:
    """Those of the list's owner, then each user's oldest, then each one's second, and so on."""
    taken: Counter[str] = Counter()
    ranked: list[tuple[bool, int, int, ClusterBlock]] = []
    for entry in sorted(entries, key=lambda one: (one.since_ms, one.host)):
        ranked.append((not entry.admin, 0 if entry.admin else taken[entry.by], len(ranked), entry))
        taken[entry.by] += 1
    return [entry for *_, entry in sorted(ranked, key=lambda one: one[:3])]


def _over(entry: ClusterBlock, now_ms: int) -> bool:
    return entry.until_ms is not None and entry.until_ms <= now_ms
