"""The report in a real browser: it says nothing on the console, asks nobody, and can be read in every way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration import browser
from integration.sections import SECTIONS
from tests.observe.page.records_to_draw import START_MS, attempt, drawn, folded, recorded, task, told
from yarnspec.core.messages import commands, events
from yarnspec.observe.forms.records import Record, decode, encode
from yarnspec.observe.page.page import Live, body, page, page_around

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

PROXIED = "http://rm.example/proxy/application_1/"
STAGE = events.StageStarted(stage=0, stage_attempt=0, name="count", tasks=2)
END = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)

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
def test_it_can_be_read(report: Path, width: int, dark: bool) -> None:
    with browser.browser_page(report.as_uri(), width=width, dark=dark) as (page, said, asked):
        page.screenshot(path=browser.shot(f"report-{width}-{'dark' if dark else 'light'}"), full_page=True)
        assert (said, asked) == ([], [])
        assert not browser.faults(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_long_names_of_hosts_leave_room_for_the_numbers(tmp_path: Path) -> None:
    name = rb"ip-10-20-002-1\1.eu-central-1.compute.internal"
    file = tmp_path / "long.html"
    records = [decode(re.sub(rb"\bhost(\d)\b", name, encode(one))) for one in recorded(18)]
    file.write_text(drawn(records), encoding="utf-8")
    cut = """cells => cells.filter(one => one.getBoundingClientRect().right > one.closest(".scroll")
        .getBoundingClientRect().right).map(one => one.textContent)"""
    with browser.browser_page(file.as_uri(), width=browser.NARROW) as (page, _, _):
        page.screenshot(path=browser.shot("long-names"), full_page=True)
        for cells in ("#hosts tbody td.n:nth-of-type(2)", "#copies tbody td:nth-of-type(2)"):
            assert page.locator(cells).count()
            assert page.locator(cells).evaluate_all(cut) == []
        page.set_viewport_size({"width": browser.WIDE, "height": 900})
        assert page.locator(".scroll th, .scroll td").evaluate_all(cut) == []


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


def test_what_a_mark_is_can_be_read_without_a_mouse_that_rests_on_it(report: Path) -> None:
    with browser.browser_page(report.as_uri(), width=browser.NARROW) as (page, said, _):
        line = page.locator("#mark")
        bar = page.locator("#timeline g.won rect").first
        words = bar.locator("title").text_content()
        host = bar.evaluate("one => one.closest('.band').querySelector('b').textContent")
        bar.scroll_into_view_if_needed()
        box = bar.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert line.text_content() == f"{host}: {words}"
        page.screenshot(path=browser.shot("mark"))
        page.locator("#h-timeline").click()
        assert line.text_content() == ""
        page.locator("#timeline-hosts").focus()
        told = []
        for key in "nnp":
            page.keyboard.press(key)
            told.append(line.text_content())
        assert told[0] == told[2] != told[1]
        assert not browser.faults(page)
        assert said == []


def test_it_can_be_read_without_a_script(report: Path) -> None:
    with browser.empty_page(script=False) as page:
        page.goto(report.as_uri())
        assert page.locator("section h2:visible").count() == len(SECTIONS)
        assert not page.locator(".filter").is_visible()
        page.locator("#zoom-4").check(force=True)
        assert page.locator(".inner").evaluate("one => one.clientWidth") > 4 * 900


class LivePage:
    """A live page that is open, with a drawing of each history. It shows the first until another one is to be shown."""

    def __init__(self, opened: Page, *histories: list[Record]) -> None:
        self._opened = opened
        self._bodies = []
        for number, records in enumerate(histories):
            fold, document = folded(records)
            live = Live(body_path="yarnspec/body", spark_path="spark/jobs/", tag=str(number), every_s=0.05)
            self._bodies.append(body(fold, document, fold.last_ms, live=live))
        self._first = page_around(self._bodies[0], document, live)
        self._news = "<!--same-->"
        opened.route("**/*", self._answer)
        opened.goto(PROXIED)

    def show(self, *numbers: int) -> None:
        """Let it draw these in turn, and then nothing new."""
        for number in numbers:
            self._news = f"<!--page-->{self._bodies[number]}"
            self._opened.locator(f"[data-part=top][data-seq='{number}']").wait_for()
        self._news = "<!--same-->"

    def _answer(self, route: Route) -> None:
        told = self._news if "?after=" in route.request.url else self._first
        route.fulfill(body=told, content_type="text/html")


def test_what_has_the_focus_keeps_it_when_the_page_is_drawn_again() -> None:
    history = recorded(18)[:-1]
    with browser.empty_page() as opened:
        page = LivePage(opened, history[:-40], history)
        for focused in (
            "to-hosts",
            "to-spark",
            "timeline-hosts",
            "table-stages",
            "zoom-1",
            "filter",
            "of-all-of-status",
        ):
            opened.locator(f"#{focused}").focus()
            page.show(1, 0)
            assert opened.evaluate("document.activeElement.id") == focused


def test_what_is_selected_or_pointed_at_stays_until_that_is_over() -> None:
    history = recorded(18)[:-1]
    with browser.empty_page() as opened:
        page = LivePage(opened, history[:-40], history)
        opened.locator("#timeline .band:not(.axis) svg g rect").first.hover(force=True)
        opened.evaluate("""() => {
            const host = document.querySelector("#hosts tbody th");
            window.seen = [document.querySelector("#timeline rect:hover"), host, document.querySelector("#words li")];
            getSelection().selectAllChildren(host);
        }""")
        still = "seen.map(one => one.isConnected)"
        page.show(1, 0)
        assert opened.evaluate(still) == [True, True, False]
        assert opened.evaluate("getSelection().toString() === seen[1].innerText")
        opened.screenshot(path=browser.shot("live-held"))
        opened.evaluate("getSelection().removeAllRanges()")
        opened.mouse.move(1, 1)
        page.show(1, 0)
        assert opened.evaluate(still) == [False, False, False]
        assert opened.locator("[data-held]").count() == 0


def test_what_waited_is_shown_after_the_end_too() -> None:
    running = told(attempt(), STAGE, task(0))
    ended = told(attempt(), STAGE, task(0), task(1, host="w2"), END)
    with browser.empty_page() as opened:
        page = LivePage(opened, running, ended)
        opened.evaluate("getSelection().selectAllChildren(document.querySelector('#hosts tbody'))")
        page.show(1)
        assert opened.locator("[data-part=top]").get_attribute("data-ended") == "1"
        assert opened.locator("#hosts tbody th:has-text('w2')").count() == 0
        opened.evaluate("getSelection().removeAllRanges()")
        opened.locator("#hosts tbody th:has-text('w2')").wait_for()


def test_an_open_page_outlasts_what_the_proxy_answers_between_attempts() -> None:
    """Errors, pages of others, ways to elsewhere; then the next attempt answers. Nobody had to load the page again."""
    fold, document = folded(told(attempt()))
    live = Live(body_path="yarnspec/body", tag="1.1-1", every_s=0.05)
    first = page(fold, document, START_MS, live=live)
    fold, document = folded([*told(attempt()), *told(attempt(2, "it was killed"), epoch=6, step_ms=9_000)])
    following = f"<!--page-->{body(fold, document, START_MS, live=live)}"
    between: list[dict[str, Any]] = [
        {"body": "<!--same-->"},
        {"status": 500, "body": "<html>no application master</html>"},
        {"status": 302, "headers": {"location": "http://rm.example/cluster/app/application_1"}},
        {"body": "<html>the ResourceManager's page of the application</html>"},
        *[{"status": 404, "body": ""}] * 20,
    ]
    with browser.empty_page() as opened:
        answers = iter(between)
        elsewhere: list[str] = []

        def answer(route: Route) -> None:
            url = route.request.url
            if url == PROXIED:
                route.fulfill(body=first, content_type="text/html")
            elif url.startswith(f"{PROXIED}yarnspec/body?after="):
                route.fulfill(content_type="text/html", **next(answers, {"body": following}))
            else:
                elsewhere.append(url)
                route.abort()

        opened.route("**/*", answer)
        opened.goto(PROXIED)
        opened.evaluate("window.openedOnce = true")
        opened.locator("#connection:has-text('Nobody answers')").wait_for()
        opened.locator("#recovery .moments li:has-text('application attempt 2 begins')").wait_for()
        opened.locator("#connection").wait_for(state="hidden")
        assert opened.evaluate("window.openedOnce") is True
        assert elsewhere == []
