"""The pages that are rendered from the code are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from yarnspec.reference.rendered_pages import PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_rendered_page_is_what_the_code_declares(name: str) -> None:
    written = (Path(__file__).parents[1] / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"{name} is behind: run `make docs`"
