"""The negotiator's REST inside the application master; ``rest.py`` says what it offers.

The server runs in a thread of its own. Its answers come from ``Requests``, which the shell implements. Those methods
are called from worker threads. They may wait for a short time (a block waits for its decision), but not for more than a
few seconds. Long polls wait here and not there, so a slow reader holds no thread.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, TypeVar

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http import rest
from yarnspec.observe.http.rest import Answer, BlockBody, HostEntry, OutputChunk, ScaleBody, UnblockBody
from yarnspec.observe.log.eventlog import EventChunk
from yarnspec.observe.status.metrics import CONTENT_TYPE, exposition

_LOGGER = logging.getLogger(__name__)
_POLL_S = 0.1
_JSON = "application/json"
_Body = TypeVar("_Body")


class Requests(Protocol):
    """The negotiator's answers. Every method is called from a worker thread."""

    def status(self) -> StatusDocument:
        """The status now."""

    def events(self, epoch: int, after: int, limit_bytes: int, /) -> EventChunk:
        """Records that follow the one numbered ``after`` of an epoch, without waiting: ``EventLogs.after``."""

    def output(self, stream: str, offset: int, limit_bytes: int, reader: str, /) -> OutputChunk:
        """The driver's ``stdout`` or ``stderr`` from ``offset`` on, without waiting, for the reader of this name."""

    def hosts(self) -> list[HostEntry]:
        """The cluster's hosts."""

    def block(self, body: BlockBody, /) -> Answer:
        """Ask for a block and wait for the decision."""

    def unblock(self, body: UnblockBody, /) -> Answer:
        """Ask for the end of a block and wait for the decision."""

    def scale(self, body: ScaleBody, /) -> Answer:
        """Ask for other bounds and wait for the decision."""

    def running(self) -> tuple[RunningAttempt, ...]:
        """The task attempts that run now."""

    def explain_task(self, stage: int, index: int, /) -> Explanation | None:
        """Why a task of the newest attempt of a stage was, or was not, acted on; None if no such task is known."""

    def explain_host(self, host: str, /) -> Explanation | None:
        """Why a host was, or was not, acted on; None if nothing is known of it."""


class _OnlyWithToken:
    """Lets a request in only when it carries the token; the comparison takes the same time for every wrong one."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        given = [value for name, value in scope.get("headers", []) if name == b"authorization"]
        allowed = len(given) == 1 and hmac.compare_digest(given[0], self._expected)
        if scope["type"] == "http" and allowed:
            await self._app(scope, receive, send)
        else:
            response = Response("a valid token is needed\n", 401, {"WWW-Authenticate": "Bearer"}, "text/plain")
            await response(scope, receive, send)


def make_app(requests: Requests, token: str, stopping: Callable[[], bool] = lambda: False) -> Starlette:
    """The application; ``stopping`` ends long polls early."""

    async def status(_: Request) -> Response:
        return _json(await run_in_threadpool(requests.status))

    async def events(request: Request) -> Response:
        after = _whole_number(request, "after", 0)
        epoch = _whole_number(request, "epoch", 0)

        async def read() -> EventChunk:
            return await run_in_threadpool(requests.events, epoch, after, rest.CHUNK_LIMIT_BYTES)

        chunk = await _first_with(read, lambda one: bool(one.lines), _wait_s(request), stopping)
        data = b"".join(line.data for line in chunk.lines)
        return Response(data, 200, {rest.EPOCH_HEADER: str(chunk.epoch)}, "application/x-ndjson")

    async def output(request: Request) -> Response:
        stream = request.query_params.get("stream", "stdout")
        if stream not in ("stdout", "stderr"):
            raise HTTPException(400, "stream is stdout or stderr")
        offset = _whole_number(request, "offset", 0)
        limit = min(_whole_number(request, "limit", rest.CHUNK_LIMIT_BYTES), rest.CHUNK_LIMIT_BYTES)

        reader = request.query_params.get("reader", "")[: rest.READER_LIMIT]

        async def read() -> OutputChunk:
            return await run_in_threadpool(requests.output, stream, offset, limit, reader)

        chunk = await _first_with(read, lambda one: bool(one.data) or one.ended, _wait_s(request), stopping)
        headers = {
            rest.OFFSET_HEADER: str(chunk.next_offset),
            rest.ENDED_HEADER: "1" if chunk.ended else "0",
            rest.ATTEMPT_HEADER: str(chunk.attempt),
        }
        return Response(chunk.data, 200, headers, "application/octet-stream")

    async def hosts(_: Request) -> Response:
        return _json(await run_in_threadpool(requests.hosts))

    async def block(request: Request) -> Response:
        body = await _body(request, BlockBody)
        if not body.host or (body.duration_ms is not None and body.duration_ms <= 0):
            raise HTTPException(400, "a block needs a host, and a duration above zero or none")
        return _json(await run_in_threadpool(requests.block, body))

    async def unblock(request: Request) -> Response:
        return _json(await run_in_threadpool(requests.unblock, await _body(request, UnblockBody)))

    async def scale(request: Request) -> Response:
        return _json(await run_in_threadpool(requests.scale, await _body(request, ScaleBody)))

    async def explain(request: Request) -> Response:
        host = request.query_params.get("host", "")
        if host:
            return _json(await run_in_threadpool(requests.explain_host, host))
        if not {"stage", "index"} <= request.query_params.keys():
            raise HTTPException(400, "explain what? A host, or stage and index of a task")
        stage, index = _whole_number(request, "stage", 0), _whole_number(request, "index", 0)
        return _json(await run_in_threadpool(requests.explain_task, stage, index))

    async def running(_: Request) -> Response:
        return _json(await run_in_threadpool(requests.running))

    async def metrics(_: Request) -> Response:
        document = await run_in_threadpool(requests.status)
        return Response(await run_in_threadpool(exposition, document), 200, {"Content-Type": CONTENT_TYPE})

    return Starlette(
        routes=[
            Route("/status", status),
            Route("/events", events),
            Route("/output", output),
            Route("/hosts", hosts),
            Route("/hosts/block", block, methods=["POST"]),
            Route("/hosts/unblock", unblock, methods=["POST"]),
            Route("/scale", scale, methods=["POST"]),
            Route("/explain", explain),
            Route("/running", running),
            Route("/metrics", metrics),
        ],
        middleware=[Middleware(_OnlyWithToken, token=token)],
    )


class RestServer:
    """The REST on a socket of ``host``; ``url`` is where it listens once it is made."""

    def __init__(self, requests: Requests, token: str, host: str, port: int = 0) -> None:
        self._socket = _listen(host, port)
        address = self._socket.getsockname()
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{address[1]}"
        self._stopping = threading.Event()
        config = uvicorn.Config(
            make_app(requests, token, self._stopping.is_set),
            log_config=None,
            access_log=False,
            lifespan="off",
            http="h11",
            ws="none",
            loop="asyncio",
            limit_concurrency=64,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
            server_header=False,
            proxy_headers=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)

    def start(self, deadline_s: float = 10.0) -> None:
        """Begin to serve; returns when requests are answered."""
        self._thread.start()
        until = time.monotonic() + deadline_s
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                message = f"the REST server on {self.url} did not start"
                raise RuntimeError(message)
            self._thread.join(0.01)

    def stop(self, deadline_s: float = 5.0) -> bool:
        """End long polls, answer what runs, close the socket; False when that was not over in time."""
        self._stopping.set()
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(deadline_s)
            if self._thread.is_alive():
                self._server.force_exit = True
                self._thread.join(1.0)
        self._socket.close()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:
            _LOGGER.exception("the REST server ended")


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


_Read = TypeVar("_Read")


async def _first_with(
    read: Callable[[], Awaitable[_Read]], enough: Callable[[_Read], bool], wait_s: float, stopping: Callable[[], bool]
) -> _Read:
    """The result of ``read`` as soon as there is something in it, or when the time is over."""
    until = time.monotonic() + wait_s
    while True:
        found = await read()
        left_s = until - time.monotonic()
        if enough(found) or left_s <= 0 or stopping():
            return found
        await asyncio.sleep(min(_POLL_S, left_s))


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), 200, media_type=_JSON)


def _whole_number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18:  # noqa: PLR2004 - what fits into 64 bits
        raise HTTPException(400, f"{name} is a whole number")
    return int(text)


def _wait_s(request: Request) -> float:
    try:
        wait_s = float(request.query_params.get("wait_s", "0"))
    except ValueError:
        raise HTTPException(400, "wait_s is a number of seconds") from None
    return min(wait_s, rest.WAIT_LIMIT_S) if wait_s > 0 else 0.0


async def _body(request: Request, kind: type[_Body]) -> _Body:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > rest.BODY_LIMIT_BYTES:
            raise HTTPException(413, f"a request has at most {rest.BODY_LIMIT_BYTES} bytes")
    try:
        return msgspec.json.decode(bytes(data), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"not a request that is understood here: {error}") from error
