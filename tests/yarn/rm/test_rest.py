"""The ResourceManager is found among several, asked again while it is away, and its refusals are told as such."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from tests.yarn.server import Answer, serving
from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound
from yarnspec.yarn.hadoop.hadoop_conf import RmAddress
from yarnspec.yarn.rm.rest import RestClient


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def nobody() -> RmAddress:
    return RmAddress("", f"http://127.0.0.1:{free_port()}")


def ok(path: str, parameters: dict[str, str]) -> Answer:
    return 200, {"path": path, "parameters": parameters}


def test_it_asks_as_the_user_and_passes_parameters() -> None:
    with serving(ok) as server, RestClient([server.address()], user="ada", timeout_s=5) as client:
        answer = client.get("/x", {"a": "1"})
    assert answer == {"path": "/x", "parameters": {"a": "1", "user.name": "ada"}}


def test_for_another_user_the_server_is_told_both() -> None:
    with (
        serving(ok) as server,
        RestClient([server.address()], user="ada", proxy_user="alice", timeout_s=5) as client,
    ):
        assert client.get("/x")["parameters"] == {"user.name": "ada", "doAs": "alice"}


def test_nobody_answering_is_unreachable_within_the_deadline() -> None:
    begun = time.monotonic()
    with (
        RestClient([nobody()], user="ada", timeout_s=1) as client,
        pytest.raises(ClusterUnreachable, match="within 1 s"),
    ):
        client.get("/x")
    assert time.monotonic() - begun < 3


def test_a_server_that_accepts_and_says_nothing_is_unreachable_within_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = RmAddress("", f"http://127.0.0.1:{silent.getsockname()[1]}")
        begun = time.monotonic()
        with RestClient([address], user="ada", timeout_s=1) as client, pytest.raises(ClusterUnreachable):
            client.get("/x")
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize("standby", [(307, ""), (200, "This is standby RM. The redirect url is: /x"), (503, "")])
def test_a_standby_one_is_passed_over_and_the_active_one_asked_first_from_then_on(standby: Answer) -> None:
    with serving(lambda _path, _parameters: standby) as passive, serving(ok) as active:
        with RestClient([passive.address("rm1"), active.address("rm2")], user="ada", timeout_s=5) as client:
            assert client.get("/x")["path"] == "/x"
            assert client.base_url == active.address().url
            client.get("/y")
        assert len(passive.requests) == 1
        assert [path for path, _ in active.requests] == ["/x", "/y"]


def test_it_is_asked_again_while_it_restarts() -> None:
    answers: list[Answer] = [(503, ""), (502, ""), (200, {"up": True})]

    def answer(_path: str, _parameters: dict[str, str]) -> Answer:
        return answers.pop(0)

    with serving(answer) as server, RestClient([server.address()], user="ada", timeout_s=10) as client:
        assert client.get("/x") == {"up": True}


@pytest.mark.parametrize(
    ("status", "error", "body"),
    [
        (401, NotAllowed, {"RemoteException": {"message": "no ticket"}}),
        (403, NotAllowed, {"RemoteException": {"message": "no way"}}),
        (404, NotFound, {"RemoteException": {"message": "no such thing"}}),
        (500, ClusterUnreachable, "<html><style>p{}</style><p>broken</p></html>"),
    ],
)
def test_final_answers_are_errors_at_once(status: int, error: type[Exception], body: Any) -> None:
    message = "broken" if isinstance(body, str) else body["RemoteException"]["message"]
    with serving(lambda _path, _parameters: (status, body)) as server:
        with RestClient([server.address()], user="ada", timeout_s=5) as client, pytest.raises(error, match=message):
            client.get("/x")
        assert len(server.requests) == 1


def test_something_else_on_that_port_is_told() -> None:
    with (
        serving(lambda _path, _parameters: (200, "<html>hello</html>")) as server,
        RestClient([server.address()], user="ada", timeout_s=5) as client,
        pytest.raises(ClusterUnreachable, match="not a ResourceManager: hello"),
    ):
        client.get("/x")
