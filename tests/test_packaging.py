"""The wheel has the files that the code reads at run time, as setuptools itself finds them by setup.cfg."""

from __future__ import annotations

from pathlib import Path

import pytest
from setuptools import Distribution
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "yarnspec/observe/page/templates"


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> Distribution:
    monkeypatch.chdir(ROOT)
    found = Distribution()
    found.parse_config_files(["setup.cfg"])
    return found


def test_the_page_is_whole(wheel: Distribution) -> None:
    command = build_py(wheel)
    command.finalize_options()
    files = {package: set(names) for package, _, _, names in command.data_files}
    shown = {f"templates/{one.name}" for one in PAGE.iterdir()}
    assert files["yarnspec.observe.page"] == shown
    assert {"templates/page.html", "templates/page.css", "templates/page.js"} <= shown


def test_the_licence_is_there(wheel: Distribution) -> None:
    assert wheel.metadata.license_files == ["LICENSE"]
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_no_script_or_style_on_the_page_is_of_others() -> None:
    """So no licence of others belongs into the wheel. A file of others comes with its licence, and is named here."""
    assert {one.name for one in PAGE.iterdir() if one.suffix != ".html"} == {"page.css", "page.js"}
