"""Answers for YARN's proxy: each with a body and 200, without a name for what it is a version of.

The proxy's client follows redirects itself, so one would lead the ResourceManager to its own loopback. An answer
without a body is an error to it, and it passes on neither cookies nor conditions: a reader says what it saw last.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yarnspec.livepage.page_follower import Drawn

SAME, NEWS = "<!--same-->", "<!--page-->"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class Drawings(Protocol):
    """Where the page comes from."""

    def now(self) -> Drawn:
        """The newest drawing."""


def make_app(drawings: Drawings, prefix: str, looked: Callable[[], None] = lambda: None) -> Starlette:
    """The application: the whole page below the prefix, and what has changed of it."""

    async def whole(_: Request) -> Response:
        looked()
        drawn = await run_in_threadpool(drawings.now)
        return _html(drawn.whole)

    async def body(request: Request) -> Response:
        looked()
        drawn = await run_in_threadpool(drawings.now)
        seen = request.query_params.get("after", "")
        return _html(SAME if seen == drawn.tag else f"{NEWS}{drawn.body}")

    return Starlette(routes=[Route(f"/{prefix}/", whole), Route(f"/{prefix}/body", body)])


class IdleClock:
    """How long nobody has looked."""

    def __init__(self) -> None:
        self._looked_s = time.monotonic()

    def looked(self) -> None:
        """Somebody did just now."""
        self._looked_s = time.monotonic()

    @property
    def idle_s(self) -> float:
        """Since the last one did."""
        return time.monotonic() - self._looked_s


def _html(text: str) -> Response:
    return Response(text, 200, _HEADERS, "text/html; charset=utf-8")
