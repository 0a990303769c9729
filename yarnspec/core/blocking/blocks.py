"""One block: its target, its reach, its reason and its end; and the protocol of those who want to know of changes.

A block has a target (a host or one executor) and a level that says how far it reaches. The speculative execution
proposal (FLINK-10644) has the same four levels with two kinds of target, and one task more:

    level        new containers    tasks of
    cluster      not there         no application that reads the cluster's list
    application  not there         this application
    stage        as ever           one stage
    task         as ever           one task of a stage
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from yarnspec.core.messages.commands import BlockExecutor, BlockHost, UnblockExecutor, UnblockHost
from yarnspec.core.messages.events import BlockRequested, Cause, Level, UnblockRequested

TIMER_FAMILY = "block"
WIDE: frozenset[Level] = frozenset({"application", "cluster"})
"""The levels that containers are kept off by, too."""


class Key(NamedTuple):
    """The key of a block. ``executor_id`` is empty if the host is the target; else ``host`` is empty."""

    level: Level
    host: str
    executor_id: str = ""
    stage: int | None = None
    task: int | None = None

    @property
    def target(self) -> str:
        """The host's name or the executor's id."""
        return self.executor_id or self.host

    @property
    def timer(self) -> str:
        """The name of the timer that ends the block."""
        if self.level == "application" and not self.executor_id:
            return f"{TIMER_FAMILY}:{self.host}"
        where = ".".join(str(part) for part in (self.stage, self.task) if part is not None)
        kind = "executor" if self.executor_id else "host"
        return f"{TIMER_FAMILY}:{self.level}:{where}:{kind}:{self.target}"

    @property
    def scope(self) -> tuple[int, int]:
        """The stage and task that it is about; -1 where it is not about one."""
        return -1 if self.stage is None else self.stage, -1 if self.task is None else self.task

    @property
    def reach(self) -> str:
        """For whom it holds, in words; empty for the whole application."""
        if self.level == "stage":
            return f" for stage {self.stage}"
        if self.level == "task":
            return f" for task {self.stage}.{self.task}"
        return " for the whole cluster" if self.level == "cluster" else ""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block; ``until_ms`` of None lasts until somebody unblocks it. A block of an executor names its host, too.

    ``guess``: what goes on to hold, as a guess, once the time is over that somebody asked for, ``asked_until_ms``.
    """

    host: str
    reason: str
    by: str
    since_ms: int
    until_ms: int | None
    automatic: bool
    cause: Cause = "asked"
    level: Level = "application"
    executor_id: str = ""
    stage: int | None = None
    index: int | None = None
    guess: Block | None = None
    asked_until_ms: int | None = None

    @property
    def changes_ms(self) -> int | None:
        """When it ends, or becomes a guess."""
        return self.until_ms if self.guess is None else self.asked_until_ms

    @property
    def alone(self) -> Block:
        """The block without the guess after it."""
        if self.guess is None:
            return self
        return msgspec.structs.replace(self, until_ms=self.asked_until_ms, guess=None, asked_until_ms=None)

    @property
    def in_turn(self) -> tuple[Block, ...]:
        """The block and the guess after it, each for itself."""
        return (self.alone,) if self.guess is None else (self.alone, self.guess)

    @property
    def key(self) -> Key:
        """The key of the block."""
        return Key(self.level, "" if self.executor_id else self.host, self.executor_id, self.stage, self.index)

    def said(self, reason: str) -> BlockHost | BlockExecutor:
        """The command that tells of it."""
        if self.executor_id:
            return BlockExecutor(
                executor_id=self.executor_id,
                host=self.host,
                until_ms=self.until_ms,
                by=self.by,
                cause=self.cause,
                level=self.level,
                stage=self.stage,
                index=self.index,
                reason=reason,
            )
        return BlockHost(
            host=self.host,
            until_ms=self.until_ms,
            by=self.by,
            cause=self.cause,
            level=self.level,
            stage=self.stage,
            index=self.index,
            reason=reason,
        )

    def lifted(self, reason: str) -> UnblockHost | UnblockExecutor:
        """The command that tells of its end."""
        if self.executor_id:
            return UnblockExecutor(
                executor_id=self.executor_id, level=self.level, stage=self.stage, index=self.index, reason=reason
            )
        return UnblockHost(host=self.host, level=self.level, stage=self.stage, index=self.index, reason=reason)


class BlockListener(Protocol):
    """Somebody who has to know what is blocked."""

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Take a change; the first call, at registration, has the whole list as ``added``.

        A block that was extended is among ``added`` again.
        """


def joined(old: Block, new: Block) -> Block | None:
    """One block out of two of the same target and level, or None if the new one adds nothing.

    Until its time ends, an asked block wins. Then the automatic block holds, if it lasts longer.
    """
    asked, guess = (None, old) if old.automatic else (old.alone, old.guess)
    in_the_way = (asked, guess) if new.automatic else (asked,)
    if any(one is not None and not outlasts(new.until_ms, one.until_ms) for one in in_the_way):
        return None
    asked, guess = (asked, new) if new.automatic else (new, guess)
    if asked is None:
        return msgspec.structs.replace(new, since_ms=old.since_ms)
    if guess is None or not outlasts(guess.until_ms, asked.until_ms):
        return msgspec.structs.replace(asked, since_ms=old.since_ms)
    return msgspec.structs.replace(
        asked, since_ms=old.since_ms, until_ms=guess.until_ms, guess=guess, asked_until_ms=asked.until_ms
    )


def outlasts(new_ms: int | None, old_ms: int | None) -> bool:
    """Whether one end comes after another; None is no end."""
    return old_ms is not None and (new_ms is None or new_ms > old_ms)


def key_of(wish: BlockRequested | UnblockRequested) -> Key:
    """The key of the block that a request is about. Only the levels stage and task have a stage or a task."""
    stage = wish.stage if wish.level in ("stage", "task") else None
    task = wish.index if wish.level == "task" else None
    return Key(wish.level, "" if wish.executor_id else wish.host, wish.executor_id, stage, task)


def malformed(wish: BlockRequested | UnblockRequested) -> str:
    """The part that a request lacks, or an empty string."""
    if not (wish.host or wish.executor_id):
        return "no host was named"
    if wish.level == "cluster":
        return (
            "a block for every application is made and ended in the cluster's list: "
            "yarnspec hosts --cluster block|unblock"
        )
    if wish.level in ("stage", "task") and wish.stage is None:
        return f"a block at the level of a {wish.level} needs the stage"
    if wish.level == "task" and wish.index is None:
        return "a block at the level of a task needs the task's index"
    return ""
