"""Where YARN's link leads: through Skein's own web server to the page, and one further to Spark's.

Skein's server lets in the users whom YARN's proxy lets in, and heeds the application's ACLs. The servers behind it
listen on this host's loopback only.
"""

from __future__ import annotations

import queue
import threading
from typing import Protocol
from urllib.parse import urlsplit

import structlog

from yarnspec.yarn.skein.am_client import ContainerServiceError

_log = structlog.get_logger()

TRACKED = "/pages/"
"""The page's path on Skein's web server: the provider knows where that listens."""
_PARTS, _SPARK = "yarnspec", "spark"


class PageServer(Protocol):
    """Skein's web server."""

    def show_page(self, route: str, target: str) -> None:
        """Serve an address under a route; ContainerServiceError when that is refused."""


class Routes:
    """The routes of one attempt. ``spark`` returns at once: the loop must not wait for Skein."""

    def __init__(self, server: PageServer) -> None:
        self._server = server
        self._sparks: queue.SimpleQueue[str] = queue.SimpleQueue()

    def begin(self, page: str) -> bool:
        """Lead to the page. Returns False if Skein refuses; YARN's link then leads to Spark's page."""
        try:
            # The empty route serves the first request; the page's refreshes use the named route.
            self._server.show_page("", page)
            self._server.show_page(_PARTS, page)
        except ContainerServiceError as error:
            _log.warning("YARN's link leads to Spark's page", why=str(error))
            return False
        threading.Thread(target=self._run, name="page-routes", daemon=True).start()
        return True

    def spark(self, ui_url: str) -> None:
        """Spark's page is there now; its process listens on this host's loopback."""
        self._sparks.put(f"http://127.0.0.1:{urlsplit(ui_url).port}/")

    def _run(self) -> None:
        while True:
            target = self._sparks.get()
            try:
                self._server.show_page(_SPARK, target)
            except ContainerServiceError as error:
                _log.warning("Spark's page cannot be reached", why=str(error))
