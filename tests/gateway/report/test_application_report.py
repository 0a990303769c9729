"""The page of an application or of a log of Spark's, as `yarnspec report` writes it."""

from __future__ import annotations

import re
from pathlib import Path

import html5lib
import pytest

from tests.cli.conftest import Run
from tests.cli.test_application_commands import BLOCKED, STAGE_OF_TWO, STARTED
from tests.cli.test_replay import SLOW_HOST, write_log
from tests.gateway.cluster import APP, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.core.messages import commands, events
from yarnspec.gateway.report import log_report


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page_at(path: str) -> str:
    text = Path(path).read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    return text


def cells_of_hosts(text: str) -> list[list[str]]:
    section = re.search(r'<section id="hosts".*?</section>', text, re.DOTALL)
    assert section is not None
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', section[0])
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)] for row in rows]


def test_a_running_application(yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
    negotiator.happened([STARTED, *STAGE_OF_TWO, BLOCKED])
    ran = yarnspec("report", APP)
    assert (ran.code, ran.out) == (0, f"{APP}.html\n")
    text = page_at(f"{APP}.html")
    assert "slow disk" in text
    assert f"<b>{HOSTS[1]}</b>" in text


def test_an_ended_application_from_its_history(yarnspec: Run, cluster: HandMadeCluster) -> None:
    end = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)
    cluster.record(STARTED, *STAGE_OF_TWO, end)
    cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED", finished_ms=1_700_000_060_000)
    ran = yarnspec("report", "last", "-o", "night.html")
    assert (ran.code, ran.out) == (0, "night.html\n")
    assert "It succeeded after" in page_at("night.html")


def test_a_history_with_damaged_records_says_so_and_shows_the_rest(yarnspec: Run, cluster: HandMadeCluster) -> None:
    """One line is no JSON, one has a number that is none; the epoch after that is whole."""
    lost = events.DriverLost(exit_code=137, reason="killed")
    again = commands.BeginEpoch(reason="it died", epoch=2, restart=1)
    end = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)
    cluster.record(STARTED, BLOCKED, *STAGE_OF_TWO, lost)
    cluster.record(again, *STAGE_OF_TWO, end, epoch=2)
    file = cluster.home / "history" / APP / "epoch-1" / "events.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = b"\0" * len(lines[1][:-1]) + b"\n"
    lines[3] = lines[3].replace(b'"index":0', b'"index":"?"')
    file.write_bytes(b"".join(lines))
    cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED", finished_ms=1_700_000_060_000)
    assert yarnspec("report", APP).code == 0
    text = page_at(f"{APP}.html")
    assert "1 record of driver epoch 1 cannot be read" in text
    assert "1 record from before" in text
    assert "1 damaged record was passed over: the page lacks what it tells." in text
    assert "slow disk" not in text
    assert "the driver died (exit code 137)" in text
    assert "driver epoch 2 begins: it died" in text
    assert "3 task attempts. Each band is a host" in text


def test_a_log_of_sparks_is_drawn_with_what_replay_finds(yarnspec: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "app-1", slowness=4)
    ran = yarnspec("report", str(log))
    assert (ran.code, ran.out) == (0, "app-1.html\n")
    text = page_at("app-1.html")
    assert f"Host {SLOW_HOST} took 4.0 times as long as others" in text
    assert "yarnspec would have found it slow after" in text
    assert "The log has no end" in text
    assert "For this page the detector looked every" not in text
    assert "<dt>executors running</dt><dd>-</dd>" in text
    assert "<dt>wanted</dt><dd>-</dd>" in text
    assert {one[4] for one in cells_of_hosts(text)} == {"-"}
    assert "yarnspec status" not in text


def test_a_long_log_is_looked_at_less_often_than_replay_does_and_that_is_said(
    yarnspec: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_report, "_LOOKS", 3)
    yarnspec("report", str(write_log(tmp_path / "app-1", slowness=4)))
    assert "`yarnspec replay` looks every 0.5 s: it may find more slow tasks" in page_at("app-1.html")


def test_an_application_without_records_still_has_a_page(yarnspec: Run, cluster: HandMadeCluster) -> None:
    cluster.made_rm.reports[APP] = report(
        "KILLED", "KILLED", diagnostics="killed by an admin", finished_ms=1_700_000_009_000
    )
    ran = yarnspec("report", APP)
    assert ran.code == 0
    text = page_at(f"{APP}.html")
    assert "There are no records of it" in text
    assert "killed by an admin" in text
