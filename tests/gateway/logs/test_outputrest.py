"""The rest of the output out of the log: whole, from wherever it is, or an error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from yarnspec.errors import NotFound
from yarnspec.gateway.logs.nodelogs import LogsNotThere
from yarnspec.gateway.logs.outputrest import OutputRest
from yarnspec.gateway.logs.role_logs import LogContainer

ID = "container_1700000000000_0001_01_000001"
CONTAINER = LogContainer(id=ID, host="h", address="h:1")
TEXT = b"0123456789"


def aggregated(data: bytes, length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    head = f"Container: {ID} on h_1\nLogType:driver.stdout\nLogLength:{size}\nLogContents:\n"
    return head.encode() + data


class Cluster:
    """A NodeManager and aggregated logs that answer in turns."""

    def __init__(self) -> None:
        self.sizes: list[dict[str, int]] = []
        self.node: list[bytes] = []
        self.texts: list[bytes] = []
        self.now_s = 0.0

    def sizes_bytes(self, address: str, container_id: str, /) -> dict[str, int]:
        assert (address, container_id) == ("h:1", ID)
        if not self.sizes:
            raise LogsNotThere("gone")
        return self.sizes.pop(0)

    def read(self, _address: str, _id: str, name: str, size_bytes: int | None = None, /) -> Iterator[bytes]:
        assert name == "driver.stdout"
        assert size_bytes is not None
        assert size_bytes < 0
        yield self.node.pop(0)[size_bytes:]

    def yarn_logs(self, container_id: str | None, names: tuple[str, ...]) -> Iterator[bytes]:
        assert (container_id, names) == (ID, ("driver.stdout",))
        if not self.texts:
            raise NotFound("no logs")
        yield self.texts.pop(0)

    def pause(self, seconds: float) -> None:
        self.now_s += seconds

    def read_all(self, offset: int = 4, *, known: bool = True, container: LogContainer = CONTAINER) -> bytes:
        rest = OutputRest(self, self.yarn_logs, patience_s=30, pause=self.pause, clock_s=lambda: self.now_s)
        return b"".join(rest.read(container, offset, known_to_exist=known))


def test_from_the_node() -> None:
    cluster = Cluster()
    cluster.sizes, cluster.node = [{"driver.stdout": 10}], [TEXT]
    assert cluster.read_all() == b"456789"


def test_nothing_is_left() -> None:
    cluster = Cluster()
    cluster.sizes = [{"driver.stdout": 4}]
    assert cluster.read_all() == b""


def test_from_the_aggregated_logs() -> None:
    cluster = Cluster()
    cluster.texts = [aggregated(TEXT)]
    assert cluster.read_all(container=LogContainer(id=ID, host="")) == b"456789"


def test_between_the_two_it_is_asked_for_again() -> None:
    cluster = Cluster()
    cluster.sizes = [{"other": 1}]
    cluster.texts = [b""]
    pause = cluster.pause

    def aggregate(seconds: float) -> None:
        pause(seconds)
        if cluster.now_s > 5:
            cluster.texts = [aggregated(TEXT)]

    cluster.pause = aggregate  # type: ignore[method-assign]
    assert cluster.read_all() == b"456789"


def test_a_log_that_comes_in_part_is_completed_without_repeating() -> None:
    cluster = Cluster()
    cluster.sizes, cluster.node = [{"driver.stdout": 10}], [b""]
    cluster.texts = [aggregated(TEXT[:7], 10), aggregated(TEXT)]
    assert cluster.read_all() == b"456789"


def test_what_cannot_be_had_is_an_error() -> None:
    cluster = Cluster()
    with pytest.raises(NotFound, match="from byte 4 on: no logs"):
        cluster.read_all()
    assert cluster.now_s >= 30


def test_a_container_that_wrote_none() -> None:
    cluster = Cluster()
    cluster.sizes = [{"negotiator.log": 7}]
    assert cluster.read_all(0, known=False) == b""
