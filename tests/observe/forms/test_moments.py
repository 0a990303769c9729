"""Times and spans as people read them."""

from __future__ import annotations

import pytest

from yarnspec.observe.forms.moments import span, until


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [(-5, "0 s"), (59_999, "59 s"), (90_000, "1 min 30 s"), (3_660_000, "1 h 1 min"), (90_000_000, "1 d 1 h")],
)
def test_span(duration_ms: int, words: str) -> None:
    assert span(duration_ms) == words


def test_until() -> None:
    assert until(None, 5) == "until it is unblocked"
    assert until(5, 5) == "over"
    assert until(10_000, 0) == "for 10 s more"
