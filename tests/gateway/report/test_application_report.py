"""The page of an application or of a log of Spark's, as `yarnspec report` writes it."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest

from tests.cli.conftest import Run
from tests.cli.test_application_commands import BLOCKED, STAGE_OF_TWO, STARTED
from tests.cli.test_replay import SLOW_HOST, write_log
from tests.gateway.cluster import APP, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.core.messages import commands


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page_at(path: str) -> str:
    text = Path(path).read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    return text


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


def test_a_log_of_sparks_is_drawn_with_what_replay_finds(yarnspec: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "app-1", slowness=4)
    ran = yarnspec("report", str(log))
    assert (ran.code, ran.out) == (0, "app-1.html\n")
    text = page_at("app-1.html")
    assert f"Host {SLOW_HOST} took 4.0 times as long as others" in text
    assert "yarnspec would have found it slow after" in text
    assert "The log has no end" in text


def test_an_application_without_records_still_has_a_page(yarnspec: Run, cluster: HandMadeCluster) -> None:
    cluster.made_rm.reports[APP] = report(
        "KILLED", "KILLED", diagnostics="killed by an admin", finished_ms=1_700_000_009_000
    )
    ran = yarnspec("report", APP)
    assert ran.code == 0
    text = page_at(f"{APP}.html")
    assert "There are no records of it" in text
    assert "killed by an admin" in text
