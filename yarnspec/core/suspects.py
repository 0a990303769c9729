"""Which hosts are blocked for slowness, and how widely: as far as the evidence reaches.

Seed 000 blocks the node of every slow task for a minute. Taken by itself that loses hosts to skewed data and to bad
luck, which users of the peers complain of ("do not lose a host on one guess"), so the block's level follows what the
tasks prove:

* one slow task: proof against nobody. It is copied, and only this task is kept off the host for that time;
* two or more slow tasks of one stage, on a host that is slow more likely than not (``HostSpeeds``): kept off for this
  stage, for a minute or until the stage ends;
* a host that was learnt to be slow over tasks and stages (``HostSpeeds``): kept off for the application, for a minute.

In each case the host keeps what runs there (MARK_BLOCKED), and no host is blocked while the work that is left would end
sooner with it. A host that comes back is blocked again only for what tasks show there now. One whose tasks prove
healthy comes back before its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from yarnspec.core.blocklist import Blocklist
from yarnspec.core.blocks import WIDE, Block, Key
from yarnspec.core.capacity import Slots, compare
from yarnspec.core.commands import Command, Verdict
from yarnspec.core.events import BlockRequested
from yarnspec.core.host_speed import HostSpeeds
from yarnspec.core.notes import Notes
from yarnspec.core.tasks import StageKey, TaskTable

BY = "slow-task detector"

_TASKS_AGAINST_HOST = 2
_LIKELY = 0.5
_UNKNOWN_FACTOR = 1.5
"""How slow a host is taken for when its tasks are slow and nothing is learnt of it yet."""
_ASK_AGAIN_MS = 60_000


class Suspects:
    """Weighs the evidence against hosts; listens to the blocklist to know which came back."""

    def __init__(
        self, blocklist: Blocklist, slots: Slots, table: TaskTable, speeds: HostSpeeds, notes: Notes[str]
    ) -> None:
        self._blocklist = blocklist
        self._slots = slots
        self._table = table
        self._speeds = speeds
        self._notes = notes
        self._slow: defaultdict[StageKey, dict[str, set[int]]] = defaultdict(dict)  # slow tasks so far by host
        self._lifted: set[str] = set()
        self._came_back_ms: dict[str, int] = {}
        self._asked_ms: dict[Key, int] = {}

    def blocks_changed(self, _added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Remember hosts that came back from a block for slowness; what was refused may be asked for again."""
        if lifted:
            self._asked_ms.clear()
        self._lifted.update(block.host for block in lifted if block.cause == "slow" and block.level in WIDE)

    def stage_ended(self, key: StageKey) -> None:
        """What its slow tasks said is over."""
        self._slow.pop(key, None)

    def forget(self) -> None:
        """The SparkContext is gone; what is known of hosts stays."""
        self._slow.clear()

    def forget_host(self, host: str) -> None:
        """Somebody vouches for a host: what its tasks showed so far does not count."""
        self._lifted.discard(host)
        self._came_back_ms.pop(host, None)
        for by_host in self._slow.values():
            by_host.pop(host, None)
        self._asked_ms = {key: at_ms for key, at_ms in self._asked_ms.items() if key.host != host}

    def explain(self, host: str) -> str:
        """How many slow tasks of running stages ran on a host, in a sentence."""
        counts = {key[0]: len(by_host[host]) for key, by_host in self._slow.items() if host in by_host}
        named = ", ".join(f"{count} of stage {stage}" for stage, count in sorted(counts.items())) or "none"
        return (
            f"slow tasks of running stages there: {named}; for a stage {_TASKS_AGAINST_HOST} are proof when it is slow "
            f"with a probability of {_LIKELY:g} or more, one never is"
        )

    def weigh(self, verdicts: Iterable[Verdict], now_ms: int) -> list[BlockRequested]:
        """The blocks that the slow tasks and what is learnt of hosts call for now."""
        self._came_back_ms.update(dict.fromkeys(self._lifted, now_ms))
        self._lifted.clear()
        here: defaultdict[str, list[Verdict]] = defaultdict(list)
        for verdict in verdicts:
            here[verdict.host].append(verdict)
            of_stage = self._slow[verdict.stage, verdict.stage_attempt]
            of_stage.setdefault(verdict.host, set()).add(verdict.index)
        wishes = self._by_speed(now_ms)
        told = {wish.host for wish in wishes}
        touched = {(verdict.stage, verdict.stage_attempt) for each in here.values() for verdict in each}
        for key in sorted(touched):
            wishes += self._by_stage(key, {host for host in here if host not in told}, now_ms)
        return wishes

    def of_task(self, verdict: Verdict) -> BlockRequested | None:
        """Keep one slow task off its host, unless a block does already."""
        if self._blocklist.keeping_off(verdict.host, verdict.executor_id, verdict.stage, verdict.index):
            return None
        return BlockRequested(
            host=verdict.host,
            reason=verdict.reason,
            by=BY,
            automatic=True,
            cause="slow",
            level="task",
            stage=verdict.stage,
            index=verdict.index,
        )

    def cleared(self, now_ms: int) -> list[Command]:
        """End blocks of hosts whose tasks have proved healthy since."""
        done: list[Command] = []
        for block in self._blocklist.blocks:
            if block.cause != "slow" or not block.automatic or block.executor_id or block.level == "task":
                continue
            proof = self._speeds.healthy(block.host, block.since_ms)
            if proof is not None:
                self._notes.add(block.host, "healthy", f"unblocked before its time: {proof.reason}", now_ms)
                done.append(self._blocklist.lift(block.key, f"proved healthy: {proof.reason}"))
        return done

    def _by_speed(self, now_ms: int) -> list[BlockRequested]:
        wishes = []
        tasks_left = sum(max(0, stage.tasks - stage.finished) for stage in self._table.stages.values())
        for slow in self._speeds.slow(now_ms):
            key = Key("application", slow.host)
            if slow.host in self._blocklist or slow.latest_ms <= self._came_back_ms.get(slow.host, -1):
                continue
            wish = self._wish(key, slow.reason, tasks_left, slow.factor, now_ms)
            if wish is not None:
                wishes.append(wish)
        return wishes

    def _by_stage(self, key: StageKey, hosts: set[str], now_ms: int) -> list[BlockRequested]:
        wishes = []
        stage = self._table.stages.get(key)
        by_host = self._slow[key]
        slow_in_all = sum(len(indexes) for indexes in by_host.values())
        for host in sorted(hosts & by_host.keys()) if stage is not None else ():
            slow = by_host[host]
            block_key = Key("stage", host, "", key[0])
            if len(slow) < _TASKS_AGAINST_HOST:
                continue
            probability = self._speeds.probability(host)
            if probability < _LIKELY:
                self._notes.add(
                    host,
                    f"little proof {key}",
                    f"not blocked for stage {key[0]}: {len(slow)} of the {slow_in_all} slow tasks ran there, but the "
                    f"probability that it is slow is {probability:.2f} (proof: {_LIKELY:g})",
                    now_ms,
                )
                continue
            if host in self._blocklist or self._blocklist.get(block_key) is not None or stage is None:
                continue
            named = ", ".join(str(index) for index in sorted(slow)[:8])
            said = (
                f"{len(slow)} of the {slow_in_all} slow tasks of stage {key[0]} ran there ({named}), and the "
                f"probability that it is slow is {probability:.2f}"
            )
            factor = max(self._speeds.factor(host), _UNKNOWN_FACTOR)
            wish = self._wish(block_key, said, max(0, stage.tasks - stage.finished), factor, now_ms)
            if wish is not None:
                wishes.append(wish)
        return wishes

    def _wish(self, key: Key, said: str, tasks_left: int, factor: float, now_ms: int) -> BlockRequested | None:
        slots = self._slots.by_host()
        elsewhere = sum(count for host, count in slots.items() if host != key.host and host not in self._blocklist)
        comparison = compare(tasks_left, elsewhere, slots[key.host], factor)
        if not comparison.sooner_without:
            self._notes.add(key.host, f"kept{key.reach}", f"slow, but not blocked: {comparison.text}", now_ms)
            return None
        if now_ms - self._asked_ms.get(key, now_ms - _ASK_AGAIN_MS) < _ASK_AGAIN_MS:
            return None
        self._asked_ms[key] = now_ms
        self._notes.add(key.host, f"blocked{key.reach}", f"to be blocked{key.reach}: {said}; {comparison.text}", now_ms)
        return BlockRequested(
            host=key.host,
            reason=f"{said}; {comparison.text}",
            by=BY,
            automatic=True,
            cause="slow",
            level=key.level,
            stage=key.stage,
        )
