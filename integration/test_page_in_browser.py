"""The report in a real browser: it says nothing on the console, asks nobody, and can be read in every way."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration import browser
from tests.observe.page.histories import drawn, recorded

pytestmark = pytest.mark.skipif(bool(browser.why_none()), reason=f"left out: {browser.why_none()}")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(drawn(recorded(18)), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (browser.WIDE, False),
        (browser.NARROW, True),
        pytest.param(browser.WIDE, True, marks=pytest.mark.soak),
        pytest.param(browser.NARROW, False, marks=pytest.mark.soak),
    ],
)
def test_it_can_be_read(report: Path, width: int, dark: bool, tmp_path: Path) -> None:
    with browser.browser_page(report.as_uri(), width=width, dark=dark) as (page, said, asked):
        page.screenshot(path=str(tmp_path / "page.png"), full_page=True)
        assert (said, asked) == ([], [])
        assert not browser.faults(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_is_enough(report: Path) -> None:
    with browser.browser_page(report.as_uri()) as (page, said, _):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to what happened"
        page.keyboard.press("Enter")
        assert page.url.endswith("#words")
        narrow = page.locator(".inner").evaluate("one => one.clientWidth")
        page.locator("#zoom-1").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(".inner").evaluate("one => one.clientWidth") == 2 * narrow
        page.locator("#filter").focus()
        page.keyboard.type("blockhost")
        shown = page.locator("table.events tbody tr:not([hidden])").all_inner_texts()
        assert 0 < len(shown) < page.locator("table.events tbody tr").count()
        assert all("blockhost" in one.lower() for one in shown)
        assert not said
