"""Commands run as `yarnspec …` does, in this process, against a cluster of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.gateway.cluster import APP, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.cli.main import run
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.observe.http.server import RestServer


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HandMadeCluster:
    cluster = HandMadeCluster(tmp_path)
    cluster.made_rm.reports[APP] = report()
    monkeypatch.setattr(Cluster, "from_environment", lambda settings=None: cluster)  # noqa: ARG005
    return cluster


@pytest.fixture
def negotiator(cluster: HandMadeCluster) -> Iterator[HandMadeNegotiator]:
    negotiator = HandMadeNegotiator()
    server = RestServer(negotiator, "the-token", "127.0.0.1")
    server.start()
    cluster.announce(server)
    yield negotiator
    server.stop()


@pytest.fixture
def yarnspec(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def run_it(*arguments: str) -> Ran:
        code = run(list(arguments))
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return run_it
