"""The negotiator's REST, over loopback, with a negotiator that is a few plain values."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx2
import msgspec
import pytest

from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http import rest
from yarnspec.observe.http.rest import Answer, BlockBody, HostEntry, OutputChunk, ScaleBody, UnblockBody
from yarnspec.observe.http.server import RestServer
from yarnspec.observe.log.copied_log import Line
from yarnspec.observe.log.eventlog import EventChunk

TOKEN = "right"


class Negotiator:
    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.stdout = b""
        self.ended = False
        self.readers: list[str] = []
        self.asked: list[BlockBody | ScaleBody | UnblockBody] = []
        self.polled = threading.Event()

    def status(self) -> StatusDocument:
        return StatusDocument(application_id="application_1_0001", state="RUNNING")

    def events(self, epoch: int, after: int, limit_bytes: int, /) -> EventChunk:
        self.polled.set()
        assert limit_bytes > 0
        return EventChunk(3, [line for line in self.lines if epoch not in (0, 3) or line.seq > after])

    def output(self, stream: str, offset: int, limit_bytes: int, reader: str, /) -> OutputChunk:
        self.polled.set()
        self.readers.append(reader)
        data = self.stdout[offset : offset + limit_bytes] if stream == "stdout" else b""
        return OutputChunk(data=data, next_offset=offset + len(data), ended=self.ended, attempt=3)

    def hosts(self) -> list[HostEntry]:
        return [HostEntry(host="127.0.0.2", state="RUNNING")]

    def explain_task(self, stage: int, index: int, /) -> Explanation | None:
        if stage != 3:
            return None
        return Explanation(subject=f"{stage}.{index}", verdict="slow", numbers={"baseline_ms": 6.5}, lines=("a", "b"))

    def explain_host(self, host: str, /) -> Explanation | None:
        return Explanation(subject=host, verdict="healthy", numbers={}, lines=())

    def block(self, body: BlockBody, /) -> Answer:
        self.asked.append(body)
        return Answer(accepted=True)

    def scale(self, body: ScaleBody, /) -> Answer:
        self.asked.append(body)
        return Answer(accepted=True, reason="it holds at once")

    def running(self) -> tuple[RunningAttempt, ...]:
        return ()

    def unblock(self, body: UnblockBody, /) -> Answer:
        self.asked.append(body)
        return Answer(accepted=False, reason="it is not blocked")


@pytest.fixture
def negotiator() -> Negotiator:
    return Negotiator()


@pytest.fixture
def server(negotiator: Negotiator) -> Iterator[RestServer]:
    server = RestServer(negotiator, TOKEN, "127.0.0.1")
    server.start()
    yield server
    assert server.stop()


@pytest.fixture
def client(server: RestServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=10) as client:
        yield client


def test_status_is_the_document(client: httpx2.Client) -> None:
    document = msgspec.json.decode(client.get("/status").content, type=StatusDocument)
    assert document.state == "RUNNING"


@pytest.mark.parametrize(
    "path", ["/status", "/events", "/output", "/hosts", "/hosts/block", "/explain?host=h", "/metrics", "/nothing"]
)
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "right", "bearer right"])
def test_nothing_is_told_without_the_token(server: RestServer, path: str, header: str | None) -> None:
    headers = [] if header is None else [(b"Authorization", header.encode())]
    with httpx2.Client(base_url=server.url, timeout=10) as client:
        answer = client.request("POST" if "block" in path else "GET", path, headers=headers)
    assert answer.status_code == 401


def test_two_tokens_are_refused(server: RestServer) -> None:
    headers = [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {TOKEN}")]
    with httpx2.Client(base_url=server.url, timeout=10) as client:
        assert client.get("/status", headers=headers).status_code == 401


def test_output_goes_on_where_the_last_answer_ended(client: httpx2.Client, negotiator: Negotiator) -> None:
    negotiator.stdout = b"one\ntwo\n"
    first = client.get("/output", params={"limit": 4})
    assert (first.content, first.headers[rest.ENDED_HEADER], first.headers[rest.ATTEMPT_HEADER]) == (b"one\n", "0", "3")
    second = client.get("/output", params={"offset": first.headers[rest.OFFSET_HEADER], "reader": "me"})
    assert second.content == b"two\n"
    assert negotiator.readers == ["", "me"]


def test_an_answer_of_output_has_a_limit(client: httpx2.Client, negotiator: Negotiator) -> None:
    negotiator.stdout = b"x" * (rest.CHUNK_LIMIT_BYTES + 1)
    assert len(client.get("/output", params={"limit": 10**9}).content) == rest.CHUNK_LIMIT_BYTES


def test_a_long_poll_ends_with_the_first_byte(client: httpx2.Client, negotiator: Negotiator) -> None:
    answers: list[bytes] = []
    reader = threading.Thread(target=lambda: answers.append(client.get("/output", params={"wait_s": 9}).content))
    reader.start()
    assert negotiator.polled.wait(5)
    negotiator.stdout = b"late"
    reader.join(5)
    assert answers == [b"late"]


def test_events_come_in_lines_and_start_again_with_a_new_epoch(client: httpx2.Client, negotiator: Negotiator) -> None:
    negotiator.lines = [Line(1, b'{"seq":1}\n'), Line(2, b'{"seq":2}\n')]
    answer = client.get("/events", params={"after": 1, "wait_s": 5})
    assert (answer.content, answer.headers[rest.EPOCH_HEADER]) == (b'{"seq":2}\n', "3")
    assert client.get("/events", params={"after": 2, "epoch": 3}).content == b""
    assert client.get("/events", params={"after": 2, "epoch": 2}).content == b'{"seq":1}\n{"seq":2}\n'


def test_stopping_ends_long_polls(negotiator: Negotiator) -> None:
    server = RestServer(negotiator, TOKEN, "127.0.0.1")
    server.start()
    answers: list[int] = []

    def wait() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answers.append(httpx2.get(f"{server.url}/events?wait_s=30", headers=headers, timeout=40).status_code)

    reader = threading.Thread(target=wait)
    reader.start()
    assert negotiator.polled.wait(5)
    assert server.stop(deadline_s=4)
    reader.join(5)
    assert answers == [200]


def test_blocks_reach_the_negotiator(client: httpx2.Client, negotiator: Negotiator) -> None:
    body = BlockBody(host="127.0.0.3", reason="slow", by="me", duration_ms=1000)
    answer = client.post("/hosts/block", content=msgspec.json.encode(body))
    assert msgspec.json.decode(answer.content, type=Answer).accepted
    refused = client.post("/hosts/unblock", json={"host": "127.0.0.9", "by": "me"})
    assert msgspec.json.decode(refused.content, type=Answer).reason == "it is not blocked"
    scaled = client.post("/scale", json={"min_executors": 2, "max_executors": 4, "by": "me"})
    assert msgspec.json.decode(scaled.content, type=Answer).reason == "it holds at once"
    assert negotiator.asked == [
        body,
        UnblockBody(host="127.0.0.9", by="me"),
        ScaleBody(min_executors=2, max_executors=4, by="me"),
    ]
    assert client.post("/scale", json={"min_executors": 2, "by": "me"}).status_code == 400


def test_a_task_and_a_host_are_explained(client: httpx2.Client) -> None:
    answer = client.get("/explain", params={"stage": 3, "index": 7})
    assert msgspec.json.decode(answer.content) == {
        "subject": "3.7",
        "verdict": "slow",
        "numbers": {"baseline_ms": 6.5},
        "lines": ["a", "b"],
        "ended": False,
    }
    assert client.get("/explain", params={"stage": 9, "index": 7}).content == b"null"
    assert client.get("/explain", params={"host": "h1"}).json()["subject"] == "h1"


@pytest.mark.parametrize("query", ["", "stage=3", "index=3", "stage=x&index=1", "stage=-1&index=1"])
def test_explain_what(client: httpx2.Client, query: str) -> None:
    assert client.get(f"/explain?{query}").status_code == 400


def test_metrics_are_text_for_prometheus(client: httpx2.Client) -> None:
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE yarnspec_executors gauge" in answer.text


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", 400),
        (b"\xff", 400),
        (b"[]", 400),
        (b'{"host":"h","by":"me"}', 400),
        (b'{"host":"","reason":"r","by":"me"}', 400),
        (b'{"host":"h","reason":"r","by":"me","duration_ms":0}', 400),
        (b'{"host":"h","reason":"r","by":"me","shell":"rm"}', 400),
        (b'{"host":"' + b"h" * rest.BODY_LIMIT_BYTES, 413),
    ],
)
def test_bad_requests_do_not_reach_it(client: httpx2.Client, negotiator: Negotiator, content: bytes, code: int) -> None:
    assert client.post("/hosts/block", content=content).status_code == code
    assert negotiator.asked == []


@pytest.mark.parametrize(
    "query", ["offset=-1", "offset=x", "offset=1e3", "stream=../etc/passwd", "wait_s=x", "offset=9999999999999999999"]
)
def test_bad_queries_are_refused(client: httpx2.Client, query: str) -> None:
    assert client.get(f"/output?{query}").status_code == 400
