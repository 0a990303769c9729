"""JSON over HTTP from one of several equal servers, with retries and a deadline: the way to the ResourceManager.

With HA only the active ResourceManager answers; a standby one redirects or says so in its page. Each round asks every
known address, the one that answered last first, and rounds go on until one answers or the deadline passes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec
import tenacity

from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound
from yarnspec.yarn.hadoop.closing import Closing
from yarnspec.yarn.hadoop.hadoop_conf import RmAddress, check_the_cluster

_REQUEST_TIMEOUT_S = 5.0
_MAX_PAUSE_S = 2.0
_SHOWN_CHARACTERS = 300
_STANDBY = "This is standby RM"
_TAG = re.compile(r"<(style|script)[^>]*>.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)


class _NoAnswer(Exception):  # noqa: N818 - not an error by itself: asked again until the deadline
    """No server answered in this round; the text says what each of them did."""


class RestClient(Closing):
    """Asks for JSON documents by path; raises ClusterUnreachable, NotAllowed and NotFound."""

    def __init__(
        self,
        addresses: Sequence[RmAddress],
        *,
        user: str,
        proxy_user: str | None = None,
        timeout_s: float,
        what: str = "ResourceManager",
    ) -> None:
        self._addresses = list(addresses)
        self._user = user
        # The server checks whether the one may act for the other.
        self._who = {"user.name": user} | ({} if proxy_user is None else {"doAs": proxy_user})
        self._timeout_s = timeout_s
        self._what = what
        # trust_env off: a proxy from the environment is for the world outside, not for the cluster's own servers.
        # Certificates are loaded (50 ms) only where TLS is spoken; redirects to elsewhere are never followed.
        uses_tls = any(address.url.startswith("https:") for address in self._addresses)
        self._client = httpx2.Client(trust_env=False, verify=uses_tls)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def base_url(self) -> str:
        """The address of the server that answered last."""
        return self._addresses[0].url

    def get(self, path: str, parameters: Mapping[str, str] | None = None, *, timeout_s: float | None = None) -> Any:
        """The JSON document at a path. ``timeout_s`` shortens the client's own deadline."""
        response = self._ask(path, parameters, self._timeout_s if timeout_s is None else timeout_s)
        try:
            return msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise ClusterUnreachable(
                f"What answers at {response.url} is not a {self._what}: {_shown(response.text)}"
            ) from error

    def get_text(self, path: str, parameters: Mapping[str, str] | None = None, *, accept: str = "text/plain") -> str:
        """The body at a path, as text."""
        return self._ask(path, parameters, self._timeout_s, accept=accept).text

    def _ask(
        self, path: str, parameters: Mapping[str, str] | None, timeout_s: float, accept: str = "application/json"
    ) -> httpx2.Response:
        deadline = time.monotonic() + timeout_s
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_NoAnswer),
            wait=tenacity.wait_exponential_jitter(multiplier=0.2, max=_MAX_PAUSE_S, jitter=0.2),
            stop=tenacity.stop_before_delay(timeout_s),
            reraise=True,
        )
        try:
            response = retrying(self._round, path, parameters, accept, deadline)
        except _NoAnswer as error:
            raise ClusterUnreachable(
                f"The {self._what} did not answer within {round(timeout_s, 1):g} s ({error}). {check_the_cluster()}"
            ) from error
        return self._checked(response)

    def _round(self, path: str, parameters: Mapping[str, str] | None, accept: str, deadline: float) -> httpx2.Response:
        problems = []
        for address in tuple(self._addresses):
            url = address.url + path
            left_s = max(0.1, min(_REQUEST_TIMEOUT_S, deadline - time.monotonic()))
            try:
                response = self._client.get(
                    url,
                    params={**(parameters or {}), **self._who},
                    headers={"Accept": accept},
                    timeout=left_s,
                    follow_redirects=False,
                )
            except httpx2.TransportError as error:
                problems.append(f"{address.url}: {str(error) or type(error).__name__}")
                continue
            problem = _passing_problem(response)
            if problem:
                problems.append(f"{address.url}: {problem}")
                continue
            self._addresses.remove(address)
            self._addresses.insert(0, address)
            return response
        raise _NoAnswer("; ".join(problems))

    def _checked(self, response: httpx2.Response) -> httpx2.Response:
        status = response.status_code
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise NotAllowed(
                f"The {self._what} at {self.base_url} refuses {self._user} ({status}): {_error_text(response)}"
            )
        if status == HTTPStatus.NOT_FOUND:
            raise NotFound(_error_text(response))
        if status >= HTTPStatus.BAD_REQUEST:
            raise ClusterUnreachable(
                f"The {self._what} at {self.base_url} answered {status} to {response.url.path}: {_error_text(response)}"
            )
        return response


def _passing_problem(response: httpx2.Response) -> str | None:
    """Why this answer may be another one soon, or elsewhere; None when it is final."""
    if response.is_redirect or (response.is_success and _STANDBY in response.text[:1000]):
        return "stands by"
    if response.status_code in {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}:
        return f"answers {response.status_code}"
    return None


def _error_text(response: httpx2.Response) -> str:
    """The message of Hadoop's ``RemoteException`` document, else the beginning of the page."""
    try:
        document = msgspec.json.decode(response.content)
        return str(document["RemoteException"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return _shown(response.text)


def _shown(text: str) -> str:
    return " ".join(_TAG.sub(" ", text).split())[:_SHOWN_CHARACTERS]
