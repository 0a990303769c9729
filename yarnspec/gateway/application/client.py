"""Talks to the negotiator of a running application, and finds it again when a new attempt takes over.

The negotiator announces itself in a file of the application's staging directory, which only the user can read. A new
attempt replaces that file; so before every retry it is read again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx2
import msgspec
import tenacity

from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.messages.events import RunningAttempt
from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import Record, decode_lines
from yarnspec.observe.http import rest
from yarnspec.observe.http.rest import Answer, BlockBody, Endpoint, HostEntry, OutputChunk, ScaleBody, UnblockBody

_PAUSE_S = 1.0
_FIRST_RETRY_S = 0.1
_LONGEST_RETRY_S = 2.0
_Answer = TypeVar("_Answer")


class NegotiatorUnreachable(ClusterUnreachable):
    """The application's negotiator does not answer."""


class NegotiatorAbsent(NegotiatorUnreachable):
    """The application's negotiator has not announced itself (yet), or not to this user, or has ended."""


class OutputCutOff(ClusterUnreachable):
    """The application ended before the negotiator could give all of the driver's output."""


class _TryAgain(Exception):  # noqa: N818 - tells tenacity something, nobody else
    """The answer says that another one may come."""


class EventsRead(msgspec.Struct, frozen=True, kw_only=True):
    """Records from a live negotiator."""

    epoch: int
    records: tuple[Record, ...]


class OutputPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of an attempt's output. ``restarted``: another attempt began, and its output from the beginning."""

    data: bytes
    attempt: int
    restarted: bool = False


class NegotiatorClient:
    """The REST of one application's negotiator.

    ``read_endpoint`` returns the bytes of the announcing file, or None when there is none. A request is tried again for
    ``patience_s``; ``timeout_s`` is for each try.
    """

    def __init__(
        self,
        application_id: str,
        read_endpoint: Callable[[], bytes | None],
        *,
        timeout_s: float = 10.0,
        patience_s: float = 10.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.application_id = application_id
        self._read_endpoint = read_endpoint
        self._endpoint: Endpoint | None = None
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._pause = pause
        # The hosts of a cluster are reached directly; a proxy from the environment is for the world outside.
        self._http = httpx2.Client(timeout=timeout_s, trust_env=False, follow_redirects=False)

    def __enter__(self) -> NegotiatorClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def status(self) -> StatusDocument:
        """The status document of this moment."""
        return self._decoded(self._ask("GET", "/status"), StatusDocument)

    def events(self, epoch: int = 0, after: int = 0, wait_s: float = 0.0) -> EventsRead:
        """Records that follow ``after`` of ``epoch``; of the one that runs, when the negotiator does not know that."""
        answer = self._ask("GET", "/events", {"epoch": epoch, "after": after, "wait_s": wait_s}, wait_s=wait_s)
        return EventsRead(epoch=_header(answer, rest.EPOCH_HEADER), records=tuple(decode_lines(answer.content)))

    def running(self) -> tuple[RunningAttempt, ...]:
        """The task attempts that run now."""
        return self._decoded(self._ask("GET", "/running"), tuple[RunningAttempt, ...])

    def hosts(self) -> list[HostEntry]:
        """The cluster's hosts as the negotiator knows them."""
        return self._decoded(self._ask("GET", "/hosts"), list[HostEntry])

    def block(self, body: BlockBody) -> Answer:
        """Ask for a host to be kept out."""
        return self._decoded(self._ask("POST", "/hosts/block", body=msgspec.json.encode(body)), Answer)

    def unblock(self, body: UnblockBody) -> Answer:
        """Ask for a host to be let in again."""
        return self._decoded(self._ask("POST", "/hosts/unblock", body=msgspec.json.encode(body)), Answer)

    def scale(self, body: ScaleBody) -> Answer:
        """Ask for other bounds for the number of executors."""
        return self._decoded(self._ask("POST", "/scale", body=msgspec.json.encode(body)), Answer)

    def explain_task(self, stage: int, index: int) -> Explanation | None:
        """Why a task was, or was not, acted on; None when the negotiator knows no such task."""
        return self._explanation({"stage": stage, "index": index})

    def explain_host(self, host: str) -> Explanation | None:
        """Why a host was, or was not, acted on; None if nothing is known of it."""
        return self._explanation({"host": host})

    def output_once(
        self, stream: Literal["stdout", "stderr"], offset: int, wait_s: float = 0.0, reader: str = ""
    ) -> OutputChunk:
        """One piece of the driver's output; ``reader`` is told from other readers by this name."""
        query = {"stream": stream, "offset": offset, "wait_s": wait_s, "reader": reader}
        answer = self._ask("GET", "/output", query, wait_s=wait_s)
        return OutputChunk(
            data=answer.content,
            next_offset=_header(answer, rest.OFFSET_HEADER),
            ended=_header(answer, rest.ENDED_HEADER) == 1,
            attempt=_header(answer, rest.ATTEMPT_HEADER),
        )

    def output(
        self,
        application_ended: Callable[[], bool],
        *,
        stream: Literal["stdout", "stderr"] = "stdout",
        wait_s: float = 10.0,
    ) -> Iterator[OutputPiece]:
        """The driver's output from its beginning until it is complete, across attempts.

        While no negotiator answers (not started yet, between two attempts) it asks ``application_ended`` once a second
        whether to go on. When another attempt begins, a piece without data says so before its first byte.

        Raises:
            OutputCutOff: the application has ended, and this was not all of it.
        """
        reader = secrets.token_hex(8)
        attempt = offset = 0
        while True:
            try:
                chunk = self.output_once(stream, offset, wait_s, reader)
            except ClusterUnreachable as error:  # it does not answer, or its announcement could not be read
                if application_ended():
                    message = f"the negotiator of {self.application_id} ended before it gave all of the output"
                    raise OutputCutOff(message) from error
                self._pause(_PAUSE_S)
                continue
            if chunk.attempt != attempt:
                fresh, offset_was = attempt == 0, offset
                attempt, offset = chunk.attempt, 0
                if not fresh:
                    yield OutputPiece(data=b"", attempt=attempt, restarted=True)
                if offset_was:
                    continue
            offset = chunk.next_offset
            if chunk.data:
                yield OutputPiece(data=chunk.data, attempt=attempt)
            elif chunk.ended:
                return

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        body: bytes | None = None,
        wait_s: float = 0.0,
    ) -> httpx2.Response:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_delay(self._patience_s),
            wait=tenacity.wait_exponential(multiplier=_FIRST_RETRY_S, max=_LONGEST_RETRY_S),
            retry=tenacity.retry_if_exception_type((httpx2.TransportError, _TryAgain)),
            sleep=self._pause,
            reraise=True,
        )
        try:
            return retrying(self._ask_once, method, path, query, body, wait_s)
        except (httpx2.TransportError, _TryAgain) as error:
            message = f"the negotiator of {self.application_id} does not answer: {error or type(error).__name__}"
            raise NegotiatorUnreachable(message) from error

    def _ask_once(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: bytes | None, wait_s: float
    ) -> httpx2.Response:
        endpoint = self._endpoint or self._find()
        self._endpoint = endpoint
        try:
            answer = self._http.request(
                method,
                f"{endpoint.url}{path}",
                params=query,
                content=body,
                headers={"Authorization": f"Bearer {endpoint.token}"},
                timeout=self._timeout_s + wait_s,
            )
        except httpx2.TransportError:
            self._endpoint = None  # the next try reads the announcement again
            raise
        if answer.status_code in (401, 500, 503):
            # 401: an attempt of before listened there. 503: too many requests at once. 500: it is ending.
            self._endpoint = None
            text = f"it answers {answer.status_code}"
            raise _TryAgain(text)
        if answer.status_code == 404:  # noqa: PLR2004
            message = f"the negotiator of {self.application_id} knows no {path}: it is of another version"
            raise NotFound(message)
        if answer.status_code != 200:  # noqa: PLR2004
            message = f"the negotiator of {self.application_id} refused {path}: {answer.text.strip()}"
            raise UsageError(message)
        return answer

    def _find(self) -> Endpoint:
        data = self._read_endpoint()
        if data is None:
            message = f"the negotiator of {self.application_id} does not run (yet, or any more), or is another user's"
            raise NegotiatorAbsent(message)
        try:
            return msgspec.json.decode(data, type=Endpoint)
        except msgspec.DecodeError as error:  # read while it was being replaced
            raise _TryAgain(str(error)) from error

    def _explanation(self, query: Mapping[str, Any]) -> Explanation | None:
        answer = self._ask("GET", "/explain", query)
        return None if answer.content == b"null" else self._decoded(answer, Explanation)

    def _decoded(self, answer: httpx2.Response, kind: type[_Answer]) -> _Answer:
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.DecodeError as error:
            message = f"this yarnspec does not understand what the negotiator of {self.application_id} says: {error}"
            raise NegotiatorUnreachable(message) from error


def _header(answer: httpx2.Response, name: str) -> int:
    text = answer.headers.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0
