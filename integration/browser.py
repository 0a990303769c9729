"""A real browser for the page, where this machine has one: Debian's chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDE, NARROW = 1280, 400
SCREENSHOTS = Path(os.environ.get("YARNSPEC_SCREENSHOTS", "/tmp/yarnspec-screenshots"))


def why_none() -> str:
    """Why there is no browser here; empty when there is one."""
    try:
        import playwright  # noqa: F401 - left out where it is not installed
    except ImportError:
        return "playwright is not installed"
    return "" if _chromium() else "there is no chromium (Debian, Ubuntu: apt-get install chromium)"


@contextmanager
def browser_page(url: str, *, width: int = WIDE, dark: bool = False) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A page that is open, with what it wrote to the console and what it asked for beside itself."""
    said: list[str] = []
    asked: list[str] = []
    with empty_page(width=width, dark=dark) as page:
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        asked.remove(page.url)
        yield page, said, asked


@contextmanager
def empty_page(*, width: int = WIDE, dark: bool = False, script: bool = True) -> Iterator[Page]:
    """A page that leads nowhere yet. ``script``: whether the browser runs the scripts of pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        try:
            yield browser.new_page(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if dark else "light",
                java_script_enabled=script,
            )
        finally:
            browser.close()


def faults(page: Page) -> list[str]:
    """What a reader without a mouse, eyes or colours would stumble over: axe-core's serious findings."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:120]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def shot(name: str) -> str:
    """Where a screenshot goes: to be looked at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return str(SCREENSHOTS / f"{name}.png")


def _chromium() -> str | None:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return str(Path(found)) if found else None
