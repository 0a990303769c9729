"""One block: what is kept from where, why and until when; and the protocol of those who want to know of changes.

A block has a target, a host or one executor, and a level that says how far it reaches (seed 001 has the same four with
two kinds of target, and one task more):

    level        new containers    tasks of
    cluster      not there         no application that reads the cluster's list
    application  not there         this application
    stage        as ever           one stage
    task         as ever           one task of a stage
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from yarnspec.core.commands import BlockExecutor, BlockHost, UnblockExecutor, UnblockHost
from yarnspec.core.events import BlockRequested, Cause, Level, UnblockRequested

TIMER_FAMILY = "block"
WIDE: frozenset[Level] = frozenset({"application", "cluster"})
"""The levels that containers are kept off by, too."""


class Key(NamedTuple):
    """What is unique to a block. ``executor_id`` is empty when the host is the target; ``host`` is empty otherwise."""

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
    """One block; ``until_ms`` of None lasts until somebody unblocks it. A block of an executor names its host, too."""

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

    @property
    def key(self) -> Key:
        """What is unique to it."""
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


def key_of(wish: BlockRequested | UnblockRequested) -> Key:
    """Which block a request is about; a level that is no stage's or task's has neither."""
    stage = wish.stage if wish.level in ("stage", "task") else None
    task = wish.index if wish.level == "task" else None
    return Key(wish.level, "" if wish.executor_id else wish.host, wish.executor_id, stage, task)


def malformed(wish: BlockRequested | UnblockRequested) -> str:
    """What a request lacks, or an empty string."""
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
