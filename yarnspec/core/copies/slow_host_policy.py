"""Decides which hosts are blocked for slowness, and how widely: as far as the evidence reaches.

The speculative execution proposal (FLINK-10644) blocks the node of every slow task for a minute. That rule alone loses
hosts to skewed data and bad luck, so it holds only where a user wants it (``every_slow_task.py``). Users of similar
systems complain: "do not lose a host on one guess". So the level of a block follows what the tasks prove:

* Slow tasks by themselves, one or several, prove nothing against a host. Each is copied, and only that task is kept off
  the host for that time.
* A host may be proven slow by all its tasks, of any stages (``HostSpeeds``). The application then stays off the host
  for a minute.

In each case running executors and tasks stay on the host (MARK_BLOCKED). No host is blocked while the remaining work
would end sooner with it. A host that comes back is blocked again only for what its tasks show from then on. A host
whose tasks prove it healthy comes back before its time, unless it is blocked for a single slow task.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.blocks import WIDE, Block, Key
from yarnspec.core.containers.capacity import Comparison, Slots, compare
from yarnspec.core.containers.profiles import USUAL
from yarnspec.core.copies.every_slow_task import EverySlowTask
from yarnspec.core.copies.notes import Notes, topic_of
from yarnspec.core.detectors import SlowAttempt
from yarnspec.core.messages.commands import Command, SlowHostNotBlocked, Verdict
from yarnspec.core.messages.events import BlockRequested
from yarnspec.core.slowness.host_speed import HostSpeeds, HostVerdict
from yarnspec.core.tasks.task_table import StageKey, TaskTable

BY = "slow-task detector"
BY_EVERY_SLOW_TASK = "blocklist.every_slow_task"

_ASK_AGAIN_MS = 60_000


class SlowHostPolicy:
    """Weighs the evidence against hosts; listens to the blocklist to know which came back."""

    def __init__(
        self,
        blocklist: Blocklist,
        slots: Slots,
        table: TaskTable,
        speeds: HostSpeeds,
        notes: Notes[str],
        *,
        every_slow_task: bool = False,
    ) -> None:
        self._blocklist = blocklist
        self._slots = slots
        self._table = table
        self._speeds = speeds
        self._notes = notes
        self._every = EverySlowTask(blocklist, wanted=every_slow_task)
        self._slow: defaultdict[StageKey, dict[str, set[int]]] = defaultdict(dict)  # slow tasks so far by host
        self._lifted: set[str] = set()
        self._came_back_ms: dict[str, int] = {}
        self._asked_ms: dict[Key, int] = {}
        self._spared: defaultdict[str, set[str]] = defaultdict(set)  # which reasons to keep a host were told

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Remember hosts that came back from a block for slowness; what was refused may be asked for again."""
        self._every.blocks_changed(added, lifted)
        if lifted:
            self._asked_ms.clear()
        self._lifted.update(block.host for block in lifted if block.cause == "slow" and block.level in WIDE)

    def stage_ended(self, key: StageKey) -> None:
        """Forget the evidence of its slow tasks."""
        self._slow.pop(key, None)
        self._every.stage_ended(key)

    def forget(self) -> None:
        """The SparkContext is gone; what is known of hosts stays."""
        self._slow.clear()
        self._every.forget()

    def forget_host(self, host: str) -> None:
        """Somebody vouches for a host: what its tasks showed so far does not count."""
        self._lifted.discard(host)
        self._came_back_ms.pop(host, None)
        self._spared.pop(host, None)
        for by_host in self._slow.values():
            by_host.pop(host, None)
        self._asked_ms = {key: at_ms for key, at_ms in self._asked_ms.items() if key.host != host}
        self._every.forget_host(host)

    def when_back(self, now_ms: int) -> dict[str, int]:
        """When each host came back from a block for slowness."""
        return self._came_back_ms | dict.fromkeys(self._lifted, now_ms)

    def came_back(self, host: str, at_ms: int) -> None:
        """A block for slowness ended in an earlier attempt, or between the attempts."""
        self._came_back_ms[host] = max(self._came_back_ms.get(host, at_ms), at_ms)

    def explain(self, host: str) -> str:
        """How many slow tasks of running stages ran on a host, in a sentence."""
        counts = {key[0]: len(by_host[host]) for key, by_host in self._slow.items() if host in by_host}
        named = ", ".join(f"{count} of stage {stage}" for stage, count in sorted(counts.items())) or "none"
        return f"slow tasks of running stages there: {named}; by themselves they are no proof against their host"

    def weigh(self, worst: Sequence[SlowAttempt], now_ms: int) -> tuple[list[BlockRequested], list[SlowHostNotBlocked]]:
        """The blocks that the slow tasks and what is learnt of hosts call for now, and which slow hosts are kept."""
        self._came_back_ms.update(dict.fromkeys(self._lifted, now_ms))
        self._lifted.clear()
        for one in worst:
            self._slow[one.stage.key].setdefault(one.host, set()).add(one.index)
        wishes = self._by_tasks(worst, now_ms)
        by_speed, spared = self._by_speed({wish.host for wish in wishes}, now_ms)
        return wishes + by_speed, spared

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
        """End blocks of hosts whose tasks have proved healthy since.

        One slow task is no matter of its host's speed, so what other tasks prove does not end its block.
        """
        done: list[Command] = []
        for block in self._blocklist.wide:
            if block.cause != "slow" or not block.automatic or block.executor_id or block.by == BY_EVERY_SLOW_TASK:
                continue
            proof = self._speeds.healthy(block.host, block.since_ms)
            if proof is not None:
                self._notes.add(block.host, "healthy", f"unblocked before its time: {proof.reason}", now_ms)
                done.append(self._blocklist.lift(block.key, f"proved healthy: {proof.reason}"))
        return done

    def _by_tasks(self, worst: Sequence[SlowAttempt], now_ms: int) -> list[BlockRequested]:
        """The hosts of slow tasks, whatever is known of them, where a user wants that."""
        wishes = []
        for host, one in self._every.hosts(worst, now_ms).items():
            said = (
                f"task {one.stage.stage}.{one.index} is slow there: {one.verdict.reason}; the host of every slow task "
                f"is blocked ({BY_EVERY_SLOW_TASK})"
            )
            self._notes.add(host, "blocked for a task", f"to be blocked: {said}", now_ms)
            wishes.append(BlockRequested(host=host, reason=said, by=BY_EVERY_SLOW_TASK, automatic=True, cause="slow"))
        return wishes

    def _by_speed(self, asked: set[str], now_ms: int) -> tuple[list[BlockRequested], list[SlowHostNotBlocked]]:
        """The hosts that all their tasks prove slow, without those that are ``asked`` for already."""
        wishes: list[BlockRequested] = []
        spared: list[SlowHostNotBlocked] = []
        tasks_left: Counter[int] = Counter()
        for stage in self._table.stages.values():
            tasks_left[stage.profile] += stage.left
        for slow in self._speeds.slow():
            key = Key("application", slow.host)
            if (
                slow.host in asked
                or slow.host in self._blocklist
                or slow.latest_ms <= self._came_back_ms.get(slow.host, -1)
            ):
                continue
            # Hosts of other wishes may be blocked by then. Their slots do not count for this one.
            comparison = self._compare(slow, asked | {wish.host for wish in wishes}, tasks_left)
            if comparison.sooner_without:
                wishes += self._wish(key, slow.reason, comparison, now_ms)
            else:
                spared += self._spare(key, slow.reason, comparison, now_ms)
        return wishes, spared

    def _compare(self, slow: HostVerdict, wished: set[str], tasks_left: Counter[int]) -> Comparison:
        """Whether the work ends sooner without a host, for each profile that has tasks left and slots there.

        One profile that needs the host is enough to keep it: tasks run only on executors of their stage's profile.
        """
        found = []
        for profile, left in tasks_left.items():
            elsewhere, here = self._slots_elsewhere(slow.host, wished, profile)
            if here or len(tasks_left) == 1:
                found.append(compare(left, elsewhere, here, slow.factor))
        if not found:
            found.append(compare(tasks_left[USUAL], *self._slots_elsewhere(slow.host, wished, USUAL), slow.factor))
        return next((one for one in found if not one.sooner_without), found[0])

    def _slots_elsewhere(self, here: str, wished: set[str], profile: int) -> tuple[int, int]:
        """The slots of a profile on other hosts that stay in use, and those on the host itself."""
        slots = self._slots.by_host(profile)
        out = {here, *wished}
        return sum(slots[host] for host in slots if host not in out and host not in self._blocklist), slots[here]

    def _spare(self, key: Key, said: str, comparison: Comparison, now_ms: int) -> list[SlowHostNotBlocked]:
        self._notes.add(key.host, f"kept{key.reach}", f"slow, but not blocked: {comparison.text}", now_ms)
        topic = topic_of(comparison.text)
        if topic in self._spared[key.host]:
            return []
        self._spared[key.host].add(topic)
        return [SlowHostNotBlocked(host=key.host, reason=f"{said}; {comparison.text}")]

    def _wish(self, key: Key, said: str, comparison: Comparison, now_ms: int) -> list[BlockRequested]:
        if now_ms - self._asked_ms.get(key, now_ms - _ASK_AGAIN_MS) < _ASK_AGAIN_MS:
            return []
        self._asked_ms[key] = now_ms
        self._spared.pop(key.host, None)
        self._notes.add(key.host, f"blocked{key.reach}", f"to be blocked{key.reach}: {said}; {comparison.text}", now_ms)
        wish = BlockRequested(
            host=key.host,
            reason=f"{said}; {comparison.text}",
            by=BY,
            automatic=True,
            cause="slow",
            level=key.level,
        )
        return [wish]
