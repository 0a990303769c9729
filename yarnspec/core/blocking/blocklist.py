"""The blocklist: which hosts are kept out of placement, why, and until when.

A block leaves running executors and their tasks alone; new ones go elsewhere (MARK_BLOCKED in the speculative execution
proposal, FLINK-10644). A newer block of the same target and level extends the one that is there if it lasts longer. A
shorter one does not shorten it. A block that a person asked for is no guess: it lasts as long as they asked, whatever
the detectors say meanwhile. ``blocks.py`` says what levels there are.

Automatic blocks are guesses: they always expire. An automatic block is made only while all blocks together stay within
the share of running hosts that may be blocked. A user may go over the share by force, but nobody can block every host.
A block for a single task does not count towards the share, because it takes no capacity from the host. But a host must
be left for the task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from yarnspec.core.blocking.blockedshare import blocked_limit, nothing_left, over_share
from yarnspec.core.blocking.blocks import TIMER_FAMILY, WIDE, Block, BlockListener, Key, joined, key_of, malformed
from yarnspec.core.blocking.hosts import Hosts
from yarnspec.core.blocking.neverblocked import NeverBlocked
from yarnspec.core.messages.commands import Command, RefuseBlock
from yarnspec.core.messages.events import BlockRequested, Cause, HostExcluded, HostUnexcluded, UnblockRequested
from yarnspec.core.messages.settings import Settings
from yarnspec.core.messages.timers import Timers

__all__ = ["SUBMIT", "TIMER_FAMILY", "Block", "Blocklist"]

SUBMIT = "yarnspec submit"
"""The author of exclusions at submit. The blank tells it from a user's name."""
SPARK = "Spark's excludeOnFailure"
_EVERY_STAGE = (-1, -1)


class Blocklist:
    """The blocks that hold for this application. Times are milliseconds since the Unix epoch.

    ``executors`` gives the running executors and their hosts.
    """

    def __init__(
        self, hosts: Hosts, timers: Timers, settings: Settings, executors: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self._hosts = hosts
        self._timers = timers
        self._share = settings.placement.max_blocked_share
        self._durations_ms: dict[Cause, int] = {
            "asked": settings.blocks.faulty_duration_ms,
            "slow": settings.blocks.slow_duration_ms,
            "faulty": settings.blocks.faulty_duration_ms,
        }
        self._executors = executors
        self.never_blocked = NeverBlocked(settings.blocks.never)
        self._blocks: dict[Key, Block] = {}
        self._by_scope: dict[tuple[int, int], dict[Key, None]] = {}
        self._by_timer: dict[str, Key] = {}
        self._listeners: list[BlockListener] = []
        self.refused = 0

    # what holds

    def __contains__(self, host: object) -> bool:
        """Whether no container and no task at all is to start on a host."""
        return any(Key(level, str(host)) in self._blocks for level in WIDE)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, those of hosts first, sorted."""
        return tuple(sorted(self._blocks.values(), key=_order))

    @property
    def wide(self) -> tuple[Block, ...]:
        """The blocks that hold for every stage, those of hosts first, sorted: few, whatever the slow tasks' number."""
        return tuple(sorted((self._blocks[key] for key in self._by_scope.get(_EVERY_STAGE, ())), key=_order))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that no container and no task is to start on, sorted."""
        return tuple(sorted({block.host for block in self.wide if not block.executor_id}))

    @property
    def limit(self) -> int:
        """How many hosts may be blocked without force, of the hosts that run now."""
        return blocked_limit(self._share, len(self._hosts.running))

    def get(self, key: Key) -> Block | None:
        """The block of exactly this target and level."""
        return self._blocks.get(key)

    def of(self, host: str) -> tuple[Block, ...]:
        """Every block of a host or of an executor on it."""
        return tuple(block for block in self.blocks if block.host == host)

    def keeping_off(self, host: str, executor_id: str, stage: int, index: int) -> Block | None:
        """The widest block that keeps a task off an executor, if any."""
        for target, executor in ((host, ""), ("", executor_id)):
            for key in _scopes(target, executor, stage, index):
                block = self._blocks.get(key)
                if block is not None:
                    return block
        return None

    def nowhere_beside(self, hosts: Iterable[str], stage: int, index: int) -> str:
        """Why a further attempt of a task, which runs on ``hosts``, could start nowhere now, or an empty string."""
        off = {key.host for key in self._within(Key("task", "", "", stage, index))}.union(hosts)
        running = self._hosts.running
        # Executors may run on where YARN starts none any more.
        if not self._hosts.reported or not running <= off or not off.issuperset(self._executors().values()):
            return ""
        return f"it runs or may not start on each of the {len(running)} running hosts"

    def register(self, listener: BlockListener) -> None:
        """Tell somebody of the whole list now, and of each change from now on."""
        self._listeners.append(listener)
        listener.blocks_changed(self.blocks, ())

    # what changes it

    def request(self, wish: BlockRequested, now_ms: int) -> list[Command]:
        """Block a host or an executor, extend its block, or refuse with the reason."""
        host = wish.host or self._executors().get(wish.executor_id, "")
        if wish.automatic and host in self.never_blocked:
            return self.never_blocked.leave_in_use(host, wish)
        key = key_of(wish)
        duration_ms = wish.duration_ms
        if duration_ms is None and wish.automatic:
            duration_ms = self._durations_ms[wish.cause]
        until_ms = None if duration_ms is None else now_ms + duration_ms
        old = self._blocks.get(key)
        refusal = malformed(wish) or self._objection(wish, key, duration_ms, known_already=old is not None)
        if refusal:
            return [self.refuse(wish.host or wish.executor_id, refusal)]
        new = Block(
            host=host,
            reason=wish.reason,
            by=wish.by,
            since_ms=now_ms,
            until_ms=until_ms,
            automatic=wish.automatic,
            cause=wish.cause,
            level=key.level,
            executor_id=key.executor_id,
            stage=key.stage,
            index=key.task,
        )
        block = new if old is None else joined(old, new)
        if block is None:
            block = old or new
            until = _until(block.until_ms, now_ms)
            return [block.said(f"already blocked by {block.by} {until} ({block.reason}); a block is never shortened")]
        what = "extended" if old else "blocked"
        said = f"{wish.reason} ({what}{key.reach} by {wish.by} {_until(until_ms, now_ms)})"
        if block.guess is not None:
            said = f"{_both(block, block.guess, now_ms)}{key.reach}"
        return self.put(block, said)

    def put(self, block: Block, said: str) -> list[Command]:
        """Take a block in place of the one of the same target and level."""
        key = block.key
        self._blocks[key] = block
        self._by_scope.setdefault(key.scope, {})[key] = None
        done: list[Command] = [block.said(f"{said}; {self._count(block)}")]
        changes_ms = block.changes_ms
        if changes_ms is None:
            self._timers.cancel(key.timer)
        else:
            self._by_timer[key.timer] = key
            what = "ends" if block.guess is None else "is a guess again"
            done.append(self._timers.set(key.timer, changes_ms, f"the block of {key.target}{key.reach} {what}"))
        self._tell((block,), ())
        return done + self.keep_enough(key)

    def release(self, wish: UnblockRequested) -> list[Command]:
        """Unblock a host, and what was found faulty on it, or an executor because somebody asks for it.

        A host on the cluster's list stays blocked, and the reason says so.
        """
        key = key_of(wish)
        why = malformed(wish)
        found = [] if why else [one.key for one in self.blocks if one.key == key or _on_host(one, key)]
        listed = self._blocks.get(Key("cluster", key.host)) if key.level == "application" else None
        on_list = listed and (
            f"the cluster's list blocks it for all applications ({listed.reason}, by {listed.by}): "
            f"yarnspec hosts --cluster unblock {key.host}"
        )
        if not why and not found:
            others = ", ".join(sorted({one.target for one in self._blocks if one.level == key.level})) or "none"
            why = on_list or f"it is not blocked{key.reach} (blocked: {others})"
        if why:
            return [self.refuse(key.target, why, kind="unblock")]
        said = f"unblocked by {wish.by}{f', but {on_list}' if on_list else ''}"
        return [self.lift(one, said) for one in found]

    def excluded_by_spark(self, event: HostExcluded, now_ms: int) -> list[Command]:
        """Keep containers off a host on which Spark starts no task, as long as Spark does at most."""
        said = f"{event.failures} of its executors failed tasks"
        wish = BlockRequested(
            host=event.host, reason=said, by=SPARK, duration_ms=event.timeout_ms, automatic=True, cause="faulty"
        )
        if event.host in self.never_blocked:
            return self.never_blocked.excluded_by_spark(event.host, wish)
        return self.request(wish, now_ms)

    def taken_back_by_spark(self, event: HostUnexcluded, _now_ms: int) -> list[Command]:
        """End the block of a host that Spark takes again, if nobody else blocked it meanwhile."""
        self.never_blocked.taken_back_by_spark(event.host)
        key = Key("application", event.host)
        block = self._blocks.get(key)
        return [self.lift(key, "Spark takes it again")] if block is not None and block.by == SPARK else []

    def expire(self, timer: str, now_ms: int) -> list[Command]:
        """End a block whose time is over, or go on with the guess that lasts longer."""
        key = self._by_timer.get(timer)
        block = self._blocks.get(key) if key is not None else None
        if key is None or block is None:
            return []
        if block.guess is not None:
            guess = block.guess
            still = f"still blocked{key.reach} by {guess.by} {_until(guess.until_ms, now_ms)}"
            return self.put(guess, f"{guess.reason} ({still}; the time that {block.by} asked for is over)")
        lasted_s = ((block.until_ms or block.since_ms) - block.since_ms) // 1000
        return [self.lift(key, f"the block of {lasted_s} s by {block.by} is over ({block.reason})")]

    def end(self, reason: str, which: Callable[[Key], bool]) -> list[Command]:
        """End all blocks that have lost their object: a stage or a task that is over, an executor that is gone."""
        return [self.lift(key, reason) for key in [key for key in self._blocks if which(key)]]

    def context_over(self, reason: str) -> list[Command]:
        """End what belongs to a SparkContext that is gone: its stages, its tasks, and the hosts that it excluded."""
        self.never_blocked.context_over()
        theirs = [one for one in self.blocks if one.level not in WIDE or one.by == SPARK]
        return [self.lift(one.key, reason) for one in theirs]

    def lift(self, key: Key, reason: str) -> Command:
        """End one block."""
        block = self._blocks.pop(key)
        of_scope = self._by_scope[key.scope]
        del of_scope[key]
        if not of_scope:
            del self._by_scope[key.scope]
        self._timers.cancel(key.timer)
        self._by_timer.pop(key.timer, None)
        self._tell((), (block,))
        return block.lifted(f"{reason}; {self._count(block)}")

    def refuse(self, target: str, reason: str, kind: str = "block") -> RefuseBlock:
        """Say no."""
        self.refused += 1
        return RefuseBlock(host=target, kind="unblock" if kind == "unblock" else "block", reason=reason)

    def keep_enough(self, new: Key | None = None) -> list[Command]:
        """Lift automatic blocks, the next to expire first, while more running hosts are blocked than the share allows.

        For a single task: while all are. Too many are blocked after hosts were lost, or when people blocked more. After
        ``new``, a block that was made, only what it reaches is looked at. Users' blocks stay: they promise that nothing
        starts there, and the resource wait tells when that costs the job.
        """
        done: list[Command] = []
        running = self._hosts.running
        scopes = self._scopes_reached(new)
        for scope in scopes:
            most = len(running) - 1
            if scope.level != "task":
                most = min(most, self.limit)
            while running and (blocked := len(self._hosts_within(scope) & running)) > most:
                guesses = [self._blocks[key] for key in self._within(scope) if self._blocks[key].automatic]
                guesses = [block for block in guesses if block.host in running]
                if not guesses:
                    break
                first = min(guesses, key=lambda block: (block.until_ms or 0, _order(block)))
                how_many = f"{blocked} of" if blocked < len(running) else "all"
                said = (
                    f"{how_many} {len(running)} running hosts were blocked{scope.reach}, and {most} may be; "
                    f"{first.by}'s was a guess"
                )
                done.append(self.lift(first.key, said))
        return done + self._keep_executors(scopes)

    def _keep_executors(self, scopes: Iterable[Key]) -> list[Command]:
        """Lift guesses that leave no executor that runs, the next to expire first."""
        done: list[Command] = []
        blocks = [self._blocks[key] for scope in scopes for key in self._by_scope.get(scope.scope, ())]
        guesses = [block for block in blocks if _is_guess(block)]
        for block in sorted(guesses, key=lambda block: (block.until_ms or 0, _order(block))):
            running = self._executors()
            covering = list(self._covering(block.key))
            if not running or next(_left(running, covering), None):
                continue
            # Lifting a guess does not gain an executor that is kept off for another reason as well.
            proven = [key for key in covering if not _is_guess(self._blocks[key])]
            gained = {name for one in _left(running, proven) for name in one if name}
            if gained & {block.key.host, block.key.executor_id}:
                said = f"none of the {len(running)} running executors was left{block.key.reach}; it was a guess"
                done.append(self.lift(block.key, said))
        return done

    def _executors_left(self, scope: Key) -> Iterator[str]:
        """The running executors where tasks of what ``scope`` is about may start."""
        return (one for one, _ in _left(self._executors(), list(self._covering(scope))))

    def _nothing_left(self, key: Key) -> str:
        return nothing_left(self._hosts_within(key) | {key.host}, self._hosts.running)

    def _over_share(self, key: Key) -> str:
        if key.level == "task":
            return ""
        running = self._hosts.running
        after = len((self._hosts_within(key) & running) | {key.host})
        return over_share(after, running, self._share, key.reach)

    def _tell(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        for listener in self._listeners:
            listener.blocks_changed(added, lifted)

    def _within(self, scope: Key) -> Iterator[Key]:
        """The blocks of hosts that hold for whatever ``scope`` is about."""
        return (key for key in self._covering(scope) if key.host)

    def _hosts_within(self, scope: Key) -> set[str]:
        return {key.host for key in self._within(scope)}

    def _covering(self, scope: Key) -> Iterator[Key]:
        """The blocks that hold for whatever ``scope`` is about."""
        stage, task = scope.scope
        for each in dict.fromkeys((_EVERY_STAGE, (stage, -1), (stage, task))):
            yield from self._by_scope.get(each, ())

    def _scopes_reached(self, by: Key | None) -> list[Key]:
        """The targets of blocks: everything, stages and tasks, either all of them or as far as one block reaches."""
        if by is not None and by.level == "task":
            return [Key("task", "", "", by.stage, by.task)]
        stage = None if by is None or by.level in WIDE else by.stage
        narrower = [one for one in self._by_scope if one != _EVERY_STAGE and stage in (None, one[0])]
        return [
            *([Key("application", "")] if stage is None else []),
            *(
                Key("stage" if task < 0 else "task", "", "", of_stage, None if task < 0 else task)
                for of_stage, task in sorted(narrower)
            ),
        ]

    def _objection(self, wish: BlockRequested, key: Key, duration_ms: int | None, *, known_already: bool) -> str:
        if duration_ms is not None and duration_ms <= 0:
            return f"a block of {duration_ms} ms is none"
        if known_already:
            return ""
        if key.executor_id:
            return self._executor_objection(wish, key)
        if wish.automatic and wish.cause == "faulty" and key.level not in WIDE:
            # A task that failed has no attempt that runs, unlike a slow one: it must be able to start now.
            executors = self._executors()
            if not any(executors[one] != key.host for one in self._executors_left(key)):
                return f"none of the {len(executors)} running executors would be left{key.reach}"
        return self._host_objection(wish, key)

    def _host_objection(self, wish: BlockRequested, key: Key) -> str:
        if wish.by == SUBMIT or wish.earlier:
            # The submit or the earlier attempt has checked it. The host may be down now and come back.
            return self._nothing_left(key) if self._hosts.running else ""
        if not self._hosts.reported:
            return "the cluster's hosts are not known yet; try again in a moment"
        if wish.host not in self._hosts.known:
            return self._unknown(wish.host)
        return self._nothing_left(key) or self._too_many(wish, key)

    def _too_many(self, wish: BlockRequested, key: Key) -> str:
        said = self._over_share(key)
        if not said or wish.automatic:
            return said
        return "" if wish.force else f"{said}; force it (--force) if you mean it"

    def _executor_objection(self, wish: BlockRequested, key: Key) -> str:
        executors = self._executors()
        if wish.executor_id not in executors:
            return f"executor {wish.executor_id} does not run (running: {', '.join(executors) or 'none'})"
        blocked = {one.executor_id for one in self._covering(key) if one.executor_id}
        if all(one == wish.executor_id for one in self._executors_left(key)):
            return f"none of the {len(executors)} running executors would be left to run tasks on"
        limit = blocked_limit(self._share, len(executors))
        if wish.automatic and key.level != "task" and len(blocked & executors.keys()) + 1 > limit:
            return f"{limit} of {len(executors)} running executors may be blocked (share {self._share:g})"
        return ""

    def _unknown(self, host: str) -> str:
        near = self._hosts.near(host)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"the ResourceManager knows no host {host!r} among its {len(self._hosts.known)}{meant}"

    def _count(self, block: Block) -> str:
        blocked = len(self._hosts_within(block.key))
        return f"{blocked} blocked of {len(self._hosts.running)} running hosts"


def _scopes(host: str, executor_id: str, stage: int, index: int) -> tuple[Key, ...]:
    return (
        Key("cluster", host, executor_id),
        Key("application", host, executor_id),
        Key("stage", host, executor_id, stage),
        Key("task", host, executor_id, stage, index),
    )


def _order(block: Block) -> tuple[str, str, int, int, str]:
    return block.executor_id, block.host, *block.key.scope, block.level


def _on_host(block: Block, key: Key) -> bool:
    """Whether a block of an executor is a guess about the host that ``key`` is about."""
    return block.automatic and bool(block.executor_id) and (block.level, block.host) == (key.level, key.host)


def _left(executors: Mapping[str, str], blocks: Collection[Key]) -> Iterator[tuple[str, str]]:
    """The executors, with their hosts, that none of the blocks keeps off; mostly the first one tells enough."""
    hosts, ids = {key.host for key in blocks}, {key.executor_id for key in blocks}
    return ((one, host) for one, host in executors.items() if one not in ids and host not in hosts)


def _is_guess(block: Block) -> bool:
    """A faulty block may blame the data; a slow block assumed that other executors were enough. Both may be lifted."""
    cause = "slow" if block.level in WIDE else "faulty"
    return block.automatic and block.cause == cause


def _both(asked: Block, guess: Block, now_ms: int) -> str:
    return (
        f"{asked.reason} (blocked by {asked.by} {_until(asked.asked_until_ms, now_ms)}), and {guess.reason} "
        f"(by {guess.by} {_until(guess.until_ms, now_ms)})"
    )


def _until(until_ms: int | None, now_ms: int) -> str:
    return "until it is unblocked" if until_ms is None else f"for {(until_ms - now_ms) / 1000:g} s"
