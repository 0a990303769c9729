"""The proposal's own rule (FLINK-10644): the host of every slow task is blocked for a time. Off by default.

Each slow attempt has its host blocked once, or has the block extended. A block that was refused is asked for again
later while the attempt is still slow. The blocklist holds the share of blocked hosts, as for other automatic blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.blocks import WIDE, Block, Key
from yarnspec.core.detectors import SlowAttempt
from yarnspec.core.tasks.task_table import StageKey

_ASK_AGAIN_MS = 60_000


class EverySlowTask:
    """Finds the hosts to block for their slow tasks alone, if that is ``wanted``."""

    def __init__(self, blocklist: Blocklist, *, wanted: bool) -> None:
        self._wanted = wanted
        self._blocklist = blocklist
        self._seen: defaultdict[StageKey, set[int]] = defaultdict(set)
        self._waiting: dict[str, set[tuple[StageKey, int]]] = {}  # slow attempts on a host that is not blocked for them
        self._asked_ms: dict[str, int] = {}

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Remember whose hosts are blocked now; what was refused may be asked for again."""
        for block in added:
            if block.automatic and block.cause == "slow" and block.level in WIDE:
                self._waiting.pop(block.host, None)
        if lifted:
            self._asked_ms.clear()

    def stage_ended(self, key: StageKey) -> None:
        """Forget its attempts."""
        for task_id in self._seen.pop(key, ()):
            for waiting in self._waiting.values():
                waiting.discard((key, task_id))

    def forget(self) -> None:
        """The SparkContext is gone, and its tasks with it."""
        self._seen.clear()
        self._waiting.clear()

    def forget_host(self, host: str) -> None:
        """Somebody vouches for a host: only attempts that become slow from now on count."""
        self._waiting.pop(host, None)
        self._asked_ms.pop(host, None)

    def hosts(self, worst: Iterable[SlowAttempt], now_ms: int) -> dict[str, SlowAttempt]:
        """The hosts to block now, each with the worst of the attempts that it is blocked for."""
        found: dict[str, SlowAttempt] = {}
        for one in worst if self._wanted else ():
            key, seen = one.stage.key, self._seen[one.stage.key]
            if one.task_id not in seen:
                seen.add(one.task_id)
                self._waiting.setdefault(one.host, set()).add((key, one.task_id))
            if (key, one.task_id) in self._waiting.get(one.host, ()):
                found.setdefault(one.host, one)
        return {host: one for host, one in found.items() if self._asks(host, now_ms)}

    def _asks(self, host: str, now_ms: int) -> bool:
        block = self._blocklist.get(Key("application", host))
        if block is not None or host in self._blocklist:
            # Only our own block is extended. Whatever else keeps the host out lasts as long as it should.
            return block is not None and block.automatic and block.cause == "slow"
        if now_ms - self._asked_ms.get(host, now_ms - _ASK_AGAIN_MS) < _ASK_AGAIN_MS:
            return False
        self._asked_ms[host] = now_ms
        return True
