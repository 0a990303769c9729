"""The blocks that hold, counted from commands: of hosts and executors, at every level."""

from __future__ import annotations

from typing import NamedTuple

from yarnspec.core.messages import commands
from yarnspec.core.messages.commands import Command
from yarnspec.observe.forms.document import BlockedHost, BlockStatus

_WIDE = ("application", "cluster")


class BlockKey(NamedTuple):
    """The key that tells blocks apart: a block of the same key replaces the one before it."""

    level: str
    target: str
    of_executor: bool
    stage: int | None
    task: int | None


class Blocks:
    """The blocks of one application after each command."""

    def __init__(self) -> None:
        self._blocks: dict[BlockKey, BlockStatus] = {}

    def apply(self, command: Command, time_ms: int) -> None:
        """Take in the next command; those that are about other things change nothing."""
        match command:
            case commands.BlockHost() | commands.BlockExecutor():
                key = block_key(command)
                old = self._blocks.get(key)
                self._blocks[key] = BlockStatus(
                    level=command.level,
                    cause=command.cause,
                    host=command.host,
                    executor_id=command.executor_id if isinstance(command, commands.BlockExecutor) else None,
                    stage=command.stage,
                    index=command.index,
                    reason=command.reason,
                    by=command.by,
                    since_ms=time_ms if old is None else old.since_ms,
                    until_ms=command.until_ms,
                )
            case commands.UnblockHost() | commands.UnblockExecutor():
                self._blocks.pop(block_key(command), None)

    def clear(self) -> None:
        """A new attempt begins: it decides anew."""
        self._blocks.clear()

    def __contains__(self, host: object) -> bool:
        return any(one.host == host and one.executor_id is None and one.level in _WIDE for one in self.all())

    def all(self) -> tuple[BlockStatus, ...]:
        """Every block, the oldest first."""
        return tuple(self._blocks.values())

    def hosts(self) -> tuple[BlockedHost, ...]:
        """The hosts that get no containers: those blocked for the application or the cluster, each once."""
        found: dict[str, BlockedHost] = {}
        for one in self.all():
            known = found.get(one.host)
            if one.executor_id is not None or one.level not in _WIDE or (known and not _longer(one, known)):
                continue
            found[one.host] = BlockedHost(host=one.host, reason=one.reason, until_ms=one.until_ms, by=one.by)
        return tuple(found.values())


def _longer(one: BlockStatus, other: BlockedHost) -> bool:
    if other.until_ms is None:
        return False
    return one.until_ms is None or one.until_ms > other.until_ms


def block_key(
    command: commands.BlockHost | commands.UnblockHost | commands.BlockExecutor | commands.UnblockExecutor,
) -> BlockKey:
    """The block that a command is about."""
    of_executor = isinstance(command, commands.BlockExecutor | commands.UnblockExecutor)
    target = (
        command.executor_id if isinstance(command, commands.BlockExecutor | commands.UnblockExecutor) else command.host
    )
    return BlockKey(command.level, target, of_executor, command.stage, command.index)
