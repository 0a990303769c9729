"""Logs by role: from NodeManagers where they have them, else from the aggregated ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.logs.test_logtext import wrapped
from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.gateway.logs.nodelogs import LogsNotThere, end_of
from yarnspec.gateway.logs.role_logs import LogContainer, LogReader, Role

AM = LogContainer(id="container_1_0001_01_000001", host="127.0.0.2", address="nm2:1")
ONE = LogContainer(id="container_1_0001_01_000002", host="127.0.0.3", address="nm3:1", executor_id="1")
TWO = LogContainer(id="container_1_0001_01_000003", host="127.0.0.4", address=None, executor_id="2")


class Nodes:
    """NodeManagers' logs as a dictionary."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {
            AM.id: {
                "application.master.log": b"skein\n",
                "driver.stderr": b"log\n",
                "driver.stdout": b"1\n2\n3\n",
                "launch_container.sh": b"export A=1\n",
                "negotiator.log": b"n\n",
            },
            ONE.id: {"executor.log": b"e1\n"},
        }

    def sizes_bytes(self, _: str, container_id: str, /) -> dict[str, int]:
        if container_id not in self.files:
            raise LogsNotThere(container_id)
        return {name: len(data) for name, data in self.files[container_id].items()}

    def read(self, _: str, container_id: str, name: str, size_bytes: int | None = None, /) -> Iterator[bytes]:
        data = self.files[container_id][name]
        yield data[:size_bytes]

    def last_lines(self, _: str, container_id: str, name: str, lines: int, /) -> bytes:
        return end_of(self.files[container_id][name], lines)


def nothing(_: str | None, __: tuple[str, ...]) -> Iterator[bytes]:
    raise ClusterUnreachable("Can not find any log file")
    yield b""


def names_read(reader: LogReader, *containers: LogContainer, tail_lines: int | None = None) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for piece in reader.read(containers, tail_lines):
        found[piece.file.name] = found.get(piece.file.name, b"") + piece.data
    return found


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("driver", ["driver.stdout", "driver.stderr"]),
        ("negotiator", ["negotiator.log"]),
        ("am", ["application.master.log"]),
    ],
)
def test_each_role_has_its_files(role: Role, names: list[str]) -> None:
    assert list(names_read(LogReader(Nodes(), nothing, role), AM)) == names


def test_a_named_file_is_read_whatever_its_role() -> None:
    reader = LogReader(Nodes(), nothing, "driver", "launch_container.sh")
    assert names_read(reader, AM) == {"launch_container.sh": b"export A=1\n"}


def test_the_last_lines() -> None:
    found = names_read(LogReader(Nodes(), nothing, "driver"), AM, tail_lines=2)
    assert found == {"driver.stdout": b"2\n3\n", "driver.stderr": b"log\n"}


def test_what_the_nodes_do_not_have_is_looked_for_in_the_aggregated_logs() -> None:
    asked: list[tuple[str | None, tuple[str, ...]]] = []

    def aggregated(container_id: str | None, names: tuple[str, ...]) -> Iterator[bytes]:
        asked.append((container_id, names))
        yield wrapped("executor.log", b"a\nb\n", TWO.id) + wrapped("prelaunch.out", b"p", TWO.id)

    pieces = list(LogReader(Nodes(), aggregated, "executor").read([ONE, TWO], 1))
    assert [(piece.file.executor_id, piece.data) for piece in pieces] == [("1", b"e1\n"), ("2", b"b\n")]
    assert asked == [(TWO.id, ())]


def test_one_call_reads_the_aggregated_logs_of_many_containers() -> None:
    asked: list[str | None] = []
    nodes = Nodes()
    nodes.files.clear()

    def aggregated(container_id: str | None, _: tuple[str, ...]) -> Iterator[bytes]:
        asked.append(container_id)
        yield b"".join(wrapped("executor.log", b"x", one) for one in (ONE.id, TWO.id, AM.id))

    pieces = list(LogReader(nodes, aggregated, "executor").read([ONE, TWO]))
    assert ([piece.file.executor_id for piece in pieces], asked) == (["1", "2"], [None])


def test_no_logs_at_all_are_not_found() -> None:
    with pytest.raises(NotFound, match="no such logs"):
        names_read(LogReader(Nodes(), nothing, "executor"), TWO)
    with pytest.raises(NotFound, match=r"no file driver\.out"):
        names_read(LogReader(Nodes(), nothing, "driver", "driver.out"), AM)


def test_following_gives_what_comes_until_the_end() -> None:
    nodes = Nodes()
    rounds: list[bool] = []

    def pause(_: float) -> None:
        nodes.files[AM.id]["driver.stdout"] += b"4\n"
        nodes.files[ONE.id]["executor.log"] += b"e2\n"

    def ended() -> bool:
        rounds.append(len(rounds) >= 2)
        return rounds[-1]

    reader = LogReader(nodes, nothing, "driver", "driver.stdout")
    pieces = reader.follow(lambda: [AM], ended, tail_lines=1, pause=pause)
    assert [piece.data for piece in pieces] == [b"3\n", b"4\n", b"4\n"]


@pytest.mark.parametrize(
    ("data", "lines", "end"),
    [
        (b"", 3, b""),
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\n", 5, b"a\nb\n"),
        (b"a\nb\n", 0, b""),
        (b"\n\n\n", 2, b"\n\n"),
    ],
)
def test_the_end_of_a_text(data: bytes, lines: int, end: bytes) -> None:
    assert end_of(data, lines) == end
