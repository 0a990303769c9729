"""A ResourceManager or NodeManager that says what a test tells it to, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from yarnspec.yarn.hadoop.hadoop_conf import RmAddress

Answer = tuple[int, Any]


class Server:
    """The running server; ``requests`` collects (path, parameters) of what was asked."""

    def __init__(self, answer: Callable[[str, dict[str, str]], Answer]) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parsed = urlsplit(self.path)
                parameters = dict(parse_qsl(parsed.query))
                outer.requests.append((parsed.path, parameters))
                status, body = answer(parsed.path, parameters)
                content = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
                self.send_response(status)
                if status == 307:
                    self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def address(self, rm_id: str = "") -> RmAddress:
        return RmAddress(rm_id, f"http://127.0.0.1:{self.port}")

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@contextmanager
def serving(answer: Callable[[str, dict[str, str]], Answer]) -> Iterator[Server]:
    server = Server(answer)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def documents(by_path: dict[str, Any]) -> Iterator[Server]:
    """A server of fixed documents; anything else is Hadoop's own 404."""

    def answer(path: str, _parameters: dict[str, str]) -> Answer:
        if path in by_path:
            return 200, by_path[path]
        return 404, {"RemoteException": {"exception": "NotFoundException", "message": f"nothing at {path}"}}

    with serving(answer) as server:
        yield server
