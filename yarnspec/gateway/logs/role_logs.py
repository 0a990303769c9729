"""The logs of an application by the role of who wrote them, from wherever they are at the moment.

While a container runs, and for a while after, its NodeManager has them; later they are aggregated in the cluster's file
system, where ``yarn logs`` finds them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, Protocol

import msgspec

from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.gateway.logs.logtext import unwrap
from yarnspec.gateway.logs.nodelogs import LogsNotThere, end_of

Role = Literal["driver", "negotiator", "executor", "am"]

_PAUSE_S = 1.0
_KEPT_TAIL_BYTES = 16 * 1024 * 1024
DRIVER_FILES = ("driver.stdout", "driver.stderr")
NEGOTIATOR_FILES = ("negotiator.log", "application.driver.log")
_OF_YARN = frozenset({"directory.info", "launch_container.sh", "prelaunch.err", "prelaunch.out"})


class LogContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A container whose logs may be read; ``address`` is its NodeManager's, where it is known."""

    id: str
    host: str
    address: str | None = None
    executor_id: str | None = None


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """One log file of one container."""

    container_id: str
    host: str
    role: Role
    name: str
    executor_id: str | None = None


class LogPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Some bytes of a log file; those of one file come one after the other unless logs are followed."""

    file: LogFile
    data: bytes


class OnNodes(Protocol):
    """The NodeManagers, as far as they are needed (nodelogs.py)."""

    def sizes_bytes(self, address: str, container_id: str, /) -> dict[str, int]:
        """The log files of a container."""

    def read(self, address: str, container_id: str, name: str, size_bytes: int | None = None, /) -> Iterator[bytes]:
        """A log file."""

    def last_lines(self, address: str, container_id: str, name: str, lines: int, /) -> bytes:
        """Its last lines."""


Aggregated = Callable[[str | None, tuple[str, ...]], Iterator[bytes]]
"""``yarn logs`` of a container (None: of all), only the files of these names (none: all), as text."""


def wanted(role: Role, name: str | None) -> Callable[[str], bool]:
    """The files of a container that belong to a role. A ``name`` picks one, whatever the role."""
    if name is not None:
        return lambda found: found == name
    if role == "driver":
        return lambda found: found in DRIVER_FILES
    if role == "negotiator":
        return lambda found: found in NEGOTIATOR_FILES
    if role == "am":
        return lambda found: found not in (*DRIVER_FILES, *NEGOTIATOR_FILES, *_OF_YARN)
    return lambda found: found not in _OF_YARN


class LogReader:
    """Reads the logs of some containers of one application and one role."""

    def __init__(self, nodes: OnNodes, aggregated: Aggregated, role: Role, name: str | None = None) -> None:
        self._nodes = nodes
        self._aggregated = aggregated
        self._role = role
        self._name = name
        self._wanted = wanted(role, name)

    def read(self, containers: Iterable[LogContainer], tail_lines: int | None = None) -> Iterator[LogPiece]:
        """The logs that are there now, container by container.

        Raises:
            NotFound: no container has such a log.
        """
        elsewhere: list[LogContainer] = []
        some = False
        for container in containers:
            try:
                for piece in self._from_node(container, tail_lines):
                    some = True
                    yield piece
            except LogsNotThere:
                elsewhere.append(container)
        if elsewhere:
            for piece in self._from_aggregation(elsewhere, tail_lines):
                some = True
                yield piece
        if not some:
            what = f"file {self._name}" if self._name else f"log of the {self._role}"
            message = f"there is no {what}: none was written, or YARN does not keep it any more"
            raise NotFound(message)

    def follow(
        self,
        containers: Callable[[], Iterable[LogContainer]],
        ended: Callable[[], bool],
        *,
        tail_lines: int | None = None,
        pause: Callable[[float], None],
    ) -> Iterator[LogPiece]:
        """The logs that are there, and new lines until the application ends. Containers may join and go."""
        seen_bytes: dict[tuple[str, str], int] = {}
        over = False
        while True:
            for container in containers():
                yield from self._news(container, seen_bytes, tail_lines)
            if over:
                return
            over = ended()
            if not over:
                pause(_PAUSE_S)

    def _files(self, container: LogContainer, names: Mapping[str, int]) -> Iterator[LogFile]:
        for name in sorted(filter(self._wanted, names), key=_order):
            yield self._file(container, name)

    def _file(self, container: LogContainer, name: str) -> LogFile:
        return LogFile(
            container_id=container.id,
            host=container.host,
            role=self._role,
            name=name,
            executor_id=container.executor_id,
        )

    def _from_node(self, container: LogContainer, tail_lines: int | None) -> Iterator[LogPiece]:
        if container.address is None:
            raise LogsNotThere(container.id)
        names = self._nodes.sizes_bytes(container.address, container.id)
        for file in self._files(container, names):
            if tail_lines is not None:
                data = self._nodes.last_lines(container.address, container.id, file.name, tail_lines)
                yield LogPiece(file=file, data=data)
            else:
                for data in self._nodes.read(container.address, container.id, file.name):
                    yield LogPiece(file=file, data=data)

    def _from_aggregation(self, containers: list[LogContainer], tail_lines: int | None) -> Iterator[LogPiece]:
        by_id = {container.id: container for container in containers}
        names: tuple[str, ...] = ()
        if self._name is not None:
            names = (self._name,)
        elif self._role == "driver":
            names = DRIVER_FILES
        elif self._role == "negotiator":
            names = NEGOTIATOR_FILES
        only = next(iter(by_id)) if len(by_id) == 1 else None
        pieces = self._unwrapped(self._aggregated(only, names), by_id)
        yield from pieces if tail_lines is None else _tails(pieces, tail_lines)

    def _unwrapped(self, text: Iterator[bytes], by_id: Mapping[str, LogContainer]) -> Iterator[LogPiece]:
        try:
            for log, data in unwrap(text):
                container = by_id.get(log.container_id)
                if container is not None and self._wanted(log.name):
                    yield LogPiece(file=self._file(container, log.name), data=data)
        except (NotFound, ClusterUnreachable) as error:
            # `yarn logs` fails alike for logs that are not there and for what it cannot reach; the former is usual.
            message = f"YARN has no such logs (any more): {error}"
            raise NotFound(message) from error

    def _news(
        self, container: LogContainer, seen_bytes: dict[tuple[str, str], int], tail_lines: int | None
    ) -> Iterator[LogPiece]:
        if container.address is None:
            return
        try:
            sizes = self._nodes.sizes_bytes(container.address, container.id)
            for file in self._files(container, sizes):
                key = (container.id, file.name)
                size_bytes = sizes[file.name]
                if key not in seen_bytes and tail_lines is not None:
                    data = b"".join(self._nodes.read(container.address, container.id, file.name, size_bytes))
                    seen_bytes[key] = len(data)
                    yield LogPiece(file=file, data=end_of(data, tail_lines))
                elif size_bytes > seen_bytes.get(key, 0):
                    yield from self._rest(container, file, seen_bytes, size_bytes)
        except LogsNotThere:
            return  # not yet, or not any more

    def _rest(
        self, container: LogContainer, file: LogFile, seen_bytes: dict[tuple[str, str], int], size_bytes: int
    ) -> Iterator[LogPiece]:
        # A NodeManager gives beginnings and ends of a file, and the end moves on meanwhile: so from the beginning.
        key = (container.id, file.name)
        skip = seen_bytes.get(key, 0)
        at = 0
        for data in self._nodes.read(container.address or "", container.id, file.name, size_bytes):
            fresh = data[max(0, skip - at) :]
            at += len(data)
            if fresh:
                seen_bytes[key] = at
                yield LogPiece(file=file, data=fresh)


def _order(name: str) -> tuple[bool, str]:
    """Standard output before the rest."""
    return (not name.endswith("stdout"), name)


def _tails(pieces: Iterable[LogPiece], lines: int) -> Iterator[LogPiece]:
    file: LogFile | None = None
    kept: deque[bytes] = deque()
    size_bytes = 0
    for piece in pieces:
        if file is not None and piece.file != file:
            yield LogPiece(file=file, data=end_of(b"".join(kept), lines))
            kept.clear()
            size_bytes = 0
        file = piece.file
        kept.append(piece.data)
        size_bytes += len(piece.data)
        while size_bytes - len(kept[0]) > _KEPT_TAIL_BYTES:
            size_bytes -= len(kept.popleft())
    if file is not None:
        yield LogPiece(file=file, data=end_of(b"".join(kept), lines))
