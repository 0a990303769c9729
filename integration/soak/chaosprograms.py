"""The programs of the chaos: how each is submitted, and whether what it gave is right."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from integration.cluster import Cluster
from integration.soak.programs import files, frames, shuffles

OUTPUT = "/soak/chaos"
"""Where the programs write, in HDFS: each job in a directory of its own."""


@dataclass(frozen=True)
class Program:
    """A program of which the right result is known without Spark.

    `expected` gives it from the job's number. A task sleeps `pause_s`, so that a job takes one to two minutes with two
    executors. `writes`: the result is what lies in HDFS afterwards, else what the program prints.
    """

    name: str
    expected: Callable[[int], str]
    pause_s: float
    writes: bool = False

    @property
    def file(self) -> Path:
        """What is submitted."""
        return Path(__file__).parent / "programs" / f"{self.name}.py"

    def words(self, cluster: Cluster, number: int) -> list[str]:
        """The program and its arguments, for a submit."""
        directory = [f"{cluster.mini.default_fs}{_output(number)}"] if self.writes else []
        return [str(self.file), str(number), *directory, str(self.pause_s)]

    def is_right(self, cluster: Cluster, number: int, stdout: str) -> bool:
        """Whether a job that succeeded gave the right result, and no other."""
        right = self.expected(number)
        if not self.writes:
            return printed_only(stdout, right)
        return printed_only(stdout, "written") and files.digest(_written(cluster, _output(number))) == right


PROGRAMS = (
    Program("shuffles", shuffles.expected, 2.0),
    Program("frames", frames.expected, 2.0),
    Program("files", files.expected, 2.5, writes=True),
)


def in_turn(seed: int) -> Iterator[Program]:
    """Every program once, in an order that the seed decides, then every program again."""
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    while True:
        yield from dice.sample(PROGRAMS, len(PROGRAMS))


def clear(cluster: Cluster) -> None:
    """Delete what the jobs of an earlier chaos wrote."""
    if cluster.hdfs_list(OUTPUT):
        cluster.hdfs_delete(OUTPUT)


def printed_only(stdout: str, result: str) -> bool:
    """Whether a job printed this result, and no other."""
    return {text for text in stdout.splitlines() if text.startswith('{"result"')} == {json.dumps({"result": result})}


def _output(number: int) -> str:
    return f"{OUTPUT}/{number}"


def _written(cluster: Cluster, directory: str) -> dict[str, list[str]]:
    """The lines of each output. Files whose names begin with `_` or `.` hold no rows for Spark."""
    lines: dict[str, list[str]] = {}
    for name in files.OUTPUTS:
        path = f"{directory}/{name}"
        parts = [part for part in cluster.hdfs_list(path) if not part.startswith(("_", "."))]
        lines[name] = [text for part in parts for text in cluster.hdfs_read(f"{path}/{part}").decode().splitlines()]
    return lines
