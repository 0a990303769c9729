"""How far the clock of another machine is from this one's."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import httpx2

from yarnspec.errors import ClusterUnreachable

_TIMEOUT_S = 10.0
_DATE_RESOLUTION_MS = 1000


def now_ms() -> int:
    """This machine's clock."""
    return int(time.time() * 1000)


def http_skew_ms(url: str, clock_ms: Callable[[], int] = now_ms) -> int:
    """How far the clock of the HTTP server at ``url`` is ahead (negative: behind), by the date of its answer.

    The answer itself does not matter: one that refuses has a date as well. 0 when the server tells no date.
    """
    before_ms = clock_ms()
    try:
        answer = httpx2.get(url, timeout=_TIMEOUT_S, trust_env=False, verify=False)
    except httpx2.TransportError as error:
        raise ClusterUnreachable(f"{url} does not answer: {error}") from error
    after_ms = clock_ms()
    try:
        there_ms = int(parsedate_to_datetime(answer.headers["Date"]).timestamp() * 1000)
    except (KeyError, ValueError):
        return 0
    return skew_ms(there_ms, before_ms, after_ms, resolution_ms=_DATE_RESOLUTION_MS)


def skew_ms(there_ms: int, before_ms: int, after_ms: int, *, resolution_ms: int = 1) -> int:
    """The least skew that explains a time seen there between two times here; a coarse clock shows a time past."""
    if there_ms > after_ms:
        return there_ms - after_ms
    if there_ms + resolution_ms <= before_ms:
        return there_ms + resolution_ms - before_ms
    return 0
