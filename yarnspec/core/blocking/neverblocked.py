"""The hosts that nothing blocks by itself (``blocklist.never_hosts``), and which of them would be blocked otherwise.

No detector's block of such a host is made, at no level, nor one of an executor there. Tasks are copied and tried again
as on other hosts. Blocks that people ask for hold on these hosts too. Spark itself starts no task on a
host that it excludes, but containers still start there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yarnspec.core.blocking.blocks import WIDE
from yarnspec.core.messages.commands import Command, SlowHostNotBlocked
from yarnspec.core.messages.events import BlockRequested

NOTHING_BLOCKS_IT = "nothing blocks this host by itself (blocklist.never_hosts)"


class NeverBlocked:
    """Answers detectors, and Spark, that ask for a block of one of these hosts."""

    def __init__(self, names: Iterable[str]) -> None:
        self._why: dict[str, str] = dict.fromkeys(names, NOTHING_BLOCKS_IT)
        self._excluded: dict[str, str] = {}
        self._told: set[tuple[str, str]] = set()

    def __contains__(self, host: object) -> bool:
        return host in self._why

    @property
    def why(self) -> Mapping[str, str]:
        """Why each of these hosts is left in use, with what Spark or a detector said of it last."""
        return self._why | self._excluded

    def leave_in_use(self, host: str, wish: BlockRequested) -> list[Command]:
        """Make no block, and tell of it once for each host and cause; of single tasks and stages nothing is told."""
        if wish.level not in WIDE:
            return []
        self._why[host] = f"{wish.reason}; {NOTHING_BLOCKS_IT}"
        if (host, wish.cause) in self._told:
            return []
        self._told.add((host, wish.cause))
        return [SlowHostNotBlocked(host=host, cause=wish.cause, reason=self._why[host])]

    def excluded_by_spark(self, host: str, wish: BlockRequested) -> list[Command]:
        """Make no block, and tell that Spark has one of its own."""
        most = "" if wish.duration_ms is None else f", {wish.duration_ms / 1000:g} s at most"
        self._excluded[host] = (
            f"{wish.reason}; Spark itself starts no task there until it takes the host again{most}; "
            "containers still start there, as blocklist.never_hosts wants"
        )
        return [SlowHostNotBlocked(host=host, cause=wish.cause, reason=self._excluded[host])]

    def taken_back_by_spark(self, host: str) -> None:
        """Spark starts tasks there again."""
        self._excluded.pop(host, None)

    def context_over(self) -> None:
        """The SparkContext that excluded hosts is gone."""
        self._excluded.clear()

    def forget(self, host: str) -> None:
        """Somebody vouches for a host: what a detector said of it before does not count."""
        if host in self._why:
            self._why[host] = NOTHING_BLOCKS_IT
