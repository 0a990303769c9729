"""The client of a negotiator: it finds it, finds it again after a restart, and says so when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.cluster import APP, HOSTS, TOKEN, HandMadeCluster, HandMadeNegotiator
from yarnspec.core.messages.events import DriverStarted
from yarnspec.gateway.application.client import (
    NegotiatorAbsent,
    NegotiatorClient,
    NegotiatorUnreachable,
    OutputCutOff,
    OutputPiece,
)
from yarnspec.observe.http.rest import BlockBody
from yarnspec.observe.http.server import RestServer


@pytest.fixture
def cluster(tmp_path: Path) -> HandMadeCluster:
    return HandMadeCluster(tmp_path)


class Negotiators:
    """Starts and stops negotiators of one application."""

    def __init__(self, cluster: HandMadeCluster) -> None:
        self._cluster = cluster
        self._servers: list[RestServer] = []

    def start(self, negotiator: HandMadeNegotiator, *, token: str = TOKEN, announced: str | None = None) -> RestServer:
        server = RestServer(negotiator, token, "127.0.0.1")
        server.start()
        self._servers.append(server)
        self._cluster.announce(server, attempt=negotiator.document.attempt, token=announced or token)
        return server

    def stop_all(self) -> None:
        for server in self._servers:
            server.stop()
        self._servers.clear()


@pytest.fixture
def negotiators(cluster: HandMadeCluster) -> Iterator[Negotiators]:
    found = Negotiators(cluster)
    yield found
    found.stop_all()


def client_of(cluster: HandMadeCluster, *, patience_s: float = 5.0) -> NegotiatorClient:
    def read() -> bytes | None:
        path = cluster.staging / "yarnspec-endpoint.json"
        return path.read_bytes() if path.exists() else None

    return NegotiatorClient(APP, read, patience_s=patience_s)


@pytest.fixture
def client(cluster: HandMadeCluster) -> Iterator[NegotiatorClient]:
    with client_of(cluster) as client:
        yield client


def test_it_asks_and_is_answered(client: NegotiatorClient, negotiators: Negotiators) -> None:
    negotiator = HandMadeNegotiator()
    negotiator.happened([DriverStarted(pid=1), DriverStarted(pid=2)])
    negotiators.start(negotiator)
    assert client.status() == negotiator.document
    assert [host.host for host in client.hosts()] == list(HOSTS)
    assert client.block(BlockBody(host="h", reason="r", by="me")).accepted
    assert [record.seq for record in client.events(1, after=1).records] == [2]
    assert [record.seq for record in client.events(7, after=1).records] == [1, 2]


def test_without_an_announcement_it_is_absent(client: NegotiatorClient) -> None:
    with pytest.raises(NegotiatorAbsent, match="does not run"):
        client.status()


def test_one_that_is_gone_is_unreachable(cluster: HandMadeCluster, negotiators: Negotiators) -> None:
    negotiators.start(HandMadeNegotiator())
    negotiators.stop_all()
    with client_of(cluster, patience_s=0.3) as client, pytest.raises(NegotiatorUnreachable, match=APP):
        client.status()


def test_it_finds_the_next_attempt(client: NegotiatorClient, negotiators: Negotiators) -> None:
    negotiators.start(HandMadeNegotiator(1))
    assert client.status().attempt == 1
    negotiators.stop_all()
    negotiators.start(HandMadeNegotiator(2), token="another")
    assert client.status().attempt == 2


def test_an_old_token_is_tried_again_with_the_announced_one(cluster: HandMadeCluster, negotiators: Negotiators) -> None:
    server = negotiators.start(HandMadeNegotiator(), announced="stale")
    paused = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        cluster.announce(server)

    endpoint = cluster.staging / "yarnspec-endpoint.json"
    with NegotiatorClient(APP, endpoint.read_bytes, pause=pause) as client:
        assert client.status().attempt == 1
    assert len(paused) == 1


def test_an_announcement_that_is_not_whole_is_read_again(cluster: HandMadeCluster, negotiators: Negotiators) -> None:
    negotiators.start(HandMadeNegotiator())
    whole = (cluster.staging / "yarnspec-endpoint.json").read_bytes()
    answers = iter([whole[:10], whole])
    with NegotiatorClient(APP, lambda: next(answers), pause=lambda _: None) as client:
        assert client.status().attempt == 1


def test_the_token_is_in_no_text(cluster: HandMadeCluster, negotiators: Negotiators) -> None:
    negotiators.start(HandMadeNegotiator(), announced="wrong-token")
    with client_of(cluster, patience_s=0.2) as client, pytest.raises(NegotiatorUnreachable) as caught:
        client.status()
    assert "wrong-token" not in str(caught.value)


class TestOutput:
    def test_all_of_it_until_it_is_complete(self, client: NegotiatorClient, negotiators: Negotiators) -> None:
        negotiator = HandMadeNegotiator()
        negotiator.stdout = b"x" * 3_000_000
        negotiator.ended = True
        negotiators.start(negotiator)
        assert b"".join(piece.data for piece in client.output(lambda: False)) == negotiator.stdout

    def test_what_comes_later(self, client: NegotiatorClient, negotiators: Negotiators) -> None:
        negotiator = HandMadeNegotiator()
        negotiator.stdout = b"one\n"
        negotiators.start(negotiator)
        pieces = client.output(lambda: False)
        assert next(pieces).data == b"one\n"
        negotiator.stdout += b"two\n"
        negotiator.ended = True
        assert [piece.data for piece in pieces] == [b"two\n"]

    def test_a_new_attempt_starts_from_the_beginning(self, client: NegotiatorClient, negotiators: Negotiators) -> None:
        first = HandMadeNegotiator(1)
        first.stdout = b"one\n"
        negotiators.start(first)
        pieces = client.output(lambda: False)
        assert next(pieces) == OutputPiece(data=b"one\n", attempt=1)
        negotiators.stop_all()
        second = HandMadeNegotiator(2)
        second.stdout = b"one\ntwo\n"
        second.ended = True
        negotiators.start(second)
        assert list(pieces) == [
            OutputPiece(data=b"", attempt=2, restarted=True),
            OutputPiece(data=b"one\ntwo\n", attempt=2),
        ]

    def test_two_readers_have_two_names(self, client: NegotiatorClient, negotiators: Negotiators) -> None:
        negotiator = HandMadeNegotiator()
        negotiator.ended = True
        negotiators.start(negotiator)
        assert [*client.output(lambda: False), *client.output(lambda: False)] == []
        assert len(negotiator.readers) == 2

    def test_what_breaks_off_with_the_application_is_told(
        self, cluster: HandMadeCluster, negotiators: Negotiators
    ) -> None:
        negotiator = HandMadeNegotiator()
        negotiator.stdout = b"one\n"
        negotiators.start(negotiator)
        with client_of(cluster, patience_s=0.2) as client:
            pieces = client.output(lambda: True)
            assert next(pieces).data == b"one\n"
            negotiators.stop_all()
            with pytest.raises(OutputCutOff, match=APP):
                next(pieces)

    def test_it_ends_with_the_application(self) -> None:
        asked: list[bool] = []

        def ended() -> bool:
            asked.append(len(asked) >= 2)
            return asked[-1]

        with NegotiatorClient(APP, lambda: None, pause=lambda _: None) as client, pytest.raises(OutputCutOff):
            next(client.output(ended))
        assert asked == [False, False, True]
