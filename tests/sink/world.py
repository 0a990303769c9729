"""Drivers that save to one path, and may be killed at any operation on its file system."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yarnspec.sink.attempts import AttemptFile, Task
from yarnspec.sink.claim import Owner
from yarnspec.sink.decision import Decision, Mode, new_run, published
from yarnspec.sink.files import LocalSinkFiles, SinkFiles
from yarnspec.sink.publication import Publication, SaveStep
from yarnspec.sink.save import save

APPLICATION = "application_1_0001"


class Killed(BaseException):
    """The driver is no more."""


class MortalFiles:
    """A file system, as long as the driver lives: it dies before or after its n-th operation.

    ``seen`` has the step at which each operation was.
    """

    def __init__(self, dies_at: int | None = None, *, after: bool = False, files: SinkFiles | None = None) -> None:
        self.dies_at = dies_at
        self.after = after
        self.files: SinkFiles = LocalSinkFiles() if files is None else files
        self.seen: list[tuple[SaveStep, str]] = []
        self.step: Callable[[], SaveStep] = lambda: SaveStep.CLAIM
        self.before_each: Callable[[int], None] = lambda _n: None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.files, name)

        def operate(*arguments: Any, **options: Any) -> Any:
            number = len(self.seen)
            if self.dies_at is not None and number > self.dies_at:
                raise Killed
            self.seen.append((self.step(), name))
            self.before_each(number)
            if number == self.dies_at and not self.after:
                raise Killed
            result = found(*arguments, **options)
            if number == self.dies_at:
                raise Killed
            return result

        return operate


@dataclass
class Driver:
    """One life of a program that saves some contents, one for each partition."""

    target: str
    epoch: int = 1
    application: str = APPLICATION
    mode: Mode = Mode.FAIL
    ordinal: int = 1
    identity: str = ""
    files: Any = field(default_factory=LocalSinkFiles)
    take_over: bool = False
    line: str = ""
    origin: str = "the same"
    key: str = ""
    run: str = ""
    losers: tuple[int, ...] = (0,)
    ran: list[int] = field(default_factory=list)
    on_running: Callable[[Publication], None] = lambda _publication: None

    _runs = itertools.count(1)

    def __post_init__(self) -> None:
        self.run = self.run or f"{new_run(self.application)[:6]}{next(self._runs):016x}"
        self.owner = Owner(self.run, self.application, self.epoch, f"process of {self.run}", "ann", "worker7", 4242, 0)
        self.publication = Publication(self.files, self.target, self.owner, self.mode)
        if isinstance(self.files, MortalFiles):
            self.files.step = lambda: self.publication.step

    def save(self, *contents: str) -> Decision:
        """What ``PartitionFileSink.save`` does; the tasks' files are written here."""
        counted: Counter[tuple[str, ...]] = Counter({(self.application, self.target): self.ordinal - 1})
        return save(
            self.publication,
            Tasks(self, contents),
            counted,
            self.line,
            key=self.key,
            suffix=".txt",
            take_over=self.take_over,
        )[0]


@dataclass
class Tasks:
    """A job of a driver that writes a content for each partition."""

    driver: Driver
    contents: tuple[str, ...]

    @property
    def partitions(self) -> int:
        return len(self.contents)

    def told_apart(self, which: str) -> contextlib.AbstractContextManager[None]:
        assert which
        return contextlib.nullcontext()

    def identity(self) -> str:
        return self.driver.identity

    def origin(self) -> str:
        return self.driver.origin

    def run(self, attempts: str, epoch: int, partitions: list[int]) -> list[AttemptFile]:
        driver = self.driver
        files: SinkFiles = driver.files.files if isinstance(driver.files, MortalFiles) else driver.files
        accepted = []
        for partition in partitions:
            content = self.contents[partition].encode()
            driver.ran.append(partition)
            name = f"{partition:05d}.e{epoch}.t{partition}"
            files.write(f"{attempts}/{name}", content)
            accepted.append(AttemptFile(name, len(content)))
            if partition in driver.losers:
                # A copy that came second, which was noted as it began, and one that is still at work.
                files.write(f"{attempts}/{partition:05d}.e{epoch}.t9{partition}.copy", b"")
                files.write(f"{attempts}/{partition:05d}.e{epoch}.t9{partition}", b"of a loser")
                files.write(f"{attempts}/{partition:05d}.e{epoch}.t8{partition}.writing", b"of a l")
        driver.on_running(driver.publication)
        return accepted

    def tasks(self, epoch: int) -> list[Task]:
        return [Task(partition, f"e{epoch}.t{partition}", False) for partition in self.driver.ran]


def read(directory: Path) -> list[str] | None:
    """What a reader sees who lists the directory: the contents of files that are not hidden; None: no directory."""
    if not directory.exists():
        return None
    return sorted(file.read_text() for file in directory.iterdir() if not file.name.startswith(("_", ".")))


def read_published(directory: Path) -> list[str]:
    """What a reader sees who heeds the manifests."""
    return sorted((directory / name).read_text() for name in published(LocalSinkFiles(), str(directory)))


def around(directory: Path) -> list[str]:
    """What lies beside an output and is not it."""
    return sorted(entry.name for entry in directory.parent.iterdir() if entry != directory)
