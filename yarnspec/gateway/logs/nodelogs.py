"""Container logs from the NodeManager that has them: while the container runs, and until they are aggregated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import tenacity

from yarnspec.gateway.logs.logtext import unwrap
from yarnspec.yarn.rm.resource_manager import check_container_id

_TIMEOUT_S = 10.0
_PATIENCE_S = 5.0
_OK = 200
_FIRST_TAIL_BYTES = 256 * 1024
_LIKELY_LINE_BYTES = 300


class LogsNotThere(Exception):  # noqa: N818 - an answer, not a failure: look elsewhere
    """This NodeManager does not have (or not any more) the logs of a container."""


class NodeLogs:
    """The log files of containers by NodeManagers' REST; ``address`` is a NodeManager's ``host:port`` of its pages."""

    def __init__(self, *, user: str, scheme: str = "http") -> None:
        self._scheme = scheme
        self._user = user
        self._http = httpx2.Client(timeout=_TIMEOUT_S, trust_env=False, follow_redirects=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def sizes_bytes(self, address: str, container_id: str) -> dict[str, int]:
        """The log files of a container and their sizes."""
        url = self._url(address, container_id)
        answer = self._tried(
            lambda: self._http.get(url, params=self._as_user(), headers={"Accept": "application/json"})
        )
        try:
            found = dict(_files(msgspec.json.decode(answer.content)))
        except msgspec.DecodeError as error:
            raise LogsNotThere(str(error)) from error
        if not found:
            raise LogsNotThere(url)
        return found

    def read(self, address: str, container_id: str, name: str, size_bytes: int | None = None) -> Iterator[bytes]:
        """A log file, piece by piece: all of it, its beginning, or with a negative size its end."""
        parameters = self._as_user() if size_bytes is None else {**self._as_user(), "size": str(size_bytes)}
        request = self._http.build_request(
            "GET",
            f"{self._url(address, container_id)}/{name}",
            params=parameters,
            headers={"Accept": "text/plain"},
        )
        answer = self._tried(lambda: self._http.send(request, stream=True))
        limit = None if size_bytes is None else abs(size_bytes)
        try:
            for number, (_, piece) in enumerate(_first_log(answer.iter_bytes(), limit)):
                if piece or number == 0:
                    yield piece
        except httpx2.TransportError as error:
            raise LogsNotThere(str(error)) from error
        finally:
            answer.close()

    def last_lines(self, address: str, container_id: str, name: str, lines: int) -> bytes:
        """The last lines of a log file."""
        size_bytes = max(_FIRST_TAIL_BYTES, lines * _LIKELY_LINE_BYTES)
        while True:
            data = b"".join(self.read(address, container_id, name, -size_bytes))
            if data.count(b"\n") > lines or len(data) < size_bytes:
                return end_of(data, lines)
            size_bytes *= 4

    def _tried(self, ask: Any) -> httpx2.Response:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(httpx2.TransportError),
            wait=tenacity.wait_exponential(multiplier=0.2, max=1.0),
            stop=tenacity.stop_after_delay(_PATIENCE_S),
            reraise=True,
        )
        try:
            answer: httpx2.Response = retrying(ask)
        except httpx2.TransportError as error:
            raise LogsNotThere(str(error)) from error
        if answer.status_code != _OK:
            # 404 or a redirect to the history server: gone from here. 500: asked while it was being deleted.
            answer.close()
            raise LogsNotThere(f"{answer.url} answered {answer.status_code}")
        return answer

    def _as_user(self) -> dict[str, str]:
        return {"user.name": self._user}

    def _url(self, address: str, container_id: str) -> str:
        return f"{self._scheme}://{address}/ws/v1/node/containers/{check_container_id(container_id)}/logs"


def end_of(data: bytes, lines: int) -> bytes:
    """The last lines of some text."""
    if lines <= 0:
        return b""
    at = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return data
    return data[at + 1 :]


def _first_log(pieces: Iterator[bytes], limit: int | None) -> Iterator[tuple[str, bytes]]:
    """The first log in a text: a NodeManager appends what it has aggregated of the same file before."""
    first = None
    for log, piece in unwrap(pieces, limit):
        if first is None:
            first = log
        if log is not first:
            return
        yield log.name, piece


def _files(value: Any) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        name = value.get("fileName")
        if isinstance(name, str) and "/" not in name:
            size = str(value.get("fileSize", "0"))
            yield name, int(size) if size.isdigit() else 0
        for inner in value.values():
            yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)
