"""Hosts that are one JVM (``HollowHosts.java``), and what they have written down of their containers."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import msgspec

from integration.cluster import Cluster
from integration.processes import ENDS_WITH_US
from integration.waiting import wait_for
from yarnspec.jvm.build import ensure_jar
from yarnspec.minicluster.hadoop.jars import ensure_jars
from yarnspec.minicluster.machine.java import find_java_home
from yarnspec.spark.runtime import spark_home

SOURCES = Path(__file__).parent
MEMORY_MB, VCORES = 4096, 8
_HEAP_MB = 512
_COME_TIMEOUT_S = 120


class Classes:
    """The Java programs of this bench, compiled for it."""

    def __init__(self, workspace: Path) -> None:
        self.java = f"{find_java_home()}/bin/java"
        self.directory = workspace / "classes"
        self.directory.mkdir()
        self.hadoop = f"{self.directory}:{ensure_jars()}/*"
        self.spark = f"{self.directory}:{ensure_jar()}:{spark_home() / 'jars'}/*"
        subprocess.run(
            [
                f"{self.java}c", "-nowarn", "-cp", f"{self.hadoop}:{self.spark}", "-d", str(self.directory),
                *(str(source) for source in sorted(SOURCES.glob("*.java"))),
            ],
            check=True,
        )  # fmt: skip


class Started(msgspec.Struct, frozen=True):
    """A container that a host was told to start."""

    at_ms: int
    host: str
    container: str
    executor: str


class Containers(msgspec.Struct, frozen=True):
    """The containers of one application: all that were started, and those that run."""

    started: tuple[Started, ...]
    running: tuple[Started, ...]

    @property
    def on_hosts(self) -> Counter[str]:
        """How many run on each host."""
        return Counter(one.host for one in self.running)

    @property
    def doubled(self) -> int:
        """How many executors were started more than once."""
        times = Counter(one.executor for one in self.started if one.executor != "-")
        return sum(count - 1 for count in times.values())


class HollowHosts:
    """So many hosts of this cluster, until the end of the block."""

    def __init__(self, cluster: Cluster, classes: Classes, count: int, workspace: Path) -> None:
        self._cluster = cluster
        self._record = workspace / f"hollow-{count}.record"
        self.names: tuple[str, ...] = ()
        self._count = count
        # The mark of the cluster's daemons: whoever ends the cluster ends these hosts too.
        environment = {**os.environ, "YARNSPEC_MINICLUSTER": str(cluster.home)}
        with (workspace / f"hollow-{count}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *ENDS_WITH_US, classes.java, f"-Xmx{_HEAP_MB}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-cp", f"{cluster.mini.home.conf}:{classes.hadoop}", "HollowHosts",
                    str(count), str(MEMORY_MB), str(VCORES), str(self._record),
                ],
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, text=True,
            )  # fmt: skip

    def __enter__(self) -> HollowHosts:
        """Wait until the ResourceManager counts on all of them."""

        def came() -> tuple[str, ...] | None:
            if self._process.poll() is not None:
                raise RuntimeError(f"the hollow hosts ended: {self._record.with_suffix('.log').read_text()[-2000:]}")
            names = tuple(words[2] for words in self._lines() if words[1] == "came")
            return names if len(names) == self._count else None

        try:
            self.names = wait_for(f"{self._count} hollow hosts", came, _COME_TIMEOUT_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End them."""
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def leave(self, hosts: Iterable[str]) -> None:
        """These hosts are gone at once, as by a power failure: the ResourceManager has to find out."""
        self._tell("leave", hosts)

    def back(self, hosts: Iterable[str]) -> None:
        """They come again, without their containers."""
        self._tell("back", hosts)

    def containers(self, application_id: str) -> Containers:
        """The application's containers, but for the AM's."""
        middle = f"_{application_id.removeprefix('application_')}_"
        started: list[Started] = []
        running: dict[str, Started] = {}
        for at_ms, what, host, container, executor in self._lines():
            if what == "left":
                running = {name: one for name, one in running.items() if one.host != host}
            elif what == "start" and middle in container:
                one = Started(int(at_ms), host, container, executor)
                started.append(one)
                running[container] = one
            elif what == "end":
                running.pop(container, None)
        return Containers(tuple(started), tuple(running.values()))

    def _lines(self) -> list[list[str]]:
        if not self._record.exists():
            return []
        lines = self._record.read_text().splitlines(keepends=True)
        return [line.split() for line in lines if line.endswith("\n")]

    def _tell(self, command: str, hosts: Iterable[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join([command, *hosts]) + "\n")
        self._process.stdin.flush()
