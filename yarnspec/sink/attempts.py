"""Attempts at the partitions of an output, and four sets of them.

The sets are those of the speculative execution proposal (FLINK-10644).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

WRITING = ".writing"
"""How the name of a file ends that is not whole."""
COPY = ".copy"
"""How the name of an empty file ends which says that this attempt is a copy (``CopyNotes.java``)."""
_NAME = re.compile(r"(\d+)\.(e\d+\.t\d+)")


@dataclass(frozen=True)
class AttemptFile:
    """A whole file of one attempt at a partition; its name says epoch and task: ``00007.e1.t42``."""

    name: str
    size_bytes: int

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return int(_parts(self.name)[0])

    @property
    def id(self) -> str:
        """Epoch and task, which no other attempt of the application has: ``e1.t42``."""
        return _parts(self.name)[1]

    @property
    def at(self) -> tuple[str, int]:
        """Epoch and partition."""
        return _epoch(self.id), self.partition


@dataclass(frozen=True)
class Task:
    """One attempt as Spark knows it: ``id`` as in ``AttemptFile``."""

    partition: int
    id: str
    speculative: bool


@dataclass(frozen=True)
class AttemptSets:
    """The proposal's four sets, of attempts' ids.

    The sink publishes ``fast`` and ``finished``. It deletes everything else of ``all``, and whatever turns up later.
    """

    fast: tuple[str, ...]
    """Accepted attempts at partitions that had copies in the same epoch."""
    slow: tuple[str, ...]
    """The other attempts at these that had finished their file."""
    finished: tuple[str, ...]
    """Accepted attempts at partitions without copies."""
    all: tuple[str, ...]
    """All that is known of, failed and killed ones as well."""


def whole_files(names: dict[str, int]) -> list[AttemptFile]:
    """The attempts that have finished their file, of what their directory holds."""
    return [AttemptFile(name, size) for name, size in sorted(names.items()) if _NAME.fullmatch(name)]


def sets_of(accepted: Iterable[AttemptFile], names: Collection[str], tasks: Iterable[Task]) -> AttemptSets:
    """The four sets: by what was accepted, what the attempts' directory holds, and what Spark knows of its tasks.

    Spark knows this epoch's tasks; of those before, the directory says which had copies.
    """
    noted = [AttemptFile(name.removesuffix(COPY), 0) for name in names if name.endswith(COPY)]
    tasks = [*tasks, *(Task(each.partition, each.id, True) for each in noted)]
    copied = {(_epoch(task.id), task.partition) for task in tasks if task.speculative}
    accepted = list(accepted)
    ids = {each.id for each in accepted}
    whole = whole_files(dict.fromkeys(names, 0))
    found = {_parts(name.removesuffix(WRITING))[1] for name in names if _NAME.fullmatch(name.removesuffix(WRITING))}
    return AttemptSets(
        fast=_sorted(each.id for each in accepted if each.at in copied),
        slow=_sorted(each.id for each in whole if each.at in copied and each.id not in ids),
        finished=_sorted(each.id for each in accepted if each.at not in copied),
        all=_sorted({*ids, *found, *(task.id for task in tasks)}),
    )


def _epoch(task: str) -> str:
    return task.partition(".")[0]


def _sorted(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda each: [int(number) for number in re.findall(r"\d+", each)]))


def _parts(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not an attempt's file")
    return match[1], match[2]
