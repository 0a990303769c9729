"""`yarnspec report`: where the page goes, and what is not one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_application_commands import STARTED
from tests.gateway.cluster import APP, HandMadeNegotiator


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_stdout(yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
    negotiator.happened([STARTED])
    assert yarnspec("report", APP, "-o", "-").out.startswith("<!DOCTYPE html>")
    assert yarnspec("report", APP, "-o", "-", "--open").code == 2


def test_what_is_neither(yarnspec: Run, tmp_path: Path) -> None:
    ran = yarnspec("report", "nothing-there")
    assert (ran.code, "neither an application id nor a file" in ran.err) == (2, True)
    (tmp_path / "text").write_text("no log\n")
    assert "tells of no task" in yarnspec("report", "text").err
