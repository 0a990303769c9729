"""The places where Spark must start no task: the blocklist in the form of Spark's scheduler, whole with each change.

Executors that are about to be given back are in it beside the blocks: they take no new task either.
"""

from __future__ import annotations

from collections.abc import Callable

from yarnspec.core.blocking.blocks import WIDE, Block, Key
from yarnspec.core.messages.commands import TaskBlock, UpdateTaskBlocks


class TaskBlocks:
    """Listens to the blocklist; says what is new for Spark since it was asked last.

    ``leaving`` gives the executors that are about to be given back, as the same object until they are others.
    """

    def __init__(self, leaving: Callable[[], frozenset[str]]) -> None:
        self._leaving_now = leaving
        self._leaving: frozenset[str] = frozenset()
        self._keys: set[Key] = set()
        self._sent = UpdateTaskBlocks(hosts=(), reason="")
        self._changed = False

    def blocks_changed(self, added: tuple[Block, ...], lifted: tuple[Block, ...]) -> None:
        """Take a change of the blocklist."""
        self._keys.difference_update(block.key for block in lifted)
        self._keys.update(block.key for block in added)
        self._changed = True

    def update(self, why: str) -> list[UpdateTaskBlocks]:
        """The new whole list, when it differs from the one that was sent last."""
        leaving = self._leaving_now()
        if not self._changed and leaving is self._leaving:
            return []
        self._changed, self._leaving = False, leaving
        narrow: dict[tuple[int, int], tuple[set[str], set[str]]] = {}
        for key in self._keys:
            if key.level not in WIDE:
                hosts, executors = narrow.setdefault(key.scope, (set(), set()))
                (executors if key.executor_id else hosts).add(key.target)
        hosts = {key.host for key in self._keys if key.level in WIDE and key.host}
        executors = {key.executor_id for key in self._keys if key.level in WIDE and key.executor_id} | leaving
        stages = tuple(
            TaskBlock(
                stage=stage,
                index=None if index < 0 else index,
                hosts=tuple(sorted(of[0])),
                executors=tuple(sorted(of[1])),
            )
            for (stage, index), of in sorted(narrow.items())
        )
        said = f"{why}; {len(hosts)} hosts and {len(executors)} executors take no task, {len(stages)} narrower blocks"
        new = UpdateTaskBlocks(
            hosts=tuple(sorted(hosts)), executors=tuple(sorted(executors)), stages=stages, reason=said
        )
        old = self._sent
        if (new.hosts, new.executors, new.stages) == (old.hosts, old.executors, old.stages):
            return []
        self._sent = new
        return [new]
