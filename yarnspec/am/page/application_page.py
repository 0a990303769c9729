"""The page of one attempt, as the negotiator sees it: shown or not, served from some moment on, stopped at the end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from yarnspec.am.page.live_page import LivePage
from yarnspec.am.page.routes import PageServer, Routes
from yarnspec.observe.http.page_order import PageOrder

_log = structlog.get_logger()

_REPORT_S = 30.0


class ApplicationPage:
    """``is_shown``: YARN's link leads to it. Without it that leads to Spark's page, as on a plain cluster."""

    def __init__(self, log: Path, server: PageServer, *, wanted: bool) -> None:
        self._routes = Routes(server)
        self._page = LivePage(log) if wanted else None
        self.is_shown = self._page is not None and self._routes.begin(self._page.url)
        if self._page is not None and not self.is_shown:
            self._page.stop()

    @property
    def show_spark(self) -> Callable[[str], None] | None:
        """The call that takes the address of Spark's page; None if YARN's link leads there itself."""
        return self._routes.spark if self.is_shown else None

    def write_report(self, order: PageOrder) -> None:
        """Write the page into the history, in a process of its own; what fails there is logged, and no more."""
        try:
            subprocess.run(
                [sys.executable, "-m", "yarnspec.livepage.history_page"], input=msgspec.json.encode(order), check=True,
                capture_output=True, timeout=_REPORT_S,
            )  # fmt: skip
        except subprocess.CalledProcessError as error:
            _log.warning("the page was not written", why=error.stderr.decode(errors="replace")[-2_000:])
        except (OSError, subprocess.TimeoutExpired) as error:
            _log.warning("the page was not written", why=str(error))

    def serve(self, order: PageOrder) -> None:
        """Begin to serve, now that there is something to ask."""
        if self._page is not None and self.is_shown:
            self._page.begin(order)

    def stop(self) -> None:
        """The attempt is over."""
        if self._page is not None:
            self._page.stop()
