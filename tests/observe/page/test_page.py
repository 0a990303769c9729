"""The whole page: what it holds, how large it gets, and that nothing in it is taken for markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import time
from xml.etree.ElementTree import Element

import html5lib
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integration.sections import SECTIONS, differences
from tests.observe.messages import messages
from tests.observe.page.records_to_draw import APP, START_MS, attempt, drawn, folded, many, recorded, task, told
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoveryevents import ShuffleRestored
from yarnspec.observe.forms.document import BlockStatus, StatusDocument
from yarnspec.observe.forms.records import Record
from yarnspec.observe.page.page import Live, Source, body, page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.observe.status.status_fold import StatusFold

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
FOCUSABLE = {f"{HTML}{name}" for name in ("a", "summary", "input")}
STAGE = events.StageStarted(stage=0, stage_attempt=0, name="count at job.py:3", tasks=2)
KILLED = commands.FinishApplication(reason="killed by me", status="KILLED", exit_code=7)
LOST = "its application master ended with exit code 137"


def parsed(text: str) -> Element:
    found: Element = html5lib.HTMLParser(strict=True).parse(text)
    return found


def status_of(text: str) -> StatusDocument:
    said = re.search(r'<pre id="status-json" tabindex="0">(.*?)</pre>', text, re.DOTALL)
    assert said is not None
    return msgspec.json.decode(html.unescape(said[1]), type=StatusDocument)


def three_attempts() -> list[Record]:
    return [
        *told(attempt(1), events.DriverReady(driver_url="spark://d:1"), STAGE, task(0)),
        *told(attempt(2, LOST), events.DriverLost(exit_code=137, reason="killed", killed=True), epoch=6, step_ms=9_000),
        *told(
            attempt(3, LOST),
            STAGE,
            task(0, launch_ms=START_MS + 70_000, finish_ms=START_MS + 71_000),
            events.StageFinished(stage=0, stage_attempt=0),
            commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0),
            epoch=11,
            step_ms=20_000,
        ),
    ]


@pytest.mark.parametrize(
    "history",
    [
        [],
        told(attempt()),
        told(attempt(), STAGE, task(0), task(1, host="w1")),
        told(
            attempt(), STAGE, task(0), commands.FinishApplication(reason="killed by me", status="KILLED", exit_code=7)
        ),
        three_attempts(),
        recorded(18),
    ],
    ids=["nothing", "no task", "one host", "killed", "three attempts", "simulated"],
)
def test_a_page_is_strict_html_with_all_sections_and_says_what_status_says(history: list[Record]) -> None:
    fold, document = folded(history)
    text = page(fold, document, START_MS + 60_000)
    root = parsed(text)
    assert [one.get("id") for one in root.iter(f"{HTML}section")] == list(SECTIONS)
    assert status_of(text) == document
    # Each drawing says in words what it shows, or is hidden from those who hear the page.
    for parent in root.iter():
        if parent.tag.startswith(SVG):
            continue
        for svg in parent.findall(f"{SVG}svg"):
            assert svg.get("aria-hidden") == "true" or (svg.get("role") == "img" and svg.get("aria-label"))
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    # The script finds by its id what had the focus before a refresh.
    focusable = [one for one in root.iter() if one.tag in FOCUSABLE or one.get("tabindex") is not None]
    assert [one.attrib for one in focusable if not one.get("id") and one.get("class") != "skip"] == []


def test_a_report_asks_nobody_for_anything() -> None:
    text = drawn(recorded(18))
    assert not re.findall(r'\b(?:src|href)="(?!#|data:,)[^"]*"', text)
    assert not re.findall(r"@import|\burl\((?!#)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert " style=" not in text
    assert not re.findall(r"\son\w+=", text)


def test_the_policy_names_the_style_and_the_script_that_are_there() -> None:
    text = drawn([])
    for tag in ("style", "script"):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        assert html.escape(f"'sha256-{digest}'") in text.replace("&#39;", "&#x27;")


HOSTILE = st.one_of(
    st.sampled_from([
        "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><b>", "{{ 7*7 }}", "{% raw %}", "]]>",
        "\x00\x0b\x7f", "\u202egnp.exe", "javascript:alert(1)", "' onload='x", "<!--", "\ufffe\ufdd0",
    ]),
    st.text(max_size=12),
)  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_nothing_that_a_user_or_a_program_says_becomes_markup(host: str, reason: str, name: str) -> None:
    history = told(
        attempt(2, reason),
        events.StageStarted(stage=0, stage_attempt=0, name=name, tasks=2),
        events.ContainerStarted(executor_id=name, container_id=reason, host=host),
        commands.BlockHost(reason=reason, host=host, until_ms=None, by=name, cause="slow"),
        commands.Warn(reason=reason),
        events.PendingExplained(reason=reason),
        task(0, host=host, failure=reason, state="FAILED", executor_id=name),
        task(0, host=host, attempt=1, task_id=9, speculative=True),
        events.ContainerLost(executor_id=name, container_id=reason, host=host, exit_code=1, diagnostics=reason),
    )
    fold, document = folded(history, name=name)
    document = msgspec.structs.replace(document, links=msgspec.structs.replace(document.links, spark_ui=reason))
    text = page(fold, document, START_MS + 60_000, source=Source(notes=(reason,), options=((name, reason),)))
    root = parsed(text)
    assert len(list(root.iter(f"{HTML}script"))) == 1
    assert not list(root.iter(f"{HTML}img"))
    assert not list(root.iter(f"{HTML}b")) or all(one.get("onerror") is None for one in root.iter())
    assert all(one.get("href", "#").startswith(("#", "http", "data:,")) for one in root.iter(f"{HTML}a"))
    text.encode()


@settings(max_examples=25, deadline=None)
@given(st.lists(messages, max_size=15))
def test_records_of_any_content_give_a_page(logged: list[Event | Command]) -> None:
    fold, status = PageFold(), StatusFold(APP)
    for record in told(*logged):
        fold.apply(record)
        status.apply(record)
    parsed(page(fold, status.document(), START_MS + 60_000))


def test_a_page_of_a_hundred_thousand_tasks_is_small_and_quick() -> None:
    fold, document = folded(many(100_000))
    page(fold, document, fold.last_ms)
    begun = time.process_time()
    text = page(fold, document, fold.last_ms)
    took_s = time.process_time() - begun
    assert len(text.encode()) < 1_500_000
    assert took_s < 5.0  # a few tenths of a second; five on any machine
    assert 'class="l4"' in text
    assert 'class="late"' in text


def test_a_page_full_of_failures_and_long_names_is_small_too() -> None:
    """What is shown shrinks until it fits."""
    records = many(
        30_000, hosts=60, copies=4_000, stages=60, failing=0.1, host_name="worker-with-a-long-name-{:03d}.example.org"
    )
    text = drawn(records)
    assert len(text.encode()) < 1_500_000
    parsed(text)


def test_phases_and_changes_of_the_number_of_executors_are_told() -> None:
    wait = commands.EnterPhase(
        reason="1 executor", phase="waiting_for_resources", sufficient=2, desired=4, waits_for="2 executors"
    )
    history = told(
        attempt(), wait, msgspec.structs.replace(wait, waits_for="more than 2"),
        commands.EnterPhase(reason="4 executors", phase="executing", sufficient=2, desired=4),
        commands.BeginRescale(reason="asked", number=1, cause="new requirements", wanted=8, before=4),
        commands.EndRescale(reason="all came", number=1, got=8, why="all are there"),
        commands.RelaxPlacement(reason="rack-1 is full", rule="spread", wanted=("7", "8")),
    )  # fmt: skip
    section = parsed(drawn(history, START_MS + 60_000)).find(f".//{HTML}section[@id='resources']")
    assert section is not None
    lines = [" ".join("".join(one.itertext()).split()) for one in section.iter(f"{HTML}li")]
    assert [line.partition(" ")[2] for line in lines] == [
        "waiting for resources: 2 executors", "executing", "for 2 containers: rack-1 is full"
    ]  # fmt: skip
    cells = ["".join(one.itertext()) for row in section.iter(f"{HTML}tr") for one in row]
    row = cells[cells.index("new requirements") :]
    assert [row[0], *row[1:4], row[5]] == ["new requirements", "4", "8", "8", "all are there"]


def test_one_is_told_as_one_and_tasks_that_ran_again_with_their_driver_as_such() -> None:
    fold, document = folded(told(attempt(), STAGE, task(0, state="FAILED"), task(0, attempt=1, task_id=1)))
    text = page(fold, document, START_MS + 60_000)
    assert ", 1 attempt failed" in text
    assert "Stage 0: 1 task <small>" in text
    assert "Every task has had one attempt." in drawn(told(attempt(), STAGE, task(0)))
    again = drawn(three_attempts())
    assert "Every task has had one attempt." not in again
    assert "In no driver epoch had a task more than one attempt." in again


def test_what_is_missing_is_said() -> None:
    history = told(attempt(), STAGE, *(task(index) for index in range(9)))
    text = drawn([*history[:4], *history[8:]])
    assert "4 records from before" in text
    fold, document = folded([*history[:2], msgspec.structs.replace(history[2], fields={"stage": "no number"})])
    assert "1 damaged record was passed over" in page(fold, document, START_MS)


def test_the_live_page_looks_for_news_with_relative_paths_only() -> None:
    fold, document = folded(recorded(18)[:-1])
    live = Live(body_path="yarnspec/body", spark_path="spark/jobs/")
    text = page(fold, document, fold.last_ms, live=live)
    parsed(text)
    assert 'data-body="yarnspec/body"' in text
    assert 'href="spark/jobs/"' in text
    part = body(fold, document, fold.last_ms, live=live)
    assert part in text


def test_an_outcome_never_hangs_on_colour_alone() -> None:
    text = drawn(recorded(18))
    assert "copy that was first" in text
    assert "ended early" in text
    assert 'class="failed"' in text
    assert "url(#p-failed)" in text


def test_the_driver_that_went_on_with_outputs_is_told_first() -> None:
    restored = ShuffleRestored(
        shuffle=0, wanted=4, restored=3, waited_ms=5, by_host={"w1": 3}, not_restored={"gone": 1}
    )
    history = [*three_attempts()[:-1], *told(restored, epoch=11, step_ms=90_000)]
    words = parsed(drawn(history)).find(f".//{HTML}section[@id='words']")
    assert words is not None
    first = "".join(words.find(f".//{HTML}li").itertext())  # type: ignore[union-attr]
    assert "2 application masters died. The last time, at " in first
    assert "and 3 driver epochs: 2 tasks finished, in 2 stages of 2 driver epochs." in drawn(three_attempts())
    assert "exit code 137" in first


def test_the_status_of_the_page_is_valid_json_whatever_is_in_it() -> None:
    text = drawn(told(attempt(), commands.Warn(reason="</pre><script>")))
    assert json.loads(msgspec.json.encode(status_of(text)))["warnings"] == ["</pre><script>"]


def test_a_long_status_lacks_whole_parts_and_names_them() -> None:
    fold, document = folded(told(attempt()))
    block = BlockStatus(level="task", cause="slow", host="w1", reason="é" * 100, by="me", since_ms=1, until_ms=None)
    document = msgspec.structs.replace(document, blocks=(block,) * 900, warnings=("<é>" * 50,) * 900)
    text = page(fold, document, START_MS)
    assert status_of(text) == msgspec.structs.replace(document, blocks=(), warnings=())
    assert "(without its longest parts: blocks, warnings)" in text


@pytest.mark.parametrize("history", [recorded(18), three_attempts()], ids=["simulated", "three attempts"])
def test_a_page_that_is_behind_another_one_is_told_from_one_that_is_not(history: list[Record]) -> None:
    """This is how a test with a real cluster compares the last live page with the report."""
    live, report = drawn(history[:-1], START_MS + 10_000_000), drawn(history)
    assert differences(live, report) == []
    early = drawn(history[: len(history) // 2], START_MS + 10_000_000)
    behind = differences(live, early)
    assert {one.partition(":")[0] for one in behind} >= {"timeline", "stages", "events"}
